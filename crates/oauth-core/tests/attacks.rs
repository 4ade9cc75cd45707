//! Attacks by hostile servers, pages and processes, and the defences against them.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::time::Duration;

use http::StatusCode;
use ridethrough_oauth_core::address::{HostKind, NearHosts, check_resource, kind_of_ip};
use ridethrough_oauth_core::challenge::Challenges;
use ridethrough_oauth_core::client::Client;
use ridethrough_oauth_core::discovery::{Discovery, DiscoveryFailure, Step};
use ridethrough_oauth_core::grant::{
    AccessRefusal, Effect, Grant, LoginReason, RefreshOutcome, RepeatScope,
};
use ridethrough_oauth_core::login::{
    Callback, CallbackOutcome, LoginError, LoginRandom, LoginRequest, PendingLogin, is_own_host,
};
use ridethrough_oauth_core::metadata::{AuthorizationServer, DocumentError, PinnedEndpoints};
use ridethrough_oauth_core::scope::{ScopeRequest, ScopeSet};
use ridethrough_oauth_core::store::GrantKey;
use ridethrough_oauth_core::token_request::{ClientAuthentication, TokenRequests};
use ridethrough_oauth_core::tokens::Tokens;
use ridethrough_oauth_core::{Fetched, HttpAnswer, HttpUrl, Secret, Timestamp};
use serde_json::{Value, json};

const START: Timestamp = Timestamp::from_unix_secs(1_000_000);

/// This is CVE-2025-6514.
#[test]
fn an_authorization_endpoint_never_becomes_a_command() {
    let long = format!("https://as.example/{}", "a".repeat(1 << 16));
    for endpoint in [
        "file:///etc/passwd",
        "a:$(touch x)",
        "-flag",
        "--browser=x",
        "javascript:alert(1)",
        "https://as.example/\nopen -a Calculator",
        "https://as.example/ & calc.exe",
        "\\\\host\\share",
        "ms-settings:",
        &long,
    ] {
        let mut hostile = document("https://as.example");
        hostile["authorization_endpoint"] = endpoint.into();

        let read = read(&hostile);

        assert!(
            matches!(read, Err(DocumentError::Address { member: "authorization_endpoint", .. })),
            "{endpoint:.50}"
        );
    }
}

#[test]
fn what_a_shell_would_run_arrives_encoded_in_the_url() {
    let mut hostile = document("https://as.example");
    hostile["authorization_endpoint"] = "https://as.example/a".into();
    let server = read(&hostile).unwrap();

    let login = login_at(&server, "$(calc)`calc`;&|'\"");

    let query = login.url().split_once('?').unwrap().1;
    assert!(!query.contains(['$', '`', ';', '|', '\'', '"', '(', ' ']), "{query}");
}

/// After the login, the 401 names other metadata, which names another issuer.
#[test]
fn a_server_that_moves_to_another_issuer_gets_no_secret_there() {
    let first = read(&document("https://as.example")).unwrap();
    let second = read(&document("https://evil.example")).unwrap();
    let client = Client::preregistered("c", Some(Secret::new("s"))).of_issuer(&*first.issuer);

    assert!(TokenRequests::new(&first, &client, ClientAuthentication::Secret).is_ok());
    assert!(TokenRequests::new(&second, &client, ClientAuthentication::Secret).is_err());
    assert_eq!(PinnedEndpoints::of(&first).check(&second).unwrap_err().name, "issuer");
}

#[test]
fn a_token_endpoint_that_is_swapped_between_refreshes_is_noticed() {
    let login = read(&document("https://as.example")).unwrap();
    let mut swapped = document("https://as.example");
    swapped["token_endpoint"] = "https://evil.example/token".into();

    let checked = PinnedEndpoints::of(&login).check(&read(&swapped).unwrap());

    let error = checked.unwrap_err();
    assert_eq!(error.name, "token_endpoint");
    assert!(error.to_string().contains("nothing was sent there"), "{error}");
}

#[test]
fn a_resource_of_somebody_else_is_refused_before_any_issuer_is_asked() {
    for victim in [
        "https://victim.example/mcp",
        "https://mcp.example.victim.example/mcp",
        "https://mcp.example/mcpx",
        "https://mcp.example/mcp/../admin",
        "https://mcp.example/%2e%2e/mcp",
        "https://mcp.example@victim.example/mcp",
        "https://user@mcp.example/mcp",
        "http://mcp.example/mcp",
        "https://mcp.example:8443/mcp",
    ] {
        assert!(check_resource(victim, &mcp()).is_err(), "{victim}");
        let resource = json!({"resource": victim, "authorization_servers": ["https://as.example"]});
        let mut discovery = Discovery::new(mcp(), &Challenges::default(), Default::default());

        give(&mut discovery, &resource);

        let Step::Failed(error) = discovery.step() else { panic!("{victim}") };
        assert!(matches!(error.failure, DiscoveryFailure::ResourceMismatch { .. }), "{victim}");
    }
}

