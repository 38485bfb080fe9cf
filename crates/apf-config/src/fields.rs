//! Reading typed fields out of a tree. Every mistake is noted and reading goes on with the zero value, as
//! if the field were absent; null counts as absent everywhere, as in the JSON of Kubernetes.

use std::collections::BTreeMap;

use crate::diagnostic::{Rule, Severity};
use crate::issue::Issue;
use crate::load::Strictness;
use crate::objects::StringMap;
use crate::path::{FieldPath, Step};
use crate::tree::{Data, Node};

/// The fields of one object that its type knows, by name; of a field written twice, the last.
pub(crate) struct Fields<'n> {
    last: BTreeMap<&'n str, &'n Node>,
    /// What a later entry with the same name replaces.
    replaced: Vec<(&'n str, &'n Node)>,
}

impl<'n> Fields<'n> {
    /// The node of a field, `None` when it is absent or null.
    pub(crate) fn get(&self, name: &str) -> Option<&'n Node> {
        self.last.get(name).copied().filter(|node| !matches!(node.data, Data::Null))
    }

    /// Every field that is there, nulls too.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'n str, &'n Node)> {
        self.last.iter().map(|(name, node)| (*name, *node))
    }

    fn replaced(&self, name: &str) -> impl Iterator<Item = &'n Node> {
        self.replaced.iter().filter(move |(of, _)| *of == name).map(|(_, node)| *node)
    }
}

/// Walks down an object, remembers where it is and what was wrong.
pub(crate) struct Reader {
    strictness: Strictness,
    path: FieldPath,
    pub(crate) issues: Vec<Issue>,
}

impl Reader {
    pub(crate) fn new(strictness: Strictness) -> Reader {
        Reader { strictness, path: FieldPath::default(), issues: Vec::new() }
    }

    fn inside<T>(&mut self, step: Step, read: impl FnOnce(&mut Reader) -> T) -> T {
        self.path.push(step);
        let result = read(self);
        self.path.pop();
        result
    }

    fn field<T>(&mut self, name: &str, read: impl FnOnce(&mut Reader) -> T) -> T {
        self.inside(Step::Field(name.to_owned()), read)
    }

    /// Notes that the node at the current path has the wrong type.
    pub(crate) fn wrong_type(&mut self, node: &Node, wanted: &str) {
        let detail = match &node.data {
            Data::Number(text) => format!("cannot unmarshal number {text} into a field of type {wanted}"),
            _ => format!("cannot unmarshal {} into a field of type {wanted}", node.type_name()),
        };
        self.issues.push(Issue::error(self.path.clone(), Rule::Type, node.shown(), detail));
    }

