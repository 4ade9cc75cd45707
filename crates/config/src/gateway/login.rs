//! Whose login the gateway uses at a server, and where people's browsers find it: `login` and `gateway.public_url`.

use http::Uri;
use ridethrough_gateway::Share;

use crate::document::tree::Node;
use crate::gateway::reading::Reading;
use crate::hosts::reach::Reached;

/// Whose login is used at a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoginOf {
    /// The gateway's: its owner has logged in, for all.
    #[default]
    Gateway,
    /// That of each principal, for which a person logs in.
    Principal,
}

impl Reading<'_> {
    /// Reads `login`. A login of a principal must never serve another.
    pub(crate) fn login(
        &mut self,
        node: &Node,
        reached: &Reached,
        share: Option<Share>,
    ) -> LoginOf {
        let Some(login) = node.get("login") else { return LoginOf::Gateway };
        match login.text() {
            Some("gateway") => return LoginOf::Gateway,
            Some("principal") => {}
            _ => {
                self.fault(login.span.start, "`login` must be \"gateway\" or \"principal\"");
                return LoginOf::Gateway;
            }
        }
        let place = login.span.start;
        match reached {
            Reached::Local(_) => self.fault(
                place,
                "`login = \"principal\"` is for a server at a URL: nobody logs in to a program",
            ),
            Reached::Remote(server) => {
                if server.authorization.is_some() {
                    let what = "`login = \"principal\"` cannot stand beside a token that is for all: take \
                                `Authorization` out, or the `login`";
                    self.fault(place, what);
                }
                if server.oauth.profile.is_some() || server.oauth.flow.is_some() {
                    let what = "`login = \"principal\"` cannot stand beside a profile or a login without a \
                                browser: each principal has a profile of its own";
                    self.fault(place, what);
                }
            }
        }
        if share == Some(Share::All) {
            let what = "`login = \"principal\"` cannot stand beside `share = \"all\"`, by which all would see what \
                        one principal's login shows: share by \"session\" or \"user\"";
            self.fault(node.get("share").map_or(place, |it| it.span.start), what);
        }
        LoginOf::Principal
    }

    /// Reads `gateway.public_url`: scheme, host and port.
    pub(crate) fn public_url(&mut self, gateway: Option<&Node>) -> Option<String> {
        let node = gateway?.get("public_url")?;
        let url = node.text().map(|it| it.trim_end_matches('/'));
        let is_origin = |text: &&str| {
            let uri: Option<Uri> = text.parse().ok();
            uri.is_some_and(|uri| {
                let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
                let is_bare = uri.path() == "/" && uri.query().is_none();
                is_http && is_bare && uri.authority().is_some_and(|it| !it.as_str().contains('@'))
            })
        };
        let url = url.filter(is_origin);
        if url.is_none() {
            let what = "`public_url` must be scheme and host: \"https://gateway.example.com\"";
            self.fault(node.span.start, what);
        }
        url.map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::file::tests::read;

    #[test]
    fn each_principal_may_have_a_login_of_its_own() {
        let text = "[gateway]\npublic_url = 'https://gateway.example.com/'\n[servers.a]\n\
                    url = 'https://a.example/mcp'\nlogin = 'principal'\n[servers.b]\n\
                    url = 'https://b.example/mcp'\n";

        let file = read("ridethrough.toml", text).unwrap();

        let logins: Vec<_> = file.servers.iter().map(|it| it.login).collect();
        assert_eq!(logins, [LoginOf::Principal, LoginOf::Gateway]);
        assert_eq!(file.public_url.as_deref(), Some("https://gateway.example.com"));
    }

    #[test]
    fn a_login_of_a_principal_is_never_shared_and_needs_a_url() {
        let text = "[servers.a]\nurl = 'https://a.example/mcp'\nlogin = 'principal'\nshare = 'all'\n\
                    [servers.b]\ncommand = 'b'\nlogin = 'principal'\n\
                    [servers.c]\nurl = 'https://c.example/mcp'\nlogin = 'principal'\n\
                    headers = { Authorization = 'Bearer s3cret' }\n\
                    [servers.d]\nurl = 'https://d.example/mcp'\nlogin = 's3cret'\n\
                    [gateway]\npublic_url = 's3cret'\n";

        let faults = read("ridethrough.toml", text).map(|_| ()).unwrap_err();

        let places: Vec<_> = faults.iter().map(|it| it.split(": ").next().unwrap()).collect();
        let expected = [
            "line 16, column 14",
            "line 4, column 9",
            "line 7, column 9",
            "line 10, column 9",
            "line 14, column 9",
        ];
        assert_eq!(places, expected, "{faults:?}");
        assert!(faults[1].contains("share by \"session\" or \"user\""), "{faults:?}");
        assert!(!faults.concat().contains("s3cret"), "{faults:?}");
    }
}
