//! Everything that the servers of one scenario saw and did, as plain data.

use std::hash::Hasher;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Deed, Entry, Mcp, Server, What};

/// The whole log of one scenario. Times are milliseconds since the stage was opened, for all of its servers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Journal {
    /// Every request, in the order of arrival.
    pub requests: Vec<Asked>,
    /// Every run of a tool.
    pub runs: Vec<Ran>,
    /// Every connection that was served.
    pub connections: Vec<Visited>,
    /// How many times a client connected to the first server, served or not.
    pub dials: u64,
    /// What happened to the servers themselves: `down`, `up` and so on.
    pub events: Vec<Happened>,
}

/// One request.
#[derive(Clone, Debug, Serialize)]
pub struct Asked {
    /// When it arrived.
    pub at_ms: f64,
    /// Which server got it.
    pub server: Which,
    /// The number of its connection at that server.
    pub connection: u64,
    /// The HTTP method.
    pub http: String,
    /// Path and query.
    pub path: String,
    /// What it is, in a few words: `tools/call echo`, `resume after e1`.
    pub what: String,
    /// The method of its message.
    pub method: Option<String>,
    /// The tool that it calls.
    pub tool: Option<String>,
    /// The session that it names.
    pub session: Option<String>,
    /// The event after which it resumes.
    pub last_event_id: Option<String>,
    /// A hash of its body (FNV-1a, 64 bits), so that repeats can be seen.
    pub body_hash: String,
    /// How many bytes its body has.
    pub body_bytes: usize,
    /// What the server did about it.
    pub marks: Vec<Marked>,
}

/// One thing that a server did about a request.
#[derive(Clone, Debug, Serialize)]
pub struct Marked {
    /// When it was done.
    pub at_ms: f64,
    /// What was done.
    #[serde(flatten)]
    pub deed: Deed,
}

/// One run of a tool.
#[derive(Clone, Debug, Serialize)]
pub struct Ran {
    /// Which server ran it.
    pub server: Which,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
}

/// One connection.
#[derive(Clone, Debug, Serialize)]
pub struct Visited {
    /// Which server accepted it.
    pub server: Which,
    /// Its number there, from one.
    pub connection: u64,
    /// When it was accepted.
    pub opened_ms: f64,
    /// When it was closed completely; `None` if it outlived the scenario.
    pub closed_ms: Option<f64>,
}

/// An event of a server itself.
#[derive(Clone, Debug, Serialize)]
pub struct Happened {
    /// When it happened.
    pub at_ms: f64,
    /// The server that it happened to.
    pub server: Which,
    /// What happened, in a word or two.
    pub what: String,
}

/// One of the servers of a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// The authorization server.
    Issuer,
    /// The server that the client was sent to.
    #[default]
    Main,
    /// The server on another origin.
    Other,
}

impl Journal {
    /// Adds what one server saw and did.
    pub fn add(&mut self, which: Which, server: &Server, mcp: &Mcp) {
        let mut asked: Vec<_> = mcp.log().iter().map(|entry| Asked::new(which, entry)).collect();
        for mark in mcp.marks() {
            if let Some(asked) = asked.get_mut(mark.request) {
                asked.marks.push(Marked { at_ms: millis(mark.at), deed: mark.deed });
            }
        }
        self.requests.extend(asked);
        self.requests.sort_by(|one, other| one.at_ms.total_cmp(&other.at_ms));
        let ran = mcp.runs().into_iter().map(|run| Ran {
            server: which,
            tool: run.tool,
            arguments: run.arguments,
        });
        self.runs.extend(ran);
        let visited = server.visits().into_iter().zip(1..).map(|(visit, connection)| Visited {
            server: which,
            connection,
            opened_ms: millis(mcp.age(visit.opened)),
            closed_ms: visit.closed.map(|closed| millis(mcp.age(closed))),
        });
        self.connections.extend(visited);
        if which == Which::Main {
            self.dials = server.dials();
        }
    }
}

impl Asked {
    fn new(server: Which, entry: &Entry) -> Self {
        let (method, tool) = match &entry.what {
            What::Request { method, tool } => (Some(method.clone()), tool.clone()),
            What::Notification { method } => (Some(method.clone()), None),
            _ => (None, None),
        };
        Self {
            at_ms: millis(entry.at),
            server,
            connection: entry.connection,
            http: entry.http.to_string(),
            path: entry.target.clone(),
            what: in_words(entry),
            method,
            tool,
            session: entry.session.clone(),
            last_event_id: entry.last_event_id.clone(),
            body_hash: hash(&entry.body),
            body_bytes: entry.body.len(),
            marks: Vec::new(),
        }
    }
}

pub(crate) fn in_words(entry: &Entry) -> String {
    match &entry.what {
        What::Delete => "end of session".to_owned(),
        What::Listen => "listen".to_owned(),
        What::Notification { method } => method.clone(),
        What::Other => {
            // The query of a login page is longer than everything else together.
            let path = entry.target.split('?').next().unwrap_or_default();
            format!("{} {path}", entry.http)
        }
        What::Request { method, tool: Some(tool) } => format!("{method} {tool}"),
        What::Request { method, tool: None } => method.clone(),
        What::Response => "answer to the server".to_owned(),
        What::Resume => {
            format!("resume after {}", entry.last_event_id.as_deref().unwrap_or_default())
        }
    }
}

pub(crate) fn millis(duration: Duration) -> f64 {
    // Microseconds are enough; further digits are noise and make files long.
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

fn hash(bytes: &[u8]) -> String {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    hash.write(bytes);
    format!("{:016x}", hash.finish())
}

/// FNV-1a, which gives one value on every machine. It protects no secret.
struct Fnv(u64);

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_hashed_as_the_published_vectors_have_it() {
        assert_eq!(hash(b""), "cbf29ce484222325");
        assert_eq!(hash(b"foobar"), "85944171f73967e8");
    }
}
