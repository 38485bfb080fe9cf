//! The C interface: the header is the one that its crate makes, the C tests pass, and the border costs little.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lexopt::prelude::*;

use crate::setup;
use crate::shell::{Program, Stop, cargo, fail, own_target_dir, program, root, target_dir};

const CRATE: &str = "crates/apf-ffi";
const HEADER: &str = "include/apf.h";
const TESTS: &str = "bindings/c/tests";
const PAGE: &str = "docs/c.md";
/// Panics are planted in a library of its own.
const PANICS: &str = "panics";
const CBINDGEN: &str = "0.29.4";

/// Every warning that has something to say about a header or a small program.
const WARNINGS: &[&str] = &[
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wshadow",
    "-Wconversion",
    "-Wsign-conversion",
    "-Wundef",
    "-Wcast-qual",
    "-Wvla",
    "-Werror",
];

/// `cargo xtask header [--write]`.
pub(crate) fn header_command(mut args: lexopt::Parser) -> Result<(), Stop> {
    let mut write = false;
    while let Some(arg) = args.next()? {
        match arg {
            Long("write") => write = true,
            other => return Err(other.unexpected().into()),
        }
    }
    if write { make_header(&root().join(HEADER)) } else { header_is_current() }
}

fn make_header(to: &Path) -> Result<(), Stop> {
    setup::cargo_tool("cbindgen", CBINDGEN, &["--version"])?;
    program("cbindgen")
        .args(["--quiet", "--config", "cbindgen.toml", "--crate", "apf-ffi", ".", "--output"])
        .args([to])
        .within(CRATE)
        .run()
}

fn header_is_current() -> Result<(), Stop> {
    let made = target_dir().join("apf.h");
    make_header(&made)?;
    let read = |path: &Path| std::fs::read_to_string(path).map_err(fail("reading a header"));
    if read(&made)? != read(&root().join(HEADER))? {
        let _ = program("diff").args(["-u", HEADER]).args([&made]).run();
        return Err(Stop::Fail(format!(
            "{HEADER} is not what {CRATE} makes: `cargo xtask header --write` mends it"
        )));
    }
    println!("{HEADER} is what cbindgen {CBINDGEN} makes of {CRATE}");
    Ok(())
}

/// The header is the crate's, compiles in both languages, included twice, and says what the library has.
pub(crate) fn header() -> Result<(), Stop> {
    header_is_current()?;
    let folder = own_target_dir("c-header");
    std::fs::create_dir_all(&folder).map_err(fail("making a folder"))?;
    let includes = "#include \"apf.h\"\n#include \"apf.h\"\n";
    let unit = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).map(|()| path).map_err(fail("writing a test program"))
    };
    let main = format!(
        "{includes}unsigned other(void);\nint main(void) {{ return other() != apf_abi_version(); }}\n"
    );
    let other =
        format!("{includes}unsigned other(void);\nunsigned other(void) {{ return APF_ABI_VERSION; }}\n");
    let library = library(&[])?;
    for (compiler, standard, ending) in
        [("cc", "c11", "c"), ("cc", "c17", "c"), ("c++", "c++17", "cpp"), ("c++", "c++20", "cpp")]
    {
        let units = [unit(&format!("main.{ending}"), &main)?, unit(&format!("other.{ending}"), &other)?];
        let built = folder.join(format!("header-{standard}"));
        compile(compiler, standard, &library).args(&units).args([Path::new("-o"), &built]).run()?;
        start(&built).run()?;
    }
    let declared = functions_of_the_header()?;
    let exported = exported(&library.join("libapf.so"))?;
    if declared != exported {
        let lost: Vec<_> = declared.symmetric_difference(&exported).collect();
        return Err(Stop::Fail(format!("header and library differ in {lost:?}")));
    }
    println!("the library exports the header's {} functions and nothing else", declared.len());
    Ok(())
}

/// The library with these features, with the name that programs look for beside it. Answers its folder.
pub(crate) fn library(features: &[&str]) -> Result<PathBuf, Stop> {
    let target =
        if features.is_empty() { target_dir() } else { own_target_dir(&format!("c-{}", features.join("-"))) };
    cargo(["build", "--locked", "--package", "libapf"])
        .args(features.iter().flat_map(|feature| ["--features", *feature]))
        .env("CARGO_TARGET_DIR", &target)
        .run()?;
    let folder = target.join("debug");
    named_for_programs(&folder)?;
    Ok(folder)
}

/// Programs look for the library by the name that it carries: `libapf.so.1`.
fn named_for_programs(folder: &Path) -> Result<(), Stop> {
    let link = folder.join("libapf.so.1");
    let _ = std::fs::remove_file(&link);
    std::fs::hard_link(folder.join("libapf.so"), &link).map_err(fail("linking libapf.so.1"))
}

/// A compiler that finds the header and the library.
fn compile(compiler: &str, standard: &str, library: &Path) -> Program {
    let library = library.display();
    let c_only: &[&str] = if compiler == "cc" { &["-Wstrict-prototypes"] } else { &[] };
    program(compiler)
        .args([&format!("-std={standard}"), "-D_POSIX_C_SOURCE=200809L", "-g", "-O1", "-pthread"])
        .args(WARNINGS)
        .args(c_only)
        .args(["-I", "include", &format!("-L{library}"), &format!("-Wl,-rpath,{library}")])
        .args(["-Wl,--no-as-needed", "-lapf"])
}

/// A program that finds its library by itself: cargo names a folder with another one for what it runs.
fn start(built: &Path) -> Program {
    program(built).without_env("LD_LIBRARY_PATH")
}

