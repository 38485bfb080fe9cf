//! `cargo xtask install --prefix DIR`: libapf as a C library is found, by pkg-config and by CMake.

use crate::shell::{Stop, cargo, fail, own_target_dir, program, root, target_dir};
use lexopt::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const HEADER: &str = "include/apf.h";
const TEMPLATES: &str = "bindings/c/package";

/// What a program that links the archive has to name besides it, on Linux with glibc. A test holds it to the compiler's list.
pub(crate) const PRIVATE: &[&str] = &["-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];

/// What every compiler driver links by itself, each in its own way: named again, `-static` would fail.
pub(crate) const OF_THE_COMPILER: &[&str] = &["-lgcc_s", "-lc"];

/// The library as cargo has built it.
pub(crate) struct Built {
    pub(crate) shared: PathBuf,
    pub(crate) archive: PathBuf,
}

pub(crate) fn command(mut args: lexopt::Parser) -> Result<(), Stop> {
    let mut prefix = None;
    while let Some(argument) = args.next()? {
        match argument {
            Long("prefix") => prefix = Some(PathBuf::from(args.value()?)),
            other => return Err(other.unexpected().into()),
        }
    }
    let prefix = prefix.ok_or_else(|| Stop::Usage("install needs --prefix DIR".to_owned()))?;
    let prefix = std::path::absolute(prefix).map_err(fail("the prefix"))?;
    for file in install(&build()?, &prefix)? {
        println!("{}", prefix.join(file).display());
    }
    Ok(())
}

/// Builds both libraries with all optimisations.
pub(crate) fn build() -> Result<Built, Stop> {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        return Err(Stop::Skip(
            "libraries are named, linked and installed as on Linux with glibc".to_owned(),
        ));
    }
    cargo(["build", "--release", "--locked", "--package", "libapf"]).run()?;
    let folder = target_dir().join("release");
    Ok(Built { shared: folder.join("libapf.so"), archive: folder.join("libapf.a") })
}

/// Puts everything below `prefix`; answers the paths within it.
pub(crate) fn install(built: &Built, prefix: &Path) -> Result<Vec<String>, Stop> {
    let header = fs::read_to_string(root().join(HEADER)).map_err(fail("reading the header"))?;
    let soname = format!("libapf.so.{}", abi_number(&header)?);
    let shared = format!("{soname}.{VERSION}");
    let mut to = Prefix { folder: prefix, files: Vec::new() };
    to.copy(&root().join(HEADER), "include/apf.h")?;
    to.copy(&root().join("bindings/cpp/include/apf.hpp"), "include/apf.hpp")?;
    to.copy(&built.shared, &format!("lib/{shared}"))?;
    to.link(&shared, &format!("lib/{soname}"))?;
    to.link(&soname, "lib/libapf.so")?;
    let archive = archive_of_one(&built.archive, &functions(&header))?;
    to.copy(&archive, "lib/libapf.a")?;

    let libraries: Vec<&str> = PRIVATE.iter().filter_map(|name| name.strip_prefix("-l")).collect();
    let (major, rest) = VERSION.split_once('.').unwrap_or((VERSION, "0"));
    let minor = rest.split('.').next().unwrap_or("0");
    let values = [
        ("VERSION", VERSION),
        ("MAJOR", major),
        ("MINOR", minor),
        ("POINTER", &size_of::<usize>().to_string()),
        ("SONAME", &soname),
        ("SHARED", &shared),
        ("PRIVATE", &PRIVATE.join(" ")),
        ("LIBRARIES", &libraries.join(";")),
    ];
    to.fill("apf.pc.in", "lib/pkgconfig/apf.pc", &values)?;
    to.fill("apfConfig.cmake.in", "lib/cmake/apf/apfConfig.cmake", &values)?;
    to.fill("apfConfigVersion.cmake.in", "lib/cmake/apf/apfConfigVersion.cmake", &values)?;

    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        to.copy(&root().join(licence), &format!("share/doc/apf/{licence}"))?;
    }
    to.write("share/doc/apf/LICENSES-OF-OTHERS.txt", &licences_of_others()?)?;
    Ok(to.files)
}

