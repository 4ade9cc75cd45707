//! A thousand random payloads, out and back: not one byte of them changes.

use bytes::Bytes;
use http::{HeaderValue, Response};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use ridethrough::event::Answer;
use ridethrough::{Client, Json};
use ridethrough_lab::{Mcp, Protocol, Server, Service, Turn};

#[tokio::test]
async fn a_thousand_random_payloads_come_back_byte_for_byte_over_http1() {
    assert_eq!(changed(Protocol::Http1).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_thousand_random_payloads_come_back_byte_for_byte_over_http1_tls() {
    assert_eq!(changed(Protocol::Http1Tls).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_thousand_random_payloads_come_back_byte_for_byte_over_http2_tls() {
    assert_eq!(changed(Protocol::Http2Tls).await, Vec::<String>::new());
}

/// Returns the payloads that changed on the way, as they came back.
async fn changed(protocol: Protocol) -> Vec<String> {
    let mut runner = runner();
    let server = Server::new(protocol, echo());
    let address = server.listen().await.unwrap();
    let url = format!("{}://localhost:{}/mcp", protocol.scheme(), address.port());
    let roots = server.authority().root_pem();
    let client = Client::builder(&url).root_certificates(roots).build().unwrap();
    let mut changed = Vec::new();
    for _ in 0..1000 {
        let payload = object().new_tree(&mut runner).unwrap().current();
        let json = Json::new(payload.clone()).unwrap();
        let result = client.request("echo/result", json.clone()).await.unwrap();
        let answer = client.request("echo/error", json).answer().await.unwrap();
        let Answer::Error(error) = answer else { panic!("an error was sent") };
        let data = error.member("data").unwrap();
        let back = [result.as_str(), data.as_str()];
        changed.extend(back.into_iter().filter(|back| *back != payload).map(str::to_owned));
    }
    changed
}

/// Returns the params: as a result in a body, or in an error on a stream. It works on text, because a JSON
/// library would write numbers in its own way, or refuse them.
fn echo() -> impl Service {
    let mcp = Mcp::new();
    move |turn: Turn| {
        let body = std::str::from_utf8(&turn.request.body).unwrap();
        let id = between(body, r#""id":"#, ",");
        let params = between(body, r#""params":"#, "").and_then(|rest| rest.strip_suffix('}'));
        let answer = match (between(body, r#""method":"echo/"#, "\""), id, params) {
            (Some("result"), Some(id), Some(params)) => {
                let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{params}}}"#);
                Some(response("application/json", body))
            }
            (Some("error"), Some(id), Some(params)) => {
                let error = format!(r#"{{"code":1,"message":"","data":{params}}}"#);
                let body = format!(r#"data: {{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
                Some(response("text/event-stream", body + "\n\n"))
            }
            _ => None,
        };
        let mcp = mcp.clone();
        async move {
            match answer {
                Some(answer) => turn.reply.respond(answer).await,
                None => mcp.serve(turn).await,
            }
        }
    }
}

/// Returns the text after the first `before`, up to `after` or to the end.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    match after {
        "" => Some(rest),
        after => Some(rest.split_once(after)?.0),
    }
}

fn response(content: &'static str, body: String) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body));
    response.headers_mut().insert("content-type", HeaderValue::from_static(content));
    response
}

/// Returns JSON as text, with everything that libraries tidy up: the spelling of numbers, escapes, spaces,
/// equal keys, deep nesting.
fn object() -> BoxedStrategy<String> {
    members(value()).boxed()
}

fn value() -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|it| it.to_string()),
        number(),
        string(),
        (1..1000_usize).prop_map(|depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth))),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        let list =
            prop::collection::vec((space(), inner.clone(), space()), 0..5).prop_map(|items| {
                let items: Vec<_> = items.into_iter().map(|(a, item, b)| a + &item + &b).collect();
                format!("[{}]", items.join(","))
            });
        prop_oneof![list, members(inner)]
    })
    .boxed()
}

fn members(
    value: impl Strategy<Value = String> + Clone + 'static,
) -> impl Strategy<Value = String> {
    prop::collection::vec((string(), space(), value, space()), 0..6).prop_map(|members| {
        let members: Vec<_> = members
            .into_iter()
            .map(|(key, before, value, after)| format!("{key}:{before}{value}{after}"))
            .collect();
        format!("{{{}}}", members.join(","))
    })
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("1.10".to_owned()),
        Just("-0".to_owned()),
        Just("1E+400".to_owned()),
        Just("0.1000000000000000055511151231257827".to_owned()),
        "-?[1-9][0-9]{0,60}",
        "-?(0|[1-9][0-9]{0,8})\\.[0-9]{1,30}",
        "-?[1-9](\\.[0-9]{1,5})?[eE][+-]?[0-9]{1,3}",
    ]
}

fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[ -!#-\\[\\]-~]{0,12}",
        "[\u{80}-\u{d7ff}\u{e000}-\u{10ffff}]{0,6}",
        Just("\u{2028}\u{feff}\u{0085}".to_owned()),
        Just(r"\n\t\r\b\f\/\\\u0000\u00e9\ud83d\ude00".to_owned()),
        Just(r#"\""#.to_owned()),
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn space() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(" ".to_owned()), Just("\t ".to_owned())]
}

fn runner() -> TestRunner {
    TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]))
}
