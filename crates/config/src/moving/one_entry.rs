//! The edits that leave one entry in a host's file, the gateway's, in place of the servers that were moved.
//!
//! The gateway's entry takes the place of the last of them: those before it then all have a comma behind them
//! that goes with them, and no other comma is touched. The new text is read back: everything else in the file
//! must be there as it was.

use std::ops::Range;
use std::path::Path;

use serde_json::Value as Json;

use crate::document::jsonc;
use crate::document::tree::{Node, Value};
use crate::document::{ConfigDocument, Edit};
use crate::hosts::Host;
use crate::hosts::entry::{Entry, EntryKind};
use crate::hosts::line::ProgramLine;
use crate::moving::words::{extent, is_toml, key, quoted};
use crate::replacing::native::laid_out;

/// The entry by which a host reaches the gateway. It may hold a token, so there is no `Debug`.
#[derive(Clone)]
pub struct GatewayEntry {
    /// The program that the host starts.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// A variable with the token.
    pub env: Option<(&'static str, String)>,
}

/// Where the entry is written.
pub(crate) enum Spot<'a> {
    /// In place of a member of an object, with the text of the value that was there.
    Json(&'a str),
    /// As a table below this one.
    Toml(&'a str),
}

impl GatewayEntry {
    /// Returns the text of the entry, with its name.
    pub(crate) fn text(&self, host: Host, spot: &Spot<'_>) -> String {
        match spot {
            Spot::Json(original) => {
                let members = self.members(host);
                format!("{}: {}", quoted(NAME), laid_out(&members, original))
            }
            Spot::Toml(above) => {
                let args: Vec<_> = self.args.iter().map(|it| quoted(it)).collect();
                let env = self
                    .env
                    .iter()
                    .map(|(name, it)| format!("env = {{ {name} = {} }}\n", quoted(it)));
                format!(
                    "[{above}.{NAME}]\ncommand = {}\nargs = [{}]\n{}",
                    quoted(&self.program),
                    args.join(", "),
                    env.collect::<String>()
                )
            }
        }
    }

    fn members(&self, host: Host) -> Vec<(String, String)> {
        let mut members = Vec::new();
        let mut add = |key: &str, value: Json| members.push((key.to_owned(), value.to_string()));
        // Some hosts need a word about the kind of server.
        match host {
            Host::ClaudeCode | Host::VsCode => add("type", "stdio".into()),
            Host::Copilot => {
                add("type", "local".into());
                add("tools", vec!["*"].into());
            }
            Host::Zed => add("source", "custom".into()),
            _ => {}
        }
        add("command", self.program.as_str().into());
        add("args", self.args.clone().into());
        if let Some((name, value)) = &self.env {
            add("env", serde_json::json!({ *name: value }));
        }
        members
    }
}

/// Whether an entry of a host's file is the gateway's.
pub(crate) fn is_gateway(entry: &Entry) -> bool {
    let EntryKind::Local(local) = &entry.kind else { return false };
    match ProgramLine::read(local) {
        ProgramLine::Gateway => true,
        ProgramLine::Ours(_) => entry.env.iter().any(|(name, _)| name == TOKEN),
        _ => false,
    }
}

/// Returns the edits that put what `write` returns in place of these entries, or why a person has to.
pub(crate) fn edits(
    document: &ConfigDocument,
    path: &Path,
    gone: &[&Entry],
    write: &dyn Fn(&Spot<'_>) -> String,
) -> Result<Vec<Edit>, &'static str> {
    let mut found = Vec::new();
    for entry in gone {
        found.push(find(&document.root, &entry.span, &mut Vec::new()).ok_or(ODD)?);
    }
    found.sort_by_key(|it| it.node.span.start);
    let last = found.last().ok_or(ODD)?;
    if found.iter().any(|it| !std::ptr::eq(it.table, last.table)) {
        return Err("its file has servers in several places");
    }
    let is_twice =
        |it: &Found<'_>| it.table.members().iter().filter(|(name, _)| name == it.name).count() > 1;
    if found.iter().any(is_twice) {
        return Err("its name is there twice");
    }
    let mut edits = Vec::new();
    for (at, it) in found.iter().enumerate() {
        let span = extent(document, path, it.node).ok_or(ODD)?;
        if at + 1 == found.len() {
            let spot = if is_toml(path) {
                Spot::Toml(&it.above)
            } else {
                Spot::Json(&document.text[it.node.span.clone()])
            };
            edits.push(Edit { span, text: write(&spot) });
        } else if is_toml(path) {
            edits.push(Edit { span: with_blank_lines(&document.text, span), text: String::new() });
        } else {
            edits.extend(removed(&document.text, span).ok_or(ODD)?);
        }
    }
    let keys: Vec<_> = found.iter().filter_map(|it| it.node.key.clone()).collect();
    let new = ConfigDocument::read(path, document.with(&edits).into_bytes()).map_err(|_| ODD)?;
    if is_rest_kept(&document.root, &new.root, &keys) { Ok(edits) } else { Err(ODD) }
}

/// An entry, and the table that it is in.
pub(crate) struct Found<'a> {
    table: &'a Node,
    name: &'a str,
    pub(crate) node: &'a Node,
    /// The names of the tables above it, as a header of TOML has them.
    above: String,
}

/// Finds an entry by its byte range.
pub(crate) fn find<'a>(
    table: &'a Node,
    span: &Range<usize>,
    above: &mut Vec<&'a str>,
) -> Option<Found<'a>> {
    for (name, node) in table.members() {
        if node.is_object() && node.span == *span {
            let above: Vec<_> = above.iter().map(|it| key(it)).collect();
            return Some(Found { table, name, node, above: above.join(".") });
        }
        above.push(name);
        if let Some(found) = find(node, span, above) {
            return Some(found);
        }
        above.pop();
    }
    None
}

