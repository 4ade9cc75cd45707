//! What the address of a server shows without asking it: whether others can listen on the way there, and how it is
//! shown without keys.

use std::net::IpAddr;

use ridethrough::transport::Endpoint;
use ridethrough_terminal::safe;
use ridethrough_wire::secrets::Secrets;

/// Whether the way to the server is encrypted, or does not leave this machine.
pub fn is_safe_from_listeners(endpoint: &Endpoint) -> bool {
    endpoint.is_tls() || is_this_machine(endpoint)
}

/// Whether the server is on this machine. Names below `localhost` are (RFC 6761, section 6.3).
pub fn is_this_machine(endpoint: &Endpoint) -> bool {
    let host = endpoint.host_to_resolve().trim_end_matches('.').to_ascii_lowercase();
    let is_loopback = |address: IpAddr| address.to_canonical().is_loopback();
    host == "localhost" || host.ends_with(".localhost") || host.parse().is_ok_and(is_loopback)
}

/// Returns the URL without the query, and without parts of the path that are long enough to be keys.
pub fn shown(endpoint: &Endpoint) -> String {
    let whole = endpoint.to_string();
    let path = whole.strip_prefix(&endpoint.origin()).unwrap_or_default();
    let part = |part: &str| if part.len() >= KEY { "..." } else { part }.to_owned();
    let path: Vec<_> = path.split('/').map(part).collect();
    format!("{}{}", endpoint.origin(), path.join("/"))
}

/// Returns the query, with values that may be secrets as `...`; empty, if there is none.
pub fn shown_query(endpoint: &Endpoint) -> String {
    let Some((_, query)) = endpoint.path().split_once('?') else { return String::new() };
    let members = query.split('&').map(|member| {
        let (name, value) = member.split_once('=').unwrap_or(("", member));
        let mut secret = Secrets::default();
        secret.keep_query(member);
        match (secret.masked(value) == value, name) {
            (true, _) => member.to_owned(),
            (false, "") => "...".to_owned(),
            (false, name) => format!("{name}=..."),
        }
    });
    format!("?{}", members.collect::<Vec<_>>().join("&"))
}

/// Returns a URL as it can be typed again, with values that may be secrets as `...`; `None`, if it cannot be used.
pub fn typed(url: &str) -> Option<String> {
    let endpoint = Endpoint::parse(url).ok()?;
    Some(safe::quoted(&format!("{}{}", shown(&endpoint), shown_query(&endpoint))))
}

/// Returns the URLs at which most servers answer, if this is none of them: below its path, and at the root.
pub fn with_mcp(url: &str, query: &str) -> Option<String> {
    let url = url.trim_end_matches('/');
    if url.ends_with("/mcp") {
        return None;
    }
    let after_scheme = url.find("://").map_or(0, |place| place + 3);
    let below = format!("`{url}/mcp{query}`");
    Some(match url[after_scheme..].find('/') {
        Some(path) => format!("`{}/mcp{query}` or {below}", &url[..after_scheme + path]),
        None => below,
    })
}

/// The length from which a part of a path counts as a key. Names in paths are shorter, as a rule.
const KEY: usize = 20;