fn functions_of_the_header() -> Result<BTreeSet<String>, Stop> {
    let text = std::fs::read_to_string(root().join(HEADER)).map_err(fail("reading the header"))?;
    // Declarations begin in the first column, and those of `static inline` functions do not.
    let names = text
        .lines()
        .filter(|line| !line.starts_with([' ', '/', '#', '*', '}']) && !line.starts_with("static"));
    let names = names.filter_map(|line| {
        let (before, _) = line.split_once('(')?;
        let name = before.rsplit([' ', '*']).next()?;
        name.starts_with("apf_").then(|| name.to_owned())
    });
    Ok(names.filter(|name| name != "apf_test_panic_at").collect())
}

fn exported(library: &Path) -> Result<BTreeSet<String>, Stop> {
    let symbols = program("nm")
        .args(["--dynamic", "--defined-only", "--format=just-symbols"])
        .args([library])
        .read()?;
    Ok(symbols.lines().map(str::to_owned).collect())
}

/// Every C program of the tests, and the panics.
pub(crate) fn tests() -> Result<(), Stop> {
    setup::installed("cc", "the C tests are compiled with it")?;
    let plain = library(&[])?;
    let mut names: Vec<String> = std::fs::read_dir(root().join(TESTS))
        .map_err(fail("reading the C tests"))?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".c").map(str::to_owned))
        .collect();
    names.sort();
    for name in names.iter().filter(|name| *name != PANICS) {
        run(name, &plain, &[])?;
    }
    every_entry_point_has_a_panic()?;
    run(PANICS, &library(&["panic-injection"])?, &["-DAPF_PANIC_INJECTION"])?;
    let on_the_page = programs_of_the_page(&plain)?;
    println!("{} C programs passed, and {on_the_page} on the page", names.len());
    Ok(())
}

/// The programs shown in `docs/c.md` compile and run. Answers how many there are.
fn programs_of_the_page(library: &Path) -> Result<usize, Stop> {
    let page = std::fs::read_to_string(root().join(PAGE)).map_err(fail("reading the page"))?;
    let programs = page.split("\n```c\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let mut count = 0;
    for (number, text) in programs.enumerate() {
        let name = format!("page-{number}");
        let path = own_target_dir("c-tests").join(format!("{name}.c"));
        std::fs::write(&path, format!("{text}\n")).map_err(fail("writing a program of the page"))?;
        run_program(&name, &path, library, &[])?;
        count += 1;
    }
    if count < 2 { Err(Stop::Fail(format!("{PAGE} shows {count} programs"))) } else { Ok(count) }
}

fn run(name: &str, library: &Path, more: &[&str]) -> Result<(), Stop> {
    run_program(name, &root().join(TESTS).join(format!("{name}.c")), library, more)
}

fn run_program(name: &str, source: &Path, library: &Path, more: &[&str]) -> Result<(), Stop> {
    let folder = own_target_dir("c-tests");
    std::fs::create_dir_all(&folder).map_err(fail("making a folder"))?;
    let built = folder.join(name);
    compile("cc", "c11", library).args(more).args([source, Path::new("-o"), &built]).run()?;
    let output = start(&built).capture()?;
    if !output.success {
        return Err(Stop::Fail(format!(
            "the C program `{name}` failed:\n{}{}",
            output.stdout, output.stderr
        )));
    }
    print!("{}", output.stdout);
    Ok(())
}

/// Functions that cannot fail have no status to answer a panic with: they hand out constants.
const CONSTANT: &[&str] =
    &["apf_abi_version", "apf_version", "apf_status_name", "apf_status_text", "apf_reason_name"];

fn every_entry_point_has_a_panic() -> Result<(), Stop> {
    let text =
        std::fs::read_to_string(root().join(TESTS).join("panics.c")).map_err(fail("reading panics.c"))?;
    let planted = |name: &String| {
        text.contains(&format!("POINT({name},")) || text.contains(&format!("apf_str_of(\"{name}\")"))
    };
    let lacking: Vec<_> = functions_of_the_header()?
        .into_iter()
        .filter(|name| !CONSTANT.contains(&name.as_str()) && !planted(name))
        .collect();
    if lacking.is_empty() {
        return Ok(());
    }
    Err(Stop::Fail(format!("panics.c plants no panic in {lacking:?}")))
}

/// Threads that race for one request, under Miri.
pub(crate) fn races() -> Result<(), Stop> {
    let miri = || program("cargo").args(["+nightly", "miri", "--version"]).capture();
    if !miri().is_ok_and(|output| output.success) {
        let added = program("rustup")
            .args(["toolchain", "install", "nightly", "--profile", "minimal"])
            .args(["--component", "miri,rust-src"])
            .run();
        added.map_err(|_| {
            Stop::Skip("a nightly compiler with Miri is missing and cannot be added".to_owned())
        })?;
    }
    cargo(["+nightly", "miri", "test", "--locked", "--package", "apf-ffi", "--test", "interleavings"])
        .env("MIRIFLAGS", "-Zmiri-disable-isolation")
        .env("CARGO_TARGET_DIR", own_target_dir("c-miri"))
        .run()
}

/// The border beside the Rust call, and batches beside single calls.
pub(crate) fn cost() -> Result<(), Stop> {
    cargo(["build", "--release", "--locked", "--package", "libapf"]).run()?;
    let library = target_dir().join("release/libapf.so");
    let bench = || {
        cargo(["bench", "--locked", "--package", "apf-ffi", "--bench", "border"])
            .env("APF_LIBRARY", &library)
            .env("SLICES", "300")
            .run()
    };
    // A busy machine may spoil one run.
    bench().or_else(|_| bench()).or_else(|_| bench())
}
