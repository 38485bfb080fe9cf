//! What is wrong with a configuration, as the host gets it.

use apf::LeftOut;
use apf::config::{Diagnostic, Rule, Severity};

use crate::pointers::lend;
use crate::types::{apf_problem, apf_severity, apf_str};

/// What was found wrong with a configuration, in the order of the texts. It does not change, so any number of threads
/// may read it.
#[allow(non_camel_case_types, reason = "names of the C interface")]
#[derive(Debug)]
pub struct apf_problems(Vec<Problem>);

#[derive(Debug)]
struct Problem {
    diagnostic: Diagnostic,
    text: String,
}

/// What is found otherwise than by reading a text.
pub(crate) enum Finding {
    /// An object that takes no part.
    LeftOut(LeftOut),
    /// A setting that is refused: its name, and the sentence.
    Setting(&'static str, String),
}

impl Problem {
    fn found(finding: Finding) -> Self {
        let (kind, name, path, severity, detail, text) = match finding {
            Finding::LeftOut(object) => {
                let text = object.to_string();
                (object.kind.to_owned(), object.name, "", Severity::Warning, object.why, text)
            }
            Finding::Setting(path, detail) => {
                (String::new(), String::new(), path, Severity::Error, detail.clone(), detail)
            }
        };
        let diagnostic = Diagnostic {
            source: String::new(),
            line: 0,
            column: 0,
            kind,
            name,
            path: path.to_owned(),
            rule: if severity == Severity::Warning { Rule::Ignored } else { Rule::Invalid },
            value: None,
            detail,
            severity,
        };
        Self { diagnostic, text }
    }
}

impl apf_problems {
    pub(crate) fn new(diagnostics: Vec<Diagnostic>, findings: Vec<Finding>) -> Self {
        let written = diagnostics.into_iter().map(|diagnostic| {
            let text = diagnostic.to_string();
            Problem { diagnostic, text }
        });
        Self(written.chain(findings.into_iter().map(Problem::found)).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, index: usize) -> Option<apf_problem> {
        let Problem { diagnostic, text } = self.0.get(index)?;
        let severity = match diagnostic.severity {
            Severity::Warning => apf_severity::APF_SEVERITY_WARNING,
            Severity::Error => apf_severity::APF_SEVERITY_ERROR,
        };
        Some(apf_problem {
            size: size_of::<apf_problem>(),
            severity: severity as i32,
            line: diagnostic.line,
            column: diagnostic.column,
            reserved: 0,
            file: lend(&diagnostic.source),
            kind: lend(&diagnostic.kind),
            name: lend(&diagnostic.name),
            field: lend(&diagnostic.path),
            rule: lend(diagnostic.rule.title()),
            value: diagnostic.value.as_deref().map_or(apf_str::EMPTY, lend),
            detail: lend(&diagnostic.detail),
            text: lend(text),
        })
    }
}
