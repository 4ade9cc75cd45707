//! What a server said about itself.

use ridethrough_core::Version;
use ridethrough_core::message::Json;

use crate::error::Error;

/// What `initialize` or `server/discover` said about a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Server {
    /// The revision agreed on.
    pub version: Version,
    /// The whole result, as it was sent.
    pub result: Json,
}

impl Server {
    /// What the server calls itself.
    pub fn name(&self) -> Option<String> {
        let in_meta = || self.result.member("_meta")?.member("io.modelcontextprotocol/serverInfo");
        self.result.member("serverInfo").or_else(in_meta)?.member("name")?.read()
    }

    /// What the server wants a model to know about it.
    pub fn instructions(&self) -> Option<String> {
        self.result.member("instructions")?.read()
    }

    /// Whether the server says that it can do this: `tools`, `resources`, `prompts`, `logging` or
    /// `completions`.
    pub fn can(&self, capability: &str) -> bool {
        let capabilities = self.result.member("capabilities");
        capabilities.is_some_and(|can| can.member(capability).is_some())
    }

    pub(super) fn read(result: Json) -> Result<Self, Error> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Said {
            /// Of a server with sessions.
            #[serde(default)]
            protocol_version: Option<String>,
            /// Of a stateless one.
            #[serde(default)]
            supported_versions: Vec<String>,
        }

        let version = serde_json::from_slice(result.as_bytes()).and_then(|it: Said| {
            let unknown = || serde::de::Error::custom("a revision that we do not speak");
            let named = it.protocol_version.into_iter().chain(it.supported_versions);
            named.filter_map(|name| Version::parse(&name)).max().ok_or_else(unknown)
        });
        match version {
            Ok(version) => Ok(Self { version, result }),
            Err(source) => {
                Err(Error::Answer { method: "initialize".into(), result, source: source.into() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_what_it_is_and_what_it_can_do() {
        let result = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},
            "serverInfo":{"name":"a","version":"1"},"instructions":"be kind"}"#;

        let server = Server::read(Json::new(result).unwrap()).unwrap();

        assert_eq!(server.name().as_deref(), Some("a"));
        assert_eq!(server.instructions().as_deref(), Some("be kind"));
        assert!(server.can("tools") && !server.can("prompts"));
    }

    #[test]
    fn a_stateless_server_says_it_in_other_words() {
        let result = r#"{"supportedVersions":["2025-11-25","2026-07-28"],"capabilities":{"tools":{}},
            "_meta":{"io.modelcontextprotocol/serverInfo":{"name":"a","version":"1"}}}"#;

        let server = Server::read(Json::new(result).unwrap()).unwrap();

        assert_eq!(server.version, Version::V2026_07_28);
        assert_eq!(server.name().as_deref(), Some("a"));
        assert!(server.can("tools"));
    }

    #[test]
    fn a_server_that_says_next_to_nothing_about_itself_is_a_server() {
        let server =
            Server::read(Json::new(r#"{"protocolVersion":"2025-03-26"}"#).unwrap()).unwrap();

        assert_eq!((server.name(), server.instructions()), (None, None));
        assert!(!server.can("tools"));
    }
}
