//! The installed package: what is in it, and the examples built and run from it as a user would, by pkg-config and by CMake.

use crate::install::{self, Built};
use crate::setup;
use crate::shell::{Program, Stop, cargo, fail, own_target_dir, program, root, target_dir};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const C_EXAMPLES: &str = "bindings/c/examples";
const CPP_EXAMPLES: &str = "bindings/cpp/examples";
const CPP_TESTS: &str = "bindings/cpp/tests";

pub(crate) const WARNINGS: &[&str] =
    &["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wsign-conversion", "-Werror"];
pub(crate) const CPP_WARNINGS: &[&str] = &["-Wold-style-cast", "-Wnon-virtual-dtor", "-Woverloaded-virtual"];

/// How many random calls the tests make; each has the totals read twice.
const WRONG_CALLS: &str = "1000000";

/// A tree that has been installed and then moved.
struct Installed {
    prefix: PathBuf,
}

impl Installed {
    fn new() -> Result<(Self, Built), Stop> {
        for (name, package) in
            [("cc", "gcc"), ("c++", "g++"), ("pkg-config", "pkg-config"), ("cmake", "cmake")]
        {
            setup::debian(name, package)?;
        }
        let built = install::build()?;
        let folder = own_target_dir("c-package");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(fail("making a folder"))?;
        let (first, prefix) = (folder.join("first"), folder.join("moved here"));
        install::install(&built, &first)?;
        fs::rename(&first, &prefix).map_err(fail("moving the installed tree"))?;
        Ok((Self { prefix }, built))
    }

    fn library(&self, name: &str) -> PathBuf {
        self.prefix.join("lib").join(name)
    }

    /// What pkg-config says with these arguments.
    fn pkg_config(&self, arguments: &[&str]) -> Result<Vec<String>, Stop> {
        let said = program("pkg-config")
            .args(arguments)
            .args(["apf"])
            .env("PKG_CONFIG_PATH", self.prefix.join("lib/pkgconfig"))
            .read()?;
        // A blank in a path is written with a backslash.
        let words = said.trim().replace("\\ ", "\0");
        Ok(words.split(' ').filter(|word| !word.is_empty()).map(|word| word.replace('\0', " ")).collect())
    }

    /// Runs a program that has been linked with the shared library.
    fn run(&self, built: &Path) -> Program {
        program(built).env("LD_LIBRARY_PATH", self.prefix.join("lib"))
    }
}

/// The part `c-package`.
pub(crate) fn check() -> Result<(), Stop> {
    let (installed, _) = Installed::new()?;
    contents(&installed)?;
    symbols(&installed)?;
    needs()?;
    let pkg_config = by_pkg_config(&installed)?;
    let cmake = by_cmake(&installed)?;
    for folder in [&pkg_config, &cmake] {
        minimal(&installed.run(&folder.join("minimal")).read()?)?;
        minimal(&installed.run(&folder.join("minimal-cpp")).read()?)?;
    }
    static_programs(&installed)?;
    http_server(&installed, &pkg_config.join("http_server"))?;
    load_test(&installed, &cmake.join("load_test"))?;
    println!("the examples built from the installed package by pkg-config and by CMake do what they say");
    Ok(())
}

fn contents(installed: &Installed) -> Result<(), Stop> {
    let dynamic =
        program("readelf").args(["--dynamic", "--wide"]).args([installed.library("libapf.so")]).read()?;
    let soname = dynamic.lines().find(|line| line.contains("(SONAME)")).unwrap_or_default();
    if !soname.contains("[libapf.so.1]") {
        return Err(Stop::Fail(format!("the shared library is not called libapf.so.1: {soname}")));
    }
    if let Some(line) = dynamic.lines().find(|line| line.contains("(RPATH)") || line.contains("(RUNPATH)")) {
        return Err(Stop::Fail(format!("the shared library has a path of this machine in it: {line}")));
    }
    for name in
        ["include/apf.h", "include/apf.hpp", "share/doc/apf/LICENSE-MIT", "share/doc/apf/LICENSE-APACHE"]
    {
        if !installed.prefix.join(name).is_file() {
            return Err(Stop::Fail(format!("{name} is not installed")));
        }
    }
    let others = installed.prefix.join("share/doc/apf/LICENSES-OF-OTHERS.txt");
    let others = fs::read_to_string(others).map_err(fail("reading the licences of others"))?;
    let crates: Vec<&str> = others.split("\n==== ").skip(1).collect();
    // A heading and two lines are no licence.
    let bare: Vec<&str> =
        crates.iter().filter(|one| one.lines().count() < 5).filter_map(|one| one.lines().next()).collect();
    if crates.is_empty() || !bare.is_empty() {
        return Err(Stop::Fail(format!("{} crates linked, without a licence text: {bare:?}", crates.len())));
    }
    println!("licences of {} crates that are linked", crates.len());
    Ok(())
}