    /// The fields of the object at the current path; those not in `known` are reported.
    pub(crate) fn fields<'n>(&mut self, node: &'n Node, known: &[&str]) -> Fields<'n> {
        self.entries(node, |name| known.contains(&name))
    }

    fn entries<'n>(&mut self, node: &'n Node, known: impl Fn(&str) -> bool) -> Fields<'n> {
        let mut fields = Fields { last: BTreeMap::new(), replaced: Vec::new() };
        match &node.data {
            Data::Map(entries) => {
                let severity = match self.strictness {
                    Strictness::Strict => Severity::Error,
                    Strictness::Lenient => Severity::Warning,
                };
                for entry in entries {
                    let name = entry.key.as_str();
                    let rule = if !known(name) {
                        Rule::UnknownField
                    } else if let Some(first) = fields.last.insert(name, &entry.value) {
                        fields.replaced.push((name, first));
                        Rule::DuplicateField
                    } else {
                        continue;
                    };
                    self.issues.push(Issue {
                        path: self.path.field(&entry.key),
                        position: Some(entry.key_position),
                        rule,
                        value: None,
                        detail: String::new(),
                        severity,
                    });
                }
            }
            Data::Null => {}
            _ => self.wrong_type(node, "object"),
        }
        fields
    }

    /// Reads the values of a field that a later one replaces, for the names of fields in them; nothing else about them matters.
    fn replaced<'n>(&mut self, fields: &Fields<'n>, name: &str, mut read: impl FnMut(&mut Reader, &'n Node)) {
        for node in fields.replaced(name) {
            let before = self.issues.len();
            self.field(name, |reader| read(reader, node));
            let found = self.issues.split_off(before);
            self.issues.extend(found.into_iter().filter(|issue| issue.rule != Rule::Type));
        }
    }

    /// An object field, `None` when absent or of another type.
    pub(crate) fn object<'n, T>(
        &mut self,
        fields: &Fields<'n>,
        name: &str,
        known: &[&str],
        mut read: impl FnMut(&mut Reader, &Fields<'n>) -> T,
    ) -> Option<T> {
        let mut object = |reader: &mut Reader, node: &'n Node| {
            if !matches!(node.data, Data::Map(_)) {
                reader.wrong_type(node, "object");
                return None;
            }
            let inner = reader.fields(node, known);
            Some(read(reader, &inner))
        };
        self.replaced(fields, name, |reader, node| {
            object(reader, node);
        });
        let node = fields.get(name)?;
        self.field(name, |reader| object(reader, node))
    }

    /// A list field, empty when absent or of another type.
    pub(crate) fn list<'n, T>(
        &mut self,
        fields: &Fields<'n>,
        name: &str,
        mut read: impl FnMut(&mut Reader, &'n Node) -> T,
    ) -> Vec<T> {
        let mut list = |reader: &mut Reader, node: &'n Node| {
            let Data::List(items) = &node.data else {
                reader.wrong_type(node, "array");
                return Vec::new();
            };
            let each = items.iter().enumerate();
            each.map(|(index, item)| reader.inside(Step::Index(index), |reader| read(reader, item))).collect()
        };
        self.replaced(fields, name, |reader, node| {
            list(reader, node);
        });
        let Some(node) = fields.get(name) else { return Vec::new() };
        self.field(name, |reader| list(reader, node))
    }

    /// A list of objects.
    pub(crate) fn objects<'n, T>(
        &mut self,
        fields: &Fields<'n>,
        name: &str,
        known: &[&str],
        mut read: impl FnMut(&mut Reader, &Fields<'n>) -> T,
    ) -> Vec<T> {
        self.list(fields, name, |reader, item| {
            let inner = reader.fields(item, known);
            read(reader, &inner)
        })
    }

    /// A list of strings.
    pub(crate) fn strings(&mut self, fields: &Fields<'_>, name: &str) -> Vec<String> {
        self.list(fields, name, Reader::string_value)
    }

    /// A string, empty when absent.
    pub(crate) fn string(&mut self, fields: &Fields<'_>, name: &str) -> String {
        match fields.get(name) {
            Some(node) => self.field(name, |reader| reader.string_value(node)),
            None => String::new(),
        }
    }

    fn string_value(&mut self, node: &Node) -> String {
        match &node.data {
            Data::String(text) => text.clone(),
            Data::Null => String::new(),
            _ => {
                self.wrong_type(node, "string");
                String::new()
            }
        }
    }

    /// A boolean, `None` when absent.
    pub(crate) fn boolean(&mut self, fields: &Fields<'_>, name: &str) -> Option<bool> {
        let node = fields.get(name)?;
        self.field(name, |reader| match node.data {
            Data::Bool(value) => Some(value),
            _ => {
                reader.wrong_type(node, "bool");
                None
            }
        })
    }

    /// A 32-bit integer, `None` when absent.
    pub(crate) fn int32(&mut self, fields: &Fields<'_>, name: &str) -> Option<i32> {
        self.integer(fields, name, "int32")
    }

    /// A 64-bit integer, `None` when absent.
    pub(crate) fn int64(&mut self, fields: &Fields<'_>, name: &str) -> Option<i64> {
        self.integer(fields, name, "int64")
    }

    fn integer<T: std::str::FromStr>(&mut self, fields: &Fields<'_>, name: &str, wanted: &str) -> Option<T> {
        let node = fields.get(name)?;
        self.field(name, |reader| {
            let value = match &node.data {
                Data::Number(text) => text.parse().ok(),
                _ => None,
            };
            if value.is_none() {
                reader.wrong_type(node, wanted);
            }
            value
        })
    }

    /// A map of strings, empty when absent.
    pub(crate) fn string_map(&mut self, fields: &Fields<'_>, name: &str) -> StringMap {
        let Some(node) = fields.get(name) else { return StringMap::new() };
        self.field(name, |reader| {
            let entries = reader.entries(node, |_| true);
            let each = entries.iter();
            each.map(|(key, value)| (key.to_owned(), reader.field(key, |reader| reader.string_value(value))))
                .collect()
        })
    }

    /// A point in time as RFC 3339 text, `None` when absent.
    pub(crate) fn time(&mut self, fields: &Fields<'_>, name: &str) -> Option<String> {
        let node = fields.get(name)?;
        self.field(name, |reader| match &node.data {
            Data::String(text) if is_rfc3339(text) => Some(text.clone()),
            Data::String(_) => {
                let detail = "must be a time such as 2006-01-02T15:04:05Z";
                reader.issues.push(Issue::error(reader.path.clone(), Rule::Type, node.shown(), detail));
                None
            }
            _ => {
                reader.wrong_type(node, "string");
                None
            }
        })
    }
}

/// Whether the text is a date and time of RFC 3339 with values in range.
fn is_rfc3339(text: &str) -> bool {
    let Some((date, rest)) = text.split_once('T') else { return false };
    let zone_at = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(zone_at);
    let clock = match clock.split_once('.') {
        Some((clock, fraction)) if !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit()) => {
            clock
        }
        Some(_) => return false,
        None => clock,
    };
    let date: Vec<Option<u32>> = date.split('-').map(two_or_four_digits).collect();
    let [Some(year), Some(month), Some(day)] = date.as_slice() else { return false };
    let days = match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let hms: Vec<Option<u32>> = clock.split(':').map(two_or_four_digits).collect();
    let time_ok = matches!(hms.as_slice(), [Some(0..=23), Some(0..=59), Some(0..=59)]);
    let zone_ok = zone == "Z" || {
        let offset: Vec<Option<u32>> =
            zone.strip_prefix(['+', '-']).unwrap_or("").split(':').map(two_or_four_digits).collect();
        matches!(offset.as_slice(), [Some(0..=23), Some(0..=59)])
    };
    text.find('T') == Some(10) && (1..=12).contains(month) && (1..=days).contains(day) && time_ok && zone_ok
}

fn two_or_four_digits(part: &str) -> Option<u32> {
    let digits = part.bytes().all(|b| b.is_ascii_digit());
    if digits && matches!(part.len(), 2 | 4) { part.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::is_rfc3339;

    #[test]
    fn times_are_rfc3339() {
        for good in ["2003-01-01T01:01:01Z", "2024-02-29T23:59:59.123456Z", "2024-06-30T00:00:00+02:00"] {
            assert!(is_rfc3339(good), "{good}");
        }
        for bad in [
            "",
            "T",
            "2003-01-01",
            "2003-13-01T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "2003-01-01T24:00:00Z",
            "2003-01-01T00:00:00",
            "2003-01-01T00:00:00.Z",
            "03-01-01T00:00:00Z",
            "2003-01-01T00:00:00+2:00",
        ] {
            assert!(!is_rfc3339(bad), "{bad}");
        }
    }
}
