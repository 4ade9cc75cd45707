//! URIs that callers see. A URI stays as it is while one server lists it; if several do, each gets a prefix
//! of ours.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Which servers list which URI.
#[derive(Debug, Default)]
pub(crate) struct Uris {
    /// In the order in which they were first seen.
    servers: BTreeMap<String, Vec<Arc<str>>>,
}

impl Uris {
    /// Records what a server lists, in the place of what it listed before. Returns the URIs that another
    /// server lists too, with that server.
    pub(crate) fn replace(&mut self, server: &Arc<str>, uris: &[&str]) -> Vec<(String, Arc<str>)> {
        for (uri, servers) in &mut self.servers {
            if uris.binary_search(&uri.as_str()).is_err() {
                servers.retain(|it| it != server);
            }
        }
        self.servers.retain(|_, servers| !servers.is_empty());
        let mut contested = Vec::new();
        for uri in uris {
            let servers = self.servers.entry((*uri).to_owned()).or_default();
            if !servers.contains(server) {
                contested.extend(servers.first().map(|first| ((*uri).to_owned(), first.clone())));
                servers.push(server.clone());
            }
        }
        contested
    }

    pub(crate) fn forget_server(&mut self, server: &Arc<str>) {
        self.replace(server, &[]);
    }

    /// Returns the URI that callers see.
    pub(crate) fn shown(&self, server: &str, uri: &str) -> String {
        let is_contested = self.servers.get(uri).is_some_and(|servers| servers.len() > 1);
        if is_contested { prefixed(server, uri) } else { uri.to_owned() }
    }

    /// Returns the server that lists a URI; the first, if several do.
    pub(crate) fn owner(&self, uri: &str) -> Option<&Arc<str>> {
        self.servers.get(uri)?.first()
    }

    /// Returns the server with the template that fits a URI best: the one whose fixed beginning is longest.
    pub(crate) fn owner_by_template(&self, uri: &str) -> Option<&Arc<str>> {
        let fixed = |template: &str| template.split('{').next().unwrap_or_default().len();
        let fits = |template: &str| uri.starts_with(&template[..fixed(template)]);
        let fitting = self.servers.iter().filter(|(template, _)| fits(template));
        fitting.max_by_key(|(template, _)| fixed(template))?.1.first()
    }
}

/// Returns a URI with a prefix that names the server.
pub(crate) fn prefixed(server: &str, uri: &str) -> String {
    format!("{SCHEME}{}/{uri}", encoded(server))
}

/// Takes the prefix off a URI. Returns the encoded name of the server, and the URI.
pub(crate) fn split(uri: &str) -> Option<(&str, &str)> {
    uri.strip_prefix(SCHEME)?.split_once('/')
}

/// Returns the name of a server as it stands in a URI.
pub(crate) fn encoded(server: &str) -> String {
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
    fn a_uri_gets_a_prefix_while_two_servers_list_it() {
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b b".into());
        let mut uris = Uris::default();

        assert!(uris.replace(&a, &["x:1", "x:2"]).is_empty());
        assert_eq!(uris.replace(&b, &["x:2"]), [("x:2".to_owned(), a.clone())]);

        assert_eq!(uris.shown("a", "x:1"), "x:1");
        assert_eq!(uris.shown("a", "x:2"), "ridethrough:a/x:2");
        assert_eq!(uris.shown("b b", "x:2"), "ridethrough:b%20b/x:2");
        assert_eq!(split("ridethrough:b%20b/x:2"), Some(("b%20b", "x:2")));
        assert_eq!(uris.owner("x:2"), Some(&a), "who remembers it plain still reaches the first");
        assert!(uris.replace(&b, &["x:2"]).is_empty(), "it is told once");
        uris.replace(&a, &["x:1"]);
        assert_eq!(uris.shown("b b", "x:2"), "x:2");
    }

    #[test]
    fn a_uri_that_no_list_has_belongs_to_the_template_that_fits_best() {
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let mut uris = Uris::default();
        uris.replace(&a, &["file:///{path}"]);
        uris.replace(&b, &["file:///logs/{day}"]);

        assert_eq!(uris.owner_by_template("file:///logs/1"), Some(&b));
        assert_eq!(uris.owner_by_template("file:///etc/1"), Some(&a));
        assert_eq!(uris.owner_by_template("http://x"), None);
    }
}
