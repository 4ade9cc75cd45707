//! Who may come into the gateway, and what they may: `[gateway.access]` of a config file.
//!
//! Unknown keys are faults here, unlike elsewhere in the file: a misspelt restriction would be none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ridethrough_gateway::{AccessRights, Grant, Rights};

use crate::document::tree::{Node, Value};
use crate::gateway::reading::Reading;

/// Who may come in, and what they may.
#[derive(Default)]
pub struct GatewayAccess {
    /// The file with the hashes of tokens.
    pub tokens: Option<PathBuf>,
    /// What principals and groups may.
    pub rights: AccessRights,
    /// Which signed tokens are taken.
    pub jwt: Option<JwtSettings>,
    /// Whether the file says anything about it.
    pub is_given: bool,
}

/// Which signed tokens are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtSettings {
    /// Who signs them.
    pub issuer: String,
    /// For whom a token must be: one of these.
    pub audience: Vec<String>,
    /// Where the keys are, if the issuer's metadata does not say it.
    pub jwks_url: Option<String>,
    /// By what.
    pub algorithms: Vec<String>,
    /// The claim that puts a principal in groups.
    pub groups_claim: String,
    /// The scopes that clients are told to ask for.
    pub scopes: Vec<String>,
    /// The URL of the gateway as clients know it.
    pub resource: Option<String>,
}

impl Reading<'_> {
    pub(crate) fn access(
        &mut self,
        gateway: Option<&Node>,
        folder: Option<&Path>,
    ) -> GatewayAccess {
        let Some(node) = gateway.and_then(|it| it.get("access")) else {
            return GatewayAccess::default();
        };
        self.only(node, &["groups", "jwt", "principals", "tokens"]);
        let mut principals = self.rights_by_name(node.get("principals"));
        let others = principals.remove("*").unwrap_or_default();
        let mut rights = AccessRights::default();
        rights.principals = principals;
        rights.others = others;
        rights.groups = self.rights_by_name(node.get("groups"));
        let tokens = self.words(node, "tokens").map(PathBuf::from);
        GatewayAccess {
            // Like every path in a file, it begins where the file is.
            tokens: tokens.map(|it| folder.map_or_else(|| it.clone(), |folder| folder.join(&it))),
            rights,
            jwt: node.get("jwt").and_then(|it| self.jwt(it)),
            is_given: true,
        }
    }

    fn rights_by_name(&mut self, node: Option<&Node>) -> BTreeMap<String, Rights> {
        let Some(node) = node else { return BTreeMap::new() };
        if !node.is_object() {
            self.fault(node.span.start, "it must be a table of names");
        }
        let named = node.members().iter().map(|(name, it)| (name.clone(), self.rights_of(it)));
        named.collect()
    }

    fn rights_of(&mut self, node: &Node) -> Rights {
        self.only(node, &["allow", "calls_per_minute", "in_flight", "read_only"]);
        let mut rights = Rights::default();
        rights.grants = self.grants(node);
        let is_read_only = self.flag(node, "read_only");
        rights.grants.iter_mut().for_each(|grant| grant.is_read_only = is_read_only);
        rights.calls_per_minute = self.count(node, "calls_per_minute", 1_000_000);
        rights.in_flight = self.count(node, "in_flight", 10_000);
        rights
    }

    /// Reads what is granted: a server, a list of servers, or a table of their tools.
    fn grants(&mut self, node: &Node) -> Vec<Grant> {
        let Some(allow) = node.get("allow") else {
            self.fault(node.span.start, "`allow` is missing: name servers, or \"*\" for all");
            return Vec::new();
        };
        let whole =
            |server: &str| Grant { server: server.to_owned(), tools: None, is_read_only: false };
        match &allow.value {
            Value::Text(server) => vec![whole(server)],
            Value::Array(_) => self.texts(node, "allow").iter().map(|it| whole(it)).collect(),
            Value::Object(servers) => {
                let grants = servers.iter().filter_map(|(server, tools)| {
                    let is_whole = matches!(tools.value, Value::Flag(true));
                    let named = match &tools.value {
                        Value::Text(tool) => Some(vec![tool.clone()]),
                        Value::Array(_) => Some(self.texts(allow, server)),
                        _ => None,
                    };
                    if !is_whole && named.is_none() {
                        let what = "the tools of a server are a list of patterns, or true for all";
                        self.fault(tools.span.start, what);
                        return None;
                    }
                    Some(Grant { tools: named, ..whole(server) })
                });
                grants.collect()
            }
            Value::Flag(_) | Value::Other(_) => {
                let what = "`allow` must be a server, a list of servers, or a table of their tools";
                self.fault(allow.span.start, what);
                Vec::new()
            }
        }
    }

    fn jwt(&mut self, node: &Node) -> Option<JwtSettings> {
        self.only(
            node,
            &["algorithms", "audience", "groups_claim", "issuer", "jwks_url", "resource", "scopes"],
        );
        let issuer = self.words(node, "issuer");
        let audience = match node.get("audience").map(|it| &it.value) {
            Some(Value::Array(_)) => self.texts(node, "audience"),
            _ => self.words(node, "audience").into_iter().collect(),
        };
        let algorithms = match node.get("algorithms") {
            Some(_) => self.texts(node, "algorithms"),
            None => DEFAULT_ALGORITHMS.map(str::to_owned).into(),
        };
        if let Some(unfit) = algorithms.iter().find(|it| !ALGORITHMS.contains(&it.as_str())) {
            let place = node.get("algorithms").map_or(node.span.start, |it| it.span.start);
            let what = format!("`{unfit}` is no algorithm of signatures with public keys");
            self.fault(place, &what);
        }
        if issuer.is_none() || audience.is_empty() || algorithms.is_empty() {
            let what =
                "`issuer` and `audience` are needed: who signs tokens, and for whom they are";
            self.fault(node.span.start, what);
            return None;
        }
        Some(JwtSettings {
            issuer: issuer?,
            audience,
            jwks_url: self.words(node, "jwks_url"),
            algorithms,
            groups_claim: self.words(node, "groups_claim").unwrap_or_else(|| "scope".to_owned()),
            scopes: self.texts(node, "scopes"),
            resource: self.words(node, "resource"),
        })
    }

    fn count(&mut self, node: &Node, key: &str, most: usize) -> Option<u32> {
        self.number(node, key, 1..=most).and_then(|it| it.try_into().ok())
    }

    fn only(&mut self, node: &Node, known: &[&str]) {
        if !node.is_object() {
            self.fault(node.span.start, "it must be a table");
        }
        for (key, value) in node.members() {
            if !known.contains(&key.as_str()) {
                let what = format!("`{key}` is not known; there are {}", known.join(", "));
                self.fault(value.span.start, &what);
            }
        }
    }
}

