//! The address of a server: an `http` or `https` URL, parsed once.

use std::fmt;

use http::Uri;
use http::uri::{Authority, PathAndQuery};
use ridethrough_core::head::Redirect;

/// The address of an MCP endpoint.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    is_tls: bool,
    authority: Authority,
    path: PathAndQuery,
}

impl Endpoint {
    /// Parses a URL.
    pub fn parse(url: &str) -> Result<Self, EndpointError> {
        // A fragment is never sent.
        let url = url.trim().split('#').next().unwrap_or_default();
        let uri: Uri = url.parse().map_err(|_| EndpointError::NotAUrl)?;
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(EndpointError::Scheme),
        };
        let authority = uri.authority().cloned().ok_or(EndpointError::NotAUrl)?;
        if authority.as_str().contains('@') {
            return Err(EndpointError::UserInfo);
        }
        let port = authority.as_str().strip_prefix(authority.host()).unwrap_or_default();
        let is_port = port.is_empty() || authority.port_u16().is_some_and(|port| port > 0);
        if authority.host().is_empty() || !is_port {
            return Err(EndpointError::NotAUrl);
        }
        let path = match uri.path_and_query() {
            None => PathAndQuery::from_static("/"),
            // `https://example.com?x` has no path, and HTTP cannot request `?x` alone.
            Some(path) if !path.as_str().starts_with('/') => {
                format!("/{}", path.as_str()).parse().map_err(|_| EndpointError::NotAUrl)?
            }
            Some(path) => path.clone(),
        };
        Ok(Self { is_tls, authority, path })
    }

    /// Whether the scheme is `https`.
    pub const fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// Returns host and port as in the URL.
    pub fn authority(&self) -> &str {
        self.authority.as_str()
    }

    /// Returns the host for a resolver: an IPv6 address without its brackets.
    pub fn host_to_resolve(&self) -> &str {
        self.authority.host().trim_start_matches('[').trim_end_matches(']')
    }

    /// Returns the port; the scheme's default if the URL names none.
    pub fn port(&self) -> u16 {
        self.authority.port_u16().unwrap_or(if self.is_tls { 443 } else { 80 })
    }

    /// Returns scheme, host and port, which may be logged; even paths may hold keys.
    pub fn origin(&self) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }

    /// Returns path and query.
    pub fn path(&self) -> &str {
        self.path.as_str()
    }

    /// Returns the URL of another path and query on this server.
    pub(crate) fn uri(&self, target: Option<&str>) -> Option<Uri> {
        let path = match target {
            Some(target) => target.parse().ok()?,
            None => self.path.clone(),
        };
        let scheme = if self.is_tls { "https" } else { "http" };
        Uri::builder()
            .scheme(scheme)
            .authority(self.authority.clone())
            .path_and_query(path)
            .build()
            .ok()
    }

    /// Returns where a `Location` points, relative to the path of the request (RFC 3986, 5.2); `None` if it
    /// cannot be requested.
    pub(crate) fn redirect(&self, asked: &str, location: &str) -> Option<Redirect> {
        let location = location.split('#').next().unwrap_or_default();
        if let Some(rest) = location.strip_prefix("//") {
            let scheme = if self.is_tls { "https" } else { "http" };
            return self.redirect(asked, &format!("{scheme}://{rest}"));
        }
        if has_scheme(location) {
            return Some(match Self::parse(location) {
                Ok(to) if self.is_same_origin(&to) => Redirect::SameOrigin(to.path().into()),
                _ => Redirect::OtherOrigin(location.into()),
            });
        }
        let path = asked.split('?').next().unwrap_or_default();
        let joined = match location.as_bytes().first() {
            None => asked.to_owned(),
            Some(b'/') => location.to_owned(),
            Some(b'?') => format!("{path}{location}"),
            Some(_) => {
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                without_dots(&format!("{folder}/{location}"))
            }
        };
        let is_path = joined.parse::<PathAndQuery>().is_ok();
        is_path.then(|| Redirect::SameOrigin(joined.into()))
    }

    fn is_same_origin(&self, other: &Self) -> bool {
        self.is_tls == other.is_tls
            && self.port() == other.port()
            && self.authority.host().eq_ignore_ascii_case(other.authority.host())
    }
}

