//! Finding manifests: files as given, folders searched for `*.yaml`, `*.yml` and `*.json`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, Rule, Severity};
use crate::load::{Loaded, Source, Strictness, load};

const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// Folders inside folders are followed this far, which also ends loops of links.
const MAX_DEPTH: usize = 32;

/// Reads the files at these paths. A folder stands for every manifest below it in the order of their names;
/// hidden files and folders in it are passed over. What cannot be read is an error of its own and hides
/// nothing else.
pub fn read_paths<P: AsRef<Path>>(paths: &[P]) -> (Vec<Source>, Vec<Diagnostic>) {
    let mut reading = Reading { sources: Vec::new(), diagnostics: Vec::new() };
    for path in paths {
        let path = path.as_ref();
        if path.is_dir() {
            let before = reading.sources.len() + reading.diagnostics.len();
            reading.folder(path, 0);
            if reading.sources.len() + reading.diagnostics.len() == before {
                reading.unreadable(path, "the folder holds no *.yaml, *.yml or *.json file");
            }
        } else {
            reading.file(path);
        }
    }
    (reading.sources, reading.diagnostics)
}

/// [`read_paths`] and [`load`] in one.
pub fn load_paths<P: AsRef<Path>>(paths: &[P], strictness: Strictness) -> Loaded {
    let (sources, mut diagnostics) = read_paths(paths);
    let mut loaded = load(&sources, strictness);
    diagnostics.append(&mut loaded.diagnostics);
    loaded.diagnostics = diagnostics;
    loaded
}

struct Reading {
    sources: Vec<Source>,
    diagnostics: Vec<Diagnostic>,
}

impl Reading {
    fn folder(&mut self, folder: &Path, depth: usize) {
        if depth >= MAX_DEPTH {
            self.unreadable(folder, &format!("folders are nested deeper than {MAX_DEPTH} levels"));
            return;
        }
        let entries = fs::read_dir(folder)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>, _>>());
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => return self.unreadable(folder, &error.to_string()),
        };
        entries.sort();
        for path in entries {
            let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            if hidden {
                continue;
            }
            let extension = path.extension().and_then(|extension| extension.to_str());
            if path.is_dir() {
                self.folder(&path, depth + 1);
            } else if extension.is_some_and(|extension| EXTENSIONS.contains(&extension)) {
                self.file(&path);
            }
        }
    }

    fn file(&mut self, path: &Path) {
        match fs::read(path) {
            Ok(content) => self.sources.push(Source::new(path.display().to_string(), content)),
            Err(error) => self.unreadable(path, &error.to_string()),
        }
    }

    fn unreadable(&mut self, path: &Path, detail: &str) {
        self.diagnostics.push(Diagnostic {
            source: path.display().to_string(),
            line: 0,
            column: 0,
            kind: String::new(),
            name: String::new(),
            path: String::new(),
            rule: Rule::Unreadable,
            value: None,
            detail: detail.to_owned(),
            severity: Severity::Error,
        });
    }
}
