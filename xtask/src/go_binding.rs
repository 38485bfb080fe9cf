//! `bindings/go`: puts the static library beside the package, and tests the package in every way it is used.

use crate::setup;
use crate::shell::{Program, Stop, cargo, fail, program, root, target_dir};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

const PACKAGE: &str = "bindings/go";
/// Modules that need the package and what it must not need itself.
const MODULES: &[&str] = &["bindings/go-bench", "bindings/go-grpc", "bindings/go-k8s"];

/// The system and processor of this machine, as Go calls them; the package has static libraries for these alone.
fn platform() -> Result<&'static str, Stop> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Ok("linux_amd64"),
        ("linux", "aarch64") => Ok("linux_arm64"),
        (system, processor) => {
            Err(Stop::Skip(format!("the Go package has no static library for {system} on {processor}")))
        }
    }
}

/// Builds the static library and puts it, and the header, where the Go package has them.
pub(crate) fn archive() -> Result<(), Stop> {
    let platform = platform()?;
    cargo(["build", "--quiet", "--release", "--locked", "--package", "libapf"]).run()?;
    let folder = root().join(PACKAGE);
    let header = fs::read(root().join("include/apf.h")).map_err(fail("apf.h"))?;
    if !fs::read(folder.join("apf.h")).is_ok_and(|old| old == header) {
        fs::write(folder.join("apf.h"), header).map_err(fail("apf.h"))?;
    }
    let library = fs::read(target_dir().join("release/libapf.a")).map_err(fail("libapf.a"))?;
    let archive = folder.join(format!("lib/{platform}/libapf.a"));
    if !fs::read(&archive).is_ok_and(|old| old == library) {
        fs::write(&archive, &library).map_err(fail("libapf.a"))?;
    }
    // Go does not look into libraries for what has changed, but it does into headers.
    let mut hasher = DefaultHasher::new();
    library.hash(&mut hasher);
    let stamp = format!("// Made with libapf.a: {:016x}\n", hasher.finish());
    fs::write(folder.join(format!("archive_{platform}.h")), stamp).map_err(fail("the library's stamp"))
}

fn go<const N: usize>(args: [&str; N]) -> Program {
    program("go").args(args).within(PACKAGE)
}

fn formatted(module: &str) -> Result<(), Stop> {
    let unformatted = program("gofmt").args(["-l", "."]).within(module).read()?;
    if unformatted.trim().is_empty() {
        return Ok(());
    }
    Err(Stop::Fail(format!("gofmt would change in {module}: {}", unformatted.trim())))
}

pub(crate) fn test() -> Result<(), Stop> {
    setup::go()?;
    archive()?;
    formatted(PACKAGE)?;
    go(["vet", "./..."]).run()?;
    go(["test", "./..."]).run()?;
    go(["test", "-short", "-race", "./..."]).run()?;
    // Every pointer that is handed to C, and every one that is stored where C might see it.
    go(["test", "-short", "./..."]).env("GODEBUG", "cgocheck=1").run()?;
    go(["test", "-short", "."]).env("GOEXPERIMENT", "cgocheck2").run()?;
    traces()?;
    // A quiet client beside a noisy one, with the middleware and without.
    go(["run", "./apfhttp/fairness", "-alone", "3s", "-together", "4s"]).run()?;
    vendored()?;
    says_what_is_missing()?;
    dynamic()?;
    for module in MODULES {
        formatted(module)?;
        program("go").args(["vet", "./..."]).within(module).run()?;
        program("go").args(["test", "./..."]).within(module).run()?;
    }
    Ok(())
}

/// Configurations of the conformance generator whose traces a server's configuration can follow: those of the others go on
/// for years, of which the dispatcher would adjust its limits every ten seconds.
const CONFIGURATIONS: &[&str] = &["1", "3", "4", "5", "6", "8", "9", "10"];

/// Random traces through the package give the decisions of the core.
fn traces() -> Result<(), Stop> {
    let folder = scratch("traces")?;
    let core = |args: &[&str]| {
        cargo(["run", "--quiet", "--release", "--locked", "--package", "apf-conformance", "--"])
            .args(args)
            .read()
    };
    for seed in ["2", "3", "4", "5", "6", "7"] {
        for configuration in CONFIGURATIONS {
            let name = format!("seed-{seed}-configuration-{configuration}");
            let args = ["generate", "--seed", seed, "--config", configuration, "--events", "2000"];
            let trace = format!("{name}.trace");
            write(&folder, &trace, &core(&args)?)?;
            let path = folder.join(&trace).to_string_lossy().into_owned();
            let decisions = core(&["run", "--mode", "default", &path])?;
            write(&folder, &format!("{name}.expected"), &decisions)?;
        }
    }
    go(["test", "-count=1", "-run", "TestTraces", "."]).env("APF_TRACES", folder.as_os_str()).run()
}

