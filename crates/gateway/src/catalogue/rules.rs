//! What a server's owner says about its tools: how they are called, and which of them there are.

use std::collections::BTreeMap;

use ridethrough_wire::message::Json;
use ridethrough_wire::patterns::matches_any;

use super::names::as_prefix;

/// Rules for the tools of one server. The default passes all of them on as `SERVER_tool`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rules {
    /// What stands before the names of tools and prompts; `None` for nothing. The default is the name of the
    /// server, with an underscore.
    pub prefix: Prefix,
    /// Other names for tools and prompts, by the names that the server gives them. They get no prefix.
    pub renames: BTreeMap<String, String>,
    /// Patterns of the tools that may be called; if there are none, all may.
    pub allow: Vec<String>,
    /// Patterns of tools that may not be called, whatever `allow` says.
    pub deny: Vec<String>,
    /// Patterns of tools that may be called and are not listed.
    pub hide: Vec<String>,
    /// Whether only tools that say of themselves that they change nothing may be called.
    pub is_read_only: bool,
    /// Whether tools whose definitions have changed since they were approved are withheld.
    pub is_pinned: bool,
}

/// What stands before the names of a server's tools and prompts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// Nothing.
    None,
    /// The name of the server, and this separator.
    Server {
        /// What stands between the prefix and the name.
        separator: String,
    },
    /// This text.
    Text(String),
}

/// What the rules make of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It may be called, but is not listed.
    Callable,
    /// It does not exist, as far as callers can see.
    Denied,
    /// It is listed and may be called.
    Listed,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            prefix: Prefix::Server { separator: "_".to_owned() },
            renames: BTreeMap::new(),
            allow: Vec::new(),
            deny: Vec::new(),
            hide: Vec::new(),
            is_read_only: false,
            is_pinned: false,
        }
    }
}

impl Rules {
    /// Judges a tool by its definition.
    pub(crate) fn judge(&self, name: &str, definition: &Json) -> Verdict {
        let is_allowed = self.allow.is_empty() || matches_any(&self.allow, name);
        if !is_allowed || matches_any(&self.deny, name) {
            return Verdict::Denied;
        }
        if self.is_read_only && !says_read_only(definition) {
            return Verdict::Denied;
        }
        if matches_any(&self.hide, name) { Verdict::Callable } else { Verdict::Listed }
    }

    /// Returns the name that a tool or prompt shall have beside those of other servers.
    pub(crate) fn wanted_name(&self, server: &str, original: &str) -> String {
        if let Some(name) = self.renames.get(original) {
            return name.clone();
        }
        match &self.prefix {
            Prefix::None => original.to_owned(),
            Prefix::Server { separator } => format!("{}{separator}{original}", as_prefix(server)),
            Prefix::Text(text) => format!("{text}{original}"),
        }
    }

    /// Returns the name that a tool or prompt shall have where its server is alone.
    pub(crate) fn name_alone(&self, original: &str) -> String {
        self.renames.get(original).map_or(original, String::as_str).to_owned()
    }

    /// Returns what the server calls this, where it is alone and its list is not known; `None` if the name was
    /// given up for another.
    pub(crate) fn original_alone<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        let renamed = self.renames.iter().find(|(_, given)| *given == name);
        let kept = (!self.renames.contains_key(name)).then_some(name);
        renamed.map(|(original, _)| original.as_str()).or(kept)
    }
}

/// Whether a tool says of itself that it changes nothing.
pub(crate) fn says_read_only(definition: &Json) -> bool {
    let hint = definition.member("annotations").and_then(|it| it.member("readOnlyHint"));
    hint.is_some_and(|hint| hint.as_str() == "true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_denied_is_gone_whatever_is_allowed() {
        let rules = Rules {
            allow: vec!["read*".to_owned(), "list".to_owned()],
            deny: vec!["*secret*".to_owned()],
            hide: vec!["read_raw".to_owned()],
            ..Rules::default()
        };

        for (name, expected) in [
            ("read_file", Verdict::Listed),
            ("list", Verdict::Listed),
            ("read_raw", Verdict::Callable),
            ("read_secret", Verdict::Denied),
            ("write", Verdict::Denied),
        ] {
            assert_eq!(rules.judge(name, &Json::empty_object()), expected, "{name}");
        }
    }

    #[test]
    fn only_tools_that_say_they_change_nothing_are_read_only() {
        let rules = Rules { is_read_only: true, ..Rules::default() };

        for (definition, expected) in [
            (r#"{"annotations":{"readOnlyHint":true}}"#, Verdict::Listed),
            (r#"{"annotations":{"readOnlyHint":false}}"#, Verdict::Denied),
            (r#"{"annotations":{"readOnlyHint":"true"}}"#, Verdict::Denied),
            (r#"{"annotations":{}}"#, Verdict::Denied),
            ("{}", Verdict::Denied),
        ] {
            let definition = Json::new(definition).unwrap();
            assert_eq!(rules.judge("t", &definition), expected, "{}", definition.as_str());
        }
    }

    #[test]
    fn names_have_a_prefix_that_hosts_take_unless_they_are_renamed() {
        let mut rules = Rules::default();
        rules.renames.insert("long".to_owned(), "l".to_owned());

        assert_eq!(rules.wanted_name("my server/1", "read"), "my_server_1_read");
        assert_eq!(rules.wanted_name("my server/1", "long"), "l");
        assert_eq!(
            (rules.name_alone("read"), rules.name_alone("long")),
            ("read".into(), "l".into())
        );
        rules.prefix = Prefix::None;
        assert_eq!(rules.wanted_name("s", "read"), "read");
        rules.prefix = Prefix::Text("x.".to_owned());
        assert_eq!(rules.wanted_name("s", "read"), "x.read");
    }
}
