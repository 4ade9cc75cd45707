//! A web page that the server wants a person to visit: the text to show before they agree.
//!
//! Nothing here opens or requests the page. The whole address is shown, its host apart, and what makes it
//! suspicious (2025-11-25, client/elicitation, safe URL handling).

use std::net::IpAddr;

use ridethrough::model::UrlRequest;

use super::quoted;
use crate::safe;

/// Returns the text to print before a person is asked.
pub(super) fn words(request: &UrlRequest, server: &str) -> String {
    let url = &request.url;
    let host = host(url).map_or_else(|| "none".to_owned(), |it| safe::line(&it));
    let warnings: String = warnings(url).iter().map(|it| format!("warning: {it}\n")).collect();
    format!(
        "\n{server} wants you to visit a web page:\n{}\n  {}\n\n  host: {host}\n{warnings}\
         Nothing was opened: open it yourself, if you trust that host. Ctrl-C declines, Ctrl-D \
         cancels.\n",
        quoted(&request.message),
        safe::line(url)
    )
}

/// The question behind the text.
pub(super) const QUESTION: &str = "\ndid you open it, or will you? yes or no: ";

/// Returns the part between the scheme and the path.
fn authority(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    rest.split(['/', '?', '#', '\\']).next().filter(|it| !it.is_empty())
}

/// Returns the host, with its port.
fn host(url: &str) -> Option<String> {
    let authority = authority(url)?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    (!host.is_empty()).then(|| host.to_owned())
}

fn warnings(url: &str) -> Vec<&'static str> {
    let scheme = url.split_once(':').map(|(it, _)| it.to_ascii_lowercase()).unwrap_or_default();
    let host = host(url).unwrap_or_default().to_ascii_lowercase();
    let has_name = authority(url).is_some_and(|it| it.contains('@'));
    let is_foreign = !host.is_ascii() || host.split('.').any(|it| it.starts_with("xn--"));
    let is_hidden = safe::line(url) != url || url.contains([' ', '\\']);
    let is_open = scheme == "http" && !is_this_machine(&host);
    let all = [
        (
            !["http", "https"].contains(&scheme.as_str()) || host.is_empty(),
            "this is no address of a web page",
        ),
        (is_open, "it is not encrypted: others can read and change what is sent there"),
        (has_name, "what stands before the `@` is no host, and may be meant to look like one"),
        (is_foreign, "letters of its host may only look like those that you know"),
        (is_hidden, "characters in it are not what a terminal would show"),
    ];
    all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, warning)| warning).collect()
}

fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let is_loopback = name.parse().is_ok_and(|it: IpAddr| it.is_loopback());
    name == "localhost" || name.ends_with(".localhost") || is_loopback
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_what_a_browser_would_go_to() {
        for (url, expected) in [
            ("https://a.example/b@c", "a.example"),
            ("https://bank.example@evil.example:81/x", "evil.example:81"),
            ("https://a.example?x=https://b.example/", "a.example"),
            ("https://evil.example\\@bank.example/", "evil.example"),
            ("http://[::1]:80/", "[::1]:80"),
        ] {
            assert_eq!(host(url).as_deref(), Some(expected), "{url}");
        }
        for url in ["javascript:alert(1)", "https:///x", "nonsense", ""] {
            assert_eq!(host(url), None, "{url}");
        }
    }

    #[test]
    fn what_is_suspicious_is_warned_of_and_nothing_else_is() {
        for url in ["https://a.example/?q=1#x", "http://localhost:3000/", "http://[::1]/"] {
            assert!(warnings(url).is_empty(), "{url}");
        }
        for (url, word) in [
            ("http://a.example/", "not encrypted"),
            ("http://127.0.0.1.example/", "not encrypted"),
            ("javascript:alert(1)", "no address"),
            ("file:///etc/passwd", "no address"),
            ("https://bank.example@evil.example/", "before the `@`"),
            ("https://xn--80ak6aa92e.com/", "look like"),
            ("https://аpple.example/", "look like"),
            ("https://a.example/\u{202e}gpj", "not what a terminal would show"),
        ] {
            assert!(warnings(url).iter().any(|it| it.contains(word)), "{url}");
        }
    }
}
