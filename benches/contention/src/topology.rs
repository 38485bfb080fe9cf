//! Processors, caches and memory nodes, as Linux describes them in `/sys/devices/system`.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where Linux keeps it.
pub const SYSTEM: &str = "/sys/devices/system";

/// A logical processor and what it shares with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    /// Its number.
    pub id: u32,
    /// The processors of its core, itself included.
    pub core: BTreeSet<u32>,
    /// The processors that share its last cache.
    pub cache: BTreeSet<u32>,
    /// Its memory node.
    pub node: u32,
}

/// A memory node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub id: u32,
    /// Its processors that are online; none for a node of memory alone.
    pub cpus: BTreeSet<u32>,
    /// Relative distances to the nodes in order, its own 10.
    pub distances: Vec<u32>,
}

/// What is online of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// By number.
    pub cpus: Vec<Cpu>,
    /// By number.
    pub nodes: Vec<Node>,
}

/// A file that is not there, or not as Linux writes it.
#[derive(Debug)]
pub struct TopologyError {
    path: PathBuf,
    problem: String,
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl std::error::Error for TopologyError {}

fn error(path: &Path, problem: impl fmt::Display) -> TopologyError {
    TopologyError { path: path.to_owned(), problem: problem.to_string() }
}

fn text(path: &Path) -> Result<String, TopologyError> {
    std::fs::read_to_string(path).map(|text| text.trim().to_owned()).map_err(|problem| error(path, problem))
}

/// Numbers as Linux lists them: `0-3,8,10-11`, or nothing.
fn numbers(path: &Path) -> Result<BTreeSet<u32>, TopologyError> {
    let text = text(path)?;
    let mut found = BTreeSet::new();
    for range in text.split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        match (first.parse::<u32>(), last.parse::<u32>()) {
            (Ok(first), Ok(last)) if first <= last && last - first < 1 << 16 => found.extend(first..=last),
            _ => return Err(error(path, format_args!("`{range}` is not a range of numbers"))),
        }
    }
    Ok(found)
}

/// The processors that share the last cache of this one; its core's where no cache is described.
fn last_cache(cpu: &Path, core: &BTreeSet<u32>) -> Result<BTreeSet<u32>, TopologyError> {
    let mut last = (0, core.clone());
    for index in 0.. {
        let cache = cpu.join(format!("cache/index{index}"));
        if !cache.exists() {
            break;
        }
        let path = cache.join("level");
        let level: u32 = text(&path)?.parse().map_err(|problem| error(&path, problem))?;
        if level > last.0 && text(&cache.join("type"))? != "Instruction" {
            last = (level, numbers(&cache.join("shared_cpu_list"))?);
        }
    }
    Ok(last.1)
}

impl Topology {
    /// Reads it below `system`, usually [`SYSTEM`]. Without a description of memory nodes there is one.
    ///
    /// # Errors
    ///
    /// [`TopologyError`] names the file.
    pub fn read(system: &Path) -> Result<Self, TopologyError> {
        let online_path = system.join("cpu/online");
        let online = numbers(&online_path)?;
        if online.is_empty() {
            return Err(error(&online_path, "no processor is online"));
        }
        let nodes = Self::nodes(system, &online)?;
        let mut cpus = Vec::new();
        for &id in &online {
            let folder = system.join(format!("cpu/cpu{id}"));
            let newer = folder.join("topology/core_cpus_list");
            let older = folder.join("topology/thread_siblings_list"); // up to Linux 5.2
            let core = numbers(if newer.exists() { &newer } else { &older })?;
            let cache = last_cache(&folder, &core)?;
            let node = nodes.iter().find(|node| node.cpus.contains(&id)).map(|node| node.id);
            let node = node.ok_or_else(|| error(&folder, "the processor is in no memory node"))?;
            cpus.push(Cpu { id, core: &core & &online, cache: &cache & &online, node });
        }
        Ok(Self { cpus, nodes })
    }

    fn nodes(system: &Path, online: &BTreeSet<u32>) -> Result<Vec<Node>, TopologyError> {
        let listed = system.join("node/online");
        if !listed.exists() {
            return Ok(vec![Node { id: 0, cpus: online.clone(), distances: vec![10] }]);
        }
        let mut nodes = Vec::new();
        for id in numbers(&listed)? {
            let folder = system.join(format!("node/node{id}"));
            let path = folder.join("distance");
            let distances = text(&path)?.split_whitespace().map(str::parse).collect::<Result<_, _>>();
            let distances = distances.map_err(|problem| error(&path, problem))?;
            nodes.push(Node { id, cpus: &numbers(&folder.join("cpulist"))? & online, distances });
        }
        Ok(nodes)
    }

    /// The processors that some of them share something with, in groups.
    fn groups(&self, of: impl Fn(&Cpu) -> &BTreeSet<u32>) -> BTreeSet<&BTreeSet<u32>> {
        self.cpus.iter().map(of).collect()
    }

    /// Memory nodes with processors.
    pub fn nodes_with_cpus(&self) -> usize {
        self.nodes.iter().filter(|node| !node.cpus.is_empty()).count()
    }
}

/// `0-3,8` for a set.
fn ranges(set: &BTreeSet<u32>) -> String {
    let mut text = String::new();
    let mut open: Option<(u32, u32)> = None;
    let mut close = |range: Option<(u32, u32)>| {
        let Some((first, last)) = range else { return };
        let comma = if text.is_empty() { "" } else { "," };
        text += &if first == last { format!("{comma}{first}") } else { format!("{comma}{first}-{last}") };
    };
    for &number in set {
        open = match open {
            Some((first, last)) if last + 1 == number => Some((first, number)),
            earlier => {
                close(earlier);
                Some((number, number))
            }
        };
    }
    close(open);
    text
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural =
            |count: usize, name: &str| format!("{count} {name}{}", if count == 1 { "" } else { "s" });
        let (cores, caches) = (self.groups(|cpu| &cpu.core), self.groups(|cpu| &cpu.cache));
        write!(
            f,
            "{}, {}, {}, {}",
            plural(self.cpus.len(), "processor"),
            plural(cores.len(), "core"),
            plural(caches.len(), "last-level cache"),
            plural(self.nodes.len(), "memory node")
        )?;
        for node in &self.nodes {
            let distances: Vec<String> = node.distances.iter().map(u32::to_string).collect();
            let cpus = if node.cpus.is_empty() { "none".to_owned() } else { ranges(&node.cpus) };
            write!(f, "; node {}: processors {cpus}, distances {}", node.id, distances.join(" "))?;
        }
        for cache in caches {
            write!(f, "; cache: processors {}", ranges(cache))?;
        }
        Ok(())
    }
}
