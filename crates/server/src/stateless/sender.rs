//! The sender of a stateless request, as the `_meta` of its params describes it.

use ridethrough_wire::message::reserved::{
    CAPABILITIES, CLIENT_INFO, LOG_LEVEL, VERSION, likely_meta,
};
use ridethrough_wire::message::splice::{self, is_object};
use ridethrough_wire::message::{Json, LogLevel, code};
use ridethrough_wire::stateless::{self, Offers, REVISION, UnfitSender};

use super::refusal::Refusal;
use crate::headers::Headers;

/// The sender of a request, as it describes itself.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    /// The questions that the sender can answer.
    pub(crate) offers: Offers,
    /// The level from which on the sender wants the log.
    pub(crate) level: Option<LogLevel>,
    /// The token that its progress is reported with.
    pub(crate) token: Option<Json>,
    /// What the client calls itself.
    pub(crate) client: Option<String>,
}

impl Sender {
    /// Reads the sender of a request. By HTTP it came with headers, one of which must name the revision, too.
    pub(crate) fn read(
        method: &str,
        params: Option<&Json>,
        headers: Option<Headers<'_>>,
    ) -> Result<Self, Refusal> {
        let named = headers.as_ref().and_then(Headers::version);
        let check_named = |version: &str| match named {
            None if headers.is_some() => Err(Refusal::header("`MCP-Protocol-Version` is missing")),
            Some(named) if named != version => {
                Err(Refusal::header("`MCP-Protocol-Version` is not what `_meta` says"))
            }
            _ => Ok(()),
        };
        let said = match stateless::Sender::of(method, params) {
            Ok(Some(said)) => said,
            Ok(None) | Err(UnfitSender::Incomplete(VERSION)) => {
                return Err(match named {
                    Some(named) if named != REVISION => Refusal::unsupported(named),
                    _ => Refusal::incomplete(VERSION),
                });
            }
            Err(UnfitSender::Incomplete(key)) => return Err(Refusal::incomplete(key)),
            Err(UnfitSender::Unsupported(version)) => {
                check_named(&version)?;
                return Err(Refusal::unsupported(&version));
            }
        };
        check_named(REVISION)?;
        if said.token.as_ref().is_some_and(|token| token.as_bytes().len() > LONGEST_TOKEN) {
            return Err(Refusal::new(code::INVALID_PARAMS, "the progress token is too long"));
        }
        let level = said.level.as_ref().and_then(LogLevel::read);
        let client = said.info.and_then(|it| it.member("name")?.read());
        Ok(Self { offers: Offers::of(&said.capabilities), level, token: said.token, client })
    }
}

/// Whether the params are those of a stateless request.
pub(crate) fn is_stateless(params: Option<&Json>) -> bool {
    likely_meta(params).is_some_and(|meta| meta.member(VERSION).is_some())
}

/// How much of what only the stateless revision has stays in a request for the backend. The order is that of
/// more and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kept {
    Nothing,
    /// What the sender can do, and what it calls itself.
    Capabilities,
    /// That, and the members of a round.
    Round,
}

/// Returns the params as they are passed on: without the description of the sender and the members of rounds,
/// unless they are kept, and with the server's own progress token in place of the sender's.
pub(crate) fn passed_on(params: &Json, token: Option<u64>, kept: Kept) -> Json {
    let params = match params.pick(ROUND_KEYS) {
        [None, None] => params.clone(),
        _ if kept == Kept::Round => params.clone(),
        _ => params.without(&ROUND_KEYS),
    };
    let Some(meta) = params.member("_meta").filter(is_object) else { return params };
    let ours = [VERSION, LOG_LEVEL, "progressToken", CAPABILITIES, CLIENT_INFO];
    let ours = if kept == Kept::Nothing { &ours[..] } else { &ours[..3] };
    let token = token.map(|token| ("progressToken".to_owned(), Json::from(token_json(token))));
    let meta = meta.without(ours).with_members(token);
    if meta == Json::empty_object() {
        params.without(&["_meta"])
    } else {
        splice::with_member(&params, "_meta", &meta)
    }
}

fn token_json(token: u64) -> serde_json::Value {
    token.into()
}

/// The members of params that belong to a round.
const ROUND_KEYS: [&str; 2] = ["inputResponses", "requestState"];
/// The longest progress token. Tokens are kept while their calls run, and those of real clients have a few
/// bytes.
const LONGEST_TOKEN: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_the_sender_is_not_passed_on_and_the_rest_is_byte_for_byte() {
        let own = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;
        let round = r#"{"name":"t","requestState":"s","inputResponses":{"0":{}}}"#;
        for (params, token, kept, expected) in [
            (format!(r#"{{"a":1.10,"_meta":{{{own}}}}}"#), None, Kept::Nothing, r#"{"a":1.10}"#),
            (
                format!(r#"{{"_meta":{{{own},"x":[1, 2],"progressToken":"t"}},"a":1.10}}"#),
                Some(7),
                Kept::Nothing,
                r#"{"_meta":{"x":[1, 2],"progressToken":7},"a":1.10}"#,
            ),
            (
                format!(r#"{{"a":1.10,"_meta":{{{own}}}}}"#),
                None,
                Kept::Capabilities,
                r#"{"a":1.10,"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}"#,
            ),
            (round.to_owned(), None, Kept::Nothing, r#"{"name":"t"}"#),
            (round.to_owned(), None, Kept::Capabilities, r#"{"name":"t"}"#),
            (round.to_owned(), None, Kept::Round, round),
        ] {
            let passed = passed_on(&Json::new(params).unwrap(), token, kept);

            assert_eq!(passed.as_str(), expected);
        }
    }

    #[test]
    fn what_is_kept_of_a_request_does_not_keep_its_body() {
        let meta =
            format!(r#"{{"{VERSION}":"{REVISION}","{CAPABILITIES}":{{}},"progressToken":"t"}}"#);
        let params = Json::new(format!(r#"{{"_meta":{meta},"arguments":"large"}}"#)).unwrap();

        let sender = Sender::read("tools/call", Some(&params), None).unwrap();

        let token = sender.token.unwrap();
        assert_eq!(token.as_str(), "\"t\"");
        assert!(!params.as_bytes().as_ptr_range().contains(&token.as_bytes().as_ptr()));
    }
}
