//! The script of a host, read from `script.txt`: what it writes, and what it waits for.
//!
//! A sequence is played at each door by a host of its own. It waits for messages, never for time to pass.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// A few lines of a host that show one thing.
pub(crate) struct Sequence {
    pub(crate) name: &'static str,
    pub(crate) beginning: Beginning,
    pub(crate) steps: Vec<Step>,
    pub(crate) scope: Scope,
}

/// What a sequence is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The door and the server behind it must be new, because they remember something of it.
    Alone,
    /// It is about nothing that the server behind the door could know.
    Door,
    Shared,
}

/// How a host begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Returns the whole script.
pub(crate) fn all() -> Result<Vec<Sequence>> {
    let mut all: Vec<Sequence> = Vec::new();
    let mut scope = Scope::Shared;
    for (number, line) in SCRIPT.lines().enumerate() {
        let place = || format!("script.txt, line {}", number + 1);
        match line.split_once(' ').unwrap_or((line, "")) {
            ("" | "#", _) => {}
            ("[alone]", _) => scope = Scope::Alone,
            ("[of", "the door]") => scope = Scope::Door,
            ("[shared]", _) => scope = Scope::Shared,
            ("==", name) => {
                let beginning = Beginning::Session { revision: "2025-11-25", capabilities: "{}" };
                all.push(Sequence { name, beginning, steps: Vec::new(), scope });
            }
            (verb, rest) => {
                let sequence = all.last_mut().with_context(place)?;
                sequence.read(verb, rest).with_context(place)?;
            }
        }
    }
    Ok(all)
}

impl Sequence {
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

    fn read(&mut self, verb: &str, rest: &'static str) -> Result<()> {
        let step = match verb {
            "answer" => Step::Answer(rest),
            "answered" => Step::UntilAnswered(rest.parse()?),
            "ask" => {
                self.steps.push(Step::Write(written(rest)?));
                Step::UntilAnswered(1)
            }
            "begins" => {
                self.beginning = beginning(rest)?;
                return Ok(());
            }
            "cancel" => Step::Cancel(rest),
            "end" => Step::UntilEnd,
            "kept" => Step::Kept(rest),
            "settle" => Step::Settle,
            "tell" => {
                self.steps.push(Step::Write(written(rest)?));
                Step::Settle
            }
            "until" => Step::Until(rest),
            "write" => Step::Write(written(rest)?),
            "write-last" => Step::WriteLast(written(rest)?),
            _ => bail!("there is no step `{verb}`"),
        };
        self.steps.push(step);
        Ok(())
    }
}

fn beginning(words: &'static str) -> Result<Beginning> {
    match *words.split(' ').collect::<Vec<_>>() {
        ["raw"] => Ok(Beginning::Raw),
        ["session", revision, capabilities] => Ok(Beginning::Session { revision, capabilities }),
        ["stateless"] => Ok(Beginning::Stateless),
        _ => bail!("nothing begins `{words}`"),
    }
}