/// What may sign: a private key whose public half is published. A key that both sides know would let whoever
/// verifies sign, too.
const ALGORITHMS: [&str; 9] =
    ["ES256", "ES384", "EdDSA", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"];
/// Those that authorization servers use.
const DEFAULT_ALGORITHMS: [&str; 3] = ["RS256", "ES256", "EdDSA"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::file::tests::read;

    #[test]
    fn rights_are_read_by_server_and_by_tool() {
        let file = read(
            "ridethrough.toml",
            "[servers.a]\nurl = 'https://a.example/mcp'\n\
             [gateway.access]\ntokens = 'tokens.json'\n\
             [gateway.access.principals.ada]\nallow = '*'\ncalls_per_minute = 60\nin_flight = 4\n\
             [gateway.access.principals.bob]\nallow = ['a', 'b*']\nread_only = true\n\
             [gateway.access.principals.'*']\nallow = { a = ['get*'], b = true, c = 'one' }\n\
             [gateway.access.groups.dev]\nallow = 'a'\n\
             [gateway.access.jwt]\nissuer = 'https://i.example'\naudience = 'https://g.example/mcp'\n",
        )
        .unwrap();

        let GatewayAccess { tokens, rights, jwt, is_given } = file.access;
        assert!(is_given && tokens.unwrap().is_absolute());
        assert_eq!(rights.principals["ada"].grants, Rights::everything().grants);
        let ada = &rights.principals["ada"];
        assert_eq!((ada.calls_per_minute, ada.in_flight), (Some(60), Some(4)));
        let bob = &rights.principals["bob"].grants;
        assert!(bob.iter().all(|it| it.is_read_only && it.tools.is_none()) && bob.len() == 2);
        let tools: Vec<_> = rights.others.grants.iter().map(|it| it.tools.clone()).collect();
        let some = |tool: &str| Some(vec![tool.to_owned()]);
        assert_eq!(tools, [some("get*"), None, some("one")]);
        assert_eq!(rights.groups["dev"].grants[0].server, "a");
        let jwt = jwt.unwrap();
        assert_eq!((&*jwt.issuer, &*jwt.groups_claim), ("https://i.example", "scope"));
        assert_eq!(jwt.algorithms, ["RS256", "ES256", "EdDSA"]);
    }

    #[test]
    fn a_misspelt_restriction_is_a_fault() {
        let of = |text: &str| {
            let text = format!("[servers.a]\nurl = 'https://a.example/mcp'\n{text}");
            read("ridethrough.toml", &text).map(|_| ()).unwrap_err().join("\n")
        };

        for (text, expected) in [
            (
                "[gateway.access.principals.a]\nallow = '*'\nreadonly = true\n",
                "`readonly` is not known",
            ),
            ("[gateway.access.principals.a]\nread_only = true\n", "`allow` is missing"),
            ("[gateway.access.principals.a]\nallow = { a = 7 }\n", "a list of patterns"),
            ("[gateway.access.principals.a]\nallow = true\n", "must be a server"),
            ("[gateway.access]\nprincipal = {}\n", "`principal` is not known"),
            ("[gateway.access.jwt]\nissuer = 'https://i.example'\n", "`audience`"),
            (
                "[gateway.access.jwt]\nissuer = 'i'\naudience = 'a'\nalgorithms = ['HS256']\n",
                "`HS256` is no algorithm of signatures with public keys",
            ),
            (
                "[gateway.access.jwt]\nissuer = 'i'\naudience = 'a'\nalgorithms = ['none']\n",
                "`none` is no algorithm",
            ),
        ] {
            let faults = of(text);
            assert!(faults.contains(expected), "{faults}");
        }
    }
}
