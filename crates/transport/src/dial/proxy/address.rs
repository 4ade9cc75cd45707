//! The address of a proxy: a URL with name and password, parsed once.

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;
use secrecy::SecretString;

use crate::endpoint::Endpoint;

/// The address of an HTTP proxy.
#[derive(Clone)]
pub(crate) struct ProxyAddress {
    endpoint: Endpoint,
    /// The value of `Proxy-Authorization`.
    authorization: Option<SecretString>,
}

impl ProxyAddress {
    /// Reads `http://name:password@host:port`. Without a scheme it is `http`, as for curl and Go.
    pub(crate) fn parse(url: &str) -> Result<Self, ProxyError> {
        let (scheme, rest) = url.trim().split_once("://").unwrap_or(("http", url.trim()));
        let scheme = scheme.to_ascii_lowercase();
        match &*scheme {
            "http" | "https" => {}
            it if it.starts_with("socks") => return Err(ProxyError::Socks),
            _ => return Err(ProxyError::Scheme),
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let endpoint = Endpoint::parse(&format!("{scheme}://{host}/"));
        let endpoint = endpoint.map_err(|_| ProxyError::NotAUrl)?;
        Ok(Self { endpoint, authorization: user.and_then(basic) })
    }

    pub(crate) const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(crate) const fn authorization(&self) -> Option<&SecretString> {
        self.authorization.as_ref()
    }
}

impl fmt::Debug for ProxyAddress {
    /// Prints the origin only: name and password are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProxyAddress({})", self.endpoint.origin())
    }
}

/// Why a text is not the address of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProxyError {
    #[error("must be the URL of a proxy, such as http://proxy.example:3128")]
    NotAUrl,
    #[error("must begin with http:// or https://")]
    Scheme,
    #[error("must be an HTTP proxy: SOCKS is not spoken here; name one that is, or use `no_proxy`")]
    Socks,
}

/// Returns name and password in the form of RFC 7617; in a URL both are percent-encoded.
fn basic(user: &str) -> Option<SecretString> {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    if name.is_empty() && password.is_empty() {
        return None;
    }
    let plain: Vec<u8> =
        percent_decode_str(name).chain([b':']).chain(percent_decode_str(password)).collect();
    Some(format!("Basic {}", BASE64_STANDARD.encode(plain)).into())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn a_proxy_has_the_port_of_its_scheme_and_http_if_it_names_none() {
        let origin = |url| ProxyAddress::parse(url).unwrap().endpoint().origin();
        let port = |url| ProxyAddress::parse(url).unwrap().endpoint().port();

        assert_eq!(origin("proxy.test:3128"), "http://proxy.test:3128");
        assert_eq!(origin("HTTP://[::1]:3128/"), "http://[::1]:3128");
        assert_eq!((port("http://proxy.test"), port("https://proxy.test")), (80, 443));
    }

    #[test]
    fn what_is_no_http_proxy_is_refused_with_the_reason() {
        for scheme in ["socks", "socks4", "socks5", "SOCKS5h"] {
            let error = ProxyAddress::parse(&format!("{scheme}://proxy.test:1080")).unwrap_err();
            assert_eq!(error, ProxyError::Socks);
        }
        assert_eq!(ProxyAddress::parse("ftp://proxy.test").unwrap_err(), ProxyError::Scheme);
        for url in ["", "http://", "http://proxy.test:x", "http://a b", "http://u:a/b@proxy.test"] {
            assert_eq!(ProxyAddress::parse(url).unwrap_err(), ProxyError::NotAUrl, "{url}");
        }
    }

    #[test]
    fn name_and_password_are_decoded_and_become_basic_credentials() {
        let sent = |url| {
            let proxy = ProxyAddress::parse(url).unwrap();
            proxy.authorization().map(|it| it.expose_secret().to_owned())
        };

        // From RFC 7617, section 2.
        let known = Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==".to_owned());
        assert_eq!(sent("http://Aladdin:open%20sesame@proxy.test"), known);
        assert_eq!(sent("http://a:b%40c%2@proxy.test").as_deref(), Some("Basic YTpiQGMlMg=="));
        assert_eq!(sent("http://a@proxy.test").as_deref(), Some("Basic YTo="));
        assert_eq!(sent("http://@proxy.test"), None);
        assert_eq!(sent("http://proxy.test"), None);
    }

    #[test]
    fn a_proxy_prints_without_its_name_and_password() {
        let proxy = ProxyAddress::parse("http://us3r:s3cret@proxy.test:3128").unwrap();

        assert_eq!(format!("{proxy:?}"), "ProxyAddress(http://proxy.test:3128)");
    }
}
