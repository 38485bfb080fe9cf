//! Topologies of 1, 2, 4 and 8 memory nodes, recorded or made up: see the first lines of `topologies/*.txt`, which hold
//! the files below `/sys/devices/system` as `path = content`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use apf_contention::placement::sweep;
use apf_contention::topology::Topology;

/// Unpacks a topology into files of the test's own.
fn unpacked(name: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/topologies").join(format!("{name}.txt"));
    let root = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("{name}-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
    if root.exists() {
        fs::remove_dir_all(&root).unwrap();
    }
    for line in fs::read_to_string(source).unwrap().lines().filter(|line| !line.starts_with('#')) {
        let (path, content) = line.split_once(" =").unwrap();
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{}\n", content.trim())).unwrap();
    }
    root
}

fn read(name: &str) -> Topology {
    Topology::read(&unpacked(name)).unwrap()
}

/// Names and processors of the placements.
fn placements(topology: &Topology) -> Vec<(&'static str, Vec<u32>)> {
    sweep(topology).into_iter().map(|placement| (placement.name, placement.threads)).collect()
}

#[test]
fn one_node_has_nothing_to_place() {
    let topology = read("one-node");
    assert_eq!(
        topology.to_string(),
        "2 processors, 2 cores, 1 last-level cache, 1 memory node; node 0: processors 0-1, distances 10; \
         cache: processors 0-1"
    );
    assert_eq!(topology.nodes_with_cpus(), 1);
    assert_eq!(
        placements(&topology),
        [
            ("one-core", vec![0, 0]),
            ("one-cache", vec![0, 1]),
            ("oversubscribed", vec![0, 1, 0, 1, 0, 1, 0, 1])
        ]
    );
}

#[test]
fn two_sockets_with_two_threads_a_core() {
    let topology = read("two-nodes");
    assert_eq!(
        topology.to_string(),
        "8 processors, 4 cores, 2 last-level caches, 2 memory nodes; node 0: processors 0-1,4-5, distances 10 21; \
         node 1: processors 2-3,6-7, distances 21 10; cache: processors 0-1,4-5; cache: processors 2-3,6-7"
    );
    let placements = placements(&topology);
    assert_eq!(placements[0], ("one-core", vec![0, 4]));
    assert_eq!(placements[1], ("one-cache", vec![0, 1, 4, 5]));
    assert_eq!(placements[2], ("all", (0..8).collect())); // a node is a cache here
    assert_eq!(placements[3].1.len(), 32);
}

#[test]
fn four_nodes_of_two_caches_without_the_processor_that_is_offline() {
    let topology = read("four-nodes");
    assert_eq!((topology.cpus.len(), topology.nodes.len()), (15, 4));
    assert_eq!(topology.nodes[1].cpus, [4, 6, 7].into());
    assert_eq!(topology.nodes[1].distances, [12, 10, 12, 12]);
    assert_eq!(topology.cpus[4].cache, [4].into());
    let placements = placements(&topology);
    assert_eq!(placements[0], ("one-core", vec![0, 0]));
    assert_eq!(placements[1], ("one-cache", vec![0, 1]));
    assert_eq!(placements[2], ("one-node", vec![0, 1, 2, 3]));
    assert_eq!(placements[3].1.len(), 15);
}

#[test]
fn eight_nodes_one_of_them_without_processors() {
    let topology = read("eight-nodes");
    assert_eq!((topology.nodes.len(), topology.nodes_with_cpus()), (8, 7));
    assert!(topology.nodes[7].cpus.is_empty());
    assert_eq!(topology.nodes[0].distances, [10, 12, 12, 12, 32, 32, 32, 32]);
    assert!(topology.to_string().contains("14 last-level caches"), "{topology}");
    assert_eq!(topology.cpus[13].node, 6);
    let names: Vec<_> = placements(&topology).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["one-core", "one-node", "all", "oversubscribed"]); // a cache is a core here
}

#[test]
fn without_memory_nodes_or_caches_there_is_one_node_and_a_cache_a_core() {
    let root = unpacked("two-nodes");
    fs::remove_dir_all(root.join("node")).unwrap();
    for cpu in 0..8 {
        fs::remove_dir_all(root.join(format!("cpu/cpu{cpu}/cache"))).unwrap();
        // As kernels up to 5.2 name it.
        let topology = root.join(format!("cpu/cpu{cpu}/topology"));
        fs::rename(topology.join("core_cpus_list"), topology.join("thread_siblings_list")).unwrap();
    }
    let topology = Topology::read(&root).unwrap();
    assert_eq!((topology.nodes.len(), topology.cpus[0].cache.len()), (1, 2));
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn errors_name_the_file() {
    let root = unpacked("four-nodes");
    let failure = |path: &str, content: &str| {
        let before = fs::read_to_string(root.join(path)).unwrap();
        fs::write(root.join(path), content).unwrap();
        let failure = Topology::read(&root).unwrap_err().to_string();
        fs::write(root.join(path), before).unwrap();
        assert!(failure.contains(path), "{failure} does not name {path}");
        failure.rsplit_once(": ").unwrap().1.to_owned()
    };
    assert_eq!(failure("cpu/online", "\n"), "no processor is online");
    assert_eq!(failure("cpu/online", "0-\n"), "`0-` is not a range of numbers");
    assert_eq!(failure("cpu/online", "0-4294967295\n"), "`0-4294967295` is not a range of numbers");
    assert_eq!(failure("cpu/cpu0/cache/index3/shared_cpu_list", "1-0"), "`1-0` is not a range of numbers");
    assert_eq!(failure("cpu/cpu0/cache/index3/level", "x"), "invalid digit found in string");
    assert_eq!(failure("node/node2/distance", "10 y"), "invalid digit found in string");
    fs::remove_file(root.join("cpu/cpu3/topology/core_cpus_list")).unwrap();
    let missing = Topology::read(&root).unwrap_err().to_string();
    assert!(missing.contains("cpu/cpu3/topology"), "{missing}");
}