/// Mix-up: the person is sent to A, and the callback brings a code of B.
#[test]
fn a_code_of_another_issuer_is_neither_accepted_nor_sent_anywhere() {
    let honest = read(&document("https://as.example")).unwrap();
    let hostile = read(&document("https://evil.example")).unwrap();
    let mut login = login_at(&hostile, "c");
    let state = state_of(&login);

    let mixed = login.handle(&callback(&format!("code=c&state={state}&iss=https://as.example")));
    assert!(matches!(mixed, CallbackOutcome::Failed(LoginError::OtherIssuer { .. })));

    // Without `iss` the code is bound to the issuer that the login began at.
    let mut login = login_at(&hostile, "c");
    let CallbackOutcome::Code(code) = login.handle(&callback(&format!("code=c&state={state}")))
    else {
        panic!()
    };
    let client = Client::preregistered("c", None);
    let at = |server: &AuthorizationServer| {
        TokenRequests::new(server, &client, ClientAuthentication::Secret)
            .unwrap()
            .authorization_code(&code)
            .is_ok()
    };
    assert!(at(&hostile));
    assert!(!at(&honest));
}

#[test]
fn a_spray_of_callbacks_neither_ends_nor_spends_the_login() {
    let mut login = login_at(&read(&document("https://as.example")).unwrap(), "c");
    for number in 0..1000 {
        for query in [
            format!("code=x{number}"),
            format!("error=access_denied&state={number}"),
            format!("code=x&state={number}&iss=https://as.example"),
        ] {
            let outcome = login.handle(&callback(&query));
            assert!(matches!(outcome, CallbackOutcome::Ignored(_)), "{query}");
        }
    }

    let honest = login.handle(&callback(&format!("code=c&state={}", state_of(&login))));

    assert!(matches!(honest, CallbackOutcome::Code(_)));
}

#[test]
fn a_page_of_another_site_cannot_call_back_under_its_own_name() {
    let login = login_at(&read(&document("https://as.example")).unwrap(), "c");

    assert!(is_own_host("127.0.0.1:4000", &login));
    assert!(!is_own_host("rebound.example:4000", &login));
}

#[test]
fn words_of_a_callback_carry_no_control_characters() {
    let mut login = login_at(&read(&document("https://as.example")).unwrap(), "c");
    let words = "%1b]0;owned%07%0d%0aSet-Cookie:%20x";
    let query = format!("error=%1bx&error_description={words}&state={}", state_of(&login));

    let CallbackOutcome::Failed(error) = login.handle(&callback(&query)) else { panic!() };

    assert!(!error.to_string().contains(|letter: char| letter.is_control()), "{error}");
}

#[test]
fn metadata_leads_into_no_private_network() {
    for near in [
        "https://169.254.169.254/latest/meta-data",
        "https://[::ffff:169.254.169.254]/",
        "https://[::ffff:a9fe:a9fe]/",
        "https://10.0.0.1/",
        "https://127.0.0.1:9/",
        "https://localhost/",
        "http://127.0.0.1:9/",
        "http://as.example/",
    ] {
        let mut hostile = document("https://as.example");
        hostile["token_endpoint"] = near.into();
        assert!(read(&hostile).is_err(), "{near}");

        let resource = json!({
            "resource": "https://mcp.example/mcp",
            "authorization_servers": [near],
        });
        let mut discovery = Discovery::new(mcp(), &Challenges::default(), Default::default());
        give(&mut discovery, &resource);
        assert!(matches!(discovery.step(), Step::Failed(_)), "{near}");
    }
    // A name says nothing about its address; the code that resolves the name asks about the address.
    assert_eq!(kind_of_ip("169.254.169.254".parse().unwrap()), HostKind::Private);
}

#[test]
fn a_redirect_of_a_document_is_not_followed() {
    let mut discovery = Discovery::new(mcp(), &Challenges::default(), Default::default());
    let Step::Get(first) = discovery.step() else { panic!() };
    let first = first.clone();

    let redirect = HttpAnswer::new(StatusCode::FOUND, "");
    discovery.handle(&first, &Fetched::Answer(redirect));

    assert!(matches!(discovery.step(), Step::Get(next) if next.origin() == first.origin()));
}

#[test]
fn a_document_of_a_megabyte_is_not_read() {
    let mut huge = document("https://as.example");
    huge["x"] = "x".repeat(1 << 20).into();

    assert_eq!(read(&huge).unwrap_err(), DocumentError::NotAnObject);
}

