//! Changes one member of an object and leaves every other byte what it was.

use super::Json;
use bytes::Bytes;

/// Returns the object with this value for this key, in its old place or behind the others.
pub fn with_member(object: &Json, key: &str, value: &Json) -> Json {
    let Some(old) = object.member(key) else {
        return object.with_members([(key.to_owned(), value.clone())]);
    };
    let text = object.as_str();
    // A member is a part of the text it was read from.
    let from = old.as_bytes().as_ptr() as usize - object.as_bytes().as_ptr() as usize;
    let (before, behind) = (&text[..from], &text[from + old.as_str().len()..]);
    Json::new(format!("{before}{}{behind}", value.as_str())).expect("JSON in place of JSON")
}

/// Returns params without these members of their `_meta`, and without a `_meta` in which nothing is left.
pub fn without_meta(params: &Json, keys: &[&str]) -> Json {
    let Some(meta) = params.member("_meta").filter(is_object) else { return params.clone() };
    let meta = meta.without(keys);
    if meta == Json::empty_object() {
        params.without(&["_meta"])
    } else {
        with_member(params, "_meta", &meta)
    }
}

/// Returns the text in bytes of its own: those that it came in may be part of a large buffer.
pub fn copied(json: &Json) -> Json {
    Json::new(Bytes::copy_from_slice(json.as_bytes())).expect("a copy of JSON is JSON")
}

/// Returns a text as JSON.
pub fn text(text: &str) -> Json {
    Json::of(text).expect("a string is JSON")
}

/// Whether this is an object.
pub fn is_object(json: &Json) -> bool {
    json.as_str().starts_with('{')
}

/// Returns an array of these elements.
pub fn array<'a>(elements: impl IntoIterator<Item = &'a Json>) -> Json {
    let elements: Vec<&str> = elements.into_iter().map(Json::as_str).collect();
    Json::new(format!("[{}]", elements.join(","))).expect("made of JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_changed_in_its_place_and_nothing_else_is() {
        for (text, expected) in [
            (r#"{ "n": 1.10 , "v" : {"v":1} , "w":2 }"#, r#"{ "n": 1.10 , "v" : [3] , "w":2 }"#),
            (r#"{"w":{"v":1}}"#, r#"{"w":{"v":1},"v":[3]}"#),
            ("{}", r#"{"v":[3]}"#),
        ] {
            let changed = with_member(&Json::new(text).unwrap(), "v", &Json::new("[3]").unwrap());

            assert_eq!(changed.as_str(), expected);
        }
    }

    #[test]
    fn an_array_is_made_of_its_elements_bytes() {
        let elements = ["1.10", r#"{"a":1e2}"#].map(|text| Json::new(text).unwrap());

        assert_eq!(array(&elements).as_str(), r#"[1.10,{"a":1e2}]"#);
        assert_eq!(array([]).as_str(), "[]");
    }
}
