//! The sender of a stateless request, as the `_meta` of its params describes it.

use super::{DISCOVER, REVISION};
use crate::message::Json;
use crate::message::reserved::{CAPABILITIES, CLIENT_INFO, LOG_LEVEL, VERSION, likely_meta};
use crate::message::splice::{self, copied, is_object};

/// What a stateless request says of its sender.
#[derive(Debug)]
pub struct Sender {
    /// What it can do for the server.
    pub capabilities: Json,
    /// Its name and version, if it says them.
    pub info: Option<Json>,
    /// The level from which on it wants the server's log.
    pub level: Option<Json>,
    /// The token that its progress is reported with, in bytes of its own: it is kept for as long as the call runs.
    pub token: Option<Json>,
}

/// Why a request has no sender that could be answered in the stateless revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnfitSender {
    /// This key of `_meta` is missing, or is not what the revision wants there.
    Incomplete(&'static str),
    /// It speaks this revision.
    Unsupported(String),
}

impl Sender {
    /// Reads who sends a request; `None` if the request is of an older revision. `server/discover` exists in
    /// the stateless revision only.
    pub fn of(method: &str, params: Option<&Json>) -> Result<Option<Self>, UnfitSender> {
        let keys = [VERSION, CAPABILITIES, CLIENT_INFO, LOG_LEVEL, "progressToken"];
        let [version, capabilities, info, level, token] =
            likely_meta(params).map(|meta| meta.pick(keys)).unwrap_or_default();
        match version.as_ref().map(Json::string) {
            None if method == DISCOVER => return Err(UnfitSender::Incomplete(VERSION)),
            None => return Ok(None),
            Some(None) => return Err(UnfitSender::Incomplete(VERSION)),
            Some(Some(version)) if version != REVISION => {
                return Err(UnfitSender::Unsupported(version.into_owned()));
            }
            Some(Some(_)) => {}
        }
        let Some(capabilities) = capabilities.filter(is_object) else {
            return Err(UnfitSender::Incomplete(CAPABILITIES));
        };
        let info = info.filter(is_object);
        Ok(Some(Self { capabilities, info, level, token: token.as_ref().map(copied) }))
    }
}

/// Returns params without what a client says in each request of its own: the revision, what it can do, and its
/// name. The log level stays, because a stateless server wants it with each request.
pub fn passed_on(params: &Json) -> Json {
    splice::without_meta(params, &[VERSION, CAPABILITIES, CLIENT_INFO])
}

#[cfg(test)]
mod tests {
    use super::*;

    const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"h","version":"1.10"},"io.modelcontextprotocol/logLevel":"info","progressToken":7}"#;

    #[test]
    fn a_request_says_who_asks_and_each_decides_for_itself_whether_it_does() {
        let modern = json_of(&format!(r#"{{"name":"x","_meta":{META}}}"#));
        let escaped = json_of(&format!(r#"{{"_meta":{}}}"#, META.replace('/', r"\/")));
        let older = json_of(
            r#"{"name":"io.modelcontextprotocol/protocolVersion","_meta":{"progressToken":1}}"#,
        );

        let sender = Sender::of("tools/call", Some(&modern)).unwrap().unwrap();

        assert_eq!(sender.info.unwrap().as_str(), r#"{"name":"h","version":"1.10"}"#);
        assert_eq!(sender.capabilities.as_str(), r#"{"roots":{}}"#);
        assert_eq!(sender.level.unwrap().as_str(), r#""info""#);
        let token = sender.token.unwrap();
        assert_eq!(token.as_str(), "7");
        assert!(!modern.as_bytes().as_ptr_range().contains(&token.as_bytes().as_ptr()));
        assert!(Sender::of("tools/call", Some(&escaped)).unwrap().is_some());
        assert!(Sender::of("tools/call", Some(&older)).unwrap().is_none());
        assert!(Sender::of("tools/call", None).unwrap().is_none());
    }

    #[test]
    fn what_is_missing_is_named_and_so_is_another_revision() {
        let params = |meta: &str| json_of(&format!(r#"{{"_meta":{meta}}}"#));
        let unfit = |method, params: Option<&Json>| Sender::of(method, params).unwrap_err();
        let no_capabilities = params(r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#);
        let no_text = params(&META.replace(r#""2026-07-28""#, "7"));
        let other = params(&META.replace("2026-07-28", "2031-01-01"));

        let no_version = UnfitSender::Incomplete(VERSION);
        assert_eq!(unfit("a", Some(&no_capabilities)), UnfitSender::Incomplete(CAPABILITIES));
        assert_eq!(unfit("a", Some(&no_text)), no_version);
        assert_eq!(unfit(DISCOVER, None), no_version);
        assert_eq!(unfit(DISCOVER, Some(&json_of("{}"))), no_version);
        assert_eq!(unfit("a", Some(&other)), UnfitSender::Unsupported("2031-01-01".into()));
    }

    #[test]
    fn what_each_request_says_of_its_client_is_taken_out_and_nothing_else_is() {
        for (text, expected) in [
            (
                format!(r#"{{ "n": 1.10 , "_meta": {META} , "z":1e2 }}"#),
                r#"{ "n": 1.10 , "_meta": {"io.modelcontextprotocol/logLevel":"info","progressToken":7} , "z":1e2 }"#,
            ),
            (
                r#"{"n":1.10,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#
                    .into(),
                r#"{"n":1.10}"#,
            ),
            (r#"{ "n": 1.10 }"#.into(), r#"{ "n": 1.10 }"#),
        ] {
            assert_eq!(passed_on(&json_of(&text)).as_str(), expected);
        }
    }

    fn json_of(text: &str) -> Json {
        Json::new(text.to_owned()).unwrap()
    }
}
