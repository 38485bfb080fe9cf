//! The binary interface, described by `abidw` and compared with the committed description by `abidiff`.
//!
//! Rust's debug information describes all of the crate's insides as well. So the description is made from a library in C
//! that has the header's functions, empty; what the real library exports, and how the Rust compiler has laid out the
//! structures, is then held to it.

use crate::install::{functions, prototypes};
use crate::setup;
use crate::shell::{Stop, cargo, fail, own_target_dir, program, root, target_dir};
use lexopt::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const HEADER: &str = "include/apf.h";
const COMMITTED: &str = "bindings/c/package/libapf.abi";

/// Size of a structure, and the place and the name of each field.
type Layout = (u64, Vec<(u64, String)>);

/// Those of the structures, by name.
type Layouts = BTreeMap<String, Layout>;

pub(crate) fn command(mut args: lexopt::Parser) -> Result<(), Stop> {
    let mut write = false;
    while let Some(argument) = args.next()? {
        match argument {
            Long("write") => write = true,
            other => return Err(other.unexpected().into()),
        }
    }
    if !write {
        return check();
    }
    tools()?;
    fs::copy(describe_header()?, root().join(COMMITTED)).map(drop).map_err(fail("writing the description"))
}

fn tools() -> Result<(), Stop> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(Stop::Skip("the description is of the interface on Linux and x86-64".to_owned()));
    }
    setup::debian("cc", "gcc")?;
    setup::debian("abidw", "abigail-tools")
}

/// The part `abi`.
pub(crate) fn check() -> Result<(), Stop> {
    tools()?;
    let header = describe_header()?;
    let compared = program("abidiff").args([root().join(COMMITTED), header.clone()]).capture()?;
    if !compared.success {
        return Err(Stop::Fail(format!(
            "the binary interface is not that of {COMMITTED}:\n{}{}\nWhat docs/abi.md allows is taken by `cargo xtask abi --write`; for the rest APF_ABI_VERSION moves on.",
            compared.stdout, compared.stderr
        )));
    }
    cargo(["build", "--locked", "--package", "libapf"]).run()?;
    let library = target_dir().join("debug/libapf.so");
    exports(&library)?;
    let described = layouts(&read(&header)?);
    let compiled = layouts(&read(&describe(&library, "libapf.abi")?)?);
    let wrong: Vec<&String> = described
        .iter()
        .filter(|(name, own)| compiled.get(*name) != Some(own))
        .map(|(name, _)| name)
        .collect();
    if described.is_empty() || !wrong.is_empty() {
        return Err(Stop::Fail(format!(
            "of {} structures these are laid out otherwise in Rust than in C: {wrong:?}",
            described.len()
        )));
    }
    let fields: usize = described.values().map(|(_, fields)| fields.len()).sum();
    println!(
        "abidiff: no difference; {} structures with {fields} fields are laid out in Rust as in C",
        described.len()
    );
    Ok(())
}

fn read(path: &Path) -> Result<String, Stop> {
    fs::read_to_string(path).map_err(fail(&format!("reading {}", path.display())))
}

fn exports(library: &Path) -> Result<(), Stop> {
    let listed = program("nm")
        .args(["--dynamic", "--defined-only", "--format=just-symbols"])
        .args([library])
        .read()?;
    let exported: BTreeSet<String> = listed.lines().map(str::to_owned).collect();
    let declared = functions(&read(&root().join(HEADER))?);
    if exported == declared {
        return Ok(());
    }
    let lost: Vec<_> = declared.symmetric_difference(&exported).collect();
    Err(Stop::Fail(format!("the library and the header differ in {lost:?}")))
}

/// The description of a library in C with the header's functions.
fn describe_header() -> Result<PathBuf, Stop> {
    let header = read(&root().join(HEADER))?;
    let mut text = String::from("#include \"apf.h\"\n");
    for (result, name, parameters) in prototypes(&header) {
        let _ = writeln!(text, "{result} {name}({parameters}) {{ __builtin_trap(); }}");
    }
    // No function mentions an enumeration, and what no function mentions is not compared.
    let enumerations: Vec<String> = header
        .lines()
        .filter_map(|line| {
            line.strip_prefix("enum ")?.split_whitespace().next().map(|name| format!("enum {name}"))
        })
        .collect();
    let _ = writeln!(text, "void enumerations_of_the_header({});", enumerations.join(", "));
    let named: Vec<String> =
        enumerations.iter().enumerate().map(|(number, one)| format!("{one} a{number}")).collect();
    let used: String = (0..named.len()).map(|number| format!("(void)a{number}; ")).collect();
    let _ = writeln!(text, "void enumerations_of_the_header({}) {{ {used}}}", named.join(", "));
    let folder = own_target_dir("abi");
    fs::create_dir_all(&folder).map_err(fail("making a folder"))?;
    let library = folder.join("header.so");
    fs::write(folder.join("header.c"), text).map_err(fail("writing a library in C"))?;
    // From within its folder, for the path of the source is in the description.
    program("cc")
        .args([
            "-std=c11",
            "-g",
            "-O0",
            "-shared",
            "-fPIC",
            "-w",
            "-Wl,-soname,libapf.so.1",
            "header.c",
            "-o",
        ])
        .args(["header.so".as_ref(), "-I".as_ref(), root().join("include").as_path()])
        .within(&folder)
        .read()?;
    describe(&library, "header.abi")
}

fn describe(library: &Path, name: &str) -> Result<PathBuf, Stop> {
    let described = own_target_dir("abi").join(name);
    program("abidw")
        .args(["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed"])
        .args(["--type-id-style", "hash", "--out-file"])
        .args([&described, library])
        .read()?;
    Ok(described)
}

/// The structures called `apf_...` that a description knows the fields of.
fn layouts(description: &str) -> Layouts {
    let mut found = Layouts::new();
    let mut current: Option<(String, Layout)> = None;
    let mut place = 0;
    for line in description.lines().map(str::trim) {
        if line.starts_with("<class-decl ") && !line.ends_with("/>") {
            let name = attribute(line, "name").unwrap_or_default();
            let size = attribute(line, "size-in-bits").and_then(|size| size.parse().ok());
            current =
                size.filter(|_| name.starts_with("apf_")).map(|size| (name.to_owned(), (size, Vec::new())));
        } else if line.starts_with("<data-member ") {
            place =
                attribute(line, "layout-offset-in-bits").and_then(|at| at.parse().ok()).unwrap_or(u64::MAX);
        } else if line.starts_with("<var-decl ") {
            if let Some((_, (_, fields))) = &mut current {
                fields.push((place, attribute(line, "name").unwrap_or_default().to_owned()));
            }
        } else if line == "</class-decl>"
            && let Some((name, (size, mut fields))) = current.take()
        {
            // Rust lists them in the order of the source, which is that of C; the description need not.
            fields.sort();
            found.insert(name, (size, fields));
        }
    }
    found
}

fn attribute<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_once(&format!(" {name}='"))?.1.split('\'').next()
}