struct Prefix<'a> {
    folder: &'a Path,
    files: Vec<String>,
}

impl Prefix<'_> {
    fn place(&mut self, name: &str) -> Result<PathBuf, Stop> {
        let path = self.folder.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(fail("making a folder"))?;
        }
        // A new file rather than new contents: programs may have the old one loaded.
        let _ = fs::remove_file(&path);
        self.files.push(name.to_owned());
        Ok(path)
    }

    fn copy(&mut self, from: &Path, name: &str) -> Result<(), Stop> {
        let place = self.place(name)?;
        fs::copy(from, place).map(drop).map_err(fail(&format!("copying {}", from.display())))
    }

    fn write(&mut self, name: &str, text: &str) -> Result<(), Stop> {
        let place = self.place(name)?;
        fs::write(place, text).map_err(fail(&format!("writing {name}")))
    }

    fn link(&mut self, to: &str, name: &str) -> Result<(), Stop> {
        let place = self.place(name)?;
        std::os::unix::fs::symlink(to, place).map_err(fail(&format!("linking {name}")))
    }

    fn fill(&mut self, template: &str, name: &str, values: &[(&str, &str)]) -> Result<(), Stop> {
        let template = root().join(TEMPLATES).join(template);
        let mut text = fs::read_to_string(&template).map_err(fail("reading a template"))?;
        for (key, value) in values {
            text = text.replace(&format!("@{key}@"), value);
        }
        self.write(name, &text)
    }
}

fn abi_number(header: &str) -> Result<&str, Stop> {
    header
        .lines()
        .find_map(|line| line.strip_prefix("#define APF_ABI_VERSION "))
        .map(str::trim)
        .ok_or_else(|| Stop::Fail("apf.h has no APF_ABI_VERSION".to_owned()))
}

/// The names of the functions that the header declares, but for those of libraries that are built for tests.
pub(crate) fn functions(header: &str) -> BTreeSet<String> {
    prototypes(header).into_iter().map(|(_, name, _)| name).collect()
}

/// Result, name and parameters of every function that the header declares.
pub(crate) fn prototypes(header: &str) -> Vec<(String, String, String)> {
    let declared = header.split_once("extern \"C\" {").map_or("", |(_, rest)| rest);
    let declared = declared.split_once("}  // extern \"C\"").map_or(declared, |(own, _)| own);
    let mut lines = String::new();
    let mut skipping = false;
    for line in declared.lines() {
        match line {
            _ if line.starts_with("#if") => skipping = line.contains("APF_PANIC_INJECTION"),
            _ if line.starts_with("#endif") => skipping = false,
            _ if skipping || line.starts_with(['#', '/']) => {}
            _ => {
                lines.push_str(line);
                lines.push(' ');
            }
        }
    }
    let one = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (head, parameters) =
            words.join(" ").split_once('(').map(|(a, b)| (a.to_owned(), b.to_owned()))?;
        let (result, name) = head.rsplit_once(' ')?;
        Some((result.to_owned(), name.to_owned(), parameters.strip_suffix(')')?.to_owned()))
    };
    lines.split(';').filter_map(one).collect()
}

/// The archive as one object with no other global names than the functions of the header: a program can have another
/// Rust library beside it without two of anything.
fn archive_of_one(archive: &Path, functions: &BTreeSet<String>) -> Result<PathBuf, Stop> {
    let folder = own_target_dir("install");
    fs::create_dir_all(&folder).map_err(fail("making a folder"))?;
    let (whole, object, made) = (folder.join("whole.o"), folder.join("apf.o"), folder.join("libapf.a"));
    program("ld")
        .args(["-r", "--gc-sections", "--force-group-allocation"])
        .args(functions.iter().flat_map(|name| ["-u", name.as_str()]))
        .args([Path::new("-o"), &whole, archive])
        .read()?;
    // Bitcode that the standard library brings: of no use here, and tools of another LLVM stumble over it.
    program("objcopy")
        .args(["-w", "--keep-global-symbol=apf_*", "--remove-section=.llvmbc", "--remove-section=.llvmcmd"])
        .args([&whole, &object])
        .read()?;
    let _ = fs::remove_file(&made);
    program("ar").args(["rcsD"]).args([&made, &object]).read()?;
    Ok(made)
}

