//! Writing messages around the application's own bytes.
//!
//! Params are copied once, as they are. Only `_meta` is changed: each send needs a progress token of its own,
//! so the link's token replaces the caller's on the wire, and the caller's is restored in each progress
//! notification; and a stateless request names the client there.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use super::json::places_of;
use super::reserved::{CAPABILITIES, CLIENT_INFO, LOG_LEVEL, VERSION};
use super::{Answer, Id, Json, member};

/// The params of a request, with the place where a progress token goes.
#[derive(Clone, Debug)]
pub struct Params {
    text: Option<Json>,
    slot: Option<Slot>,
    /// The token that the caller wrote, if it wrote one.
    pub caller_token: Option<Json>,
    /// The place of the name that the params ask for, such as a tool's.
    name: Option<Range<usize>>,
}

/// The place of the link's token, and the text around it.
#[derive(Clone, Debug)]
struct Slot {
    place: Range<usize>,
    before: &'static str,
    after: &'static str,
}

impl Params {
    /// Prepares params; `wants_progress` makes room for a token where the caller wrote none.
    pub fn new(text: Option<Json>, wants_progress: bool) -> Self {
        let Some(json) = &text else {
            let text = wants_progress.then(|| Json::trusted(Bytes::from_static(b"{}")));
            let slot = wants_progress.then(|| meta_slot("{}")).flatten();
            return Self { text, slot, caller_token: None, name: None };
        };
        let whole = json.as_str();
        let [meta, name] = places_of(json.as_bytes(), ["_meta", "name"]);
        let token = meta.clone().and_then(|meta| {
            let token = member(&whole[meta.clone()], "progressToken")?;
            Some(meta.start + token.start..meta.start + token.end)
        });
        let caller_token = token.clone().map(|token| Json::trusted(json.as_bytes().slice(token)));
        let slot = match (token, meta) {
            (Some(place), _) => Some(Slot { place, before: "", after: "" }),
            _ if !wants_progress => None,
            (None, Some(meta)) => token_slot(whole, meta),
            (None, None) => meta_slot(whole),
        };
        Self { text, slot, caller_token, name }
    }

    /// Returns the name that the params ask for, such as a tool's, if there is one.
    pub fn name(&self) -> Option<Arc<str>> {
        let name = self.text.as_ref()?.as_bytes().slice(self.name.clone()?);
        Json::trusted(name).string().map(Arc::from)
    }

    /// Whether each send has a progress token.
    pub const fn has_token(&self) -> bool {
        self.slot.is_some()
    }

    /// Returns the text without a token of the link.
    pub const fn text(&self) -> Option<&Json> {
        self.text.as_ref()
    }