/// Both libraries have the functions of the header, and no other global name.
fn symbols(installed: &Installed) -> Result<(), Stop> {
    let header =
        fs::read_to_string(installed.prefix.join("include/apf.h")).map_err(fail("reading the header"))?;
    let declared = install::functions(&header);
    for (library, which) in [("libapf.so", "--dynamic"), ("libapf.a", "--extern-only")] {
        let listed = program("nm")
            .args([which, "--defined-only", "--format=just-symbols"])
            .args([installed.library(library)])
            .read()?;
        let names = listed.lines().map(str::trim).filter(|line| !line.is_empty() && !line.ends_with(".o:"));
        let exported: BTreeSet<String> = names.map(str::to_owned).collect();
        if exported != declared {
            let lost: Vec<_> = declared.symmetric_difference(&exported).collect();
            return Err(Stop::Fail(format!("{library} and the header differ in {lost:?}")));
        }
    }
    println!(
        "libapf.so and libapf.a have the header's {} functions and no other global name",
        declared.len()
    );
    Ok(())
}

/// The list in `apf.pc` is the compiler's, but for what every compiler driver links by itself.
fn needs() -> Result<(), Stop> {
    let list = target_dir().join("libapf-needs.txt");
    let print = format!("--print=native-static-libs={}", list.display());
    let build = || {
        cargo(["rustc", "--locked", "--package", "libapf", "--crate-type", "staticlib", "--", &print]).run()
    };
    build()?;
    if !list.is_file() {
        // It was linked before and the list has been lost.
        cargo(["clean", "--locked", "--package", "libapf"]).run()?;
        build()?;
    }
    let said = fs::read_to_string(&list).map_err(fail("reading what the static library needs"))?;
    let said: BTreeSet<&str> =
        said.split_whitespace().filter(|name| !install::OF_THE_COMPILER.contains(name)).collect();
    let listed: BTreeSet<&str> = install::PRIVATE.iter().copied().collect();
    if said != listed {
        return Err(Stop::Fail(format!("the static library needs {said:?}, and apf.pc lists {listed:?}")));
    }
    let text = fs::read_to_string(root().join("docs/abi.md")).map_err(fail("reading docs/abi.md"))?;
    if !text.contains(&install::PRIVATE.join(" ")) {
        return Err(Stop::Fail(format!("docs/abi.md does not list `{}`", install::PRIVATE.join(" "))));
    }
    println!("the static library needs {}", install::PRIVATE.join(" "));
    Ok(())
}

fn compile(language: &str) -> Program {
    match language {
        "c" => program("cc").args(["-std=c11", "-O1"]).args(WARNINGS),
        _ => program("c++").args(["-std=c++17", "-O1", "-pthread"]).args(WARNINGS).args(CPP_WARNINGS),
    }
}

/// The examples: source, language, and the program's name.
const EXAMPLES: &[(&str, &str, &str)] = &[
    ("bindings/c/examples/minimal.c", "c", "minimal"),
    ("bindings/c/examples/http_server.c", "c", "http_server"),
    ("bindings/cpp/examples/minimal.cpp", "c++", "minimal-cpp"),
    ("bindings/cpp/examples/load_test.cpp", "c++", "load_test"),
];

fn by_pkg_config(installed: &Installed) -> Result<PathBuf, Stop> {
    let folder = installed.prefix.with_file_name("by-pkg-config");
    fs::create_dir_all(&folder).map_err(fail("making a folder"))?;
    let flags = installed.pkg_config(&["--cflags", "--libs"])?;
    for (source, language, name) in EXAMPLES {
        compile(language).args([source, "-o"]).args([folder.join(name)]).args(&flags).run()?;
    }
    Ok(folder)
}

