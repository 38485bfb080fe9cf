//! Runs the benchmarks and reads what they print.

use super::{Effort, Figure};
use crate::setup;
use crate::shell::{Stop, cargo, fail, program, target_dir};
use serde_json::Value;
use std::path::Path;

/// Must be the version in `benches/Cargo.toml`: runner and library refuse to work with another one.
const GUNGRAUN: &str = "0.20.0";
/// How often `benches/benches/instructions.rs` repeats its work.
const TIMES: f64 = 1000.0;
const REFERENCE: &str = "benches/peers/reference";

/// What the figures were measured on, name and value; without anything that tells whose machine it is.
pub(super) fn machine() -> Result<Vec<(&'static str, String)>, Stop> {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let model = model.trim_start_matches([' ', '\t', ':']).to_owned();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let version = |name: &str, args: &[&str]| {
        let printed = program(name).args(args).capture().map(|output| output.stdout).unwrap_or_default();
        printed.lines().next().unwrap_or("not installed").to_owned()
    };
    let go_mod = std::fs::read_to_string(crate::shell::root().join(REFERENCE).join("go.mod"));
    let go_mod = go_mod.map_err(fail("reading the reference's go.mod"))?;
    let apiserver = go_mod.split_whitespace().skip_while(|word| *word != "k8s.io/apiserver").nth(1);
    Ok(vec![
        ("CPU", model),
        ("cores", cores.to_string()),
        ("system", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
        ("Rust", version("rustc", &["--version"])),
        ("Go", version("go", &["version"])),
        ("valgrind", version("valgrind", &["--version"])),
        ("k8s.io/apiserver", apiserver.unwrap_or("unknown").to_owned()),
    ])
}

fn figure(name: String, value: f64, unit: &'static str) -> Figure {
    Figure { name, value, unit, peer: None, ratio: None }
}

/// Instructions per request, from callgrind.
pub(super) fn instructions() -> Result<Vec<Figure>, Stop> {
    setup::installed("valgrind", "it counts the instructions; Debian's package `valgrind`")?;
    setup::cargo_tool("gungraun-runner", GUNGRAUN, &["--version"])?;
    eprintln!("instructions: callgrind runs each benchmark once");
    let printed =
        cargo(["bench", "--quiet", "--locked", "--package", "apf-benches", "--bench", "instructions"])
            .args(["--", "--output-format=json"])
            .read()?;
    let mut figures = Vec::new();
    for line in printed.lines().filter(|line| line.starts_with('{')) {
        let summary: Value = serde_json::from_str(line).map_err(fail("reading a gungraun summary"))?;
        let counted = &summary["profiles"][0]["data"]["total"]["metrics"]["Ir"]["values"]["new"];
        let (Some(work), Some(id), Some(counted)) =
            (summary["function_name"].as_str(), summary["id"].as_str(), counted.as_f64())
        else {
            return Err(Stop::Fail(format!("a gungraun summary without a count: {line}")));
        };
        let size = id.trim_start_matches(|c: char| !c.is_ascii_digit());
        figures.push(figure(format!("instructions/{work}/{size}"), counted / TIMES, "instructions/request"));
    }
    if figures.is_empty() { Err(Stop::Fail("gungraun printed no summary".to_owned())) } else { Ok(figures) }
}

/// Medians of the wall clock, from criterion.
pub(super) fn wall_clock(effort: Effort) -> Result<Vec<Figure>, Stop> {
    let home = target_dir().join("criterion-apf");
    if home.exists() {
        std::fs::remove_dir_all(&home).map_err(fail("removing earlier results"))?;
    }
    let times: &[&str] = match effort {
        Effort::Quick => &["--warm-up-time", "0.3", "--measurement-time", "0.7", "--sample-size", "20"],
        Effort::Full => &["--warm-up-time", "1", "--measurement-time", "4"],
    };
    cargo([
        "bench",
        "--quiet",
        "--locked",
        "--package",
        "apf-benches",
        "--bench",
        "wall_clock",
        "--",
        "--noplot",
    ])
    .args(times)
    .env("CRITERION_HOME", &home)
    .output_to_stderr()
    .run()?;
    let mut figures = Vec::new();
    for group in children(&home)? {
        for size in children(&group)? {
            let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Ok(text) = std::fs::read_to_string(size.join("new/estimates.json")) else { continue };
            let estimates: Value =
                serde_json::from_str(&text).map_err(fail("reading criterion's estimates"))?;
            let median = estimates["median"]["point_estimate"].as_f64();
            let median = median.ok_or_else(|| Stop::Fail("criterion wrote no median".to_owned()))?;
            figures.push(figure(format!("time/{}/{}", name(&group), name(&size)), median, "ns/request"));
        }
    }
    figures.sort_by_key(|figure| {
        let (series, size) = figure.name.rsplit_once('/').unwrap_or_default();
        (series.to_owned(), size.parse::<u32>().unwrap_or(0))
    });
    Ok(figures)
}

