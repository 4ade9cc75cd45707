//! The proxy that the environment names for a server.
//!
//! | variable | for |
//! |---|---|
//! | `https_proxy`, `HTTPS_PROXY` | `https` servers |
//! | `http_proxy`, `HTTP_PROXY` | `http` servers; the second is ignored in a CGI program |
//! | `all_proxy`, `ALL_PROXY` | both, where none of those is set |
//! | `no_proxy`, `NO_PROXY` | servers that are reached without one |
//!
//! The first variable that is set and not empty counts, lower case before upper case, as for curl.

use std::fmt;
use std::net::IpAddr;

use super::exempt::Exempt;
use crate::endpoint::Endpoint;

/// A proxy that the environment names.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) variable: &'static str,
    pub(crate) url: String,
}

impl fmt::Debug for Chosen {
    /// Hides the URL, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chosen").field("variable", &self.variable).finish_non_exhaustive()
    }
}

/// Returns the proxy to this server, looked up by `read`.
///
/// This machine is never reached through a proxy, whose loopback is another. Go does so, too; curl leaves it
/// to `NO_PROXY`, where most people name it.
pub(crate) fn chosen_for(to: &Endpoint, read: impl Fn(&str) -> Option<String>) -> Option<Chosen> {
    let read = |name: &str| read(name).filter(|value| !value.trim().is_empty());
    let host = to.host_to_resolve();
    if is_loopback(host) {
        return None;
    }
    let exempt = read("no_proxy").or_else(|| read("NO_PROXY")).unwrap_or_default();
    if Exempt::parse(&exempt).covers(host, to.port()) {
        return None;
    }
    let (lower, upper) =
        if to.is_tls() { ("https_proxy", "HTTPS_PROXY") } else { ("http_proxy", "HTTP_PROXY") };
    // In a CGI program this variable is the client's `Proxy` header, and must not be trusted (httpoxy,
    // CVE-2016-5385 and others).
    let is_forged = |name: &str| name == "HTTP_PROXY" && read("REQUEST_METHOD").is_some();
    [lower, upper, "all_proxy", "ALL_PROXY"]
        .into_iter()
        .filter(|name| !is_forged(name))
        .find_map(|variable| read(variable).map(|url| Chosen { variable, url }))
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_the_proxy_of_its_scheme_and_else_that_for_all() {
        let all = [("https_proxy", "s"), ("HTTP_PROXY", "h"), ("ALL_PROXY", "a")];

        assert_eq!(chosen("https://a.test/", &all), Some(("https_proxy", "s".into())));
        assert_eq!(chosen("http://a.test/", &all), Some(("HTTP_PROXY", "h".into())));
        assert_eq!(chosen("http://a.test/", &all[2..]), Some(("ALL_PROXY", "a".into())));
        assert_eq!(chosen("https://a.test/", &all[1..2]), None);
        assert_eq!(chosen("https://a.test/", &[]), None);
    }

    #[test]
    fn lower_case_counts_before_upper_case_and_an_empty_variable_is_none() {
        let both = [("HTTPS_PROXY", "upper"), ("https_proxy", "lower")];
        let empty = [("https_proxy", " "), ("all_proxy", "all")];

        assert_eq!(chosen("https://a.test/", &both), Some(("https_proxy", "lower".into())));
        assert_eq!(chosen("https://a.test/", &empty), Some(("all_proxy", "all".into())));
    }

    #[test]
    fn upper_case_http_proxy_is_ignored_in_a_cgi_program_and_the_others_are_not() {
        let cgi = [("REQUEST_METHOD", "GET"), ("HTTP_PROXY", "evil"), ("HTTPS_PROXY", "s")];
        let lower = [("REQUEST_METHOD", "GET"), ("HTTP_PROXY", "evil"), ("http_proxy", "h")];

        assert_eq!(chosen("http://a.test/", &cgi), None);
        assert_eq!(chosen("https://a.test/", &cgi), Some(("HTTPS_PROXY", "s".into())));
        assert_eq!(chosen("http://a.test/", &lower), Some(("http_proxy", "h".into())));
    }

    #[test]
    fn this_machine_and_what_no_proxy_names_are_reached_without_one() {
        let all = [("all_proxy", "a"), ("NO_PROXY", "b.test, c.test:8443")];

        for url in [
            "http://localhost/",
            "https://LOCALHOST.:8443/",
            "http://127.8.9.10/",
            "http://[::1]:80/",
            "http://[::ffff:127.0.0.1]/",
            "https://x.b.test/",
            "https://c.test:8443/",
        ] {
            assert_eq!(chosen(url, &all), None, "{url}");
        }
        for url in ["http://localhost.test/", "http://128.0.0.1/", "https://c.test/"] {
            assert!(chosen(url, &all).is_some(), "{url}");
        }
    }

    fn chosen(url: &str, variables: &[(&str, &str)]) -> Option<(&'static str, String)> {
        let read = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        chosen_for(&Endpoint::parse(url).unwrap(), read).map(|it| (it.variable, it.url))
    }
}