/// Returns the edits that remove a member and the comma behind it. Comments around it stay.
fn removed(text: &str, span: Range<usize>) -> Option<Vec<Edit>> {
    let comma = jsonc::gap_end(text, span.end);
    if text.as_bytes().get(comma) != Some(&b',') {
        return None;
    }
    let edit = |span| Edit { span, text: String::new() };
    if !text[span.end..comma].trim().is_empty() {
        return Some(vec![edit(span), edit(comma..comma + 1)]);
    }
    let line = text[..span.start].rfind('\n').map_or(0, |it| it + 1);
    let behind = &text[comma + 1..];
    let rest = behind.find('\n').map_or(behind, |it| &behind[..=it]);
    if text[line..span.start].trim().is_empty() && rest.trim().is_empty() && line > 0 {
        return Some(vec![edit(line..comma + 1 + rest.len())]);
    }
    let spaces = behind.len() - behind.trim_start_matches([' ', '\t']).len();
    Some(vec![edit(span.start..comma + 1 + spaces)])
}

fn with_blank_lines(text: &str, span: Range<usize>) -> Range<usize> {
    let mut end = span.end;
    for line in text[span.end..].split_inclusive('\n') {
        if !line.trim().is_empty() {
            break;
        }
        end += line.len();
    }
    span.start..end
}

/// Whether two trees say the same, but for members of these names' places, and one new member in place of
/// them.
fn is_rest_kept(old: &Node, new: &Node, gone: &[Range<usize>]) -> bool {
    match (&old.value, &new.value) {
        (Value::Object(before), Value::Object(after)) => {
            let is_gone = |node: &Node| node.key.as_ref().is_some_and(|it| gone.contains(it));
            let kept: Vec<_> = before.iter().filter(|(_, it)| !is_gone(it)).collect();
            let is_place = kept.len() < before.len();
            // The new member may be anywhere among the others, because tables of TOML have no order.
            let others = after
                .iter()
                .filter(|(name, _)| !is_place || kept.iter().any(|(own, _)| own == name));
            let others: Vec<_> = others.collect();
            after.len() == kept.len() + usize::from(is_place)
                && others.len() == kept.len()
                && kept
                    .iter()
                    .zip(others)
                    .all(|((a, old), (b, new))| a == b && is_rest_kept(old, new, gone))
        }
        (Value::Array(before), Value::Array(after)) => {
            before.len() == after.len()
                && before.iter().zip(after).all(|(old, new)| is_rest_kept(old, new, gone))
        }
        (Value::Flag(old), Value::Flag(new)) => old == new,
        (Value::Other(old), Value::Other(new)) | (Value::Text(old), Value::Text(new)) => old == new,
        _ => false,
    }
}

/// The name of the gateway in the files of hosts.
pub(crate) const NAME: &str = "ridethrough";
/// The variable of the entry that holds the token.
pub const TOKEN: &str = "GATEWAY_TOKEN";
const ODD: &str = "its file is written in a way that is not taken apart here";
