//! `cargo xtask sanitize`: the C and C++ tests under AddressSanitizer with UBSan, ThreadSanitizer and valgrind.
//!
//! Under the sanitizers libapf and the standard library of Rust are instrumented too, for which the Rust compiler has to be
//! a nightly one with `rust-src`; programs are compiled by gcc and linked with the runtime that comes with Rust. valgrind
//! looks at the library as it is installed.

use crate::c_package::tests;
use crate::setup;
use crate::shell::{Stop, cargo, fail, own_target_dir, program, root, target_dir};
use lexopt::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

const C_TESTS: &str = "bindings/c/tests";
const CPP_TESTS: &str = "bindings/cpp/tests";
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// What runs under each of them, and what it is told.
struct Kind {
    name: &'static str,
    sanitizer: Option<&'static str>,
    compiler: &'static [&'static str],
    environment: (&'static str, &'static str),
    /// Tests that make no sense under it, with the reason.
    without: &'static [(&'static str, &'static str)],
    wrong_calls: &'static str,
}

const KINDS: &[Kind] = &[
    Kind {
        name: "address",
        sanitizer: Some("address"),
        // Undefined behaviour traps, for gcc's runtime for it is not that of Rust.
        compiler: &["-fsanitize=address,undefined", "-fsanitize-undefined-trap-on-error"],
        environment: (
            "ASAN_OPTIONS",
            "detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:abort_on_error=0",
        ),
        without: &[],
        wrong_calls: "200000",
    },
    Kind {
        name: "thread",
        sanitizer: Some("thread"),
        compiler: &["-fsanitize=thread"],
        environment: ("TSAN_OPTIONS", "halt_on_error=1:second_deadlock_stack=1:die_after_fork=0"),
        without: &[],
        wrong_calls: "20000",
    },
    Kind {
        name: "valgrind",
        sanitizer: None,
        compiler: &[],
        environment: ("GLIBCXX_FORCE_NEW", "1"),
        without: &[],
        wrong_calls: "20000",
    },
];

const VALGRIND: &[&str] = &[
    "--quiet",
    "--error-exitcode=9",
    "--leak-check=full",
    "--errors-for-leak-kinds=definite",
    "--show-leak-kinds=definite",
    "--fair-sched=yes",
];

