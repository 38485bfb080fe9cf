//! Gives the shared library its name for the linker: the number is that of the ABI.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if matches!(system.as_str(), "linux" | "android" | "freebsd" | "netbsd" | "openbsd" | "dragonfly") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libapf.so.1");
    }
}
