//! No type prints a secret that it holds.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use http::StatusCode;
use ridethrough_oauth_core::client::Client;
use ridethrough_oauth_core::device::{DeviceFlow, DeviceOutcome, DeviceStep};
use ridethrough_oauth_core::dpop::{DpopProof, PublicKey};
use ridethrough_oauth_core::grant::{Effect, Grant, RefreshOutcome, RepeatScope};
use ridethrough_oauth_core::login::{
    Callback, CallbackOutcome, LoginRandom, LoginRequest, PendingLogin,
};
use ridethrough_oauth_core::metadata::AuthorizationServer;
use ridethrough_oauth_core::pkce::Pkce;
use ridethrough_oauth_core::registration::{ClientChoice, ClientSources, RegistrationOutcome};
use ridethrough_oauth_core::scope::{ScopeRequest, ScopeSet};
use ridethrough_oauth_core::store::{GrantKey, GrantRecord};
use ridethrough_oauth_core::token_request::{ClientAuthentication, IdJagExchange, TokenRequests};
use ridethrough_oauth_core::tokens::Tokens;
use ridethrough_oauth_core::{Fetched, HttpAnswer, HttpUrl, Secret, Timestamp};

const NOW: Timestamp = Timestamp::from_unix_secs(1_000_000);
/// The text that every secret of these tests contains.
const MARK: &str = "s3cret";

#[test]
fn nothing_that_holds_tokens_prints_them() {
    let mut grant = Grant::new(Some(tokens()), ScopeSet::default(), RepeatScope::Yes);
    let effects = [
        grant.want_token(NOW),
        Effect::StoreAndUse(tokens()),
        Effect::RefreshWith { id: 1, refresh_token: secret(), scope: None },
    ];

    assert_silent(&format!("{:?} {:?} {grant:?} {effects:?}", secret(), tokens()));
    assert_silent(&format!("{:?}", RefreshOutcome::Answered(Ok(tokens()))));
    assert_silent(&format!("{:?}", DeviceOutcome::Granted(tokens())));
}

#[test]
fn nothing_that_holds_a_client_prints_its_secret() {
    let sources = ClientSources { preregistered: Some(client()), ..ClientSources::default() };

    assert_silent(&format!("{:?} {sources:?} {:?}", client(), ClientChoice::Use(client())));
    assert_silent(&format!("{:?}", RegistrationOutcome::Registered(Box::new(client()))));
}

#[test]
fn nothing_of_a_login_prints_state_verifier_or_code() {
    let mut login = login();
    let state = login.url().split('&').find_map(|it| it.strip_prefix("state=")).unwrap().to_owned();
    let callback = Callback::from_pasted(&format!("code={MARK}&state={state}")).unwrap();
    let before = format!("{login:?} {callback:?}");
    let outcome = login.handle(&callback);
    assert!(matches!(outcome, CallbackOutcome::Code(_)));

    let printed = format!("{before} {outcome:?} {:?}", Pkce::from_random([2; 32]));

    assert_silent(&printed);
    assert!(!printed.contains(&state), "{printed}");
    assert!(!printed.contains(Pkce::from_random([2; 32]).verifier().expose()), "{printed}");
}

#[test]
fn no_request_and_no_answer_prints_its_body() {
    let (server, client, secret) = (server(), client(), secret());
    let assertion = ClientAuthentication::Assertion(secret.clone());
    let scopes = ScopeSet::default();
    let (audience, resource) = ("https://as.example", "https://mcp.example");
    let exchange = IdJagExchange { id_token: &secret, audience, resource, scopes: &scopes };
    let requests = TokenRequests::new(&server, &client, assertion).unwrap();
    let basic = TokenRequests::new(&server, &client, ClientAuthentication::Secret).unwrap();
    let all = [
        requests.refresh(&secret, None),
        basic.refresh(&secret, None).with_dpop(secret.clone()),
        basic.id_jag(exchange),
        basic.jwt_bearer(&secret, &scopes),
        basic.device_code(&secret),
    ];
    let answer = HttpAnswer::new(StatusCode::OK, MARK);

    assert_silent(&format!("{requests:?} {basic:?} {exchange:?} {all:?} {:?}", all[1].headers()));
    assert_silent(&format!("{answer:?} {:?}", Fetched::Answer(answer.clone())));
}

#[test]
fn no_url_prints_its_query() {
    let url = HttpUrl::parse(&format!("https://mcp.example/mcp?key={MARK}")).unwrap();
    let key = PublicKey::Okp { crv: "Ed25519".into(), x: "x".into() };
    let token = secret();
    let proof = DpopProof {
        key: &key,
        algorithm: "EdDSA",
        method: "POST",
        url: &url,
        access_token: Some(&token),
        nonce: None,
        now: NOW,
        random: [0; 16],
    };

    assert_silent(&format!("{url} {url:?} {proof:?}"));
}

#[test]
fn neither_a_device_flow_nor_a_record_prints_a_secret() {
    let body = format!(
        r#"{{"device_code":"{MARK}","user_code":"U","verification_uri":"https://as.example/d"}}"#
    );
    let flow = DeviceFlow::begin(&HttpAnswer::new(StatusCode::OK, body), NOW).unwrap();
    let key = GrantKey {
        resource: "https://mcp.example".into(),
        issuer: "https://as.example".into(),
        client_id: "c".into(),
        profile: String::new(),
    };
    let mut record = GrantRecord::new(key, "https://mcp.example", client(), &server());
    record.tokens = Some(tokens());

    assert_silent(&format!(
        "{flow:?} {:?} {record:?} {:?}",
        DeviceStep::Ask(secret()),
        record.write()
    ));
}

fn assert_silent(printed: &str) {
    assert!(!printed.contains(MARK), "{printed}");
}

fn secret() -> Secret {
    Secret::new(format!("{MARK}-token"))
}

fn tokens() -> Tokens {
    let mut tokens = Tokens::new(secret(), NOW);
    tokens.refresh = Some(secret());
    tokens.id_token = Some(secret());
    tokens
}

fn client() -> Client {
    Client::preregistered("c", Some(secret()))
}

fn server() -> AuthorizationServer {
    let document = r#"{"issuer":"https://as.example","token_endpoint":"https://as.example/token",
        "authorization_endpoint":"https://as.example/authorize"}"#;
    AuthorizationServer::from_json(document).unwrap()
}

fn login() -> PendingLogin {
    let request = LoginRequest {
        server: &server(),
        client: &client(),
        redirect_uri: &HttpUrl::parse("http://127.0.0.1:4000/callback").unwrap(),
        scope: &ScopeRequest::default(),
        resource: None,
        key_thumbprint: None,
        extra_parameters: &[],
    };
    request.begin(&LoginRandom { state: [1; 32], verifier: [2; 32] }).unwrap()
}
