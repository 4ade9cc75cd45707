//! Reading the head of an answer into the facts that the machine needs.
//!
//! Anything unreadable is left out rather than guessed: a missing fact costs nothing, a wrong one may.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::header::{
    CONTENT_ENCODING, CONTENT_TYPE, LOCATION, RETRY_AFTER, SET_COOKIE, WWW_AUTHENTICATE,
};
use http::response::Parts;
use http::{HeaderMap, HeaderName};
use ridethrough_core::AnswerHead;
use ridethrough_core::head::{Challenge, Content};
use ridethrough_core::session::SessionId;
use ridethrough_wire::www_authenticate::{self, SchemeChallenge};

use super::request::SESSION;
use crate::endpoint::Endpoint;

/// Reads the head of an answer as a client does; `asked` is the path of the request, to which relative
/// redirects refer.
///
/// This is for implementations of [`Transport`](crate::transport::Transport), which must report these facts,
/// too.
///
/// ```
/// use ridethrough_transport::Endpoint;
/// use ridethrough_transport::probe::read_head;
///
/// let answer = http::Response::builder().status(503).header("retry-after", "7").body(())?;
/// let endpoint = Endpoint::parse("https://example.com/mcp")?;
/// let head = read_head(&answer.into_parts().0, &endpoint, "/mcp");
/// assert_eq!(head.retry_after, Some(std::time::Duration::from_secs(7)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_head(parts: &Parts, endpoint: &Endpoint, asked: &str) -> AnswerHead {
    let text = |name: &HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let mut head = AnswerHead::new(parts.status, content(text(&CONTENT_TYPE)));
    head.session = text(&SESSION).and_then(SessionId::new);
    let hints = parts.headers.get_all(RETRY_AFTER).into_iter().filter_map(|it| it.to_str().ok());
    // The longest of several hints is used.
    head.retry_after = hints.filter_map(|it| retry_after(it, SystemTime::now())).max();
    head.challenge = challenge(&parts.headers);
    head.challenge_words = challenge_words(&parts.headers, head.challenge.as_ref());
    head.cookies = cookies(&parts.headers);
    if parts.status.is_redirection() {
        head.redirect = text(&LOCATION).and_then(|to| endpoint.redirect(asked, to));
    }
    head
}

/// Returns the values of cookies that an answer sets.
fn cookies(headers: &HeaderMap) -> Vec<Box<str>> {
    let set = headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = set.filter_map(|set| set.split(';').next()?.split_once('='));
    pairs.map(|(_, value)| value.trim().into()).collect()
}

/// Returns how long the server keeps an idle connection, if `Keep-Alive` says so.
pub fn keep_alive(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get("keep-alive")?.to_str().ok()?;
    let seconds = value.split(',').find_map(|part| {
        let (name, seconds) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("timeout").then(|| seconds.trim().parse().ok())?
    });
    seconds.map(Duration::from_secs)
}

/// Returns the content coding of a body, if it has one. A coded body cannot be read, and must not be taken
/// for plain text.
pub(super) fn coding(headers: &HeaderMap) -> Option<String> {
    let codings = headers.get_all(CONTENT_ENCODING).iter().map(|value| value.as_bytes());
    let mut codings = codings.flat_map(|value| value.split(|byte| *byte == b','));
    let coding =
        codings.find(|coding| !coding.trim_ascii().eq_ignore_ascii_case(b"identity"))?.trim_ascii();
    // A token (RFC 9110, 5.6.2) of a length that fits into an error, whatever the server wrote.
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let letters = coding.iter().copied().filter(is_letter).take(MOST_LETTERS);
    Some(letters.map(char::from).collect())
}

fn content(value: Option<&str>) -> Content {
    let Some(value) = value else { return Content::Nothing };
    let essence = value.split(';').next().unwrap_or_default().trim();
    let is = |name: &str| essence.eq_ignore_ascii_case(name);
    match essence {
        "" => Content::Nothing,
        _ if is("text/event-stream") => Content::EventStream,
        _ if is("application/json") => Content::Json,
        _ if is("text/html") => Content::Html,
        _ => Content::Other,
    }
}

/// Reads seconds or a date (RFC 9110, 10.2.3). The seconds may exceed any clock; the machine's arithmetic
/// saturates.
fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    asked_time(value, now).map(|time| time.min(LONGEST_WAIT))
}

