//! How close a host is: this machine, a private network, or anywhere.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Host;

/// How close a host is. The order matters: the last is the closest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostKind {
    /// Any other address, or a name that does not show where it is.
    Public,
    /// A private, shared, link-local or reserved address; cloud metadata services are among them.
    Private,
    /// This machine.
    Loopback,
}

impl HostKind {
    pub(super) fn of(host: &Host<&str>) -> Self {
        match host {
            Host::Domain(name) => of_name(name),
            Host::Ipv4(ip) => kind_of_ip(IpAddr::V4(*ip)),
            Host::Ipv6(ip) => kind_of_ip(IpAddr::V6(*ip)),
        }
    }
}

/// Returns how close an address is. The code that connects resolves names, and should check the result here.
pub fn kind_of_ip(ip: IpAddr) -> HostKind {
    match ip {
        IpAddr::V4(ip) => of_ipv4(ip),
        IpAddr::V6(ip) => of_ipv6(ip),
    }
}

/// Returns how close a name is. Only `localhost` itself is this machine: a name below it is resolved by
/// others (`a.localhost` may be anywhere).
fn of_name(name: &str) -> HostKind {
    if name.trim_end_matches('.').eq_ignore_ascii_case("localhost") {
        HostKind::Loopback
    } else {
        HostKind::Public
    }
}

fn of_ipv4(ip: Ipv4Addr) -> HostKind {
    let [first, second, third, _] = ip.octets();
    let is_shared = first == 100 && (64..128).contains(&second);
    let is_protocol_block = first == 192 && second == 0 && third == 0;
    let is_benchmark = first == 198 && (18..20).contains(&second);
    let is_reserved = first == 0 || first >= 224;
    if ip.is_loopback() {
        HostKind::Loopback
    } else if ip.is_private()
        || ip.is_link_local()
        || is_shared
        || is_protocol_block
        || is_benchmark
        || is_reserved
    {
        HostKind::Private
    } else {
        HostKind::Public
    }
}

fn of_ipv6(ip: Ipv6Addr) -> HostKind {
    if ip == Ipv6Addr::LOCALHOST {
        return HostKind::Loopback;
    }
    if let Some(ip) = ip.to_ipv4_mapped().or_else(|| translated(ip)) {
        return of_ipv4(ip);
    }
    let first = ip.segments()[0];
    // Every public address in use begins with 001 in binary (2000::/3).
    if first & 0xe000 == 0x2000 { HostKind::Public } else { HostKind::Private }
}

/// Returns the IPv4 address behind 64:ff9b::/96 (RFC 6052) or 2002::/16 (6to4).
fn translated(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = ip.segments();
    let [high, low] = match [a, b, c, d, e, f] {
        [0x64, 0xff9b, 0, 0, 0, 0] => [g, h],
        [0x2002, high, low, ..] => [high, low],
        _ => return None,
    };
    let ([first, second], [third, fourth]) = (high.to_be_bytes(), low.to_be_bytes());
    Some(Ipv4Addr::new(first, second, third, fourth))
}
