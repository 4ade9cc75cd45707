//! The front matter of a `SKILL.md`: the YAML between two lines of `---` at its beginning.

use ridethrough_wire::message::Json;
use serde_json::{Map, Value};

use super::error::SkillFault;

/// Compares the front matter of a file with that of an entry, field by field.
pub(super) fn compare(text: &str, entry: &Json) -> Result<(), SkillFault> {
    let yaml = of(text).ok_or(SkillFault::NoFrontMatter)?;
    let entry: Map<String, Value> =
        entry.read().ok_or(SkillFault::Entry("has a front matter that is no object"))?;
    // `yes` is a boolean in YAML 1.1 and a string in 1.2; which of them the server's library reads is not
    // known.
    let mut differs = None;
    for booleans in [Booleans::Words, Booleans::Truths] {
        let found = read(yaml, booleans).ok_or(SkillFault::NoFrontMatter)?;
        match difference(&found, &entry) {
            None => return Ok(()),
            Some(field) => differs = Some(field),
        }
    }
    Err(SkillFault::FrontMatter(differs.unwrap_or_default()))
}

/// The meaning of `yes`, `no`, `on` and `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Booleans {
    Truths,
    Words,
}

/// Reads the front matter; `None` if it is not valid YAML. That includes two fields of one name, of which
/// readers choose differently.
fn read(yaml: &str, booleans: Booleans) -> Option<Map<String, Value>> {
    let options = serde_saphyr::options! { strict_booleans: booleans == Booleans::Words };
    serde_saphyr::from_str_with_options(yaml, options).ok()
}

fn of(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("---")?;
    let rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))?;
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some(&rest[..end]);
        }
        end += line.len();
    }
    None
}

/// Returns the first field that differs.
fn difference(one: &Map<String, Value>, other: &Map<String, Value>) -> Option<String> {
    let names = one.keys().chain(other.keys());
    let is_equal = |name: &&String| match (one.get(*name), other.get(*name)) {
        (Some(one), Some(other)) => is_same(one, other),
        _ => false,
    };
    names.into_iter().find(|name| !is_equal(name)).cloned()
}

/// Whether two values are equal; 1 and 1.0 are, because JSON does not tell them apart.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other
                || one.as_f64().zip(other.as_f64()).is_some_and(|(a, b)| a.total_cmp(&b).is_eq())
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(one), Value::Object(other)) => difference(one, other).is_none(),
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_fields_are_equal_however_they_are_written() {
        let text = "---\nname: pdf\ndescription: >-\n  Extract, fill\n  and sign\nversion: 1.0\n\
                    metadata: {tags: [\"a\", b], strict: yes}\n---\nBody.\n";
        let entry = |strict: Value| {
            json!({"name": "pdf", "description": "Extract, fill and sign", "version": 1,
                   "metadata": {"tags": ["a", "b"], "strict": strict}})
        };

        assert_eq!(compare(text, &json_of(&entry(json!(true)))), Ok(()));
        assert_eq!(compare(text, &json_of(&entry(json!("yes")))), Ok(()));
        assert!(compare(text, &json_of(&entry(json!("true")))).is_err());
        let windows = text.replace('\n', "\r\n");
        assert_eq!(compare(&windows, &json_of(&entry(json!(true)))), Ok(()));
    }

    #[test]
    fn a_field_that_differs_is_missing_or_is_added_is_named() {
        let entry = json_of(&json!({"name": "pdf", "description": "d"}));
        for (text, field) in [
            ("---\nname: pdf\ndescription: e\n---\n", "description"),
            ("---\nname: pdf\n---\n", "description"),
            ("---\nname: pdf\ndescription: d\nallowed-tools: Bash\n---\n", "allowed-tools"),
            ("---\nname: pdf\ndescription: [d]\n---\n", "description"),
        ] {
            assert_eq!(compare(text, &entry), Err(SkillFault::FrontMatter(field.into())), "{text}");
        }
    }

    #[test]
    fn what_readers_could_see_differently_is_no_front_matter() {
        let entry = json_of(&json!({"name": "pdf"}));
        for text in [
            "",
            "name: pdf\n",
            "---\nname: pdf\n",
            "\u{feff}---\nname: pdf\n---\n",
            "---\nname: pdf\nname: other\n---\n",
            "---\n- name\n---\n",
            "---\nname: [\n---\n",
        ] {
            assert_eq!(compare(text, &entry), Err(SkillFault::NoFrontMatter), "{text:?}");
        }
    }

    fn json_of(value: &Value) -> Json {
        Json::of(value).unwrap()
    }
}