fn by_cmake(installed: &Installed) -> Result<PathBuf, Stop> {
    let folder = installed.prefix.with_file_name("by-cmake");
    let configure = |source: &str, build: &Path, setting: &str| {
        program("cmake")
            .args(["-S", source, "-Wno-dev", setting, "-B"])
            .args([build])
            .args([format!("-DCMAKE_PREFIX_PATH={}", installed.prefix.display())])
    };
    for (variant, setting) in [("shared", "-DAPF_USE_STATIC=OFF"), ("static", "-DAPF_USE_STATIC=ON")] {
        for (source, name) in [(C_EXAMPLES, "c"), (CPP_EXAMPLES, "cpp")] {
            let build = folder.join(format!("{variant}-{name}"));
            configure(source, &build, setting).read()?;
            program("cmake").args(["--build"]).args([&build]).read()?;
        }
        // A static program needs no library beside it.
        if variant == "static" {
            minimal(&program(folder.join("static-c/minimal")).read()?)?;
            minimal(&program(folder.join("static-cpp/minimal")).read()?)?;
        }
    }
    for (from, to) in [
        ("shared-c/minimal", "minimal"),
        ("shared-cpp/minimal", "minimal-cpp"),
        ("shared-cpp/load_test", "load_test"),
    ] {
        fs::copy(folder.join(from), folder.join(to)).map_err(fail("copying a program"))?;
    }
    // Another major version is not this one.
    let wanting = folder.join("wanting");
    fs::create_dir_all(&wanting).map_err(fail("making a folder"))?;
    let text = "cmake_minimum_required(VERSION 3.16)\nproject(x LANGUAGES C)\nfind_package(apf 1.0 CONFIG REQUIRED)\n";
    fs::write(wanting.join("CMakeLists.txt"), text).map_err(fail("writing a CMake project"))?;
    let output = configure(&wanting.display().to_string(), &wanting.join("build"), "-DX=1").capture()?;
    if output.success || !output.stderr.contains("version: 0.1.0") {
        return Err(Stop::Fail(format!(
            "CMake takes version 0.1 for 1.0, or does not find it:\n{}",
            output.stderr
        )));
    }
    Ok(folder)
}

/// The static library, alone beside the shared system libraries and without any of them.
fn static_programs(installed: &Installed) -> Result<(), Stop> {
    let folder = installed.prefix.with_file_name("static");
    fs::create_dir_all(&folder).map_err(fail("making a folder"))?;
    let flags = installed.pkg_config(&["--cflags"])?;
    let listed = installed.pkg_config(&["--static", "--libs"])?;
    for (source, language, name) in EXAMPLES.iter().filter(|(_, _, name)| name.starts_with("minimal")) {
        let built = folder.join(name);
        compile(language)
            .args([source, "-o"])
            .args([&built, &installed.library("libapf.a")])
            .args(&flags)
            .args(install::PRIVATE)
            .run()?;
        minimal(&program(&built).read()?)?;
        // `-static` takes the archive where both libraries are there.
        let built = folder.join(format!("{name}-alone"));
        compile(language).args([source, "-static", "-o"]).args([&built]).args(&flags).args(&listed).run()?;
        minimal(&program(&built).read()?)?;
    }
    Ok(())
}

fn minimal(printed: &str) -> Result<(), Stop> {
    if printed == "global-default by global-default\n" {
        return Ok(());
    }
    Err(Stop::Fail(format!("the minimal program printed {printed:?}")))
}

/// A noisy flow waits, quiet ones hardly do.
fn load_test(installed: &Installed, built: &Path) -> Result<(), Stop> {
    let printed = installed.run(built).args(["2", "4", "40"]).read()?;
    print!("{printed}");
    let row = |name: &str| -> Option<Vec<f64>> {
        let line = printed.lines().find(|line| line.split_whitespace().next() == Some(name))?;
        line.split_whitespace().skip(1).map(|word| word.parse().ok()).collect()
    };
    let (Some(noisy), Some(quiet), Some(other)) = (row("noisy"), row("quiet-1"), row("quiet-2")) else {
        return Err(Stop::Fail("the load test has no row for each flow".to_owned()));
    };
    // Columns: workers, admitted, rejected, p50, p99, max.
    for flow in [&quiet, &other] {
        if flow[1] < 20.0 || flow[3] * 3.0 > noisy[3] {
            return Err(Stop::Fail("a quiet flow waits as a noisy one does".to_owned()));
        }
    }
    Ok(())
}

