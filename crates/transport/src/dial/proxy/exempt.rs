//! The hosts that are reached without a proxy: the list in `NO_PROXY`.
//!
//! There is no standard. This module reads what curl, Go and the Rust clients agree on, and takes the wider
//! reading where they do not, because an entry that is not understood would send a call to a proxy that must
//! not see it.

use std::net::IpAddr;

/// A list of hosts.
#[derive(Debug)]
pub(super) struct Exempt {
    entries: Vec<ExemptEntry>,
}

#[derive(Debug)]
struct ExemptEntry {
    hosts: Hosts,
    /// The port; any, if none is named.
    port: Option<u16>,
}

#[derive(Debug)]
enum Hosts {
    All,
    /// This name and all below it.
    Domain(String),
    Network {
        address: IpAddr,
        bits: u32,
    },
}

impl Exempt {
    /// Reads names, addresses, networks (`10.0.0.0/8`) and `*`, each with a port or without,
    /// between commas or spaces.
    pub(super) fn parse(list: &str) -> Self {
        let entries = list.split([',', ' ', '\t']).filter(|entry| !entry.is_empty());
        Self { entries: entries.map(ExemptEntry::parse).collect() }
    }

    /// Whether this host, a name or an address without brackets, is in the list.
    pub(super) fn covers(&self, host: &str, port: u16) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let address = host.parse::<IpAddr>().ok().map(|it| it.to_canonical());
        self.entries.iter().any(|entry| {
            entry.port.is_none_or(|only| only == port) && entry.hosts.contain(&host, address)
        })
    }
}

impl ExemptEntry {
    fn parse(text: &str) -> Self {
        if let Some(hosts) = Hosts::network(text) {
            return Self { hosts, port: None };
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => match port.parse() {
                Ok(port) => (host, Some(port)),
                Err(_) => (text, None),
            },
            None => (text, None),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let hosts = match host {
            "*" => Hosts::All,
            host => Hosts::network(host).unwrap_or_else(|| Hosts::domain(host)),
        };
        Self { hosts, port }
    }
}

impl Hosts {
    fn network(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits =
            bits.map_or(Some(most), |bits| bits.parse().ok()).filter(|bits| *bits <= most)?;
        Some(Self::Network { address, bits })
    }

    /// Creates an entry for a domain: `example.com`, `.example.com` and `*.example.com` are equal.
    fn domain(text: &str) -> Self {
        let name = text.strip_prefix('*').unwrap_or(text);
        Self::Domain(name.trim_matches('.').to_ascii_lowercase())
    }

    fn contain(&self, host: &str, address: Option<IpAddr>) -> bool {
        match self {
            Self::All => true,
            Self::Domain(name) => host
                .strip_suffix(name.as_str())
                .is_some_and(|above| above.is_empty() || above.ends_with('.')),
            Self::Network { address: network, bits } => match (address, network) {
                (Some(IpAddr::V4(host)), IpAddr::V4(network)) => {
                    (host.to_bits() ^ network.to_bits()).leading_zeros() >= *bits
                }
                (Some(IpAddr::V6(host)), IpAddr::V6(network)) => {
                    (host.to_bits() ^ network.to_bits()).leading_zeros() >= *bits
                }
                _ => false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_no_proxy_covers_what_it_names_and_nothing_else() {
        for (list, covered, others) in [
            (
                "example.com",
                &["example.com", "a.b.EXAMPLE.com", "example.com."][..],
                &["notexample.com", "com"][..],
            ),
            (".example.com", &["example.com", "a.example.com"], &["notexample.com"]),
            ("*.example.com", &["a.example.com"], &["example.org"]),
            ("*", &["anything.test", "10.0.0.1", "::1"], &[]),
            ("10.1.2.3", &["10.1.2.3", "::ffff:10.1.2.3"], &["10.1.2.4", "3.10.1.2.3"]),
            ("10.0.0.0/8", &["10.255.0.1"], &["11.0.0.1", "10.example.com", "::1"]),
            ("0.0.0.0/0", &["1.2.3.4"], &["::1", "example.com"]),
            ("fd00::/8", &["fd12::1"], &["fe80::1", "10.0.0.1"]),
            ("::1", &["::1"], &["::2"]),
            ("[::1]", &["::1"], &["::2"]),
            ("a.test, b.test\tc.test,,", &["a.test", "b.test", "c.test"], &["d.test"]),
            ("", &[], &["a.test", "10.0.0.1"]),
            ("10.0.0.0/33", &[], &["10.0.0.1"]),
        ] {
            let list_read = Exempt::parse(list);
            for host in covered {
                assert!(list_read.covers(host, 443), "`{list}` covers {host}");
            }
            for host in others {
                assert!(!list_read.covers(host, 443), "`{list}` does not cover {host}");
            }
        }
    }

    #[test]
    fn an_entry_with_a_port_covers_that_port_only() {
        for (entry, host) in [
            ("example.com:8443", "www.example.com"),
            ("10.0.0.1:8443", "10.0.0.1"),
            ("[fd00::1]:8443", "fd00::1"),
            ("*:8443", "anything.test"),
        ] {
            let list = Exempt::parse(entry);

            assert!(list.covers(host, 8443), "{entry}");
            assert!(!list.covers(host, 443), "{entry}");
        }
    }
}
