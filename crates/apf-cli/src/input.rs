//! Reading what the command line names: manifests from files, folders and standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use apf_config::{Diagnostic, Loaded, Rule, Severity, Source, Strictness};
use apf_config::{Objects, bootstrap, load, read_paths};

use crate::args::Manifests;
use crate::failure::Failure;
use crate::finding::{Finding, Level};
use crate::print::{self, Label};

/// The argument that stands for standard input.
const STDIN: &str = "-";

/// What messages call standard input.
const STDIN_NAME: &str = "standard input";

/// How strict a command is, from its `--lenient`.
pub(crate) fn strictness(lenient: bool) -> Strictness {
    if lenient { Strictness::Lenient } else { Strictness::Strict }
}

/// The texts at these paths, in their order; what cannot be read is an error beside the others.
pub(crate) fn sources(paths: &[PathBuf]) -> (Vec<Source>, Vec<Diagnostic>) {
    let mut sources = Vec::new();
    let mut diagnostics = Vec::new();
    let mut stdin_is_read = false;
    for path in paths {
        if path != Path::new(STDIN) {
            let (mut read, mut failed) = read_paths(&[path]);
            sources.append(&mut read);
            diagnostics.append(&mut failed);
            continue;
        }
        if std::mem::replace(&mut stdin_is_read, true) {
            diagnostics.push(unreadable("it is named twice and can be read only once"));
            continue;
        }
        let mut content = Vec::new();
        match io::stdin().lock().read_to_end(&mut content) {
            Ok(_) => sources.push(Source::new(STDIN_NAME, content)),
            Err(error) => diagnostics.push(unreadable(&error.to_string())),
        }
    }
    (sources, diagnostics)
}

fn unreadable(detail: &str) -> Diagnostic {
    Diagnostic {
        source: STDIN_NAME.to_owned(),
        line: 0,
        column: 0,
        kind: String::new(),
        name: String::new(),
        path: String::new(),
        rule: Rule::Unreadable,
        value: None,
        detail: detail.to_owned(),
        severity: Severity::Error,
    }
}

/// Reads and validates everything at these paths.
pub(crate) fn load_all(paths: &[PathBuf], strictness: Strictness) -> Loaded {
    let (sources, mut unread) = sources(paths);
    let mut loaded = load(&sources, strictness);
    unread.append(&mut loaded.diagnostics);
    loaded.diagnostics = unread;
    loaded
}

/// The objects of `-f`: all of them, or a failure that names every error.
pub(crate) fn own_objects(paths: &[PathBuf], lenient: bool) -> Result<Objects, Failure> {
    let loaded = load_all(paths, strictness(lenient));
    refuse_errors(&loaded)?;
    warn(&loaded);
    if loaded.items.is_empty() && !paths.is_empty() {
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let text = "no FlowSchema and no PriorityLevelConfiguration in it";
        print::message(Label::Warning, &format!("{}: {text}", names.join(", ")));
    }
    Ok(loaded.objects)
}

/// The built-in objects with those of `-f` over them.
pub(crate) fn configuration(manifests: &Manifests) -> Result<Objects, Failure> {
    Ok(bootstrap::with_own(&own_objects(&manifests.filename, manifests.lenient)?))
}

/// Fails with every error of what was read: unreadable files count as a usage error.
pub(crate) fn refuse_errors(loaded: &Loaded) -> Result<(), Failure> {
    if !loaded.has_errors() {
        return Ok(());
    }
    let messages: Vec<String> =
        loaded.errors().map(|error| Finding::from(error.clone()).without_level()).collect();
    if loaded.errors().any(|error| error.rule == Rule::Unreadable) {
        return Err(Failure::usage(messages.join("\n")));
    }
    Err(Failure::Refused(messages))
}

/// Writes the warnings of what was read to standard error.
pub(crate) fn warn(loaded: &Loaded) {
    for diagnostic in loaded.diagnostics.iter().filter(|diagnostic| !diagnostic.is_error()) {
        print::message(Label::Warning, &Finding::new(Level::Warning, diagnostic.clone()).without_level());
    }
}

/// Checks that a file can be opened, so that a wrong name is told from a bad content.
pub(crate) fn must_open(path: &Path) -> Result<(), Failure> {
    if path == Path::new(STDIN) {
        return Ok(());
    }
    let failed = |error: io::Error| Failure::usage(format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(failed)?;
    let is_folder = file.metadata().map_err(failed)?.is_dir();
    if is_folder {
        return Err(Failure::usage(format!("{}: this is a folder, a file is wanted", path.display())));
    }
    Ok(())
}
