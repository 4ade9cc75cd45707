//! The authorization server by itself: what it grants, how often, and to which client.

use serde_json::Value;
use std::time::Duration;
use tokio::time::advance;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_code_is_good_once_and_only_with_its_verifier() {
    let issuer = issuer(Rotation::Strict);
    let client = registered(&issuer);

    let stolen =
        token(&issuer, &client, &[("code", &code(&issuer, &client)), ("code_verifier", "no")]);
    let own = code(&issuer, &client);
    let first = exchanged(&issuer, &client, &own);
    let second = exchanged(&issuer, &client, &own);

    assert_eq!((stolen["error"].as_str(), second["error"].as_str()), (GONE, GONE));
    assert!(first["access_token"].is_string() && first["refresh_token"].is_string(), "{first}");
}

#[tokio::test(start_paused = true)]
async fn a_refresh_token_that_is_sent_again_ends_the_login_or_brings_what_it_brought() {
    for (rotation, is_forgiven) in [(Rotation::Strict, false), (Rotation::Grace, true)] {
        let issuer = issuer(rotation);
        let client = registered(&issuer);
        let tokens = exchanged(&issuer, &client, &code(&issuer, &client));
        let first = refreshed(&issuer, &client, &tokens);

        let again = refreshed(&issuer, &client, &tokens);
        let next = refreshed(&issuer, &client, &first);

        assert_eq!(again == first, is_forgiven, "{rotation:?}: {again}");
        assert_eq!(next["error"].is_null(), is_forgiven, "{rotation:?}: {next}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_rotation_the_refresh_token_stays_good_and_is_left_out() {
    let issuer = issuer(Rotation::None);
    let client = registered(&issuer);
    let tokens = exchanged(&issuer, &client, &code(&issuer, &client));

    let answers = [(); 2].map(|()| refreshed(&issuer, &client, &tokens));

    for answer in answers {
        assert!(
            answer["access_token"].is_string() && answer["refresh_token"].is_null(),
            "{answer}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_access_token_ends_in_time_and_when_it_is_ended() {
    let issuer = issuer(Rotation::Strict);
    let client = registered(&issuer);
    let guard = Guard {
        vault: issuer.vault.clone(),
        addresses: AddressBook::default(),
        extent: Extent::Everything,
        scope_of: vec![("deploy".to_owned(), "admin".to_owned())],
    };
    let bearer = |tokens: &Value| tokens["access_token"].as_str().unwrap().to_owned();
    let first = bearer(&exchanged(&issuer, &client, &code(&issuer, &client)));

    assert_eq!(guard.refusal(Some(&first), Some("echo")), None);
    assert_eq!(guard.refusal(Some(&first), Some("deploy")).unwrap().0, 403);
    assert_eq!(guard.refusal(Some("made-up"), None).unwrap().0, 401);
    advance(Duration::from_secs(2)).await;
    assert_eq!(guard.refusal(Some(&first), None).unwrap().0, 401);
    let second = bearer(&exchanged(&issuer, &client, &code(&issuer, &client)));
    issuer.vault.end_access_tokens();
    assert_eq!(guard.refusal(Some(&second), None).unwrap().0, 401);
}

#[tokio::test(start_paused = true)]
async fn a_client_of_another_issuer_or_address_is_unknown() {
    let issuer = issuer(Rotation::Strict);
    let client = registered(&issuer);
    let elsewhere = Issuer { origin: "http://b".to_owned(), ..issuer.clone() };

    let asked = ask(&elsewhere, "GET", &authorize(&client, "http://127.0.0.1:9/cb"), "");
    let other_port = ask(&issuer, "GET", &authorize(&client, "http://127.0.0.1:8/cb"), "");
    issuer.vault.forget_clients();
    let forgotten = token(&issuer, &client, &[("code", "x")]);

    assert_eq!((asked.status, other_port.status), (400, 400));
    assert_eq!(forgotten["error"], "invalid_client");
}

#[tokio::test(start_paused = true)]
async fn a_token_for_another_server_is_refused() {
    let issuer = issuer(Rotation::Strict);
    let client = registered(&issuer);
    let addresses = AddressBook::default();
    addresses.set(Addresses { main: OWN.to_owned(), ..Addresses::default() }).unwrap();
    let (vault, extent) = (issuer.vault.clone(), Extent::Everything);
    let guard = Guard { vault, addresses, extent, scope_of: Vec::new() };

    let refusals = [OWN, "http://other/mcp"].map(|resource| {
        let page = format!("{}&resource={resource}", authorize(&client, "http://127.0.0.1:9/cb"));
        let tokens = exchanged(&issuer, &client, &sent_back(&issuer, &page)["code"]);
        guard.refusal(tokens["access_token"].as_str(), None).map(|(status, _)| status)
    });

    assert_eq!(refusals, [None, Some(401)]);
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_asked_without_pkce_sends_back_an_error() {
    let issuer = issuer(Rotation::Strict);
    let client = registered(&issuer);
    let page = authorize(&client, "http://127.0.0.1:9/cb").replace("S256", "plain");

    let said = sent_back(&issuer, &page);

    assert_eq!(said["error"], "invalid_request");
    assert!(!said.contains_key("code"), "{said:?}");
}

const OWN: &str = "http://own/mcp";
const GONE: Option<&str> = Some("invalid_grant");
/// The verifier of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

fn issuer(rotation: Rotation) -> Issuer {
    let issues = Issues { access_lives: 2.0, rotation, ..Issues::default() };
    Issuer { origin: "http://a".to_owned(), issues: Arc::new(issues), vault: Vault::default() }
}

fn ask(issuer: &Issuer, http: &str, target: &str, body: &str) -> IssuerReply {
    let body = body.as_bytes();
    issuer.answer(&IssuerRequest { http, target, body, authorization: None }).unwrap()
}

fn registered(issuer: &Issuer) -> String {
    let reply = ask(issuer, "POST", REGISTER, r#"{"redirect_uris":["http://127.0.0.1:9/cb"]}"#);
    let client: Value = serde_json::from_str(&reply.body).unwrap();
    client["client_id"].as_str().unwrap().to_owned()
}

fn authorize(client: &str, redirect_uri: &str) -> String {
    let query = form::encoded([
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", redirect_uri),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("state", "s"),
    ]);
    format!("{AUTHORIZE}?{query}")
}

fn code(issuer: &Issuer, client: &str) -> String {
    let said = sent_back(issuer, &authorize(client, "http://127.0.0.1:9/cb"));
    assert_eq!((said["state"].as_str(), said["iss"].as_str()), ("s", "http://a"));
    said["code"].clone()
}

/// Returns the parameters that the browser is sent back with.
fn sent_back(issuer: &Issuer, page: &str) -> BTreeMap<String, String> {
    form::target(&ask(issuer, "GET", page, "").headers[0].1).1
}

fn token(issuer: &Issuer, client: &str, more: &[(&str, &str)]) -> Value {
    let grant = if more[0].0 == "code" { "authorization_code" } else { "refresh_token" };
    let own =
        [("grant_type", grant), ("client_id", client), ("redirect_uri", "http://127.0.0.1:9/cb")];
    let body = form::encoded(own.into_iter().chain(more.iter().copied()));
    serde_json::from_str(&ask(issuer, "POST", TOKEN, &body).body).unwrap()
}

fn exchanged(issuer: &Issuer, client: &str, code: &str) -> Value {
    token(issuer, client, &[("code", code), ("code_verifier", VERIFIER)])
}

fn refreshed(issuer: &Issuer, client: &str, tokens: &Value) -> Value {
    token(issuer, client, &[("refresh_token", tokens["refresh_token"].as_str().unwrap())])
}
