//! A config file as a tree whose nodes know their byte ranges, so that one part can be changed and all others
//! keep their bytes. JSON and TOML become one kind of tree.

use std::fmt;
use std::ops::Range;

/// A value and its byte range. It has no `Debug`: config files hold secrets.
pub(crate) struct Node {
    /// The byte range of the value, quotes and brackets included. That of a TOML table is its header.
    pub(crate) span: Range<usize>,
    /// The byte range of its name, if it is a member of an object.
    pub(crate) key: Option<Range<usize>>,
    pub(crate) value: Value,
}

pub(crate) enum Value {
    Array(Vec<Node>),
    Flag(bool),
    Object(Vec<(String, Node)>),
    /// A number, a date or a null, as it is written.
    Other(String),
    Text(String),
}

impl Node {
    /// Returns the member of this name. Of several the last one counts, as it does for every host.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        self.members().iter().rev().find(|(key, _)| key == name).map(|(_, node)| node)
    }

    /// Returns the members of an object; none for any other value.
    pub(crate) fn members(&self) -> &[(String, Self)] {
        match &self.value {
            Value::Object(members) => members,
            _ => &[],
        }
    }

    pub(crate) const fn is_object(&self) -> bool {
        matches!(self.value, Value::Object(_))
    }

    /// Returns the object at this byte range, which is this one or one below it.
    pub(crate) fn object_at(&self, span: &Range<usize>) -> Option<&Self> {
        if self.is_object() && self.span == *span {
            return Some(self);
        }
        self.members().iter().find_map(|(_, member)| member.object_at(span))
    }

    /// Returns the texts of a list; `None` if it is no list of texts.
    pub(crate) fn texts(&self) -> Option<Vec<String>> {
        match &self.value {
            Value::Array(items) => items.iter().map(|it| it.text().map(str::to_owned)).collect(),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a text, a number or a boolean as an environment variable would hold it.
    pub(crate) fn word(&self) -> Option<String> {
        match &self.value {
            Value::Flag(flag) => Some(flag.to_string()),
            Value::Other(text) | Value::Text(text) => Some(text.clone()),
            Value::Array(_) | Value::Object(_) => None,
        }
    }

    pub(crate) const fn is(&self, wanted: bool) -> bool {
        matches!(self.value, Value::Flag(flag) if flag == wanted)
    }
}

/// A syntax error in a config file. It never quotes the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
}

impl Broken {
    /// Returns an error at this byte of the text.
    pub(crate) fn at(text: &[u8], place: usize, what: impl Into<String>) -> Self {
        let before = String::from_utf8_lossy(&text[..place.min(text.len())]);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { line, column, what: what.into() }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.what)
    }
}