pub(crate) fn command(mut args: lexopt::Parser) -> Result<(), Stop> {
    let mut only: Vec<String> = Vec::new();
    while let Some(argument) = args.next()? {
        match argument {
            Long("only") => only.push(args.value()?.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    if let Some(unknown) = only.iter().find(|name| !KINDS.iter().any(|kind| kind.name == name.as_str())) {
        return Err(Stop::Usage(format!("no kind `{unknown}`: address, thread, valgrind")));
    }
    let mut failed = Vec::new();
    for kind in KINDS.iter().filter(|kind| only.is_empty() || only.iter().any(|name| name == kind.name)) {
        let begun = Instant::now();
        match run(kind) {
            Ok(programs) => println!(
                "{}: {programs} programs without a complaint, {:.0} s",
                kind.name,
                begun.elapsed().as_secs_f64()
            ),
            Err(Stop::Skip(reason)) => println!("{}: skipped, {reason}", kind.name),
            Err(Stop::Fail(reason) | Stop::Usage(reason)) => {
                println!("{}: FAILED, {reason}", kind.name);
                failed.push(kind.name);
            }
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Stop::Fail(format!("not without a complaint: {}", failed.join(", "))))
    }
}

/// The library for a kind of run, as what the linker is told.
fn library(kind: &Kind) -> Result<Vec<String>, Stop> {
    let panics = ["--package", "libapf", "--features", "panic-injection"];
    let Some(sanitizer) = kind.sanitizer else {
        setup::debian("valgrind", "valgrind")?;
        let target = own_target_dir("c-panic-injection-release");
        cargo(["build", "--release", "--locked"])
            .args(panics)
            .env("CARGO_TARGET_DIR", &target)
            .env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only")
            .run()?;
        return Ok(linked(&target.join("release"), None));
    };
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(Stop::Skip("the sanitizers are set up for Linux on x86-64".to_owned()));
    }
    let sysroot = program("rustc").args(["+nightly", "--print", "sysroot"]).read();
    let sysroot = sysroot.map_err(|_| {
        Stop::Skip(
            "there is no nightly Rust compiler (`rustup toolchain install nightly --component rust-src`)"
                .to_owned(),
        )
    })?;
    let sysroot = Path::new(sysroot.trim());
    if !sysroot.join("lib/rustlib/src/rust/library/std").is_dir() {
        return Err(Stop::Skip("the nightly Rust compiler has no rust-src".to_owned()));
    }
    let short = if sanitizer == "address" { "asan" } else { "tsan" };
    let runtime = sysroot.join(format!("lib/rustlib/{TARGET}/lib/librustc-nightly_rt.{short}.a"));
    let target = own_target_dir(&format!("c-{sanitizer}"));
    // The profile is that of development: with assertions.
    cargo(["+nightly", "build", "-Zbuild-std", "--target", TARGET, "--locked"])
        .args(panics)
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .env(
            "RUSTFLAGS",
            format!(
                "-Zsanitizer={sanitizer} -Cforce-frame-pointers=yes -Cunsafe-allow-abi-mismatch=sanitizer"
            ),
        )
        .without_env("RUSTC")
        .without_env("RUSTDOC")
        .without_env("CARGO")
        .without_env("RUSTUP_TOOLCHAIN")
        .run()?;
    Ok(linked(&target.join(TARGET).join("debug"), Some(&runtime)))
}

/// The static library, with a sanitizer's runtime whole.
fn linked(folder: &Path, runtime: Option<&Path>) -> Vec<String> {
    let mut words = vec![folder.join("libapf.a").display().to_string()];
    if let Some(runtime) = runtime {
        words.extend([
            "-Wl,--whole-archive".to_owned(),
            runtime.display().to_string(),
            "-Wl,--no-whole-archive".to_owned(),
            "-rdynamic".to_owned(),
        ]);
    }
    words.extend(["-lstdc++", "-lpthread", "-lrt", "-lm", "-ldl", "-lresolv"].map(str::to_owned));
    words
}

fn run(kind: &Kind) -> Result<usize, Stop> {
    let library = library(kind)?;
    let folder = target_dir().join("own/sanitize").join(kind.name);
    fs::create_dir_all(&folder).map_err(fail("making a folder"))?;
    let (mut programs, mut failed) = (0, Vec::new());
    for (tests_of, ending, compiler, standard) in
        [(C_TESTS, ".c", "gcc", "-std=c11"), (CPP_TESTS, ".cpp", "g++", "-std=c++17")]
    {
        for name in tests(tests_of, ending)? {
            if let Some((_, reason)) = kind.without.iter().find(|(without, _)| *without == name) {
                println!("{}: without {name}: {reason}", kind.name);
                continue;
            }
            let object = folder.join(format!("{name}.o"));
            let built = folder.join(&name);
            program(compiler)
                .args([
                    standard,
                    "-D_POSIX_C_SOURCE=200809L",
                    "-DAPF_PANIC_INJECTION",
                    "-g",
                    "-O1",
                    "-fno-omit-frame-pointer",
                    "-pthread",
                ])
                .args(kind.compiler)
                .args([
                    "-I",
                    "include",
                    "-I",
                    "bindings/cpp/include",
                    "-c",
                    &format!("{tests_of}/{name}{ending}"),
                    "-o",
                ])
                .args([&object])
                .read()?;
            // Not by `-fsanitize`: that would link gcc's runtime.
            program("gcc").args(["-pthread", "-o"]).args([&built, &object]).args(&library).read()?;
            programs += 1;
            match execute(kind, &name, &built) {
                Err(Stop::Fail(reason)) => failed.push(reason),
                other => other?,
            }
        }
    }
    if failed.is_empty() { Ok(programs) } else { Err(Stop::Fail(failed.join("\n"))) }
}

fn execute(kind: &Kind, name: &str, built: &PathBuf) -> Result<(), Stop> {
    let arguments: &[&str] = if name == "wrong_calls" { &[kind.wrong_calls] } else { &[] };
    let begun = Instant::now();
    // A program that hangs is one that complains.
    let command = program("timeout").args(["900"]);
    let command = if kind.sanitizer.is_some() { command } else { command.args(["valgrind"]).args(VALGRIND) };
    // A forked child has no use for what the threads had that it does not have: there that is no leak.
    let forked: &[&str] =
        if name == "forked" && kind.sanitizer.is_none() { &["--errors-for-leak-kinds=none"] } else { &[] };
    let command = command.args(forked).args([built]).args(arguments);
    let output = command.env(kind.environment.0, kind.environment.1).capture()?;
    if !output.success {
        let log = root().join(built.with_extension("log"));
        let _ = fs::write(&log, format!("{}{}", output.stdout, output.stderr));
        let first: Vec<&str> = output.stderr.lines().take(40).collect();
        return Err(Stop::Fail(format!(
            "{name}:\n{}\n(all of it is in {})",
            first.join("\n"),
            log.display()
        )));
    }
    println!("{}: {name} {:.1} s", kind.name, begun.elapsed().as_secs_f64());
    Ok(())
}