fn children(folder: &Path) -> Result<Vec<std::path::PathBuf>, Stop> {
    let entries = std::fs::read_dir(folder).map_err(fail("listing criterion's results"))?;
    Ok(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect())
}

/// Allocations per request; the test that counts them fails on more than none.
pub(super) fn allocations() -> Result<Vec<Figure>, Stop> {
    let printed = cargo(["test", "--quiet", "--release", "--locked", "--package", "apf-benches"])
        .args(["--test", "allocations", "--", "--nocapture", "--test-threads=1"])
        .read()?;
    let measured = measured_lines(&printed, "allocations/request")?;
    Ok(measured.into_iter().filter(|figure| figure.name != "allocations/control").collect())
}

/// Figures that a program of ours printed as `measured NAME VALUE`.
fn measured_lines(printed: &str, unit: &'static str) -> Result<Vec<Figure>, Stop> {
    let mut figures = Vec::new();
    // The test runner may print its dots before them on the same line.
    for line in printed.lines().filter_map(|line| line.split_once("measured ").map(|(_, rest)| rest)) {
        let parsed = line.split_once(' ').and_then(|(name, value)| Some((name, value.trim().parse().ok()?)));
        let Some((name, value)) = parsed else {
            return Err(Stop::Fail(format!("not a measured figure: `{line}`")));
        };
        figures.push(figure(name.to_owned(), value, unit));
    }
    if figures.is_empty() { Err(Stop::Fail("no figure was printed".to_owned())) } else { Ok(figures) }
}

/// Simulated requests per second of one core, in each mode.
pub(super) fn simulator() -> Result<Vec<Figure>, Stop> {
    let mut figures = Vec::new();
    for mode in ["default", "exact"] {
        let printed = cargo([
            "run",
            "--quiet",
            "--release",
            "--locked",
            "--package",
            "apf-sim",
            "--example",
            "saturated",
        ])
        .args(["--", "5000000", mode])
        .read()?;
        let rate = printed.lines().find_map(|line| line.split_once(" requests a second")?.0.parse().ok());
        let rate = rate.ok_or_else(|| Stop::Fail(format!("the simulator printed no figure:\n{printed}")))?;
        figures.push(figure(format!("simulator/saturated-{mode}/64"), rate, "requests/s"));
    }
    Ok(figures)
}

/// The Kubernetes queue set on the same work.
pub(super) fn reference(effort: Effort) -> Result<Vec<Figure>, Stop> {
    setup::go()?;
    let time = match effort {
        Effort::Quick => "300ms",
        Effort::Full => "2s",
    };
    let printed = program("go")
        .args([
            "test",
            "-run",
            "^$",
            "-bench",
            "Idle|Saturated",
            "-benchmem",
            "-cpu",
            "1",
            "-benchtime",
            time,
            "./...",
        ])
        .within(REFERENCE)
        .read()?;
    let mut figures: Vec<Figure> = printed.lines().filter_map(reference_line).flatten().collect();
    // Times first, then allocations.
    figures.sort_by_key(|figure| figure.name.starts_with("reference-allocations/"));
    if figures.is_empty() {
        Err(Stop::Fail(format!("the reference printed no figure:\n{printed}")))
    } else {
        Ok(figures)
    }
}

/// `BenchmarkIdle/queues=64   1000   5852 ns/op   1570 B/op   32 allocs/op`
fn reference_line(line: &str) -> Option<[Figure; 2]> {
    let mut words = line.strip_prefix("Benchmark")?.split_whitespace();
    let (work, size) = words.next()?.split_once("/queues=")?;
    let work = work.to_lowercase();
    let words: Vec<&str> = words.collect();
    let before = |unit: &str| words.windows(2).find(|pair| pair[1] == unit)?[0].parse().ok();
    Some([
        figure(format!("reference/{work}/{size}"), before("ns/op")?, "ns/request"),
        figure(format!("reference-allocations/{work}/{size}"), before("allocs/op")?, "allocations/request"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_go_test_gives_time_and_allocations() {
        let line =
            "BenchmarkSaturated/queues=1024 \t  5000\t    184296 ns/op\t  129584 B/op\t    3847 allocs/op";
        let [time, allocations] = reference_line(line).unwrap();
        assert_eq!((time.name.as_str(), time.value), ("reference/saturated/1024", 184_296.0));
        assert_eq!(
            (allocations.name.as_str(), allocations.value),
            ("reference-allocations/saturated/1024", 3847.0)
        );
        assert_eq!(reference_line("ok  \tbenches/reference\t5.809s"), None);
    }

    #[test]
    fn measured_lines_are_found_behind_the_dots_of_the_test_runner() {
        let figures = measured_lines("\nrunning 1 test\n.measured allocations/queued 0\n", "x").unwrap();
        assert_eq!((figures[0].name.as_str(), figures[0].value), ("allocations/queued", 0.0));
        assert!(measured_lines("measured nonsense", "x").is_err());
        assert!(measured_lines("nothing", "x").is_err());
    }
}