#[test]
fn tokens_of_one_server_are_not_found_for_another() {
    let key = |resource: &str| GrantKey {
        resource: resource.into(),
        issuer: "https://as.example".into(),
        client_id: "c".into(),
        profile: String::new(),
    };

    assert_ne!(
        key("https://one.example/mcp").file_name(),
        key("https://two.example/mcp").file_name()
    );
}

/// A server that always answers 401 was once sent 8,600 tokens a day.
#[test]
fn a_server_that_always_says_401_gets_two_tokens_and_then_one_an_hour() {
    assert_eq!(tokens_sent_within(Duration::from_secs(300)), 2);
    assert!(tokens_sent_within(Duration::from_secs(86_400)) <= 2 + 4 + 24);
}

#[test]
fn a_fresh_token_that_is_refused_is_reported_as_such() {
    let mut grant = Grant::new(Some(tokens(1, 0)), ScopeSet::default(), RepeatScope::Yes);
    let effect = grant.token_refused(START, &Secret::new("a1"), AccessRefusal::Token);
    let Some(Effect::AskStore { id, .. }) = effect else { panic!("{effect:?}") };

    let effect = grant.handle_store(START, id, None);

    assert_eq!(effect, Some(Effect::LoginNeeded(LoginReason::FreshTokenRefused)));
}

/// Returns how many tokens a server gets that refuses each of them, while it is asked every 10 s.
fn tokens_sent_within(time: Duration) -> usize {
    let mut grant = Grant::new(Some(tokens(0, 0)), ScopeSet::default(), RepeatScope::Yes);
    let mut used = 0;
    for second in (100..time.as_secs()).step_by(10) {
        let now = START + Duration::from_secs(second);
        let mut effect = Some(grant.want_token(now));
        while let Some(token) = effect.and_then(|effect| perform(&mut grant, now, effect)) {
            used += 1;
            effect = grant.token_refused(now, &token, AccessRefusal::Token);
        }
    }
    used
}

/// Returns the token that an effect leads to, by a refresh if needed; `None` if it leads to a person.
fn perform(grant: &mut Grant, now: Timestamp, effect: Effect) -> Option<Secret> {
    match effect {
        Effect::UseToken(token) => Some(token),
        Effect::StoreAndUse(tokens) => Some(tokens.access),
        Effect::AskStore { id, .. } => {
            let effect = grant.handle_store(now, id, None)?;
            perform(grant, now, effect)
        }
        Effect::RefreshWith { id, .. } => {
            let second = now.since(START).as_secs();
            let outcome = RefreshOutcome::Answered(Ok(tokens(second, second)));
            let effect = grant.handle_refresh(now, id, outcome)?;
            perform(grant, now, effect)
        }
        Effect::LoginNeeded(_) => None,
        other => panic!("{other:?}"),
    }
}

fn tokens(number: u64, received: u64) -> Tokens {
    let received_at = START + Duration::from_secs(received);
    let mut tokens = Tokens::new(Secret::new(format!("a{number}")), received_at);
    tokens.refresh = Some(Secret::new(format!("r{number}")));
    tokens.expires_at = Some(received_at + Duration::from_secs(3600));
    tokens
}

fn mcp() -> HttpUrl {
    HttpUrl::parse("https://mcp.example/mcp").unwrap()
}

fn document(issuer: &str) -> Value {
    json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "code_challenge_methods_supported": ["S256"],
    })
}

fn read(document: &Value) -> Result<AuthorizationServer, DocumentError> {
    AuthorizationServer::read(document.to_string().as_bytes(), &mcp(), NearHosts::Refused)
}

fn give(discovery: &mut Discovery, document: &Value) {
    let Step::Get(url) = discovery.step() else { return };
    let url = url.clone();
    let answer = HttpAnswer::new(StatusCode::OK, document.to_string());
    discovery.handle(&url, &Fetched::Answer(answer));
}

fn login_at(server: &AuthorizationServer, client_id: &str) -> PendingLogin {
    let request = LoginRequest {
        server,
        client: &Client::preregistered(client_id, None),
        redirect_uri: &HttpUrl::parse("http://127.0.0.1:4000/callback").unwrap(),
        scope: &ScopeRequest::default(),
        resource: None,
        key_thumbprint: None,
        extra_parameters: &[],
    };
    request.begin(&LoginRandom { state: [1; 32], verifier: [2; 32] }).unwrap()
}

fn callback(query: &str) -> Callback {
    Callback::from_pasted(query).unwrap()
}

fn state_of(login: &PendingLogin) -> String {
    let state = login.url().split('&').find_map(|pair| pair.strip_prefix("state="));
    state.unwrap().to_owned()
}
