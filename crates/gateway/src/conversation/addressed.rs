//! Whom a request is for, and what its server must be asked instead.
//!
//! A name or URI in the params is the caller's. It is replaced by the server's own; every other byte stays.

use ridethrough_wire::message::{Json, ListKind, splice};

/// The name or URI by which a request says whom it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Addressed {
    /// A prompt or tool, by name.
    Name(ListKind, String),
    /// A resource or template, by URI.
    Uri(String),
}

impl Addressed {
    /// Reads whom a request is for; `None` if it says nothing that could be looked up.
    pub(crate) fn read(method: &str, params: Option<&Json>) -> Option<Self> {
        let params = params?;
        let text = |object: &Json, key: &str| object.member(key)?.read::<String>();
        match method {
            "tools/call" => Some(Self::Name(ListKind::Tools, text(params, "name")?)),
            "prompts/get" => Some(Self::Name(ListKind::Prompts, text(params, "name")?)),
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
                Some(Self::Uri(text(params, "uri")?))
            }
            "completion/complete" => {
                let of = params.member("ref")?;
                let name = text(&of, "name").map(|it| Self::Name(ListKind::Prompts, it));
                name.or_else(|| text(&of, "uri").map(Self::Uri))
            }
            _ => None,
        }
    }

    /// Whether a request of this method must say whom it is for.
    pub(crate) fn is_needed(method: &str) -> bool {
        matches!(
            method,
            "tools/call"
                | "prompts/get"
                | "resources/read"
                | "resources/subscribe"
                | "resources/unsubscribe"
                | "completion/complete"
        )
    }

    /// Returns what there would be of this name, for people.
    pub(crate) const fn what(&self) -> &'static str {
        match self {
            Self::Name(ListKind::Tools, _) => "tool",
            Self::Name(..) => "prompt",
            Self::Uri(_) => "resource",
        }
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Name(_, text) | Self::Uri(text) => text,
        }
    }

    const fn key(&self) -> &'static str {
        match self {
            Self::Name(..) => "name",
            Self::Uri(_) => "uri",
        }
    }

    /// Returns the params with the server's own name.
    pub(crate) fn rewritten(&self, method: &str, params: &Json, original: &str) -> Json {
        if self.text() == original {
            return params.clone();
        }
        let original = splice::text(original);
        match params.member("ref").filter(|_| method == "completion/complete") {
            Some(of) => {
                let of = splice::with_member(&of, self.key(), &original);
                splice::with_member(params, "ref", &of)
            }
            None => splice::with_member(params, self.key(), &original),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_changes() {
        for (method, params, expected) in [
            (
                "tools/call",
                r#"{ "arguments":{"name":"x","n":1.10}, "name" : "old","_meta":{"a":1e2} }"#,
                r#"{ "arguments":{"name":"x","n":1.10}, "name" : "new","_meta":{"a":1e2} }"#,
            ),
            ("prompts/get", r#"{"name":"old"}"#, r#"{"name":"new"}"#),
            ("resources/read", r#"{"uri":"old"}"#, r#"{"uri":"new"}"#),
            (
                "completion/complete",
                r#"{"ref":{"type":"ref/prompt","name":"old"},"argument":{"name":"a","value":""}}"#,
                r#"{"ref":{"type":"ref/prompt","name":"new"},"argument":{"name":"a","value":""}}"#,
            ),
            (
                "completion/complete",
                r#"{"argument":{"name":"a"},"ref":{"uri":"old","type":"ref/resource"}}"#,
                r#"{"argument":{"name":"a"},"ref":{"uri":"new","type":"ref/resource"}}"#,
            ),
        ] {
            let params = Json::new(params).unwrap();
            let addressed = Addressed::read(method, Some(&params)).unwrap();

            assert_eq!(addressed.text(), "old");
            assert_eq!(addressed.rewritten(method, &params, "new").as_str(), expected);
            assert_eq!(addressed.rewritten(method, &params, "old"), params);
        }
    }

    #[test]
    fn what_names_nobody_is_for_nobody() {
        for (method, params) in [
            ("tools/call", "{}"),
            ("tools/call", r#"{"name":7}"#),
            ("resources/read", r#"{"name":"x"}"#),
            ("completion/complete", r#"{"name":"x"}"#),
            ("ping", r#"{"name":"x"}"#),
        ] {
            assert_eq!(Addressed::read(method, Some(&Json::new(params).unwrap())), None);
        }
        assert_eq!(Addressed::read("tools/call", None), None);
    }
}