/// Ends the server whatever happens.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn http_server(installed: &Installed, built: &Path) -> Result<(), Stop> {
    // One seat and a quarter of a second of work: of a user's requests one works, some wait, the others are refused.
    let mut command = Command::new(built);
    command
        .args(["0", "1", "250"])
        .env("LD_LIBRARY_PATH", installed.prefix.join("lib"))
        .stdout(Stdio::piped());
    let mut server = Running(command.spawn().map_err(fail("starting the HTTP server"))?);
    let mut line = String::new();
    if let Some(output) = server.0.stdout.take() {
        BufReader::new(output).read_line(&mut line).map_err(fail("reading what the server prints"))?;
    }
    let port: u16 = line.rsplit(' ').next().and_then(|port| port.trim().parse().ok()).unwrap_or_default();
    let answers = thread::scope(|scope| {
        let asking: Vec<_> = (0..12).map(|_| scope.spawn(move || ask(port, "/work", "alice"))).collect();
        thread::sleep(Duration::from_millis(50));
        // Somebody who waits and hangs up.
        drop(connect(port, "/work", "bob"));
        asking
            .into_iter()
            .map(|one| one.join().unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into())))
            .collect::<Vec<_>>()
    });
    let mut served = 0;
    let mut refused = 0;
    for answer in answers {
        let answer = answer.map_err(fail("asking the HTTP server"))?;
        if answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("done\n") {
            served += 1;
        } else if answer.starts_with("HTTP/1.1 429 Too Many Requests\r\n")
            && retry_after(&answer).is_some_and(|seconds| (1..=32).contains(&seconds))
            && answer.ends_with("queue-full\n")
        {
            refused += 1;
        } else {
            return Err(Stop::Fail(format!("the HTTP server answered {answer:?}")));
        }
    }
    // A hand of two queues with two places each, and the one seat.
    if served < 3 || refused < 5 || served + refused != 12 {
        return Err(Stop::Fail(format!("the HTTP server served {served} and refused {refused} of 12")));
    }
    let metrics = settled(port)?;
    for expected in [
        format!(
            "apiserver_flowcontrol_dispatched_requests_total{{flow_schema=\"web\",priority_level=\"web\"}} {served}"
        ),
        format!(
            "apiserver_flowcontrol_rejected_requests_total{{flow_schema=\"web\",priority_level=\"web\",reason=\"queue-full\"}} {refused}"
        ),
        "apiserver_flowcontrol_current_inqueue_requests{flow_schema=\"web\",priority_level=\"web\"} 0"
            .to_owned(),
        "apiserver_flowcontrol_current_executing_requests{flow_schema=\"web\",priority_level=\"web\"} 0"
            .to_owned(),
    ] {
        if !metrics.contains(&expected) {
            let own: Vec<&str> = metrics
                .lines()
                .filter(|line| line.contains("\"web\"") && line.contains("requests"))
                .collect();
            return Err(Stop::Fail(format!(
                "the HTTP server's metrics do not say `{expected}`:\n{}",
                own.join("\n")
            )));
        }
    }
    let ended = program("kill")
        .args(["-TERM", &server.0.id().to_string()])
        .run()
        .and_then(|()| server.0.wait().map_err(fail("waiting for the HTTP server")))?;
    if !ended.success() {
        return Err(Stop::Fail(format!("the HTTP server ended with {ended}")));
    }
    println!("HTTP server: {served} served, {refused} told 429 with Retry-After, one hung up in its queue");
    Ok(())
}

fn retry_after(answer: &str) -> Option<u32> {
    answer.lines().find_map(|line| line.strip_prefix("Retry-After: "))?.parse().ok()
}

