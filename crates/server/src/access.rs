//! Decides which requests are let in, by their `Host`, their `Origin` and their token.
//!
//! A web page can make its own name resolve to this machine and then talk to `expose` as if it were the
//! page's server (DNS rebinding). But it can change neither the name that the browser sends as `Host`, nor
//! its own origin in `Origin`. So both are checked, also when only loopback is listened on. A `Host` that is
//! an address cannot come from DNS rebinding.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderMap, Uri};

use crate::backend::{Principal, TokenOwners};
use crate::token::Token;
use crate::verify::{Identified, ProtectedResource, TokenRefused, VerifyToken};

/// The rules by which a request is let in.
#[derive(Clone)]
#[must_use]
pub struct AccessPolicy {
    address: IpAddr,
    /// Whether everybody is let in.
    is_open: bool,
    tokens: Vec<(Principal, Token)>,
    verifiers: Vec<Arc<dyn VerifyToken>>,
    pub(crate) resource: Option<Arc<ProtectedResource>>,
    addresses: Vec<IpAddr>,
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// The error of a text that is not a name or an address as they appear in `Host`. With a scheme, a port or a
/// path it could never match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotAHost;

/// The error of a text that is not an origin as browsers write them: `https://app.example.com`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotAnOrigin;

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// It came through a proxy, and no token says from whom.
    Forwarded,
    Host,
    NoToken,
    Origin,
    /// The token cannot be checked now.
    Unverifiable {
        what: String,
        retry_after: Duration,
    },
    /// The token is not known, or is wrong in this way.
    WrongToken(Option<String>),
}

impl AccessPolicy {
    /// Creates a policy for this address: a request needs the token, if there is one.
    ///
    /// A client that shows the token is the principal `owner`; without a token, all clients are one
    /// principal.
    pub fn new(address: IpAddr, token: Option<Token>) -> Self {
        Self {
            address,
            is_open: token.is_none(),
            tokens: token.map(|token| (Principal::owner(), token)).into_iter().collect(),
            verifiers: Vec::new(),
            resource: None,
            addresses: Vec::new(),
            hosts: Vec::new(),
            origins: Vec::new(),
        }
    }

    /// Lets in whoever shows a token that this verifier knows. Verifiers are asked in their order.
    pub fn verify_with(mut self, verifier: impl VerifyToken) -> Self {
        self.verifiers.push(Arc::new(verifier));
        self.is_open = false;
        self
    }

    /// Tells clients without a token who would give them one.
    pub fn protected_resource(mut self, resource: ProtectedResource) -> Self {
        self.resource = Some(Arc::new(resource));
        self
    }

    /// Lets in another principal, which shows a token of its own.
    pub fn allow_principal(mut self, principal: Principal, token: Token) -> Self {
        self.tokens.push((principal, token));
        self.is_open = false;
        self
    }

    /// Allows another name or address of this machine, on any port.
    pub fn allow_host(mut self, name: &str) -> Result<Self, NotAHost> {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        match address_of(&name).or_else(|| name.parse().ok()) {
            Some(address) => self.addresses.push(address.to_canonical()),
            None if host_of(&name) == Some(&name) && !name.starts_with('[') => {
                self.hosts.push(name)
            }
            None => return Err(NotAHost),
        }
        Ok(self)
    }

    /// Allows another origin whose pages may call, such as `https://app.example.com`.
    pub fn allow_origin(mut self, origin: &str) -> Result<Self, NotAnOrigin> {
        let origin = origin.strip_suffix('/').unwrap_or(origin).to_ascii_lowercase();
        if origin == "null" {
            // Pages from a file send `null` as their origin.
            self.origins.push(origin);
            return Ok(self);
        }
        let (scheme, place) = origin.split_once("://").ok_or(NotAnOrigin)?;
        let is_scheme =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        if !scheme.starts_with(|it: char| it.is_ascii_alphabetic())
            || !scheme.bytes().all(is_scheme)
            || host_of(place).is_none()
        {
            return Err(NotAnOrigin);
        }
        // Browsers leave out the default port.
        let usual = match scheme {
            "http" => ":80",
            "https" => ":443",
            _ => "",
        };
        self.origins.push(origin.strip_suffix(usual).unwrap_or(&origin).to_owned());
        Ok(self)
    }

