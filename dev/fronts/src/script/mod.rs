//! The script of a host: what it writes, and what it waits for.
//!
//! A sequence is played at each door by a host of its own. It waits for messages, never for time to pass.

mod calls;
mod cancels;
mod envelopes;
mod greetings;
mod listening;
mod questions;

use serde_json::{Value, json};

/// A few lines of a host that show one thing.
pub(crate) struct Sequence {
    pub(crate) name: &'static str,
    pub(crate) beginning: Beginning,
    pub(crate) steps: Vec<Step>,
    /// Whether the door and the server behind it must be new, because they remember something of it.
    pub(crate) is_alone: bool,
    /// Whether it is about nothing that the server behind the door could know.
    pub(crate) is_of_door: bool,
}

/// How a host begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// With the first line of its steps.
    Raw,
    /// With `initialize`, in this revision and with these capabilities.
    Session { revision: &'static str, capabilities: &'static str },
    /// With nothing: each request says everything.
    Stateless,
}

/// What a host does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Answers the last question, with this result.
    Answer(&'static str),
    /// Takes a request back; the id is spelled like this.
    Cancel(&'static str),
    /// Looks whether these bytes came in a message.
    Kept(&'static str),
    /// Reads until the door has nothing more to say.
    Settle,
    /// Reads until a message of this method came.
    Until(&'static str),
    /// Reads until so many requests were answered, or refused.
    UntilAnswered(usize),
    /// Closes its end, and reads to the end of what the program says.
    UntilEnd,
    /// Writes a line.
    Write(Vec<u8>),
    /// Writes a line without its end.
    WriteLast(Vec<u8>),
}

/// The whole script.
pub(crate) fn all() -> Vec<Sequence> {
    let parts = [
        envelopes::all(),
        greetings::all(),
        calls::all(),
        cancels::all(),
        questions::all(),
        listening::all(),
    ];
    parts.into_iter().flatten().collect()
}

impl Sequence {
    const fn new(name: &'static str, beginning: Beginning) -> Self {
        Self { name, beginning, steps: Vec::new(), is_alone: false, is_of_door: false }
    }

    /// Begins with nothing.
    pub(super) const fn raw(name: &'static str) -> Self {
        Self::new(name, Beginning::Raw)
    }

    /// Begins with a session.
    pub(super) const fn session(name: &'static str) -> Self {
        Self::session_of(name, "2025-11-25", "{}")
    }

    /// Begins with a session of this revision.
    pub(super) const fn session_of(
        name: &'static str,
        revision: &'static str,
        capabilities: &'static str,
    ) -> Self {
        Self::new(name, Beginning::Session { revision, capabilities })
    }

    /// Begins with requests that say everything.
    pub(super) const fn stateless(name: &'static str) -> Self {
        Self::new(name, Beginning::Stateless)
    }

    /// Wants a door and a server of its own.
    pub(super) const fn alone(mut self) -> Self {
        self.is_alone = true;
        self
    }

    /// Is about the door alone: which server is behind it means nothing.
    pub(super) const fn of_door(mut self) -> Self {
        self.is_of_door = true;
        self
    }

    /// Writes a line that has one answer.
    pub(super) fn asks(self, line: impl Into<Vec<u8>>) -> Self {
        self.writes(line).then(Step::UntilAnswered(1))
    }

    /// Writes a line that has no answer.
    pub(super) fn tells(self, line: impl Into<Vec<u8>>) -> Self {
        self.writes(line).then(Step::Settle)
    }

    pub(super) fn writes(self, line: impl Into<Vec<u8>>) -> Self {
        self.then(Step::Write(line.into()))
    }

    pub(super) fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Whether its requests are of the stateless era.
    pub(crate) fn is_stateless(&self) -> bool {
        self.beginning == Beginning::Stateless
    }

    /// The revision that its headers name.
    pub(crate) const fn revision(&self) -> &'static str {
        match self.beginning {
            Beginning::Raw => "",
            Beginning::Session { revision, .. } => revision,
            Beginning::Stateless => REVISION,
        }
    }
}

/// A request of a session.
pub(super) fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// A call of a tool in a session.
pub(super) fn call(id: &str, tool: &str, arguments: &str) -> String {
    request(id, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#))
}

/// A call that asks for progress.
pub(super) fn call_with_token(id: &str, tool: &str, token: &str) -> String {
    let meta = format!(r#"{{"progressToken":{token}}}"#);
    request(id, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{{}},"_meta":{meta}}}"#))
}

/// A request of the stateless era by a host that can do nothing.
pub(super) fn stateless(id: &str, method: &str, params: &str) -> String {
    stateless_with(id, method, params, "{}", &json!({}))
}

/// A call of the stateless era.
pub(super) fn stateless_call(id: &str, tool: &str, more: &Value) -> String {
    let params = json!({"name": tool, "arguments": {}});
    stateless_with(id, "tools/call", &params.to_string(), "{}", more)
}

/// A request of the stateless era by a host with these capabilities, and with more in its `_meta`.
pub(super) fn stateless_with(
    id: &str,
    method: &str,
    params: &str,
    capabilities: &str,
    more: &Value,
) -> String {
    let more = more.as_object().into_iter().flatten();
    let more: String = more.map(|(key, value)| format!(r#","{key}":{value}"#)).collect();
    let meta = format!(
        r#"{{"{VERSION}":"{REVISION}","{CAPABILITIES}":{capabilities},"{INFO}":{{"name":"host","version":"1"}}{more}}}"#
    );
    let params = params.strip_suffix('}').unwrap_or(params);
    let comma = if params.ends_with('{') { "" } else { "," };
    request(id, method, &format!(r#"{params}{comma}"_meta":{meta}}}"#))
}

/// `initialize`, as a host of this revision says it.
pub(crate) fn initialize(id: &str, revision: &str, capabilities: &str) -> String {
    let info = r#"{"name":"host","version":"1"}"#;
    let params = format!(
        r#"{{"protocolVersion":"{revision}","capabilities":{capabilities},"clientInfo":{info}}}"#
    );
    request(id, "initialize", &params)
}

/// A call that shows that everything before it has been handled; `None` in the middle of nothing.
pub(crate) fn fence(number: u64, is_stateless: bool) -> String {
    let id = format!(r#""{FENCE}{number}""#);
    if is_stateless { stateless_call(&id, "echo", &json!({})) } else { call(&id, "echo", "{}") }
}

/// What ids of fences begin with.
pub(crate) const FENCE: &str = "fence-";
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
pub(super) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(super) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(super) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const INFO: &str = "io.modelcontextprotocol/clientInfo";
const REVISION: &str = "2026-07-28";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_script_is_long_and_each_of_its_names_is_used_once() {
        let all = all();

        let names: BTreeSet<_> = all.iter().map(|it| it.name).collect();

        assert_eq!(names.len(), all.len());
        assert!(all.len() >= 60, "{}", all.len());
    }

    #[test]
    fn a_stateless_request_says_everything_in_its_meta() {
        let line = stateless_with("1", "tools/list", r#"{"cursor":"c"}"#, "{}", &json!({"x": 1}));

        let read: Value = serde_json::from_str(&line).unwrap();

        assert_eq!(read["params"]["cursor"], "c");
        assert_eq!(read["params"]["_meta"][VERSION], REVISION);
        assert_eq!(read["params"]["_meta"]["x"], 1);
    }
}
