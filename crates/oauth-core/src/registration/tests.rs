use std::time::Duration;

use http::StatusCode;

use super::*;
use crate::client::ClientKind;
use crate::http_answer::HttpAnswer;
use crate::secret::Secret;

const NOW: Timestamp = Timestamp::from_unix_secs(1_000_000);

fn server(more: &Value) -> AuthorizationServer {
    let mut document = json!({
        "issuer": "https://as.example",
        "authorization_endpoint": "https://as.example/authorize",
        "token_endpoint": "https://as.example/token",
    });
    document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    AuthorizationServer::from_json(&document.to_string()).unwrap()
}

fn open_server() -> AuthorizationServer {
    server(&json!({"registration_endpoint": "https://as.example/register"}))
}

fn description(scopes: &str) -> ClientDescription {
    let uri = |text| HttpUrl::parse(text).unwrap();
    ClientDescription {
        name: "ridethrough".into(),
        redirect_uris: vec![
            uri("http://127.0.0.1:4000/callback"),
            uri("http://localhost:4000/callback"),
        ],
        scopes: ScopeSet::from_text(scopes),
        login: LoginWay::Browser,
    }
}

fn registration(scopes: &str) -> Registration {
    Registration::new(description(scopes), &open_server()).unwrap()
}

fn handled(scopes: &str, status: u16, body: &str) -> RegistrationOutcome {
    registration(scopes).handle(&HttpAnswer::new(StatusCode::from_u16(status).unwrap(), body))
}

fn registered(body: &str) -> Client {
    match handled("", 201, body) {
        RegistrationOutcome::Registered(client) => *client,
        other => panic!("{other:?}"),
    }
}

fn document_client() -> Client {
    Client::metadata_document(&HttpUrl::parse("https://me.example/c.json").unwrap()).unwrap()
}

#[test]
fn a_persons_client_comes_before_a_document_and_that_before_a_registration() {
    let both = server(&json!({
        "registration_endpoint": "https://as.example/register",
        "client_id_metadata_document_supported": true,
    }));
    let choose = |sources: ClientSources, server: &AuthorizationServer| {
        ClientChoice::choose(sources, description(""), server, NOW).unwrap()
    };
    let all = ClientSources {
        preregistered: Some(Client::preregistered("mine", None)),
        metadata_document: Some(document_client()),
        recorded: None,
    };
    let document = ClientSources { preregistered: None, ..all.clone() };

    assert!(matches!(choose(all, &both), ClientChoice::Use(it) if it.id == "mine"));
    assert!(matches!(
        choose(document.clone(), &both),
        ClientChoice::Use(it) if it.kind == ClientKind::MetadataDocument
    ));
    assert!(matches!(choose(document, &open_server()), ClientChoice::Register(_)));
    let closed = server(&json!({}));
    assert!(matches!(choose(ClientSources::default(), &closed), ClientChoice::AskPerson));
}

#[test]
fn a_persons_client_of_another_issuer_is_reported_and_not_replaced() {
    let sources = ClientSources {
        preregistered: Some(Client::preregistered("mine", None).of_issuer("https://old.example")),
        ..ClientSources::default()
    };

    assert!(ClientChoice::choose(sources, description(""), &open_server(), NOW).is_err());
}

#[test]
fn a_recorded_client_is_used_again_only_where_it_is_still_good() {
    let good = Client {
        redirect_uris: vec!["http://127.0.0.1:4000/callback".into()],
        ..Client::new("old".into(), Some(Secret::new("s")), ClientKind::Dynamic)
            .of_issuer("https://as.example")
    };
    let is_used = |client: Client| {
        let sources = ClientSources { recorded: Some(client), ..ClientSources::default() };
        let choice = ClientChoice::choose(sources, description(""), &open_server(), NOW);
        matches!(choice.unwrap(), ClientChoice::Use(_))
    };

    assert!(is_used(good.clone()));
    assert!(!is_used(good.clone().of_issuer("https://other.example")));
    assert!(!is_used(Client { secret_expires_at: Some(NOW), ..good.clone() }));
    let moved = vec!["http://127.0.0.1:5000/callback".into()];
    assert!(!is_used(Client { redirect_uris: moved, ..good }));
}

#[test]
fn the_body_is_the_least_that_servers_accept() {
    let body: Value = serde_json::from_str(&registration("a b").body()).unwrap();

    assert_eq!(
        body,
        json!({
            "client_name": "ridethrough",
            "application_type": "native",
            "redirect_uris": ["http://127.0.0.1:4000/callback", "http://localhost:4000/callback"],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "scope": "a b",
        })
    );
    assert!(!registration("").body().contains("scope"));
}

#[test]
fn a_secret_is_asked_for_only_where_the_server_lists_nothing_else() {
    let methods = json!({
        "registration_endpoint": "https://as.example/register",
        "token_endpoint_auth_methods_supported": ["client_secret_basic"],
    });

    let body = Registration::new(description(""), &server(&methods)).unwrap().body();

    assert!(body.contains(r#""token_endpoint_auth_method":"client_secret_basic""#), "{body}");
}

#[test]
fn a_client_is_bound_to_the_issuer_and_its_redirects() {
    let client = registered(r#"{"client_id":"c1"}"#);

    assert_eq!(client.issuer.as_deref(), Some("https://as.example"));
    assert_eq!(client.redirect_uris.len(), 2);
    assert_eq!(client.kind, ClientKind::Dynamic);
}

#[test]
fn a_secret_has_the_end_that_the_server_says_and_zero_is_none() {
    let end = |value: &str| {
        let body = format!(
            r#"{{"client_id":"c","client_secret":"s","client_secret_expires_at":{value}}}"#
        );
        registered(&body).secret_expires_at
    };

    assert_eq!(end("0"), None);
    assert_eq!(end("null"), None);
    assert_eq!(end("5"), Some(Timestamp::from_unix_secs(5)));
    assert_eq!(end("\"5\""), Some(Timestamp::from_unix_secs(5)));
}

#[test]
fn an_unknown_scope_costs_one_more_registration_without_it() {
    let body = r#"{"error":"invalid_client_metadata"}"#;
    let answer = HttpAnswer::new(StatusCode::BAD_REQUEST, body);
    let mut registration = registration("openid");

    assert_eq!(registration.handle(&answer), RegistrationOutcome::AgainWithoutScope);
    assert!(!registration.body().contains("scope"));
    assert!(matches!(registration.handle(&answer), RegistrationOutcome::Failed(_)));
}

#[test]
fn servers_that_are_in_trouble_are_asked_again_later() {
    let wait = Duration::from_secs(7);
    let answer = HttpAnswer::new(StatusCode::TOO_MANY_REQUESTS, "").with_retry_after(wait);

    let outcome = registration("").handle(&answer);

    let transient = RegistrationError::Transient { status: answer.status, retry_after: Some(wait) };
    assert_eq!(outcome, RegistrationOutcome::Failed(transient));
}

#[test]
fn pages_and_errors_are_no_clients() {
    for (status, body) in [
        (200, "<html>Just a moment...</html>"),
        (200, r#"{"error":"x","client_id":"c"}"#),
        (200, r#"{"client_id":""}"#),
        (400, r#"{"client_id":"c"}"#),
        (422, "no"),
    ] {
        assert!(matches!(handled("", status, body), RegistrationOutcome::Failed(_)), "{body}");
    }
}
