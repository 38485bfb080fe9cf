//! The name rules of Kubernetes. Each gives the complaints a server would make, none when the name is good.

const LABEL_FORMAT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const KEY_FORMAT: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

const LABEL_MAX: usize = 63;
const SUBDOMAIN_MAX: usize = 253;

fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} bytes")
}

fn is_label(text: &str) -> bool {
    let alphanumeric = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(alphanumeric)
        && bytes.last().is_some_and(alphanumeric)
        && bytes.iter().all(|b| alphanumeric(b) || *b == b'-')
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

/// DNS-1123 subdomain: object names.
pub(crate) fn dns_subdomain(text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if text.len() > SUBDOMAIN_MAX {
        complaints.push(too_long(SUBDOMAIN_MAX));
    }
    if !is_subdomain(text) {
        complaints.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
             and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
             validation is '{LABEL_FORMAT}(\\.{LABEL_FORMAT})*')"
        ));
    }
    complaints
}

/// DNS-1123 label: namespaces.
pub(crate) fn dns_label(text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if text.len() > LABEL_MAX {
        complaints.push(too_long(LABEL_MAX));
    }
    if !is_label(text) {
        complaints.push(if is_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            format!(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and \
                 must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex \
                 used for validation is '{LABEL_FORMAT}')"
            )
        });
    }
    complaints
}

fn is_key_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
}

fn key_name_format() -> String {
    format!(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
         alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
         '{KEY_FORMAT}')"
    )
}

/// Keys of labels, and in lower case those of annotations.
pub(crate) fn label_key(text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let name = match text.split('/').collect::<Vec<_>>().as_slice() {
        [name] => *name,
        ["", name] => {
            complaints.push("prefix part must be non-empty".to_owned());
            *name
        }
        [prefix, name] => {
            let prefix_complaints = dns_subdomain(prefix);
            complaints.extend(prefix_complaints.iter().map(|complaint| format!("prefix part {complaint}")));
            *name
        }
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')",
                key_name_format()
            )];
        }
    };
    if name.is_empty() {
        complaints.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_MAX {
        complaints.push(format!("name part {}", too_long(LABEL_MAX)));
    }
    if !is_key_name(name) {
        complaints.push(format!("name part {}", key_name_format()));
    }
    complaints
}

/// Values of labels.
pub(crate) fn label_value(text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if text.len() > LABEL_MAX {
        complaints.push(too_long(LABEL_MAX));
    }
    if !text.is_empty() && !is_key_name(text) {
        complaints.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
             and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
             '12345', regex used for validation is '({KEY_FORMAT})?')"
        ));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_names_are_subdomains() {
        for good in ["a", "a-b", "a.b-c.0", &"a".repeat(253)] {
            assert_eq!(dns_subdomain(good), Vec::<String>::new(), "{good}");
        }
        for bad in ["", "A", "a_b", "-a", "a-", "a..b", ".a", "a.", "cluster-low/", "ä", &"a".repeat(254)] {
            assert_eq!(dns_subdomain(bad).len(), 1, "{bad}");
        }
    }

    #[test]
    fn namespaces_are_labels() {
        assert!(dns_label("kube-system").is_empty());
        assert_eq!(dns_label("a.b"), ["must not contain dots"]);
        assert_eq!(dns_label(&"a".repeat(64)), ["must be no more than 63 bytes"]);
        for bad in ["", "*", "A", "a-", "-"] {
            assert_eq!(dns_label(bad).len(), 1, "{bad}");
        }
    }

    #[test]
    fn label_keys_have_an_optional_prefix() {
        for good in ["a", "My_Name.x", "example.com/a", &format!("a.b/{}", "c".repeat(63))] {
            assert!(label_key(good).is_empty(), "{good}");
        }
        for (bad, complaints) in
            [("", 2), ("/a", 1), ("a/", 2), ("A.b/c", 1), ("a/b/c", 1), ("-a", 1), (&"a".repeat(64), 1)]
        {
            assert_eq!(label_key(bad).len(), complaints, "{bad}");
        }
        assert!(label_value("").is_empty());
        assert_eq!(label_value("a b").len(), 1);
    }
}