/// An empty folder for a step.
fn scratch(name: &str) -> Result<PathBuf, Stop> {
    let folder = target_dir().join("go-binding").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(fail("a folder to work in"))?;
    Ok(folder)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), Stop> {
    fs::write(folder.join(name), text).map_err(fail(name))
}

/// A program of another module builds from a vendored copy of the package and runs, with nothing else around.
fn vendored() -> Result<(), Stop> {
    let folder = scratch("vendored")?;
    let package = root().join(PACKAGE);
    write(
        &folder,
        "go.mod",
        &format!(
            "module apf.invalid/vendoring\n\ngo 1.25\n\nrequire apf.invalid/bindings/go v0.0.0\n\nreplace apf.invalid/bindings/go => {}\n",
            package.display()
        ),
    )?;
    write(
        &folder,
        "main.go",
        r#"package main

import (
	"context"
	"fmt"

	apf "apf.invalid/bindings/go"
)

func main() {
	dispatcher, err := apf.New(apf.Options{})
	if err != nil {
		panic(err)
	}
	permit, err := dispatcher.Acquire(context.Background(), &apf.Request{User: "a", Verb: "get", Path: "/"})
	if err != nil {
		panic(err)
	}
	permit.Release()
	fmt.Println(permit.Level())
}
"#,
    )?;
    program("go").args(["mod", "vendor"]).within(&folder).run()?;
    let copy = folder.join("vendor/apf.invalid/bindings/go");
    if !copy.join(format!("lib/{}/libapf.a", platform()?)).is_file() {
        return Err(Stop::Fail("vendoring has left libapf.a behind".to_owned()));
    }
    let printed = program("go").args(["run", "-mod=vendor", "."]).within(&folder).read()?;
    if printed.trim() != "catch-all" {
        return Err(Stop::Fail(format!("the vendored program printed `{}`", printed.trim())));
    }
    Ok(())
}

/// Without cgo, and without the library, the build fails in words that say what to do.
fn says_what_is_missing() -> Result<(), Stop> {
    let without_cgo = go(["build", "."]).env("CGO_ENABLED", "0").capture()?;
    if without_cgo.success || !without_cgo.stderr.contains("set_CGO_ENABLED_to_1") {
        return Err(Stop::Fail(format!("without cgo the build says:\n{}", without_cgo.stderr)));
    }
    let folder = scratch("without-library")?;
    for entry in fs::read_dir(root().join(PACKAGE)).map_err(fail("the package"))? {
        let path = entry.map_err(fail("the package"))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() && !name.starts_with("archive_") {
            fs::copy(&path, folder.join(&name)).map_err(fail("copying the package"))?;
        }
    }
    for platform in ["linux_amd64", "linux_arm64"] {
        let part = format!("lib/{platform}");
        fs::create_dir_all(folder.join(&part)).map_err(fail("copying the package"))?;
        let name = format!("{part}/package.go");
        fs::copy(root().join(PACKAGE).join(&name), folder.join(&name))
            .map_err(fail("copying the package"))?;
    }
    let without_library = program("go").args(["build", "."]).within(&folder).capture()?;
    if without_library.success || !without_library.stderr.contains("run `cargo xtask go-archive`") {
        return Err(Stop::Fail(format!("without the library the build says:\n{}", without_library.stderr)));
    }
    Ok(())
}

/// The shared library, found by pkg-config.
fn dynamic() -> Result<(), Stop> {
    setup::installed("pkg-config", "it finds the shared library")?;
    let folder = scratch("dynamic")?;
    let release = target_dir().join("release");
    for name in ["libapf.so", "libapf.so.1"] {
        fs::copy(release.join("libapf.so"), folder.join(name)).map_err(fail("libapf.so"))?;
    }
    write(
        &folder,
        "apf.pc",
        &format!(
            "Name: apf\nDescription: API Priority and Fairness\nVersion: 0.1.0\nLibs: -L{0} -lapf\nCflags:\n",
            folder.display()
        ),
    )?;
    let tests = "TestARequest|TestContexts|TestH2|TestNumbers|Example";
    go(["test", "-tags", "apf_dynamic", "-run", tests, "."])
        .env("PKG_CONFIG_PATH", folder.as_os_str())
        .env("LD_LIBRARY_PATH", folder.as_os_str())
        .run()
}
