//! Words of TOML, and the comments that stand within an entry of a host's file.

use std::ops::Range;
use std::path::Path;

use crate::document::ConfigDocument;
use crate::document::tree::{Node, Value};

/// Returns a text as TOML writes it.
pub(crate) fn quoted(text: &str) -> String {
    // What JSON escapes, TOML escapes in the same way; it wants one more character escaped.
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// Returns the name of a table or a member as TOML writes it.
pub(crate) fn key(name: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    if !name.is_empty() && name.chars().all(is_plain) { name.to_owned() } else { quoted(name) }
}

/// Returns the byte range of a whole entry: in JSON with its name; in TOML the lines from its header to its
/// last value, if they are the lines of one table.
pub(crate) fn extent(document: &ConfigDocument, path: &Path, entry: &Node) -> Option<Range<usize>> {
    let text = &document.text;
    if !is_toml(path) {
        return Some(entry.key.as_ref()?.start..entry.span.end);
    }
    if !text[entry.span.clone()].starts_with('[') {
        return None;
    }
    let mut ends = Vec::new();
    spans(entry, &mut ends);
    let end = ends.into_iter().map(|it| it.end).max()?;
    let start = text[..entry.span.start].rfind('\n').map_or(0, |it| it + 1);
    let end = text[end..].find('\n').map_or(text.len(), |it| end + it + 1);
    Some(start..end)
}

/// Returns the comments within an entry, without their marks, each line by itself.
pub(crate) fn comments(document: &ConfigDocument, path: &Path, entry: &Node) -> Vec<String> {
    let Some(extent) = extent(document, path, entry) else { return Vec::new() };
    let mut taken = Vec::new();
    spans(entry, &mut taken);
    taken.sort_by_key(|it| it.start);
    let (mut found, mut at) = (Vec::new(), extent.start);
    while at < extent.end {
        if let Some(span) = taken.iter().find(|it| it.contains(&at)) {
            at = span.end;
            continue;
        }
        let rest = &document.text[at..extent.end];
        let length = match rest {
            _ if is_toml(path) && rest.starts_with('#')
                || !is_toml(path) && rest.starts_with("//") =>
            {
                let end = rest.find('\n').unwrap_or(rest.len());
                found.push(rest[..end].trim_start_matches(['#', '/']).trim().to_owned());
                end
            }
            _ if !is_toml(path) && rest.starts_with("/*") => {
                let end = rest.find("*/").map_or(rest.len(), |it| it + 2);
                let inside = rest[..end].trim_start_matches("/*").trim_end_matches("*/");
                let lines = inside.lines().map(|it| it.trim().trim_start_matches('*').trim());
                found.extend(lines.filter(|it| !it.is_empty()).map(str::to_owned));
                end
            }
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        at += length.max(1);
    }
    found
}

pub(crate) fn is_toml(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "toml")
}

/// Collects the byte ranges in which there are no comments: names, plain values and headers of tables.
fn spans(node: &Node, found: &mut Vec<Range<usize>>) {
    found.extend(node.key.clone());
    match &node.value {
        Value::Array(items) => {
            items.iter().for_each(|it| spans(it, found));
            found.push(node.span.end.saturating_sub(1)..node.span.end);
        }
        Value::Object(members) => {
            members.iter().for_each(|(_, it)| spans(it, found));
            found.push(node.span.end.saturating_sub(1)..node.span.end);
        }
        Value::Flag(_) | Value::Other(_) | Value::Text(_) => found.push(node.span.clone()),
    }
}
