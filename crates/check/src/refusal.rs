//! Explains an answer that opens no session: the server asks for credentials, is busy, is a web page, an old
//! server, or a new one.

use ridethrough::event::Answer;
use ridethrough::machine::head::Content;
use ridethrough::transport::Cause;
use ridethrough_config::address;
use ridethrough_terminal::secrets;

use crate::ended::Ended;
use crate::era::{self, Era};
use crate::finding::{Finding, Subject};
use crate::notes::Notes;
use crate::question::Ask;
use crate::redirect;
use crate::seen::{AnswerSeen, ReadEnd};
use crate::wire::{Miss, WATCH, Wire};

/// Explains why `initialize` was not answered.
pub(crate) fn unanswered(miss: &Miss) -> (Finding, Ended) {
    let said =
        |what: String, advice: &str| Subject::Protocol.bad("initialize", what).advise(advice);
    match miss {
        Miss::Failed(failure) if failure.cause == Cause::Unreadable => {
            let what = format!("what answers there is no HTTP that can be read: {failure}");
            (
                said(
                    what,
                    "check scheme and port of the URL: https on a plain port, or another service",
                ),
                Ended::Protocol,
            )
        }
        Miss::Failed(failure) => {
            let what = format!("`initialize` has no answer: {failure}");
            (
                said(
                    what,
                    "look at the server's log: it, or what stands before it, drops the request",
                ),
                Ended::Unreachable,
            )
        }
        Miss::Late => {
            let what = format!("`initialize` has no answer: {miss}");
            (said(what, "give it more time by --timeout"), Ended::Deadline)
        }
        Miss::Silent => {
            let what = format!("`initialize` has no answer: {miss}");
            (said(what, "look whether the server is busy or stuck"), Ended::Unreachable)
        }
    }
}

/// Explains an answer whose head came and whose rest did not. `None` if it is whole.
fn unfinished(seen: &AnswerSeen, wire: &Wire) -> Option<(Finding, Ended)> {
    let because = seen.unfinished()?;
    // The `endpoint` event of HTTP+SSE is more telling than the missing answer.
    if seen.stream.as_ref().is_some_and(|it| it.endpoint.is_some()) {
        return None;
    }
    let said =
        |what: String, advice: &str| Subject::Protocol.bad("initialize", what).advise(advice);
    Some(match &seen.end {
        ReadEnd::Open => {
            let miss = if wire.is_over() { Miss::Late } else { Miss::Silent };
            let (finding, exit) = unanswered(&miss);
            let what = format!("{}; only the head of an answer was there", finding.what);
            (Finding { what, ..finding }, exit)
        }
        ReadEnd::Overlong => {
            let what = "answers `initialize` without end: it was left alone after a mebibyte";
            let advice = "look what the server sends there: an answer to `initialize` is short";
            (said(what.to_owned(), advice), Ended::Protocol)
        }
        ReadEnd::Broken(_) | ReadEnd::Ended => {
            let what = format!("`initialize` has no answer: {because}");
            let advice = "look at the log of the server and of what stands before it: one of them \
                 drops answers on the way";
            (said(what, advice), Ended::Unreachable)
        }
    })
}

/// Reports what an answer to `initialize` that opens no session means. Returns what a stateless server says about
/// itself, or how the check ends.
pub(crate) async fn explain(
    seen: &AnswerSeen,
    wire: &mut Wire,
    notes: &mut Notes,
) -> Result<Box<AnswerSeen>, Ended> {
    if let Some((finding, exit)) = outright(seen, wire) {
        notes.add(finding);
        return Err(exit);
    }
    let (era, finding) = era::look(wire).await;
    notes.is_modern = era.is_modern();
    if let Era::Modern(discovered) = era {
        notes.add(finding);
        let what = format!(
            "refuses `initialize` ({}): it speaks the stateless revision only, and our client \
             speaks that with it",
            seen.words()
        );
        notes.add(
            Subject::Protocol
                .note("initialize", what)
                .advise("hosts and SDKs from before that revision cannot use this server"),
        );
        return Ok(discovered);
    }
    if matches!(era, Era::Foreign) {
        let what = format!(
            "refuses `initialize` ({}): it is stateless, and our client does not speak with it",
            seen.words()
        );
        notes.add(finding);
        let advice = "let the server speak 2026-07-28, or 2025-11-25";
        notes.add(Subject::Protocol.bad("initialize", what).advise(advice));
    } else if is_old(wire).await {
        notes.add(
            Subject::Protocol
                .warning(
                    "initialize",
                    "an old server: HTTP+SSE of 2024-11-05, which is deprecated; our client \
                     speaks it, but a call cannot be resumed there, and nothing more was looked at",
                )
                .advise(
                    "update the server to Streamable HTTP; perhaps it offers that at \
                     another path, often `/mcp`",
                ),
        );
        // Every command of ours works with such a server.
        return Err(Ended::Done);
    } else {
        notes.add(stranger(seen, wire));
    }
    Err(Ended::Protocol)
}

/// Explains an answer that needs no further request to be understood.
fn outright(seen: &AnswerSeen, wire: &Wire) -> Option<(Finding, Ended)> {
    match seen.head.status.as_u16() {
        401 | 403 | 407 => Some((unauthorized(seen, wire), Ended::Unauthorized)),
        // A busy server may say so in JSON-RPC too.
        _ if seen.is_busy() => Some((turned_away(seen), Ended::Unreachable)),
        500..=599 if seen.result().is_none() => Some((turned_away(seen), Ended::Unreachable)),
        300..=399 => Some((redirect::elsewhere(seen, wire), Ended::Protocol)),
        _ if seen.is_mistyped => Some((mistyped(seen), Ended::Protocol)),
        _ => unfinished(seen, wire),
    }
}

