//! Tokens that others have made: whose sessions are whose, and what is said to those who have none.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use ridethrough_server::{
    AccessPolicy, BoxFuture, Identified, Principal, ProtectedResource, Settings, TokenRefused,
    VerifyToken,
};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use crate::rig::{Rig, post, request, with};

/// A token with other scopes may do more, or less, than the one that a session was begun with.
#[tokio::test(start_paused = true)]
async fn a_session_belongs_to_its_principal_and_to_the_groups_it_was_begun_with() {
    let mut rig = rig();
    let session = begin(&mut rig, "ada read").await;
    let ping = |token: &str| {
        let ping = post(r#"{"method":"notifications/x"}"#);
        by(token, with(ping, "mcp-session-id", Some(&session)))
    };

    assert_eq!(rig.send(ping("ada read")).await.status, 202);
    assert_eq!(rig.send(ping("ada read,write")).await.status, 404);
    assert_eq!(rig.send(ping("ada")).await.status, 404);
    assert_eq!(rig.send(ping("bob read")).await.status, 404);
    // A name does not make an owner.
    assert_eq!(rig.send(ping("owner read")).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn who_has_no_token_is_told_who_gives_one() {
    let rig = rig();

    let refused = rig.send(with(post("{}"), "authorization", None)).await;
    let wrong = rig.send(by("wrong", post("{}"))).await;
    let unknown = rig.send(by("unknown", post("{}"))).await;

    let metadata =
        r#"resource_metadata="https://g.example/.well-known/oauth-protected-resource/mcp""#;
    assert_eq!(refused.status, 401);
    let challenge = format!(r#"Bearer {metadata}, scope="mcp""#);
    assert_eq!(refused.header("www-authenticate"), Some(&*challenge));
    for refused in [wrong, unknown] {
        assert_eq!(refused.status, 401);
        let challenge = format!(r#"Bearer error="invalid_token", {metadata}, scope="mcp""#);
        assert_eq!(refused.header("www-authenticate"), Some(&*challenge));
    }
    for path in ["", "/mcp"] {
        let mut asked = request(Method::GET, "");
        *asked.uri_mut() = format!("/.well-known/oauth-protected-resource{path}").parse().unwrap();
        let mut told = rig.send(with(asked, "authorization", None)).await;
        assert_eq!(told.status, 200, "{path}");
        assert_eq!(
            told.json().await,
            json!({"resource": "https://g.example/mcp", "scopes_supported": ["mcp"],
                "authorization_servers": ["https://i.example"],
                "bearer_methods_supported": ["header"]})
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_that_cannot_be_checked_now_is_not_called_wrong() {
    let rig = rig();

    let mut refused = rig.send(by("later", post(r#"{"id":7,"method":"ping"}"#))).await;

    assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (503, Some("30")));
    assert_eq!(refused.header("www-authenticate"), None);
    let body = refused.json().await;
    assert_eq!((&body["id"], &body["error"]["data"]["mayHaveRun"]), (&json!(7), &json!(false)));
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_when_its_principal_is_not_let_in_any_more() {
    let mut rig = rig();
    let (ada, bob) = (begin(&mut rig, "ada").await, begin(&mut rig, "bob").await);
    let ping = |token: &str, session: &str| {
        by(token, with(post(r#"{"method":"notifications/x"}"#), "mcp-session-id", Some(session)))
    };

    rig.server.end_sessions(|caller| caller.principal == Principal::new("ada"));
    tokio::time::sleep(Duration::from_secs(1)).await;

    assert_eq!(rig.send(ping("ada", &ada)).await.status, 404);
    assert_eq!(rig.send(ping("bob", &bob)).await.status, 202);
}

#[tokio::test(start_paused = true)]
async fn who_is_known_by_its_connection_needs_no_token() {
    let rig = rig();
    let (mut ours, theirs) = duplex(64 * 1024);
    let server = rig.server.clone();
    tokio::spawn(async move { server.serve_as(Principal::owner(), theirs).await });

    ours.write_all(b"GET /mcp/nothing HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();

    let mut answer = String::new();
    ours.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 404"), "it is let in, and there is nothing: {answer}");
}

/// Knows tokens that name a principal and its groups.
struct Words;

impl VerifyToken for Words {
    fn verify<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Identified, TokenRefused>> {
        Box::pin(async move {
            let (name, groups) = token.split_once('_').unwrap_or((token, ""));
            match name {
                "unknown" => return Err(TokenRefused::Unknown),
                "wrong" => return Err(TokenRefused::Wrong { what: "out of date".to_owned() }),
                "later" => {
                    let retry_after = Duration::from_secs(30);
                    let what = "no keys".to_owned();
                    return Err(TokenRefused::Unverifiable { what, retry_after });
                }
                _ => {}
            }
            let groups: Vec<Arc<str>> = groups.split(',').map(Arc::from).collect();
            Ok(Identified { principal: Principal::new(name), groups: groups.into() })
        })
    }
}

fn rig() -> Rig {
    let access = AccessPolicy::new([127, 0, 0, 1].into(), None).verify_with(Words);
    let access = access.protected_resource(ProtectedResource {
        resource: "https://g.example/mcp".to_owned(),
        authorization_servers: vec!["https://i.example".to_owned()],
        scopes: vec!["mcp".to_owned()],
    });
    Rig::letting_in(access, Settings::default())
}

/// The request of whoever shows this token: a name, and its groups.
fn by(token: &str, request: Request<Full<Bytes>>) -> Request<Full<Bytes>> {
    with(request, "authorization", Some(&format!("Bearer {}", token.replace(' ', "_"))))
}

/// Begins a session, and returns its id.
async fn begin(rig: &mut Rig, token: &str) -> String {
    let hello =
        json!({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}});
    let begun = rig.begin_to_send(by(token, post(&hello.to_string())));
    let mut puppet = rig.puppet().await;
    let asked = puppet.hear().await;
    puppet.answer(&asked["id"], json!({"protocolVersion": "2025-11-25"})).await;
    let session = begun.await.unwrap().header("mcp-session-id").unwrap().to_owned();
    // The conversation goes on without its other side.
    std::mem::forget(puppet);
    session
}
