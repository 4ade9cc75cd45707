//! One config file, read: its text and the parsed tree.

pub(crate) mod jsonc;
pub(crate) mod tree;

use std::ops::Range;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use crate::document::tree::{Broken, Node, Value};

/// A file's text and its parsed tree. It has no `Debug`: config files hold secrets.
pub(crate) struct ConfigDocument {
    /// The whole file; spans in the tree are byte ranges of it.
    pub(crate) text: String,
    pub(crate) root: Node,
}

/// A new text for a part of a file.
#[derive(Clone)]
pub(crate) struct Edit {
    pub(crate) span: Range<usize>,
    pub(crate) text: String,
}

impl ConfigDocument {
    /// Reads the bytes of the file at this path: as TOML if its name says so, else as JSON with comments.
    pub(crate) fn read(path: &Path, bytes: Vec<u8>) -> Result<Self, Broken> {
        let text = String::from_utf8(bytes).map_err(|error| {
            let place = error.utf8_error().valid_up_to();
            Broken::at(error.as_bytes(), place, "this is not UTF-8")
        })?;
        // Editors on Windows put a byte order mark before the text.
        let mark = if text.starts_with(MARK) { MARK.len_utf8() } else { 0 };
        let body = &text[mark..];
        let mut root = match path.extension().and_then(|it| it.to_str()) {
            _ if body.trim().is_empty() => {
                Node { span: 0..body.len(), key: None, value: Value::Object(Vec::new()) }
            }
            Some("toml") => toml_tree(body)?,
            _ => jsonc::parse(body)?,
        };
        shift(&mut root, mark);
        Ok(Self { text, root })
    }

    /// Returns the text with the edits made, and every other byte unchanged. Edits never overlap.
    pub(crate) fn with(&self, edits: &[Edit]) -> String {
        let mut edits: Vec<_> = edits.iter().collect();
        edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
        let mut text = String::with_capacity(self.text.len());
        let mut done = 0;
        for Edit { span, text: new } in edits {
            text.push_str(&self.text[done..span.start]);
            text.push_str(new);
            done = span.end;
        }
        text.push_str(&self.text[done..]);
        text
    }
}

fn shift(node: &mut Node, by: usize) {
    if by == 0 {
        return;
    }
    node.span = node.span.start + by..node.span.end + by;
    node.key = node.key.take().map(|key| key.start + by..key.end + by);
    match &mut node.value {
        Value::Array(items) => items.iter_mut().for_each(|item| shift(item, by)),
        Value::Object(members) => members.iter_mut().for_each(|(_, item)| shift(item, by)),
        Value::Flag(_) | Value::Other(_) | Value::Text(_) => {}
    }
}

fn toml_tree(text: &str) -> Result<Node, Broken> {
    let table = DeTable::parse(text).map_err(|error| {
        let place = error.span().map_or(text.len(), |span| span.start);
        Broken::at(text.as_bytes(), place, error.message())
    })?;
    let span = table.span();
    Ok(toml_node(span, DeValue::Table(table.into_inner())))
}

fn toml_node(span: Range<usize>, value: DeValue<'_>) -> Node {
    let value = match value {
        DeValue::Array(items) => Value::Array(
            items.into_iter().map(|item| toml_node(item.span(), item.into_inner())).collect(),
        ),
        DeValue::Boolean(flag) => Value::Flag(flag),
        DeValue::Datetime(date) => Value::Other(date.to_string()),
        DeValue::Float(number) => Value::Other(number.to_string()),
        DeValue::Integer(number) => Value::Other(number.to_string()),
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Table(table) => {
            let member = |(name, item): (toml::Spanned<_>, toml::Spanned<_>)| {
                let key = Some(name.span());
                let name: std::borrow::Cow<'_, str> = name.into_inner();
                let node = toml_node(item.span(), item.into_inner());
                (name.into_owned(), Node { key, ..node })
            };
            Value::Object(table.into_iter().map(member).collect())
        }
    };
    Node { span, key: None, value }
}

const MARK: char = '\u{feff}';

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<ConfigDocument, Broken> {
        ConfigDocument::read(Path::new(name), text.as_bytes().to_vec())
    }

    #[test]
    fn toml_values_stand_where_the_tree_says() {
        let text = "# mine\n[servers.'a b']\ncommand = \"npx\" # why\nargs = [\n  '-y', # yes\n  \"x\",\n]\n";

        let document = read("config.toml", text).ok().unwrap();

        let server = document.root.get("servers").unwrap().get("a b").unwrap();
        let place = |node: &Node| text[node.span.clone()].to_owned();
        assert_eq!(place(server.get("command").unwrap()), "\"npx\"");
        let args = server.get("args").unwrap();
        assert_eq!(place(args), "[\n  '-y', # yes\n  \"x\",\n]");
        let Value::Array(items) = &args.value else { panic!("an array") };
        assert_eq!((place(&items[0]), items[0].text()), ("'-y'".to_owned(), Some("-y")));
    }

    #[test]
    fn broken_toml_is_told_by_its_place_without_its_text() {
        let broken = read("config.toml", "a = 1\nb = \"s3cret\nc = 2\n").err().unwrap();

        assert_eq!(broken.line, 2, "{broken}");
        assert!(!broken.to_string().contains("s3cret"), "{broken}");
    }

    #[test]
    fn a_mark_before_the_text_moves_every_place() {
        let document = read("a.json", "\u{feff}{\"a\": [\"b\"]}").ok().unwrap();

        let Value::Array(items) = &document.root.get("a").unwrap().value else {
            panic!("an array")
        };
        let edit = Edit { span: items[0].span.clone(), text: "\"c\"".to_owned() };
        assert_eq!(document.with(&[edit]), "\u{feff}{\"a\": [\"c\"]}");
    }

    #[test]
    fn an_empty_file_has_no_servers_and_is_not_broken() {
        assert!(read("a.json", " \n").ok().unwrap().root.members().is_empty());
    }

    #[test]
    fn bytes_that_are_no_text_are_told_by_their_place() {
        let broken = ConfigDocument::read(Path::new("a.json"), b"{\n \xff".to_vec()).err().unwrap();

        assert_eq!(broken.to_string(), "line 2, column 2: this is not UTF-8");
    }
}
