//! The key of a kept result: the method, and all params that can make a difference.

use ridethrough_core::Request;
use ridethrough_wire::message::Json;

/// The key of a request whose result may be kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::driver) struct Key {
    pub(super) of: Of,
    /// Whether the request asks for a later page of a list.
    pub(super) is_later_page: bool,
    /// The resource that the request reads, if it reads one.
    pub(super) uri: Option<String>,
    /// The names and values of the params, in the order of the names, without `_meta`.
    params: String,
}

/// What the request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Of {
    Prompts,
    Resource,
    Resources,
    Server,
    Templates,
    Tools,
}

impl Key {
    /// Returns the key of a request; `None` if its result must not be kept. This costs nothing for other
    /// methods.
    pub(in crate::driver) fn of(request: &Request) -> Option<Self> {
        let of = Of::method(&request.method)?;
        let mut members = match &request.params {
            None => Vec::new(),
            Some(params) if params.as_str().starts_with('{') => params.members(),
            Some(_) => return None,
        };
        let has = |name: &str| members.iter().any(|(each, _)| each == name);
        if has("inputResponses") || has("requestState") {
            return None;
        }
        members.retain(|(name, _)| name != "_meta");
        members.sort_by(|(one, _), (other, _)| one.cmp(other));
        let read = |name| members.iter().rev().find(|(each, _)| each == name).map(|(_, it)| it);
        let is_later_page = read("cursor").is_some_and(|cursor| cursor.as_str() != "null");
        let uri = (of == Of::Resource).then(|| read("uri").and_then(Json::read)).flatten();
        Some(Self { of, is_later_page, uri, params: write(&members) })
    }

    /// Returns the method of the request.
    pub(in crate::driver) fn method(&self) -> &'static str {
        METHODS.iter().find(|(of, _)| *of == self.of).map_or("", |(_, method)| method)
    }

    pub(super) fn size(&self) -> usize {
        size_of::<Self>() + self.params.len() + self.uri.as_ref().map_or(0, String::len)
    }

    /// Whether the request reads this resource, one above it or one below it: servers notify of either.
    pub(super) fn reads(&self, uri: &str) -> bool {
        let is_related = |own: &String| own.starts_with(uri) || uri.starts_with(own.as_str());
        self.of == Of::Resource && self.uri.as_ref().is_none_or(is_related)
    }
}

impl Of {
    pub(super) fn method(method: &str) -> Option<Self> {
        METHODS.iter().find(|(_, each)| *each == method).map(|(of, _)| *of)
    }

    pub(super) const fn is_list(self) -> bool {
        match self {
            Self::Prompts | Self::Resources | Self::Templates | Self::Tools => true,
            Self::Resource | Self::Server => false,
        }
    }
}

fn write(members: &[(String, Json)]) -> String {
    let length = members.iter().map(|(name, value)| name.len() + value.as_bytes().len() + 2).sum();
    let mut text = String::with_capacity(length);
    for (name, value) in members {
        text.push_str(name);
        // Values are JSON and hold no unescaped zero, so no two lists of params give equal text.
        text.push('\0');
        text.push_str(value.as_str());
        text.push('\0');
    }
    text
}

const METHODS: [(Of, &str); 6] = [
    (Of::Prompts, "prompts/list"),
    (Of::Resource, "resources/read"),
    (Of::Resources, "resources/list"),
    (Of::Server, "server/discover"),
    (Of::Templates, "resources/templates/list"),
    (Of::Tools, "tools/list"),
];

#[cfg(test)]
mod tests {
    use ridethrough_core::CallOptions;

    use super::*;

    #[test]
    fn what_makes_no_difference_is_not_in_a_key() {
        let plain = key("tools/list", None);

        assert!(plain.is_some());
        assert_eq!(key("tools/list", Some("{}")), plain);
        assert_eq!(key("tools/list", Some(r#"{"_meta":{"progressToken":1}}"#)), plain);
        assert_eq!(
            key("tools/list", Some(r#"{"b":1,"a":2}"#)),
            key("tools/list", Some(r#"{ "a": 2, "_meta": {}, "b": 1 }"#))
        );
    }

    #[test]
    fn what_makes_a_difference_is() {
        let keys = [
            key("tools/list", None),
            key("prompts/list", None),
            key("tools/list", Some(r#"{"cursor":""}"#)),
            key("tools/list", Some(r#"{"cursor":"a"}"#)),
            key("tools/list", Some(r#"{"cursor":"a","b":1}"#)),
            key("resources/read", Some(r#"{"uri":"a"}"#)),
            key("resources/read", Some(r#"{"uri":"b"}"#)),
        ];

        for (place, one) in keys.iter().enumerate() {
            assert!(one.is_some());
            assert!(keys[place + 1..].iter().all(|other| other != one), "{one:?}");
        }
    }

    #[test]
    fn what_was_asked_with_input_of_somebody_has_no_key() {
        for params in
            [r#"{"uri":"a","inputResponses":{}}"#, r#"{"uri":"a","requestState":"s"}"#, r#"["a"]"#]
        {
            assert_eq!(key("resources/read", Some(params)), None, "{params}");
        }
        assert_eq!(key("tools/call", Some(r#"{"name":"a"}"#)), None);
    }

    #[test]
    fn word_of_a_resource_is_word_of_those_above_and_below_it() {
        let file = key("resources/read", Some(r#"{"uri":"file:///a/b"}"#)).unwrap();
        let nothing = key("resources/read", Some("{}")).unwrap();

        assert!(
            file.reads("file:///a/b") && file.reads("file:///a") && file.reads("file:///a/b/c")
        );
        assert!(!file.reads("file:///c"));
        assert!(nothing.reads("file:///c"), "nobody knows what it reads");
    }

    fn key(method: &str, params: Option<&'static str>) -> Option<Key> {
        let params = params.map(|text| Json::new(text).unwrap());
        Key::of(&Request { method: method.into(), params, options: CallOptions::default() })
    }
}
