//! The URLs that may be used at all, and which of them belong together.
//!
//! Addresses come from servers that may be hostile: one of them once reached a shell (CVE-2025-6514). A URL
//! is https, or http on this machine; it names no user, holds no control character and has a bounded length.
//! Its text is kept byte for byte: `resource` and `issuer` are sent back and compared as they came.

mod host;
#[cfg(test)]
mod tests;

use std::fmt;

use url::{Position, Url};

pub use host::{HostKind, kind_of_ip};

/// A URL that may be used: https, or http on this machine.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpUrl {
    /// The text as it came. Parsing normalises, and a URL that is sent back must not be normalised.
    text: Box<str>,
    url: Url,
}

impl HttpUrl {
    /// Reads a URL; fails if it must not be used.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        if text.len() > LONGEST {
            return Err(AddressError::TooLong);
        }
        // The parser drops line breaks and turns backslashes into slashes; both hide where a URL points.
        if text.chars().any(|it| it.is_control() || it.is_whitespace() || it == '\\') {
            return Err(AddressError::ForbiddenCharacter);
        }
        let url = Url::parse(text).map_err(|_| AddressError::NotAUrl)?;
        let is_https = url.scheme() == "https";
        if !is_https && url.scheme() != "http" {
            return Err(AddressError::Scheme);
        }
        // The parser also takes `https:host` and `https:///host`, in which other parsers see no host.
        let rest = text.get(url.scheme().len()..).and_then(|rest| rest.strip_prefix("://"));
        let rest = rest.filter(|rest| !rest.starts_with('/')).ok_or(AddressError::NotAUrl)?;
        if has_user(rest) || !url.username().is_empty() || url.password().is_some() {
            return Err(AddressError::UserInformation);
        }
        let url = Self { text: text.into(), url };
        if !is_https && url.host_kind() != HostKind::Loopback {
            return Err(AddressError::PlainHttp);
        }
        Ok(url)
    }

    /// Returns the URL as it came, byte for byte.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns scheme, host and port, normalised, so that two origins are equal if their texts are.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Returns the host, which people can recognise.
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Returns the port; the default of the scheme if none is written.
    pub fn port(&self) -> Option<u16> {
        self.url.port_or_known_default()
    }

    /// Returns the path, normalised.
    pub fn path(&self) -> &str {
        self.url.path()
    }

    /// Returns the query, without its question mark.
    pub fn query(&self) -> Option<&str> {
        self.url.query()
    }

    /// Returns how close the host is, as far as its name shows.
    pub fn host_kind(&self) -> HostKind {
        self.url.host().map_or(HostKind::Public, |host| HostKind::of(&host))
    }

    /// Returns the URL without query and fragment, otherwise as it came.
    pub fn without_query(&self) -> &str {
        self.text.split(['?', '#']).next().unwrap_or_default()
    }

    /// Checks whether this endpoint may be used on behalf of an MCP server.
    ///
    /// Plain http is for servers on this machine only, and no server may point us at a network that is closer
    /// to us than the server itself: otherwise metadata could reach into private networks.
    pub fn check_endpoint_of(&self, server: &Self, near: NearHosts) -> Result<(), AddressError> {
        if server.host_kind() == HostKind::Loopback {
            return Ok(());
        }
        if self.url.scheme() != "https" {
            return Err(AddressError::PlainHttp);
        }
        let is_nearer = self.host_kind() > server.host_kind();
        if is_nearer && near == NearHosts::Refused {
            return Err(AddressError::NearHost);
        }
        Ok(())
    }

    /// Returns a well-known URL with `name` in front of the path (RFC 8414, 3.1).
    pub(crate) fn well_known_before_path(&self, name: &str) -> Option<Self> {
        let path = self.path().trim_end_matches('/');
        Self::parse(&format!("{}/.well-known/{name}{path}", self.origin())).ok()
    }

    /// Returns a well-known URL with `name` behind the path (OpenID Connect Discovery, 4).
    pub(crate) fn well_known_after_path(&self, name: &str) -> Option<Self> {
        let path = self.path().trim_end_matches('/');
        Self::parse(&format!("{}{path}/.well-known/{name}", self.origin())).ok()
    }

    /// Returns a URL of this origin with this path.
    pub(crate) fn at_path(&self, path: &str) -> Option<Self> {
        Self::parse(&format!("{}{path}", self.origin())).ok()
    }

    pub(crate) fn has_path(&self) -> bool {
        !self.path().trim_end_matches('/').is_empty()
    }

    pub(crate) fn with_query(&self, query: &str) -> Result<Self, AddressError> {
        let mark = if self.url.query().is_some_and(|it| !it.is_empty()) { "&" } else { "?" };
        let base = self.text.split('#').next().unwrap_or_default().trim_end_matches('?');
        Self::parse(&format!("{base}{mark}{query}"))
    }
}

