//! Decides who may read the page: the browser of the person who was told its address.
//!
//! A foreign page in that browser can make its own name point to this machine (DNS rebinding). It cannot
//! change the name that the browser sends as `Host`, nor its own as `Origin`, and it does not know the token
//! in the path.

use http::header::{HOST, HeaderName, ORIGIN};
use http::{HeaderMap, Method, Request, StatusCode};
use ridethrough_expose::Token;

/// The rule for requests to the page.
pub(super) struct PageAccess {
    hosts: [String; 2],
    origins: [String; 2],
    token: Token,
}

/// A request that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// The lines after this number.
    Events(u64),
    Page,
    Script,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    Host,
    Method,
    Origin,
    /// Nothing is at this path, or the token is wrong: a client without the token does not learn which.
    Path,
}

impl PageAccess {
    pub(super) fn new(port: u16, token: Token) -> Self {
        let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{port}"));
        let origins = hosts.clone().map(|host| format!("http://{host}"));
        Self { hosts, origins, token }
    }

    /// Returns what this request asks for, if it is allowed.
    pub(super) fn pass<B>(&self, request: &Request<B>) -> Result<Asked, Closed> {
        let headers = request.headers();
        let is_host = |host: &str| self.hosts.iter().any(|it| it.eq_ignore_ascii_case(host));
        let authority = request.uri().authority();
        if authority.is_some_and(|it| !is_host(it.as_str())) || !is_only(headers, HOST, is_host) {
            return Err(Closed::Host);
        }
        let is_origin = |origin: &str| self.origins.iter().any(|it| it == origin);
        if headers.contains_key(ORIGIN) && !is_only(headers, ORIGIN, is_origin) {
            return Err(Closed::Origin);
        }
        let path = request.uri().path().strip_prefix('/').and_then(|it| it.split_once('/'));
        let (token, name) = path.ok_or(Closed::Path)?;
        if !self.token.is(token) {
            return Err(Closed::Path);
        }
        if request.method() != Method::GET {
            return Err(Closed::Method);
        }
        match name {
            "" => Ok(Asked::Page),
            "events" => Ok(Asked::Events(seen(headers, request.uri().query()))),
            "live.js" => Ok(Asked::Script),
            _ => Err(Closed::Path),
        }
    }
}

impl Closed {
    pub(super) const fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Origin => StatusCode::FORBIDDEN,
            Self::Path => StatusCode::NOT_FOUND,
        }
    }

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Host => "this page answers to 127.0.0.1 and localhost only\n",
            Self::Method => "this page can only be read\n",
            Self::Origin => "this page answers to no other page\n",
            Self::Path => "there is nothing here; the whole address is on the terminal\n",
        }
    }
}

/// Whether the header occurs once, with a value that fits.
fn is_only(headers: &HeaderMap, name: HeaderName, fits: impl Fn(&str) -> bool) -> bool {
    let mut values = headers.get_all(name).iter();
    let first = values.next().and_then(|it| it.to_str().ok());
    first.is_some_and(fits) && values.next().is_none()
}

/// Returns the number of the last line that a browser has: from `Last-Event-ID` when it comes back, and from
/// the page at first.
fn seen(headers: &HeaderMap, query: Option<&str>) -> u64 {
    let last = headers.get("last-event-id").and_then(|it| it.to_str().ok());
    let asked = query.and_then(|it| it.strip_prefix("after="));
    last.or(asked).and_then(|it| it.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_by_its_own_name_is_answered() {
        for host in ["127.0.0.1:4000", "localhost:4000", "LocalHost:4000"] {
            assert_eq!(pass(&[("host", host)]), Ok(Asked::Page), "{host}");
        }
        for host in ["attacker.example:4000", "127.0.0.1", "127.0.0.1:80", "localhost", ""] {
            assert_eq!(pass(&[("host", host)]), Err(Closed::Host), "{host}");
        }
        assert_eq!(pass(&[]), Err(Closed::Host));
        let twice = [("host", "127.0.0.1:4000"), ("host", "attacker.example")];
        assert_eq!(pass(&twice), Err(Closed::Host));
    }

    #[test]
    fn no_other_page_is_answered() {
        let from = |origin| pass(&[("host", "127.0.0.1:4000"), ("origin", origin)]);

        assert_eq!(from("http://127.0.0.1:4000"), Ok(Asked::Page));
        for origin in ["http://127.0.0.1:4001", "https://127.0.0.1:4000", "null", ""] {
            assert_eq!(from(origin), Err(Closed::Origin), "{origin}");
        }
    }

    #[test]
    fn who_does_not_know_the_token_finds_nothing() {
        for path in ["/", "/s3creT/", "/s3cret", "/s3cret/other", "//", "/s3cret//"] {
            assert_eq!(asked(Method::GET, path, &[HOME]), Err(Closed::Path), "{path}");
        }
        assert_eq!(asked(Method::POST, "/", &[HOME]), Err(Closed::Path));
        assert_eq!(asked(Method::POST, "/s3cret/", &[HOME]), Err(Closed::Method));
    }

    #[test]
    fn a_browser_that_comes_back_says_what_it_has_seen() {
        let path = "/s3cret/events?after=3";
        let back = [HOME, ("last-event-id", "7")];

        assert_eq!(asked(Method::GET, path, &[HOME]), Ok(Asked::Events(3)));
        assert_eq!(asked(Method::GET, path, &back), Ok(Asked::Events(7)));
        assert_eq!(asked(Method::GET, "/s3cret/events?x", &[HOME]), Ok(Asked::Events(0)));
    }

    fn pass(headers: &[(&str, &str)]) -> Result<Asked, Closed> {
        asked(Method::GET, "/s3cret/", headers)
    }

    fn asked(method: Method, path: &str, headers: &[(&str, &str)]) -> Result<Asked, Closed> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let access = PageAccess::new(4000, Token::new("s3cret").unwrap());
        access.pass(&request.body(()).unwrap())
    }

    const HOME: (&str, &str) = ("host", "127.0.0.1:4000");
}