    /// Checks the `Host` and the `Origin` of a request.
    pub(crate) fn check_place(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Closed> {
        self.check_host(uri, headers)?;
        let mut origins = headers.get_all(ORIGIN).iter();
        if origins.all(|origin| origin.to_str().is_ok_and(|it| self.knows_origin(it))) {
            Ok(())
        } else {
            Err(Closed::Origin)
        }
    }

    /// Checks the `Host` of a request.
    pub(crate) fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Closed> {
        let mut named = headers.get_all(HOST).iter().peekable();
        if named.peek().is_none() && uri.host().is_none() {
            return Err(Closed::Host);
        }
        let is_known = |text: &str| host_of(text).is_some_and(|host| self.knows_host(host));
        if !named.all(|host| host.to_str().is_ok_and(is_known))
            || uri.authority().is_some_and(|it| !is_known(it.as_str()))
        {
            return Err(Closed::Host);
        }
        Ok(())
    }

    /// Checks the token of a request, and returns whose it is.
    pub(crate) async fn check_token(&self, headers: &HeaderMap) -> Result<Identified, Closed> {
        if self.is_open {
            // A proxy on this machine would make everybody behind it a caller of this machine.
            let is_forwarded = FORWARDED.iter().any(|name| headers.contains_key(*name));
            let anybody = || Identified { principal: Principal::anybody(), groups: Arc::default() };
            return if is_forwarded { Err(Closed::Forwarded) } else { Ok(anybody()) };
        }
        let mut shown = headers.get_all(AUTHORIZATION).iter();
        let (Some(first), None) = (shown.next(), shown.next()) else {
            let is_there = headers.contains_key(AUTHORIZATION);
            return Err(if is_there { Closed::WrongToken(None) } else { Closed::NoToken });
        };
        let shown = first.to_str().ok().and_then(|text| text.split_once(' '));
        let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, shown)) = shown else { return Err(Closed::WrongToken(None)) };
        self.identify(shown.trim()).await
    }

    /// Returns whose a token is.
    async fn identify(&self, shown: &str) -> Result<Identified, Closed> {
        if let Some((principal, _)) = self.tokens.iter().find(|(_, token)| token.is(shown)) {
            return Ok(Identified { principal: principal.clone(), groups: Arc::default() });
        }
        for verifier in &self.verifiers {
            match verifier.verify(shown).await {
                Ok(identified) => return Ok(identified),
                Err(TokenRefused::Unknown) => {}
                Err(TokenRefused::Wrong { what }) => return Err(Closed::WrongToken(Some(what))),
                Err(TokenRefused::Unverifiable { what, retry_after }) => {
                    return Err(Closed::Unverifiable { what, retry_after });
                }
            }
        }
        Err(Closed::WrongToken(None))
    }

    fn knows_host(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        if let Some(address) = address_of(&host) {
            // A server that listens on all addresses can be reached by any of them.
            return is_loopback(address)
                || address == self.address
                || self.address.is_unspecified()
                || self.addresses.contains(&address.to_canonical());
        }
        is_loopback_name(&host) || self.hosts.contains(&host)
    }

    fn knows_origin(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let place = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let is_local = |host: &str| match address_of(host) {
            Some(address) => is_loopback(address),
            None => is_loopback_name(host),
        };
        place.and_then(host_of).is_some_and(is_local) || self.origins.contains(&origin)
    }
}

impl TokenOwners for AccessPolicy {
    fn owner_of<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<Principal>> {
        Box::pin(async move { self.identify(token).await.ok().map(|it| it.principal) })
    }
}

impl fmt::Debug for AccessPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessPolicy")
            .field("address", &self.address)
            .field("is_open", &self.is_open)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for NotAHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name or an address is wanted, without scheme, port and path")
    }
}

impl fmt::Display for NotAnOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an origin is wanted: scheme and host, without path")
    }
}

impl std::error::Error for NotAHost {}

impl std::error::Error for NotAnOrigin {}

/// Returns the host of `host:port`; `None` if the text has another form.
fn host_of(authority: &str) -> Option<&str> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        return is_port(port).then(|| &authority[..address.len() + 2]);
    }
    let host = authority.split(':').next()?;
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let is_whole = !host.is_empty() && host.bytes().all(is_host);
    (is_whole && is_port(&authority[host.len()..])).then_some(host)
}

fn is_port(text: &str) -> bool {
    match text.strip_prefix(':') {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_digit()),
        None => text.is_empty(),
    }
}

fn address_of(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match bare {
        Some(v6) => v6.parse().ok().map(IpAddr::V6),
        None => host.parse().ok().map(IpAddr::V4),
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Whether browsers resolve this name to this machine without DNS (RFC 6761, section 6.3).
fn is_loopback_name(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost")
}

/// What proxies add to the requests that they pass on.
const FORWARDED: [&str; 5] =
    ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "cf-connecting-ip"];

#[cfg(test)]
mod tests;