/// The metrics once nothing runs or waits any more.
fn settled(port: u16) -> Result<String, Stop> {
    let begun = Instant::now();
    loop {
        let metrics = ask(port, "/metrics", "").map_err(fail("asking for metrics"))?;
        let busy = |line: &str| {
            (line.starts_with("apiserver_flowcontrol_current_inqueue_requests{")
                || line.starts_with("apiserver_flowcontrol_current_executing_requests{"))
                && !line.ends_with(" 0")
        };
        if !metrics.lines().any(busy) || begun.elapsed() > Duration::from_secs(20) {
            return Ok(metrics);
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn connect(port: u16, path: &str, user: &str) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Remote-User: {user}\r\n\r\n")?;
    Ok(stream)
}

fn ask(port: u16, path: &str, user: &str) -> std::io::Result<String> {
    let mut answer = String::new();
    connect(port, path, user)?.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The part `cpp`: the header alone, in every standard it is for, and the C++ tests.
pub(crate) fn cpp() -> Result<(), Stop> {
    let (installed, _) = Installed::new()?;
    let folder = installed.prefix.with_file_name("cpp-tests");
    fs::create_dir_all(&folder).map_err(fail("making a folder"))?;
    let flags = installed.pkg_config(&["--cflags", "--libs"])?;
    let units = [
        ("one.cpp", "#include <apf.hpp>\n#include <apf.hpp>\nint other();\nint main() { return other(); }\n"),
        ("two.cpp", "#include <apf.hpp>\nint other();\nint other() { return apf::compatible() ? 0 : 1; }\n"),
    ];
    for (name, text) in units {
        fs::write(folder.join(name), text).map_err(fail("writing a test program"))?;
    }
    for standard in [
        &["-std=c++17"][..],
        &["-std=c++20"],
        &["-std=c++23"],
        &["-std=c++17", "-fno-exceptions", "-fno-rtti"],
    ] {
        let built = folder.join("header");
        program("c++")
            .args(standard)
            .args(WARNINGS)
            .args(CPP_WARNINGS)
            .args([folder.join("one.cpp"), folder.join("two.cpp"), PathBuf::from("-o"), built.clone()])
            .args(&flags)
            .run()?;
        installed.run(&built).run()?;
    }
    for name in tests(CPP_TESTS, ".cpp")? {
        let built = folder.join(&name);
        compile("c++")
            .args([format!("{CPP_TESTS}/{name}.cpp"), "-g".to_owned(), "-o".to_owned()])
            .args([&built])
            .args(&flags)
            .run()?;
        let arguments: &[&str] = if name == "wrong_calls" { &[WRONG_CALLS] } else { &[] };
        print!("{}", installed.run(&built).args(arguments).read()?);
    }
    document(&installed, &folder)
}

/// The names of the programs in a folder of tests.
pub(crate) fn tests(folder: &str, ending: &str) -> Result<Vec<String>, Stop> {
    let mut names: Vec<String> = fs::read_dir(root().join(folder))
        .map_err(fail("reading a folder of tests"))?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(ending).map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}

/// The programs in docs/cpp.md: the first is the example, the others are parts of one function with an engine.
fn document(installed: &Installed, folder: &Path) -> Result<(), Stop> {
    let text = fs::read_to_string(root().join("docs/cpp.md")).map_err(fail("reading docs/cpp.md"))?;
    let blocks: Vec<&str> =
        text.split("```cpp\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let example = fs::read_to_string(root().join(CPP_EXAMPLES).join("minimal.cpp"))
        .map_err(fail("reading the example"))?;
    let own = |text: &str| text[text.find("#include").unwrap_or_default()..].trim().to_owned();
    if blocks.first().map(|block| own(block)) != Some(own(&example)) {
        return Err(Stop::Fail(
            "the first program of docs/cpp.md is not bindings/cpp/examples/minimal.cpp".to_owned(),
        ));
    }
    let mut program_text = "#include <apf.hpp>\n#include <iostream>\n".to_owned();
    for (number, block) in blocks.iter().skip(1).enumerate() {
        program_text +=
            &format!("static void part{number}(apf::engine& engine) {{\n(void)engine;\n{block}}}\n");
    }
    program_text += "int main() {\nauto engine = apf::engine::make().value();\n";
    for number in 0..blocks.len().saturating_sub(1) {
        program_text += &format!("part{number}(engine);\n");
    }
    program_text += "}\n";
    let source = folder.join("document.cpp");
    fs::write(&source, program_text).map_err(fail("writing the programs of docs/cpp.md"))?;
    let built = folder.join("document");
    let flags = installed.pkg_config(&["--cflags", "--libs"])?;
    program("c++")
        .args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-pthread"])
        .args([&source, Path::new("-o"), &built])
        .args(&flags)
        .run()?;
    installed.run(&built).read()?;
    println!("docs/cpp.md: {} programs built and run", blocks.len());
    Ok(())
}