/// Prints the URL without its query, which may hold keys, codes and states.
impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url[..Position::AfterPath])
    }
}

impl fmt::Debug for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpUrl({self})")
    }
}

/// Whether a server may name endpoints in a network that is closer to us than itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NearHosts {
    /// It may: the person who configured us knows that both are in one network.
    Allowed,
    /// It may not. The default: a public server has no reason to name a host in a private network.
    #[default]
    Refused,
}

/// Why a URL must not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// A segment is `.` or `..`, which others may resolve differently.
    #[error("it has `.` or `..` in its path")]
    DotSegment,
    /// The URL has a control character, a space or a backslash.
    #[error("it holds a control character, a space or a backslash")]
    ForbiddenCharacter,
    /// The URL has a fragment or a query where none may be.
    #[error("it has a query or a fragment")]
    QueryOrFragment,
    /// A public server names a private address.
    #[error("it points into a network that is closer to this machine than the MCP server")]
    NearHost,
    /// The text is not a URL with a host.
    #[error("it is no URL with a host")]
    NotAUrl,
    /// The origin is not the MCP server's.
    #[error("its scheme, host or port is not the MCP server's")]
    OtherOrigin,
    /// The path does not lead to the MCP server's.
    #[error("its path does not lead to the MCP server's")]
    OtherPath,
    /// The URL is plain http to another machine.
    #[error("it is plain http; only https is used, except on this machine")]
    PlainHttp,
    /// The scheme is neither https nor http.
    #[error("its scheme is neither https nor http")]
    Scheme,
    /// The URL is too long.
    #[error("it is longer than {LONGEST} bytes")]
    TooLong,
    /// The URL has `user:password@`.
    #[error("it names a user")]
    UserInformation,
}

/// Checks whether a `resource` means this MCP server: of its origin, and with a path that leads to the
/// server's.
///
/// `/mcp` leads to `/mcp` and `/mcp/v1`, not to `/mcpx`. A slash at the end does not matter.
pub fn check_resource(resource: &str, server: &HttpUrl) -> Result<(), AddressError> {
    let url = HttpUrl::parse(resource)?;
    if url.url.query().is_some() || url.url.fragment().is_some() {
        return Err(AddressError::QueryOrFragment);
    }
    if has_dot_segment(resource) {
        return Err(AddressError::DotSegment);
    }
    if url.origin() != server.origin() {
        return Err(AddressError::OtherOrigin);
    }
    let prefix = url.path().trim_end_matches('/');
    let rest = server.path().strip_prefix(prefix);
    if !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
        return Err(AddressError::OtherPath);
    }
    Ok(())
}

/// Whether the text has a segment that parsing removes, in any spelling.
fn has_dot_segment(text: &str) -> bool {
    let path = text.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    path.replace("%2e", ".").split('/').any(|segment| segment == "." || segment == "..")
}

/// Whether the authority has an `@`, even with nothing in front of it.
fn has_user(after_scheme: &str) -> bool {
    let authority = after_scheme.split(['/', '?', '#']).next();
    authority.is_some_and(|authority| authority.contains('@'))
}

/// The most bytes of a URL. Authorization URLs with long scopes have a few thousand.
const LONGEST: usize = 16 * 1024;