impl fmt::Display for Endpoint {
    /// Leaves out the query, which may hold keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.path.path())
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

/// Whether a reference begins with a scheme; a query may hold a URL too.
fn has_scheme(location: &str) -> bool {
    location.split_once("://").is_some_and(|(scheme, _)| {
        let is_name = |it: char| it.is_ascii_alphanumeric() || "+-.".contains(it);
        !scheme.is_empty() && scheme.chars().all(is_name)
    })
}

/// Returns a path with its `.` and `..` resolved, and its query unchanged.
fn without_dots(target: &str) -> String {
    let (path, query) = target.split_once('?').map_or((target, None), |(p, q)| (p, Some(q)));
    let mut folders: Vec<&str> = Vec::new();
    let mut ends_open = false;
    for folder in path.split('/').skip(1) {
        ends_open = matches!(folder, "." | "..");
        match folder {
            "." => {}
            ".." => drop(folders.pop()),
            folder => folders.push(folder),
        }
    }
    let mut walked = format!("/{}", folders.join("/"));
    if ends_open && !walked.ends_with('/') {
        walked.push('/');
    }
    match query {
        Some(query) => format!("{walked}?{query}"),
        None => walked,
    }
}

/// Why a text is not the address of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// It cannot be read as a URL.
    #[error("must be a URL such as https://example.com/mcp")]
    NotAUrl,
    /// It is not `http` or `https`.
    #[error("must begin with http:// or https://")]
    Scheme,
    /// It has a name or password, which would end up in logs.
    #[error("must not carry a name or password: use credentials instead")]
    UserInfo,
}

/// Returns a URL fit to be shown: without its query, and without anything before an `@`.
pub fn shown(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        // Without a scheme, the text before `://` may be part of a password.
        Some((scheme, rest)) if scheme.chars().all(|it| it.is_ascii_alphanumeric()) => {
            (format!("{scheme}://"), rest)
        }
        _ => (String::new(), url),
    };
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // A password may hold these characters unescaped.
    if tail.contains('@') {
        return format!("{scheme}...");
    }
    let host = authority.rsplit('@').next().unwrap_or_default();
    let path = tail.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_port_has_that_of_its_scheme() {
        assert_eq!(Endpoint::parse("https://example.com/mcp").unwrap().port(), 443);
        assert_eq!(Endpoint::parse("http://example.com").unwrap().port(), 80);
        assert_eq!(Endpoint::parse("http://[::1]:9/").unwrap().host_to_resolve(), "::1");
    }

    #[test]
    fn a_url_with_a_query_and_no_path_asks_for_the_root() {
        let endpoint = Endpoint::parse("https://example.com?x=1").unwrap();

        assert_eq!(endpoint.path(), "/?x=1");
        let there = endpoint.redirect("/", "https://example.com:443?y#part");
        assert_eq!(there, Some(Redirect::SameOrigin("/?y".into())));
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        assert_eq!(Endpoint::parse("ftp://example.com/"), Err(EndpointError::Scheme));
        assert_eq!(Endpoint::parse("example.com/mcp"), Err(EndpointError::NotAUrl));
        assert_eq!(Endpoint::parse("http://a:b@example.com/"), Err(EndpointError::UserInfo));
        for port in ["99999", "0", "x", ""] {
            let url = format!("http://example.com:{port}/mcp");
            assert_eq!(Endpoint::parse(&url), Err(EndpointError::NotAUrl), "{url}");
        }
    }

    #[test]
    fn it_prints_without_its_query() {
        let endpoint = Endpoint::parse("https://example.com/mcp?key=s3cret").unwrap();

        assert_eq!(format!("{endpoint} {endpoint:?}").matches("s3cret").count(), 0);
        assert_eq!(endpoint.path(), "/mcp?key=s3cret");
    }

    #[test]
    fn a_redirect_stays_with_its_origin_or_leaves_it() {
        let endpoint = Endpoint::parse("https://example.com/a/mcp?x=1").unwrap();
        let same = |path: &str| Some(Redirect::SameOrigin(path.into()));
        let other = |url: &str| Some(Redirect::OtherOrigin(url.into()));
        let to = |location: &str| endpoint.redirect("/a/mcp?x=1", location);

        assert_eq!(to("/b?y=2"), same("/b?y=2"));
        assert_eq!(to("b"), same("/a/b"));
        assert_eq!(to("./b?c=../d"), same("/a/b?c=../d"));
        assert_eq!(to("../b/."), same("/b/"));
        assert_eq!(to("../../.."), same("/"));
        assert_eq!(to("?y=2"), same("/a/mcp?y=2"));
        assert_eq!(to(""), same("/a/mcp?x=1"));
        assert_eq!(
            to("login?next=https://evil.example/"),
            same("/a/login?next=https://evil.example/")
        );
        assert_eq!(to("/a b"), None);
        assert_eq!(to("https://EXAMPLE.com:443/c#part"), same("/c"));
        assert_eq!(to("//example.com/d"), same("/d"));
        assert_eq!(to("http://example.com/a/mcp"), other("http://example.com/a/mcp"));
        assert_eq!(to("https://example.com:8443/"), other("https://example.com:8443/"));
        assert_eq!(to("https://evil.example/"), other("https://evil.example/"));
        assert_eq!(to("//evil.example/"), other("https://evil.example/"));
    }
}