fn asked_time(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    if let Ok(seconds) = value.parse::<f64>() {
        // `1.5` and `1e9` are not in the standard, but some servers send them.
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// Returns what `WWW-Authenticate` asks for, in any of its lines.
fn challenge(headers: &HeaderMap) -> Option<Challenge> {
    let lines = headers.get_all(WWW_AUTHENTICATE);
    let is_scope = |it: &SchemeChallenge| it.parameter("error") == Some("insufficient_scope");
    let challenge = match challenges(headers).find(is_scope) {
        Some(it) => Challenge::scope(it.parameter("scope").unwrap_or_default()),
        None => lines.iter().next().map(|_| Challenge::credentials())?,
    };
    let header: Vec<_> = lines.iter().filter_map(|value| value.to_str().ok()).collect();
    Some(challenge.with_header(header.join("\n")))
}

/// Returns the words of a challenge for people. The scope is left out if the challenge itself names it.
fn challenge_words(headers: &HeaderMap, challenge: Option<&Challenge>) -> Option<Arc<str>> {
    let is_scope = challenge.is_some_and(|it| it.missing_scope().is_some());
    let words = challenges(headers).flat_map(|it| {
        let scope = it.parameter("scope").filter(|_| !is_scope);
        let scope = scope.map(|scope| format!("scope: {scope}"));
        let description = it.parameter("error_description").map(str::to_owned);
        [description, scope].into_iter().flatten()
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join("; ").into())
}

fn challenges(headers: &HeaderMap) -> impl Iterator<Item = SchemeChallenge> {
    let lines = headers.get_all(WWW_AUTHENTICATE).into_iter();
    lines.filter_map(|value| value.to_str().ok()).flat_map(www_authenticate::read)
}

/// The longest wait: a server that asks for more asks for ever.
const LONGEST_WAIT: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
const MOST_LETTERS: usize = 40;

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use ridethrough_core::head::Demand;

    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date_and_never_a_panic() {
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
        let read = |value| retry_after(value, now);

        assert_eq!(read("120"), Some(Duration::from_secs(120)));
        assert_eq!(read("Sun, 06 Nov 1994 08:49:47 GMT"), Some(Duration::from_secs(10)));
        assert_eq!(read("Sun, 06 Nov 1994 08:49:27 GMT"), Some(Duration::ZERO));
        assert_eq!(read("1e9"), Some(Duration::from_secs(1_000_000_000)));
        assert_eq!(read("99999999999999999999999"), Some(LONGEST_WAIT));
        for nonsense in ["", "-5", "soon", "NaN", "inf", "1e400"] {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_content_type_counts_without_its_parameters_and_case() {
        assert_eq!(content(Some("Text/Event-Stream; charset=utf-8")), Content::EventStream);
        assert_eq!(content(Some("application/json;x")), Content::Json);
        assert_eq!(content(Some("application/json-rpc")), Content::Other);
        assert_eq!(content(Some(" ")), Content::Nothing);
        assert_eq!(content(None), Content::Nothing);
    }

    #[test]
    fn a_challenge_is_for_credentials_unless_it_names_the_scope_that_is_missing() {
        let read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(WWW_AUTHENTICATE, value.parse().unwrap());
            }
            challenge(&headers).map(|challenge| challenge.demand)
        };
        let scope = |scope: &str| Some(Demand::Scope(scope.into()));

        assert_eq!(read(&[]), None);
        assert_eq!(read(&["Bearer realm=\"a, error=x\""]), Some(Demand::Credentials));
        assert_eq!(
            read(&["Basic", "Bearer error=\"insufficient_scope\", scope=\"a b\""]),
            scope("a b")
        );
        assert_eq!(read(&["Bearer error=insufficient_scope"]), scope(""));
        // An escaped quote does not end the string: this is a realm and nothing else.
        let realm = r#"Bearer realm="a\", error=insufficient_scope, x=\"", error="b""#;
        assert_eq!(read(&[realm]), Some(Demand::Credentials));
        let escaped = r#"Bearer error="insufficient\_scope", scope="a\\b \"c\"""#;
        assert_eq!(read(&[escaped]), scope(r#"a\b "c""#));
        // The scope of one challenge is not that of the next.
        let two = "Bearer error=insufficient_scope, Basic scope=b";
        assert_eq!(read(&[two]), scope(""));
    }

    #[test]
    fn a_challenge_is_passed_on_as_it_came() {
        let mut headers = HeaderMap::new();
        for value in ["Basic", "Bearer resource_metadata=\"https://a.example/x\", scope=\"a b\""] {
            headers.append(WWW_AUTHENTICATE, value.parse().unwrap());
        }

        let header = challenge(&headers).unwrap().header;

        let lines: Vec<_> = header.lines().collect();
        let bearer = "Bearer resource_metadata=\"https://a.example/x\", scope=\"a b\"";
        assert_eq!(lines, ["Basic", bearer]);
    }

    #[test]
    fn the_servers_own_idle_limit_is_read() {
        let read = |value: &str| {
            keep_alive(&HeaderMap::from_iter([(
                "keep-alive".parse().unwrap(),
                value.parse().unwrap(),
            )]))
        };

        assert_eq!(read("timeout=5, max=100"), Some(Duration::from_secs(5)));
        assert_eq!(read("max=100,Timeout=7"), Some(Duration::from_secs(7)));
        assert_eq!(read("max=100"), None);
    }
}
