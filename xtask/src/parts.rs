//! `cargo xtask test`: a list of parts, each of which sets up what it needs and runs even if an earlier one failed.

use crate::shell::{Stop, cargo, program};
use crate::{
    abi, c, c_package, conformance, fuzz, go_binding, licences, loom, no_std, python, readme, setup,
};
use lexopt::prelude::*;
use std::time::Instant;

struct Part {
    name: &'static str,
    what: &'static str,
    run: fn() -> Result<(), Stop>,
}

/// In the order they run: what fails fastest comes first. Each binding adds its part here.
const PARTS: &[Part] = &[
    Part { name: "format", what: "rustfmt on every workspace", run: format },
    Part {
        name: "licences",
        what: "licences of all dependencies are on the allow-list",
        run: licences::check,
    },
    Part { name: "lint", what: "clippy on all targets, warnings denied", run: lint },
    Part {
        name: "rust",
        what: "unit and integration tests of every crate, conformance vectors among them",
        run: rust,
    },
    Part { name: "doctests", what: "examples in the documentation", run: doctests },
    Part { name: "docs", what: "rustdoc, warnings denied", run: docs },
    Part { name: "no-std", what: "apf-core links without std and without a panic", run: no_std::check },
    Part {
        name: "c-header",
        what: "include/apf.h is current, compiles, and names what libapf has",
        run: c::header,
    },
    Part { name: "c", what: "the C tests, and a panic behind every function", run: c::tests },
    Part {
        name: "c-cost",
        what: "a request in C beside one in Rust, batches beside single calls",
        run: c::cost,
    },
    Part { name: "c-races", what: "threads that race for one request, under Miri", run: c::races },
    Part { name: "abi", what: "the binary interface is the one that was promised", run: abi::check },
    Part {
        name: "c-package",
        what: "the installed package, and the examples built from it",
        run: c_package::check,
    },
    Part { name: "cpp", what: "apf.hpp, its tests, and 1,000,000 random calls", run: c_package::cpp },
    Part { name: "go", what: "format, vet and tests of the Go modules of the conformance tests", run: go },
    Part {
        name: "go-binding",
        what: "the Go package: race detector, cgo checks, vendored, shared library, fairness",
        run: go_binding::test,
    },
    Part {
        name: "python",
        what: "the wheel in fresh environments of every CPython here, its stub, its examples",
        run: python::tests,
    },
    Part {
        name: "conformance",
        what: "50,000 random events beside the reference",
        run: conformance::level_short,
    },
    Part {
        name: "server",
        what: "classification and borrowing beside the reference",
        run: conformance::server_short,
    },
    Part { name: "gate", what: "histories, suspended holders, no memory, no std", run: loom::gate },
    Part { name: "loom", what: "every interleaving of the gate's models", run: loom::short },
    Part { name: "schedules", what: "random schedules of five to eight threads", run: loom::some_schedules },
    Part {
        name: "gate-mutations",
        what: "every planted fault still applies to the gate",
        run: loom::mutations_apply,
    },
    Part { name: "fuzz-seeds", what: "the fuzz targets on their seeds and past findings", run: fuzz::seeds },
    Part { name: "readme", what: "the outputs shown in README.md", run: readme::check },
];

/// The workspaces that are not members of the main one.
const OWN_WORKSPACES: &[&str] = &["fuzz", no_std::FOLDER, python::FOLDER];

pub(crate) fn command(mut args: lexopt::Parser) -> Result<(), Stop> {
    let mut only: Vec<String> = Vec::new();
    while let Some(arg) = args.next()? {
        match arg {
            Long("only") => only.push(args.value()?.string()?),
            Long("list") => {
                for part in PARTS {
                    println!("{:<12} {}", part.name, part.what);
                }
                return Ok(());
            }
            other => return Err(other.unexpected().into()),
        }
    }
    if let Some(unknown) = only.iter().find(|name| !PARTS.iter().any(|part| part.name == name.as_str())) {
        return Err(Stop::Usage(format!("no part `{unknown}`; `cargo xtask test --list` lists them")));
    }
    let chosen: Vec<&Part> =
        PARTS.iter().filter(|part| only.is_empty() || only.iter().any(|name| name == part.name)).collect();
    run(&chosen)
}

fn run(chosen: &[&Part]) -> Result<(), Stop> {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let mut rows = Vec::new();
    for part in chosen {
        println!("\n== {}: {}", part.name, part.what);
        let begun = Instant::now();
        let (word, note) = match (part.run)() {
            Ok(()) => {
                passed += 1;
                ("passed", String::new())
            }
            Err(Stop::Skip(reason)) => {
                skipped += 1;
                println!("skipped {}: {reason}", part.name);
                ("skipped", reason)
            }
            Err(Stop::Fail(reason) | Stop::Usage(reason)) => {
                failed += 1;
                println!("FAILED {}: {reason}", part.name);
                ("FAILED", reason.lines().next().unwrap_or_default().to_owned())
            }
        };
        rows.push(format!("{:<12} {word:<8} {:>7.1} s  {note}", part.name, begun.elapsed().as_secs_f64()));
    }
    println!();
    for row in rows {
        println!("{}", row.trim_end());
    }
    println!("\n{passed} passed, {failed} failed, {skipped} skipped");
    let ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    if failed > 0 {
        Err(Stop::Fail(format!("{failed} of {} parts failed", chosen.len())))
    } else if ci && skipped > 0 {
        Err(Stop::Fail(format!("{skipped} parts were skipped, which CI does not allow")))
    } else {
        Ok(())
    }
}

/// The folders of [`OWN_WORKSPACES`] with their manifests, as arguments for cargo.
fn own_manifests() -> impl Iterator<Item = String> {
    OWN_WORKSPACES.iter().map(|folder| format!("{folder}/Cargo.toml"))
}

fn format() -> Result<(), Stop> {
    setup::component("rustfmt", "fmt")?;
    cargo(["fmt", "--all", "--check"]).run()?;
    for manifest in own_manifests() {
        cargo(["fmt", "--manifest-path", &manifest, "--check"]).run()?;
    }
    Ok(())
}

fn lint() -> Result<(), Stop> {
    setup::component("clippy", "clippy")?;
    cargo(["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]).run()?;
    fuzz::lint()?;
    python::lint()?;
    no_std::lint()
}

fn rust() -> Result<(), Stop> {
    cargo(["test", "--workspace", "--lib", "--bins", "--tests", "--locked", "--no-fail-fast"]).run()
}

fn doctests() -> Result<(), Stop> {
    cargo(["test", "--workspace", "--doc", "--locked"]).run()
}

fn docs() -> Result<(), Stop> {
    cargo(["doc", "--workspace", "--no-deps", "--locked"]).env("RUSTDOCFLAGS", "-D warnings").run()
}

/// Every Go module of the repository but those of the Go package, which need the library.
fn go() -> Result<(), Stop> {
    setup::go()?;
    let listed = program("git").args(["ls-files", "*go.mod"]).read()?;
    let modules = listed.lines().filter_map(|path| path.strip_suffix("/go.mod"));
    for module in modules.filter(|module| !module.starts_with("bindings/")) {
        let unformatted = program("gofmt").args(["-l", "."]).within(module).read()?;
        if !unformatted.trim().is_empty() {
            return Err(Stop::Fail(format!("gofmt would change in {module}: {}", unformatted.trim())));
        }
        program("go").args(["vet", "./..."]).within(module).run()?;
        program("go").args(["test", "./..."]).within(module).run()?;
    }
    Ok(())
}
