//! URIs that callers see. A URI stays as it is while one of the servers that a caller sees lists it; if several
//! do, each gets a prefix of ours.

use std::sync::Arc;

use ridethrough_wire::message::ListKind;

use super::audience::{Scope, View};
use super::listed::Listed;
use super::notice::Notice;

/// Returns a URI of a server as the caller sees it. `servers` are those that the caller sees.
pub(crate) fn shown(
    servers: &[&Listed],
    kind: ListKind,
    server: &str,
    uri: &str,
    view: &View,
) -> String {
    let is_contested = view.scope == Scope::All
        && servers.iter().any(|it| &*it.name != server && lists(it, kind, uri, view));
    if is_contested { prefixed(server, uri) } else { uri.to_owned() }
}

/// Returns the server of a URI: the one that it names, that lists it, or whose template fits it best. If
/// several list it, it leads to the first.
pub(crate) fn owner<'a>(
    servers: &[&'a Listed],
    uri: &'a str,
    view: &View,
) -> Option<(&'a Listed, &'a str)> {
    if let Some((encoded_name, original)) = split(uri)
        && let Some(named) = servers.iter().find(|it| encoded(&it.name) == encoded_name)
    {
        return Some((named, original));
    }
    let listing = |kind| servers.iter().find(|it| lists(it, kind, uri, view));
    let exact = listing(ListKind::Resources).or_else(|| listing(ListKind::Templates));
    let owner = exact.copied().or_else(|| by_template(servers, uri, view))?;
    Some((owner, uri))
}

/// Returns what a person should know about URIs that this server lists and an earlier one, too.
pub(crate) fn collisions(servers: &[Listed], server: &Listed, kind: ListKind) -> Vec<Notice> {
    let Some(list) = server.newest(kind) else { return Vec::new() };
    let first = |uri: &str| -> Option<&Arc<str>> {
        let mut others = servers.iter().filter(|it| it.name != server.name);
        let owner = others.find(|it| it.newest(kind).is_some_and(|it| it.item(uri).is_some()));
        owner.map(|it| &it.name)
    };
    let contested = list.items.iter().filter_map(|it| Some((&it.original, first(&it.original)?)));
    let notices = contested.map(|(original, first)| Notice::Collision {
        name: prefixed(&server.name, original),
        server: server.name.clone(),
        original: original.clone(),
        first: first.clone(),
    });
    notices.collect()
}

fn lists(server: &Listed, kind: ListKind, uri: &str, view: &View) -> bool {
    server.seen(kind, view).is_some_and(|list| list.item(uri).is_some())
}

/// Returns the server with the template that fits a URI best: the one whose fixed beginning is longest.
fn by_template<'a>(servers: &[&'a Listed], uri: &str, view: &View) -> Option<&'a Listed> {
    let mut best: Option<(usize, &Listed)> = None;
    for server in servers {
        let Some(list) = server.seen(ListKind::Templates, view) else { continue };
        for template in &list.items {
            let Some(fixed) = fitting(&template.original, uri) else { continue };
            if best.is_none_or(|(length, _)| fixed > length) {
                best = Some((fixed, server));
            }
        }
    }
    best.map(|(_, server)| server)
}

/// Returns the length of the fixed beginning of a template, if a URI can be one of it: it has the fixed parts of the
/// template, in their order, from its beginning to its end.
fn fitting(template: &str, uri: &str) -> Option<usize> {
    let (beginning, rest) = template.split_once('{')?;
    let mut left = uri.strip_prefix(beginning)?;
    let mut parts = rest.split('{').map(|it| it.split_once('}').map_or("", |(_, fixed)| fixed));
    let last = parts.next_back().unwrap_or_default();
    for part in parts {
        left = left.split_once(part)?.1;
    }
    left.ends_with(last).then_some(beginning.len())
}

/// Returns a URI with a prefix that names the server.
fn prefixed(server: &str, uri: &str) -> String {
    format!("{SCHEME}{}/{uri}", encoded(server))
}

/// Takes the prefix off a URI. Returns the encoded name of the server, and the URI.
fn split(uri: &str) -> Option<(&str, &str)> {
    uri.strip_prefix(SCHEME)?.split_once('/')
}

/// Returns the name of a server as it stands in a URI.
fn encoded(server: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let letters = server.bytes().map(|byte| match byte {
        byte if is_plain(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    letters.collect()
}

const SCHEME: &str = "ridethrough:";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_fits_what_has_its_fixed_parts_from_beginning_to_end() {
        assert_eq!(fitting("notes://{id}", "notes://secret-plan"), Some(8));
        assert_eq!(fitting("notes://{id}/raw{?v}", "notes://a/raw?v=1"), Some(8));
        assert_eq!(fitting("file://{+path}.md", "file://a/b.md"), Some(7));
        assert_eq!(fitting("file://{+path}.md", "file://a/b.txt"), None);
        assert_eq!(fitting("notes://{a}-{b}", "notes://ab"), None);
        assert_eq!(fitting("notes://s", "notes://secret-plan"), None, "it has no variable");
        assert_eq!(fitting("{+any}", "x:1"), Some(0));
        assert_eq!(fitting("notes://{id", "notes://a"), Some(8));
    }

    #[test]
    fn a_prefix_names_its_server_whatever_that_is_called() {
        let uri = prefixed("b b/c", "x:2/3");

        assert_eq!(uri, "ridethrough:b%20b%2Fc/x:2/3");
        assert_eq!(split(&uri), Some(("b%20b%2Fc", "x:2/3")));
        assert_eq!(split("x:2"), None);
    }
}