fn turned_away(seen: &AnswerSeen) -> Finding {
    let wait = seen.head.retry_after.map(|it| format!(" and asks to wait {} s", it.as_secs()));
    let (words, said) = (seen.words(), seen.said());
    let what = format!("turns us away: {words}{}{said}", wait.unwrap_or_default());
    let advice = "try again later; if it stays so, look at the server's log and its balancer";
    Subject::Protocol.bad("initialize", what).advise(advice)
}

fn mistyped(seen: &AnswerSeen) -> Finding {
    let what = format!(
        "answers `initialize` with JSON-RPC as `{}`: our client does not read a success of that \
         type, and cannot talk to this server",
        seen.kind()
    );
    Subject::Protocol.bad("initialize", what).advise(TYPED)
}

/// Returns the challenge of an answer, as it came.
pub(crate) fn challenge_of(seen: &AnswerSeen) -> Option<String> {
    let challenges = seen.headers.get_all("www-authenticate").iter();
    let lines: Vec<_> = challenges.filter_map(|it| it.to_str().ok()).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns a finding about what the challenge of a 401 asks for, with the server's own words.
fn unauthorized(seen: &AnswerSeen, wire: &Wire) -> Finding {
    let challenges = seen.headers.get_all("www-authenticate").iter();
    let challenge = challenges.filter_map(|it| it.to_str().ok()).collect::<Vec<_>>().join(", ");
    let scheme = challenge.split_whitespace().next().unwrap_or_default().trim_end_matches(',');
    let asked = match scheme {
        "" => "says nothing about what it wants".to_owned(),
        scheme => format!("asks for `{}`", secrets::cut(scheme)),
    };
    let named = ["error", "error_description", "scope", "resource_metadata"];
    let more = named.into_iter().filter_map(|name| {
        let value = parameter(&challenge, name)?;
        // The query of an address may hold a key.
        let is_address = name == "resource_metadata";
        let value = value.split('?').next().filter(|_| is_address).unwrap_or(value);
        Some(format!(", {name} `{}`", secrets::cut(value)))
    });
    let (words, said) = (seen.words(), seen.said());
    let what = format!("not authorized: {words} and {asked}{}{said}", more.collect::<String>());
    let advice = match (seen.head.status.as_u16(), parameter(&challenge, "error")) {
        // Some servers answer `invalid_token` to a request without a token.
        (401, _) if wire.has_token => {
            "the token is wrong or too old: get a new one and give it by `--bearer-env VAR`"
        }
        (401, _) => {
            "the server wants a token: give it by `--bearer-env VAR`, or an API key by \
                 `--header 'NAME: ${VAR}'`; or log in"
        }
        (403, Some("insufficient_scope")) => "get a token with the scope that is named",
        (403, _) if !wire.has_token => {
            "no token was shown: perhaps the server wants one (`--bearer-env VAR`), or an API key \
                 (`--header 'NAME: ${VAR}'`); a wrong path can do it too"
        }
        (403, _) => {
            "the server knows who asks and says no: ask whoever runs it for access; a wrong \
                 path can do it too"
        }
        _ => "the proxy on the way wants a name and a password",
    };
    Subject::Protocol.bad("authorization", what).advise(advice)
}

/// Returns the value of `name=value` or `name="value"` in a challenge.
fn parameter<'a>(challenge: &'a str, name: &str) -> Option<&'a str> {
    challenge.match_indices(name).find_map(|(start, _)| {
        let before = challenge[..start].chars().next_back();
        let rest = challenge[start + name.len()..].trim_start().strip_prefix('=')?.trim_start();
        let is_whole = before.is_none_or(|it| it == ' ' || it == ',' || it == '\t');
        let value = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next(),
            None => rest.split([',', ' ', '\t']).next(),
        };
        value.filter(|_| is_whole)
    })
}

/// Whether the first event of a GET is the endpoint of HTTP+SSE.
async fn is_old(wire: &mut Wire) -> bool {
    let seen = wire.ask(Ask::listen(WATCH)).await;
    seen.is_ok_and(|seen| seen.stream.is_some_and(|it| it.endpoint.is_some()))
}

fn stranger(seen: &AnswerSeen, wire: &Wire) -> Finding {
    let what = match (seen.head.content, &seen.answer) {
        (Content::Html, _) => {
            format!("not an MCP server: a web page answers ({})", seen.head.status.as_u16())
        }
        (_, Some(Answer::Result(_))) => {
            "answers `initialize` without a `protocolVersion`: no MCP server, or a broken one"
                .to_owned()
        }
        (_, Some(_)) => format!("refuses `initialize` with {}", seen.words()),
        (_, None) => format!(
            "not an MCP server: `initialize` is answered with {}, and that is no JSON-RPC{}",
            seen.words(),
            seen.said()
        ),
    };
    let endpoint = wire.probe.endpoint();
    let path = endpoint.path().split('?').next().unwrap_or_default().trim_end_matches('/');
    let advice = match address::with_mcp(&format!("{}{path}", endpoint.origin()), "") {
        Some(tries) => format!("perhaps `/mcp` is missing: try {tries}"),
        None => {
            "check the path of the URL, and what the server's manual says about Streamable HTTP"
                .to_owned()
        }
    };
    Subject::Protocol.bad("initialize", what).advise(advice)
}

/// The advice about an answer of the wrong content type.
pub(crate) const TYPED: &str = "let the server answer with `application/json`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_found_by_its_whole_name() {
        let challenge = r#"Bearer realm="a", my_error="x", error="invalid_token",scope=a"#;

        assert_eq!(parameter(challenge, "error"), Some("invalid_token"));
        assert_eq!(parameter(challenge, "scope"), Some("a"));
        assert_eq!(parameter(challenge, "resource_metadata"), None);
    }
}