    /// Returns the whole request, with `id` as its id and as its progress token.
    pub fn request_body(&self, id: u64, method: &str) -> Bytes {
        let length = self.text.as_ref().map_or(0, |text| text.as_bytes().len());
        let mut body = BytesMut::with_capacity(length + method.len() + 128);
        put_start(&mut body, id, method);
        if let Some(text) = &self.text {
            put(&mut body, r#","params":"#);
            match &self.slot {
                None => body.put_slice(text.as_bytes()),
                Some(slot) => {
                    let text = text.as_str();
                    put(&mut body, &text[..slot.place.start]);
                    put(&mut body, slot.before);
                    put_number(&mut body, id);
                    put(&mut body, slot.after);
                    put(&mut body, &text[slot.place.end..]);
                }
            }
        }
        put(&mut body, "}");
        body.freeze()
    }
}

impl Params {
    /// Returns the whole request for a stateless server, with the members of `_meta` that it needs.
    pub fn stateless_body(&self, id: u64, method: &str, ours: &Meta) -> Bytes {
        let params = self.text.as_ref().map_or("{}", Json::as_str);
        let token = self.slot.as_ref().map(|_| id);
        let length = params.len() + ours.always.len() + method.len() + 128;
        let mut body = BytesMut::with_capacity(length);
        put_start(&mut body, id, method);
        put_with_meta(&mut body, params, ours, token);
        put(&mut body, "}");
        body.freeze()
    }
}

/// What the link adds to the `_meta` of every message to a stateless server.
#[derive(Debug)]
pub struct Meta {
    /// Members that replace the caller's.
    pub always: String,
    /// The level of log messages, unless the caller names another.
    pub log_level: Option<Json>,
}

/// Writes params with the link's members in their `_meta`, and those of the caller that the link does not
/// set.
fn put_with_meta(body: &mut BytesMut, params: &str, ours: &Meta, token: Option<u64>) {
    let place = member(params, "_meta");
    let theirs = place.clone().map(|place| &params[place]);
    let kept = theirs.map(kept_members).unwrap_or_default();
    let mut meta = format!("{{{}", ours.always);
    if let Some(level) = &ours.log_level
        && theirs.is_none_or(|theirs| member(theirs, LOG_LEVEL).is_none())
    {
        meta += &format!(r#","{LOG_LEVEL}":{}"#, level.as_str());
    }
    if let Some(token) = token {
        meta += &format!(r#","progressToken":{token}"#);
    }
    meta += &kept;
    meta.push('}');
    put(body, r#","params":"#);
    match (place, params.find('{')) {
        (Some(place), _) => {
            put(body, &params[..place.start]);
            put(body, &meta);
            put(body, &params[place.end..]);
        }
        (None, Some(open)) if params[..open].trim().is_empty() => {
            let rest = &params[open + 1..];
            let comma = if is_empty_inside(rest) { "" } else { "," };
            put(body, &format!(r#"{{"_meta":{meta}{comma}"#));
            put(body, rest);
        }
        // Params that are no object have no room for `_meta`; the server will refuse them.
        _ => put(body, params),
    }
}

/// Returns the members of a caller's `_meta` that the link does not set, each after a comma.
fn kept_members(meta: &str) -> String {
    let Ok(meta) = Json::new(meta.to_owned()) else { return String::new() };
    let mut kept = String::new();
    for (key, value) in meta.members() {
        if key != "progressToken" && !OUR_MEMBERS.contains(&key.as_str()) {
            let key = serde_json::to_string(&key).expect("a string is always JSON");
            kept += &format!(",{key}:{}", value.as_str());
        }
    }
    kept
}

/// Returns the body of a notification.
pub fn notification_body(method: &str, params: Option<&Json>) -> Bytes {
    let mut body = BytesMut::new();
    put(&mut body, r#"{"jsonrpc":"2.0","method":"#);
    put_string(&mut body, method);
    if let Some(params) = params {
        put(&mut body, r#","params":"#);
        body.put_slice(params.as_bytes());
    }
    put(&mut body, "}");
    body.freeze()
}

/// Returns the body of a notification to a stateless server.
pub fn stateless_notification_body(method: &str, params: Option<&Json>, ours: &Meta) -> Bytes {
    let mut body = BytesMut::new();
    put(&mut body, r#"{"jsonrpc":"2.0","method":"#);
    put_string(&mut body, method);
    put_with_meta(&mut body, params.map_or("{}", Json::as_str), ours, None);
    put(&mut body, "}");
    body.freeze()
}

/// Returns the body of an answer to a request of the server.
pub fn answer_body(id: &Id, answer: &Answer) -> Bytes {
    let (key, json) = match answer {
        Answer::Error(json) => ("error", json),
        Answer::Result(json) => ("result", json),
    };
    let mut body = BytesMut::with_capacity(json.as_bytes().len() + 64);
    put(&mut body, r#"{"jsonrpc":"2.0","id":"#);
    body.put_slice(id.json().as_bytes());
    put(&mut body, &format!(r#","{key}":"#));
    body.put_slice(json.as_bytes());
    put(&mut body, "}");
    body.freeze()
}

/// Returns progress params with the caller's token in place of the link's.
pub fn with_caller_token(params: Json, token: Option<&Json>) -> Json {
    let Some((token, place)) = token.zip(member(params.as_str(), "progressToken")) else {
        return params;
    };
    let text = params.as_str();
    let restored = [&text[..place.start], token.as_str(), &text[place.end..]].concat();
    Json::trusted(restored.into())
}

/// Returns the slot for a token in a `_meta` that has none.
fn token_slot(whole: &str, meta: Range<usize>) -> Option<Slot> {
    let inside = whole.get(meta.clone())?.strip_prefix('{')?;
    let after = if is_empty_inside(inside) { "" } else { "," };
    let start = meta.start + 1;
    Some(Slot { place: start..start, before: r#""progressToken":"#, after })
}

/// Returns the slot for a `_meta` in params that have none.
fn meta_slot(whole: &str) -> Option<Slot> {
    let start = whole.find('{')? + 1;
    let after = if is_empty_inside(&whole[start..]) { "}" } else { "}," };
    whole.trim_start().starts_with('{').then_some(Slot {
        place: start..start,
        before: r#""_meta":{"progressToken":"#,
        after,
    })
}

fn is_empty_inside(inside: &str) -> bool {
    inside.trim_start().starts_with('}')
}

fn put(body: &mut BytesMut, text: &str) {
    body.put_slice(text.as_bytes());
}

/// Writes the start of a request, up to its method.
fn put_start(body: &mut BytesMut, id: u64, method: &str) {
    put(body, r#"{"jsonrpc":"2.0","id":"#);
    put_number(body, id);
    put(body, r#","method":"#);
    put_string(body, method);
}

fn put_number(body: &mut BytesMut, number: u64) {
    write!(body, "{number}").expect("a buffer grows");
}

fn put_string(body: &mut BytesMut, text: &str) {
    serde_json::to_writer(body.writer(), text).expect("a string is always JSON");
}

/// The members of `_meta` that only the link may set.
const OUR_MEMBERS: [&str; 3] = [CAPABILITIES, CLIENT_INFO, VERSION];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stateless_request_says_who_asks_whatever_the_caller_wrote() {
        let cases = [
            (None, false, r#"{"_meta":{"o":1}}"#),
            (Some("{ }"), false, r#"{"_meta":{"o":1} }"#),
            (Some(r#"{"a":1.10}"#), false, r#"{"_meta":{"o":1},"a":1.10}"#),
            (Some(r#"{"a":1}"#), true, r#"{"_meta":{"o":1,"progressToken":3},"a":1}"#),
            (Some(r#"{"_meta":{ },"a":1}"#), false, r#"{"_meta":{"o":1},"a":1}"#),
            (
                Some(r#"{"a":1,"_meta":{"x":[1, 2],"progressToken":"mine"}}"#),
                false,
                r#"{"a":1,"_meta":{"o":1,"progressToken":3,"x":[1, 2]}}"#,
            ),
            (
                Some(r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"1999-01-01"}}"#),
                false,
                r#"{"_meta":{"o":1}}"#,
            ),
            (Some("[1]"), false, "[1]"),
        ];
        for (params, wants_progress, expected) in cases {
            let text = params.map(|text| Json::new(text.to_owned()).unwrap());
            let ours = Meta { always: r#""o":1"#.to_owned(), log_level: None };
            let body = Params::new(text, wants_progress).stateless_body(3, "m", &ours);

            let whole = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"m","params":{expected}}}"#);
            assert_eq!(body, whole, "{params:?}");
            assert!(Json::new(body).is_ok());
        }
    }

    #[test]
    fn params_pass_through_byte_for_byte_if_nobody_wants_progress() {
        let text = r#"{ "n":1.10 ,"n":2, "_meta":{"x":1} }"#;

        assert_eq!(body(Some(text), false), text);
        assert_eq!(
            Params::new(None, false).request_body(3, "ping").as_ref(),
            br#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#
        );
    }

    #[test]
    fn a_token_is_written_wherever_there_is_room_for_it() {
        let cases = [
            (None, r#"{"_meta":{"progressToken":3}}"#),
            (Some("{}"), r#"{"_meta":{"progressToken":3}}"#),
            (Some(r#"{"a":1}"#), r#"{"_meta":{"progressToken":3},"a":1}"#),
            (Some(r#"{"_meta":{ },"a":1}"#), r#"{"_meta":{"progressToken":3 },"a":1}"#),
            (Some(r#"{"_meta":{"x":1}}"#), r#"{"_meta":{"progressToken":3,"x":1}}"#),
        ];
        for (params, expected) in cases {
            assert_eq!(body(params, true), expected);
        }
    }

    #[test]
    fn the_callers_token_is_replaced_on_the_wire_and_put_back_on_the_way_home() {
        let text = Json::new(r#"{"a":1,"_meta":{"progressToken":"mine"}}"#).unwrap();
        let params = Params::new(Some(text), false);
        let news = Json::new(r#"{"progressToken":3,"progress":0.50}"#).unwrap();

        assert_eq!(
            params.request_body(3, "m"),
            r#"{"jsonrpc":"2.0","id":3,"method":"m","params":{"a":1,"_meta":{"progressToken":3}}}"#
        );
        assert_eq!(
            with_caller_token(news, params.caller_token.as_ref()).as_str(),
            r#"{"progressToken":"mine","progress":0.50}"#
        );
    }

    #[test]
    fn params_that_are_no_object_are_left_alone() {
        assert_eq!(body(Some("[1,{}]"), true), "[1,{}]");
        assert_eq!(body(Some(r#"{"_meta":null}"#), true), r#"{"_meta":null}"#);
    }

    #[test]
    fn an_answer_echoes_the_servers_id_as_it_was_written() {
        let id = Id::new(Json::new("\"a-1\"").unwrap());
        let answer = Answer::Result(Json::new("{}").unwrap());

        assert_eq!(answer_body(&id, &answer), r#"{"jsonrpc":"2.0","id":"a-1","result":{}}"#);
    }

    /// Returns the params of a request with id 3.
    fn body(params: Option<&str>, wants_progress: bool) -> String {
        let text = params.map(|text| Json::new(text.to_owned()).unwrap());
        let body = Params::new(text, wants_progress).request_body(3, "m");
        let text = std::str::from_utf8(&body).unwrap();
        let start = text.find(r#""params":"#).map_or(text.len() - 1, |at| at + 9);
        text[start..text.len() - 1].to_owned()
    }
}
