//! Changes one member of an object and leaves every other byte what it was.

use ridethrough_core::message::Json;

/// The object with this value for this key, in its old place or behind the others.
pub(crate) fn with_member(object: &Json, key: &str, value: &Json) -> Json {
    let Some(old) = object.member(key) else {
        return object.with_members([(key.to_owned(), value.clone())]);
    };
    let text = object.as_str();
    // A member is a part of the text it was read from.
    let from = old.as_bytes().as_ptr() as usize - object.as_bytes().as_ptr() as usize;
    let (before, behind) = (&text[..from], &text[from + old.as_str().len()..]);
    Json::new(format!("{before}{}{behind}", value.as_str())).expect("JSON in place of JSON")
}

/// Whether this is an object.
pub(crate) fn is_object(json: &Json) -> bool {
    json.as_str().starts_with('{')
}

/// A text as JSON.
pub(crate) fn text(text: &str) -> Json {
    Json::of(text).expect("a string is JSON")
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
}