/// Names, licences and licence texts of the crates that are linked in.
fn licences_of_others() -> Result<String, Stop> {
    let metadata = cargo(["metadata", "--format-version", "1", "--locked"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .read()?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(fail("reading cargo metadata"))?;
    let text_of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, &Value> = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|package| (text_of(&package["id"]), package))
        .collect();
    let linked = linked(&metadata, &packages);
    let mut text = String::from(
        "libapf has these crates in it, and the standard library of Rust (MIT OR Apache-2.0, The Rust Project Developers).\n",
    );
    let others =
        linked.iter().filter_map(|id| packages.get(id)).filter(|package| !package["source"].is_null());
    for package in others {
        let (name, version) = (text_of(&package["name"]), text_of(&package["version"]));
        let _ = write!(text, "\n==== {name} {version}: {}\n", text_of(&package["license"]));
        let folder = PathBuf::from(text_of(&package["manifest_path"]));
        let folder = folder.parent().unwrap_or(Path::new("."));
        let mut files: Vec<PathBuf> = fs::read_dir(folder)
            .map_err(fail(&format!("the folder of {name}")))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.is_file() && is_licence(path))
            .collect();
        files.sort();
        for file in files {
            let own = fs::read_to_string(&file).map_err(fail("reading a licence"))?;
            let _ = write!(text, "\n{}\n", own.trim());
        }
    }
    Ok(text)
}

fn is_licence(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_uppercase();
    ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"]
        .iter()
        .any(|word| name.starts_with(word))
}

/// The ids of everything that libapf links, itself included.
fn linked(metadata: &Value, packages: &BTreeMap<String, &Value>) -> BTreeSet<String> {
    let mut todo: Vec<String> = packages
        .iter()
        .filter(|(_, package)| package["name"] == "libapf")
        .map(|(id, _)| id.clone())
        .collect();
    let nodes = metadata["resolve"]["nodes"].as_array().map_or(&[][..], Vec::as_slice);
    let mut found = BTreeSet::new();
    while let Some(id) = todo.pop() {
        if !found.insert(id.clone()) {
            continue;
        }
        let node = nodes.iter().find(|node| node["id"] == id.as_str());
        for dependency in node.and_then(|node| node["deps"].as_array()).into_iter().flatten() {
            let normal = |kind: &Value| kind["kind"].is_null();
            let macros = |id: &str| {
                packages.get(id).is_some_and(|package| {
                    package["targets"][0]["kind"]
                        .as_array()
                        .is_some_and(|kinds| kinds.iter().any(|kind| kind == "proc-macro"))
                })
            };
            let id = dependency["pkg"].as_str().unwrap_or_default();
            if dependency["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(normal)) && !macros(id)
            {
                todo.push(id.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prototypes_are_read_across_lines_and_without_those_of_tests() {
        let header = "extern \"C\" {\n// One; two (three).\nuint32_t apf_one(void);\n\n#if defined(APF_PANIC_INJECTION)\nint32_t apf_test_x(int a);\n#endif\n// More.\nstruct apf_str apf_two(const char *a,\n    size_t b);\n}  // extern \"C\"\nstatic int apf_no(void) { return 1; }\n";
        let text = |(a, b, c): (&str, &str, &str)| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(
            prototypes(header),
            [
                text(("uint32_t", "apf_one", "void")),
                text(("struct apf_str", "apf_two", "const char *a, size_t b"))
            ]
        );
    }
}
