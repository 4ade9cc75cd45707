//! A request to an MCP server, read as far as rules and tests need.

use std::time::Duration;

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, Method};
use serde_json::Value;
use tokio::time::Instant;

use crate::turn::Request;

/// One request in the log.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When it arrived, counted from the creation of the [`Mcp`](crate::Mcp).
    pub at: Duration,
    /// The number of the connection it came on.
    pub connection: u64,
    /// The HTTP method.
    pub http: Method,
    /// Path and query.
    pub target: String,
    /// What it means in MCP.
    pub what: What,
    /// The session that it named.
    pub session: Option<String>,
    /// The event after which it wants a stream resumed.
    pub last_event_id: Option<String>,
    /// All headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

/// What an HTTP request means in MCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The end of the session.
    Delete,
    /// The opening of the standing stream.
    Listen,
    /// A JSON-RPC notification.
    Notification {
        /// Its method.
        method: String,
    },
    /// Nothing that MCP defines.
    Other,
    /// A JSON-RPC request.
    Request {
        /// Its method.
        method: String,
        /// The tool that it calls.
        tool: Option<String>,
    },
    /// A JSON-RPC response to a request of the server.
    Response,
    /// The resumption of a stream.
    Resume,
}

impl Entry {
    pub(super) fn new(request: Request, message: &Value, born: Instant) -> Self {
        let text = |name: &str| Some(request.headers.get(name)?.to_str().ok()?.to_owned());
        let last_event_id = text("last-event-id");
        let what = match request.method {
            Method::GET if !asks_for_stream(&request) => What::Other,
            _ => What::of(&request.method, last_event_id.is_some(), message),
        };
        Self {
            at: request.at.saturating_duration_since(born),
            connection: request.connection,
            what,
            session: text("mcp-session-id"),
            last_event_id,
            http: request.method,
            target: request.target,
            headers: request.headers,
            body: request.body,
        }
    }

    /// Returns the text of a header, if it is there and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl What {
    fn of(http: &Method, names_event: bool, message: &Value) -> Self {
        match *http {
            Method::DELETE => Self::Delete,
            Method::GET if names_event => Self::Resume,
            Method::GET => Self::Listen,
            Method::POST => Self::of_message(message),
            _ => Self::Other,
        }
    }

    fn of_message(message: &Value) -> Self {
        let has_id = message.get("id").is_some();
        match message["method"].as_str() {
            Some(method) if has_id => {
                let is_call = method == "tools/call";
                let tool = message["params"]["name"].as_str().filter(|_| is_call);
                Self::Request { method: method.to_owned(), tool: tool.map(str::to_owned) }
            }
            Some(method) => Self::Notification { method: method.to_owned() },
            None if has_id => Self::Response,
            None => Self::Other,
        }
    }
}

/// Whether a GET asks for a stream of MCP, by the header that the specification requires of every client.
///
/// A path in a `.well-known` folder never does: clients look there for how to log in, some of them with the
/// headers of their last request.
fn asks_for_stream(request: &Request) -> bool {
    let path = request.target.split(['?', '#']).next().unwrap_or_default();
    let accepted = request.headers.get_all(ACCEPT).iter().filter_map(|it| it.to_str().ok());
    let mut kinds = accepted.flat_map(|it| it.split(',')).filter_map(|it| it.split(';').next());
    let wants_events = kinds.any(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"));
    wants_events && !path.split('/').any(|segment| segment == ".well-known")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::journal;

    #[test]
    fn a_get_that_asks_for_no_stream_is_called_what_it_is() {
        let events = "application/json, text/event-stream;q=0.9";
        let cases = [
            ("/mcp", Some("Text/Event-Stream"), "listen"),
            ("/mcp?x=/.well-known/", Some(events), "listen"),
            ("/mcp", Some("application/json"), "GET /mcp"),
            ("/favicon.ico", Some("image/*, */*"), "GET /favicon.ico"),
            ("/authorize?a=b", None, "GET /authorize"),
            (RESOURCE, Some("*/*"), "GET /.well-known/oauth-protected-resource/mcp"),
            (RESOURCE, Some(events), "GET /.well-known/oauth-protected-resource/mcp"),
            ("/mcp/.well-known/x", Some(events), "GET /mcp/.well-known/x"),
        ];
        for (target, accept, expected) in cases {
            let entry = Entry::new(get(target, accept), &Value::Null, Instant::now());

            assert_eq!(journal::in_words(&entry), expected, "{target} {accept:?}");
        }
    }

    #[test]
    fn a_get_that_names_an_event_resumes_only_where_a_stream_is() {
        let mut resume = get("/mcp", Some("text/event-stream"));
        resume.headers.insert("last-event-id", HeaderValue::from_static("e1"));

        let entry = Entry::new(resume, &Value::Null, Instant::now());

        assert_eq!(entry.what, What::Resume);
    }

    fn get(target: &str, accept: Option<&'static str>) -> Request {
        let accept = accept.map(|it| (ACCEPT, HeaderValue::from_static(it)));
        Request {
            at: Instant::now(),
            connection: 1,
            method: Method::GET,
            target: target.to_owned(),
            headers: accept.into_iter().collect(),
            body: Bytes::new(),
        }
    }

    const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
}
