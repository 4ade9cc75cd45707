//! The `ridethrough.toml` of a project: a file in the working directory, which may have come from anywhere.
//!
//! It names servers. Its other settings count once the user has approved the file: a header could send any
//! variable to any server, and a tool that is declared repeatable would run twice.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use ridethrough_terminal::misuse::Misuse;
use ridethrough_terminal::safe;
use toml::{Table, Value};

use crate::approvals::Approvals;
use crate::folders::FILE;
use crate::hosts::contents;
use crate::settings::{Layer, own_file};

/// A project's file, read once: the bytes that are approved are the bytes that are used.
pub struct ProjectFile {
    /// What it says.
    pub bytes: Vec<u8>,
}

/// How a project's file is treated.
pub enum ProjectFate {
    /// It was approved, and has these settings.
    Approved(Layer),
    /// It is not used; this is the reason, for people.
    Ignored(String),
    /// There is none, or it sets nothing.
    Nothing,
}

/// Reads a project's file; `None` if there is no regular file.
pub fn read(path: &Path) -> Option<ProjectFile> {
    // Reading a pipe would never end.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(ProjectFile { bytes })
}

impl ProjectFile {
    /// Returns a line for each setting: names of headers, variables, tools and servers, and the programs that
    /// are started. Values that may be secrets are left out.
    pub fn contents(&self, path: &Path) -> Result<Vec<String>, String> {
        let text = self.text()?;
        if path.file_name().is_none_or(|name| name != FILE) {
            let servers = contents::servers(path, text);
            return if servers.is_empty() {
                Err("it names no server".to_owned())
            } else {
                Ok(servers)
            };
        }
        let layer = own_file::parse(text)?;
        let table: Table = text.parse().map_err(|_| "it is not TOML".to_owned())?;
        let mut lines: Vec<_> =
            layer.bearer_env.iter().map(|it| format!("bearer-env {it}")).collect();
        lines.extend(layer.headers.iter().map(|it| header_line(it)));
        lines.extend(layer.repeatable.iter().map(|it| format!("repeatable {it}")));
        let told = ["bearer-env", "header", "repeatable", "servers"];
        let others = table.iter().filter(|(key, _)| !told.contains(&key.as_str()));
        lines.extend(others.map(|(key, value)| format!("{key} {}", plain(value))));
        lines.extend(contents::servers(path, text));
        if lines.is_empty() {
            lines.push("nothing".to_owned());
        }
        Ok(lines)
    }

    fn text(&self) -> Result<&str, String> {
        std::str::from_utf8(&self.bytes).map_err(|_| "it is not text in UTF-8".to_owned())
    }
}

fn header_line(header: &str) -> String {
    let (name, value) = header.split_once(':').unwrap_or((header, ""));
    format!("header {}{}", name.trim(), variables(value))
}

/// Returns the variables whose values go into a text.
fn variables(text: &str) -> String {
    let parts = text.split("${").skip(1);
    let variables: Vec<_> = parts.filter_map(|it| it.split_once('}')).map(|(it, _)| it).collect();
    match variables.as_slice() {
        [] => String::new(),
        variables => format!(", with the variable {}", variables.join(", ")),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        // No setting has any other type.
        _ => String::new(),
    }
}

/// Reads the file in the working directory, and decides whether it counts.
pub fn say() -> Result<ProjectFate, Misuse> {
    let path = Path::new(FILE);
    let Some(found) = read(path) else { return Ok(ProjectFate::Nothing) };
    let mut approvals = Approvals::read();
    let parsed = found.text().and_then(own_file::parse);
    if approvals.has(path, &found.bytes) {
        return parsed.map(ProjectFate::Approved).map_err(|fault| own_file::wrong(path, &fault));
    }
    let (what, hint) = match parsed {
        Ok(layer) if layer.keys().is_empty() => return Ok(ProjectFate::Nothing),
        Ok(layer) => (format!("it sets {}", layer.keys().join(", ")), APPROVE),
        // A repository must not be able to stop a command, so a broken file is only reported.
        Err(fault) => (format!("it cannot be used: {fault}"), MEND),
    };
    if approvals.is_news(path, &found.bytes) {
        eprintln!(
            "note: `{FILE}` in this folder is used for names of servers only: {}\n\nhint: {hint}",
            safe::line(&what)
        );
    }
    Ok(ProjectFate::Ignored(what))
}

const APPROVE: &str = "if you trust it, `ridethrough trust` approves it as it is";
/// The hint about a file that cannot be read, which cannot be approved either.
const MEND: &str =
    "mend it if it is yours: its keys are the names of the flags, see `ridethrough call --help`";
const MOST_BYTES: u64 = 1 << 20;
