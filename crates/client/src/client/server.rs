//! A server's description of itself.

use ridethrough_core::Version;
use ridethrough_wire::message::Json;
use ridethrough_wire::message::reserved::SERVER_INFO;

use crate::error::Error;

/// A server's description of itself: the result of `initialize`, or of `server/discover` if it is stateless.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Server {
    /// The revision agreed on.
    pub version: Version,
    /// The whole result, as it was sent.
    pub result: Json,
}

impl Server {
    /// Returns the server's name.
    pub fn name(&self) -> Option<String> {
        self.info()?.member("name")?.read()
    }

    /// Returns the server's instructions for a model.
    pub fn instructions(&self) -> Option<String> {
        self.result.member("instructions")?.read()
    }

    /// Whether the server declares this capability: `tools`, `resources`, `prompts`, `logging` or
    /// `completions`.
    pub fn can(&self, capability: &str) -> bool {
        let capabilities = self.result.member("capabilities");
        capabilities.is_some_and(|can| can.member(capability).is_some())
    }

    /// Returns the description in the form of an `initialize` result, even if the server is stateless: then
    /// in the words of the newest revision that has `initialize`. For programs between this server and a
    /// client of that era.
    pub fn as_initialized(&self) -> Json {
        if self.version.era().has_sessions() {
            return self.result.clone();
        }
        let can = self.result.member("capabilities").unwrap_or_else(Json::empty_object);
        let unnamed = || object([("name", text("")), ("version", text(""))]);
        let said = [
            ("protocolVersion", text(Version::LATEST_LEGACY.as_str())),
            ("capabilities", can),
            ("serverInfo", self.info().unwrap_or_else(unnamed)),
        ];
        let told = self.result.member("instructions").map(|it| ("instructions", it));
        object(said.into_iter().chain(told))
    }

    /// Returns the server's name and version. A stateless server may name itself with each answer, so they
    /// are in `_meta`; a draft of that revision had them where `initialize` has them.
    fn info(&self) -> Option<Json> {
        let in_meta = || self.result.member("_meta")?.member(SERVER_INFO);
        self.result.member("serverInfo").or_else(in_meta)
    }

    pub(crate) fn read(result: Json) -> Result<Self, Error> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Initialized {
            protocol_version: String,
        }

        if let Some(version) = newest_stateless(&result) {
            return Ok(Self { version, result });
        }
        let version = serde_json::from_slice(result.as_bytes()).and_then(|it: Initialized| {
            let unknown = || serde::de::Error::custom("a revision that we do not speak");
            Version::parse(&it.protocol_version).ok_or_else(unknown)
        });
        match version {
            Ok(version) => Ok(Self { version, result }),
            Err(source) => {
                Err(Error::Answer { method: "initialize".into(), result, source: source.into() })
            }
        }
    }
}

/// Returns the newest revision shared with a server that answered `server/discover`.
fn newest_stateless(result: &Json) -> Option<Version> {
    let names: Vec<String> = result.member("supportedVersions")?.read()?;
    let known = names.iter().filter_map(|name| Version::parse(name));
    known.filter(|version| !version.era().has_sessions()).max()
}

fn object(members: impl IntoIterator<Item = (&'static str, Json)>) -> Json {
    let named = members.into_iter().map(|(name, json)| (name.to_owned(), json));
    Json::empty_object().with_members(named)
}

fn text(text: &str) -> Json {
    Json::of(text).expect("a string is JSON")
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
    fn a_stateless_server_says_it_in_its_own_way() {
        let result = r#"{"resultType":"complete","supportedVersions":["2025-11-25","2026-07-28"],
            "capabilities":{"tools":{}},"instructions":"be kind",
            "_meta":{"io.modelcontextprotocol/serverInfo":{"name":"a","version":"1.10"}}}"#;

        let server = Server::read(Json::new(result).unwrap()).unwrap();

        assert_eq!(server.version, Version::V2026_07_28);
        assert_eq!(server.name().as_deref(), Some("a"));
        assert!(server.can("tools") && !server.can("prompts"));
        assert_eq!(
            server.as_initialized().as_str(),
            r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"a","version":"1.10"},"instructions":"be kind"}"#
        );
    }

    #[test]
    fn a_stateless_server_without_a_name_still_initializes_whoever_needs_one() {
        let result = r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#;

        let server = Server::read(Json::new(result).unwrap()).unwrap();

        assert_eq!(
            server.as_initialized().as_str(),
            r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"","version":""}}"#
        );
    }

    #[test]
    fn a_server_that_says_next_to_nothing_about_itself_is_a_server() {
        let server =
            Server::read(Json::new(r#"{"protocolVersion":"2025-03-26"}"#).unwrap()).unwrap();

        assert_eq!((server.name(), server.instructions()), (None, None));
        assert!(!server.can("tools"));
    }
}
