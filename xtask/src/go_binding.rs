//! `bindings/go`: puts the static library beside the package, and tests the package in every way it is used.

use crate::shell::{Stop, cargo, fail, root, target_dir};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};

const PACKAGE: &str = "bindings/go";

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

/// Builds the static library and puts it where the Go package links it from.
pub(crate) fn archive() -> Result<(), Stop> {
    let platform = platform()?;
    cargo(["build", "--quiet", "--release", "--locked", "--package", "libapf"]).run()?;
    let library = fs::read(target_dir().join("release/libapf.a")).map_err(fail("libapf.a"))?;
    let folder = root().join(PACKAGE);
    let archive = folder.join(format!("lib/{platform}/libapf.a"));
    if fs::read(&archive).is_ok_and(|old| old == library) {
        return Ok(());
    }
    fs::write(&archive, &library).map_err(fail("libapf.a"))?;
    // Go does not look into libraries for what has changed, but it does into headers.
    let mut hasher = DefaultHasher::new();
    library.hash(&mut hasher);
    let header = format!("// Made with libapf.a: {:016x}\n", hasher.finish());
    fs::write(folder.join(format!("archive_{platform}.h")), header).map_err(fail("the library's header"))
}