/// Returns the bytes of a line of the script, in which some forms are written in short.
fn written(line: &str) -> Result<Vec<u8>> {
    let (form, rest) = line.split_once(' ').unwrap_or((line, ""));
    let [one, two, three] = words(rest);
    let text = match form {
        "call" => call(one, two, three),
        "call-with-token" => {
            let meta = format!(r#"{{"progressToken":{three}}}"#);
            let params = format!(r#"{{"name":"{two}","arguments":{{}},"_meta":{meta}}}"#);
            request(one, "tools/call", &params)
        }
        "initialize" => initialize(one, two, three),
        "pings" => {
            let pings = (0..one.parse::<u32>()?).map(|id| request(&id.to_string(), "ping", "{}"));
            format!("[{}]", pings.collect::<Vec<_>>().join(","))
        }
        "request" => request(one, two, three),
        "stateless" => stateless(one, two, three, "{}", &json!({})),
        "stateless-by" => {
            let (capabilities, [id, method, params]) = (one, words(&rest[one.len() + 1..]));
            stateless(id, method, params, capabilities, &json!({}))
        }
        "stateless-call" => stateless_call(one, two, &serde_json::from_str(three)?),
        _ => line.to_owned(),
    };
    with_bytes(&text)
}

/// Returns the first two words, and everything behind them.
fn words(text: &str) -> [&str; 3] {
    let mut words = text.splitn(3, ' ');
    [(); 3].map(|()| words.next().unwrap_or_default())
}

/// Puts letters that come many times, and bytes that one does not see, where a line names them.
fn with_bytes(text: &str) -> Result<Vec<u8>> {
    let mut parts = text.split("${");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (name, rest) = part.split_once('}').context("`${` without its end")?;
        match name.split_once('*').unwrap_or((name, "")) {
            ("ff", _) => bytes.push(0xff),
            ("key" | "state" | "task", _) => bytes.extend(format!("${{{name}}}").bytes()),
            ("return", _) => bytes.push(b'\r'),
            ("space", _) => bytes.push(b' '),
            ("tab", _) => bytes.push(b'\t'),
            (times, letter) => bytes.extend(letter.repeat(times.parse()?).bytes()),
        }
        bytes.extend(rest.bytes());
    }
    Ok(bytes)
}

/// A request of a session.
fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// A call of a tool in a session.
fn call(id: &str, tool: &str, arguments: &str) -> String {
    request(id, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#))
}

/// A call of the stateless era.
fn stateless_call(id: &str, tool: &str, more: &Value) -> String {
    let params = json!({"name": tool, "arguments": {}});
    stateless(id, "tools/call", &params.to_string(), "{}", more)
}

/// A request of the stateless era by a host with these capabilities, and with more in its `_meta`.
fn stateless(id: &str, method: &str, params: &str, capabilities: &str, more: &Value) -> String {
    let more = more.as_object().into_iter().flatten();
    let more: String = more.map(|(key, value)| format!(r#","{key}":{value}"#)).collect();
    let meta = format!(
        r#"{{"{NAMES}/protocolVersion":"{REVISION}","{NAMES}/clientCapabilities":{capabilities},"{NAMES}/clientInfo":{INFO}{more}}}"#
    );
    let params = params.strip_suffix('}').unwrap_or(params);
    let comma = if params.ends_with('{') { "" } else { "," };
    request(id, method, &format!(r#"{params}{comma}"_meta":{meta}}}"#))
}

/// `initialize`, as a host of this revision says it.
pub(crate) fn initialize(id: &str, revision: &str, capabilities: &str) -> String {
    let params = format!(
        r#"{{"protocolVersion":"{revision}","capabilities":{capabilities},"clientInfo":{INFO}}}"#
    );
    request(id, "initialize", &params)
}

/// A call that shows that everything before it has been handled.
pub(crate) fn fence(number: u64, is_stateless: bool) -> String {
    let id = format!(r#""{FENCE}{number}""#);
    if is_stateless { stateless_call(&id, "echo", &json!({})) } else { call(&id, "echo", "{}") }
}

const SCRIPT: &str = include_str!("../script.txt");
/// What ids of fences begin with.
pub(crate) const FENCE: &str = "fence-";
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const INFO: &str = r#"{"name":"host","version":"1"}"#;
const NAMES: &str = "io.modelcontextprotocol";
const REVISION: &str = "2026-07-28";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_script_is_long_and_each_of_its_names_is_used_once() {
        let all = all().unwrap();

        let names: BTreeSet<_> = all.iter().map(|it| it.name).collect();

        assert_eq!(names.len(), all.len());
        assert!(all.len() >= 60, "{}", all.len());
    }

    #[test]
    fn a_stateless_request_says_everything_in_its_meta() {
        let line = stateless("1", "tools/list", r#"{"cursor":"c"}"#, "{}", &json!({"x": 1}));

        let read: Value = serde_json::from_str(&line).unwrap();

        assert_eq!(read["params"]["cursor"], "c");
        assert_eq!(read["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], REVISION);
        assert_eq!(read["params"]["_meta"]["x"], 1);
    }

    #[test]
    fn letters_come_many_times_and_unseen_bytes_by_their_names() {
        let line = written("${3*i}${ff}${tab}${state}").unwrap();

        assert_eq!(line, b"iii\xff\t${state}");
        assert_eq!(written("pings 2").unwrap().len(), 2 * request("0", "ping", "{}").len() + 3);
    }
}
