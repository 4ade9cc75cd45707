//! The address to listen on.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use tokio::net::TcpListener;

use crate::misuse::Misuse;

/// An address of this machine and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListenAddress(SocketAddr);

impl FromStr for ListenAddress {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let local = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
        match local.as_deref().unwrap_or(text).parse() {
            Ok(address) => Ok(Self(address)),
            Err(_) => Err("an address is written as `127.0.0.1:8808` or `[::1]:8808`"),
        }
    }
}

impl ListenAddress {
    pub(crate) const fn ip(&self) -> IpAddr {
        self.0.ip()
    }

    /// Whether only this machine can reach the address.
    pub(crate) fn is_local(&self) -> bool {
        self.0.ip().to_canonical().is_loopback()
    }

    pub(crate) async fn bind(&self) -> Result<TcpListener, Misuse> {
        TcpListener::bind(self.0).await.map_err(|error| Misuse {
            what: format!("`{}` cannot be listened on: {error}", self.0),
            tried: "it was asked of the system once; no server was started".to_owned(),
            hint: "choose another with `--listen ADDRESS:PORT`; port 0 is any that is free"
                .to_owned(),
        })
    }

    /// Where a client on this machine finds the server.
    pub(crate) fn url(&self, scheme: &str, port: u16) -> String {
        let ip = match self.0.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        format!("{scheme}://{}/mcp", SocketAddr::new(ip, port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_printed_as_urls() {
        for (text, url) in [
            ("127.0.0.1:8808", "http://127.0.0.1:7/mcp"),
            ("localhost:0", "http://127.0.0.1:7/mcp"),
            ("[::1]:0", "http://[::1]:7/mcp"),
            ("0.0.0.0:1", "http://127.0.0.1:7/mcp"),
            ("[::]:1", "http://[::1]:7/mcp"),
            ("192.168.0.7:1", "http://192.168.0.7:7/mcp"),
        ] {
            assert_eq!(text.parse::<ListenAddress>().unwrap().url("http", 7), url, "{text}");
        }
        for text in ["8808", "127.0.0.1", "example.com:80", ""] {
            assert!(text.parse::<ListenAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_loopback_is_local() {
        let is_local = |text: &str| text.parse::<ListenAddress>().unwrap().is_local();

        assert!(is_local("127.0.0.1:1") && is_local("[::1]:1") && is_local("127.9.9.9:1"));
        assert!(!is_local("0.0.0.0:1") && !is_local("[::]:1") && !is_local("10.0.0.1:1"));
    }
}
