use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::client::Client;
use crate::form;
use crate::metadata::AuthorizationServer;
use crate::scope::ScopeRequest;

const RANDOM: LoginRandom = LoginRandom { state: [1; 32], verifier: [2; 32] };
const ISSUER: &str = "https://as.example";

#[test]
fn the_url_has_every_parameter_once_and_the_resource_byte_for_byte() {
    let login = begin(&json!({}), &[]).unwrap();

    let (endpoint, query) = login.url().split_once('?').unwrap();
    let pairs = form::read(query);
    let value = |name: &str| {
        let values: Vec<&str> =
            pairs.iter().filter(|(it, _)| it == name).map(|(_, it)| it.as_str()).collect();
        assert_eq!(values.len(), 1, "{name}");
        values[0].to_owned()
    };
    assert_eq!(endpoint, "https://as.example/authorize");
    assert_eq!(value("response_type"), "code");
    assert_eq!(value("client_id"), "c & d");
    assert_eq!(value("redirect_uri"), "http://127.0.0.1:4000/callback");
    assert_eq!(value("code_challenge_method"), "S256");
    assert_eq!(value("code_challenge"), Pkce::from_random([2; 32]).challenge());
    assert_eq!(value("scope"), "a offline_access");
    assert_eq!(value("resource"), "https://mcp.example");
    assert_eq!(value("prompt"), "consent");
    assert_eq!(value("state"), login.state.expose());
    assert!(!login.url().contains(login.verifier.expose()));
}

#[test]
fn a_person_may_add_parameters_and_replace_the_prompt_but_nothing_that_makes_the_login_safe() {
    let extra = |name: &str| [(name.to_owned(), "x".to_owned())];

    let login = begin(&json!({}), &extra("prompt")).unwrap();

    assert!(login.url().contains("prompt=x") && !login.url().contains("prompt=consent"));
    assert!(begin(&json!({}), &extra("audience")).unwrap().url().contains("audience=x"));
    for name in start_reserved() {
        let refused = begin(&json!({}), &extra(name)).unwrap_err();
        assert_eq!(refused, LoginStartError::ReservedParameter(name.to_owned()));
    }
}

#[test]
fn an_endpoint_may_have_a_query_of_its_own_but_not_our_parameters() {
    let endpoint =
        |query: &str| json!({"authorization_endpoint": format!("https://as.example/a?{query}")});

    assert!(begin(&endpoint("tenant=1"), &[]).unwrap().url().contains("a?tenant=1&response_type"));
    assert!(begin(&endpoint("redirect_uri=https://evil.example"), &[]).is_err());
}

#[test]
fn a_client_of_another_issuer_begins_no_login() {
    let server = server(&json!({}));
    let client = Client::preregistered("c", None).of_issuer("https://other.example");

    let begun = request(&server, &client, &[]).begin(&RANDOM);

    assert!(matches!(begun, Err(LoginStartError::OtherIssuer(_))));
}

#[test]
fn a_callback_without_our_state_is_ignored_whatever_else_it_says() {
    let mut login = begin(&json!({}), &[]).unwrap();
    let state = login.state.expose().to_owned();

    for (query, why) in [
        ("code=evil".to_owned(), Ignored::NoState),
        ("error=access_denied".to_owned(), Ignored::NoState),
        ("code=evil&state=".to_owned(), Ignored::OtherState),
        ("code=evil&state=guess".to_owned(), Ignored::OtherState),
        (format!("code=evil&state={state}x"), Ignored::OtherState),
        (format!("error=x&state=guess&state={state}"), Ignored::NoState),
    ] {
        assert_eq!(login.handle(&callback(&query)), CallbackOutcome::Ignored(why), "{query}");
    }
    assert!(matches!(
        login.handle(&callback(&format!("code=good&state={state}"))),
        CallbackOutcome::Code(code) if code.code.expose() == "good"
    ));
}

#[test]
fn a_login_ends_once() {
    let mut login = begin(&json!({}), &[]).unwrap();
    let query = format!("code=one&state={}", login.state.expose());

    assert!(matches!(login.handle(&callback(&query)), CallbackOutcome::Code(_)));
    assert_eq!(login.handle(&callback(&query)), CallbackOutcome::Ignored(Ignored::Over));
}

/// RFC 9207, 2.4, and the four conformance scenarios `iss-*`.
#[test]
fn an_issuer_is_compared_exactly_and_required_where_the_server_promises_it() {
    for (promised, sent, is_ok) in [
        (true, Some(ISSUER), true),
        (false, None, true),
        (false, Some(ISSUER), true),
        (true, None, false),
        (true, Some("https://evil.example"), false),
        (false, Some("https://evil.example"), false),
        (true, Some("https://as.example/"), false),
        (true, Some("https://AS.example"), false),
        (false, Some(""), false),
    ] {
        let more = json!({"authorization_response_iss_parameter_supported": promised});
        let mut login = begin(&more, &[]).unwrap();
        let iss = sent.map(|iss| format!("&iss={iss}")).unwrap_or_default();
        let query = format!("code=c&state={}{iss}", login.state.expose());

        let outcome = login.handle(&callback(&query));

        assert_eq!(matches!(outcome, CallbackOutcome::Code(_)), is_ok, "{promised} {sent:?}");
    }
}

#[test]
fn two_issuers_in_one_callback_are_none() {
    let mut login = begin(&json!({}), &[]).unwrap();
    let query = format!("code=c&state={}&iss={ISSUER}&iss=x", login.state.expose());

    let outcome = login.handle(&callback(&query));

    assert!(matches!(outcome, CallbackOutcome::Failed(LoginError::NoIssuer { .. })));
}

#[test]
fn the_words_of_another_issuer_are_not_shown() {
    let mut login = begin(&json!({}), &[]).unwrap();
    let query = format!(
        "error=x&error_description=call+0900&iss=https://evil.example&state={}",
        login.state.expose()
    );

    let outcome = login.handle(&callback(&query));

    let CallbackOutcome::Failed(error) = outcome else { panic!("{outcome:?}") };
    assert!(!error.to_string().contains("0900") && !error.to_string().contains("evil"), "{error}");
}

#[test]
fn a_refusal_tells_the_servers_words_on_one_line() {
    let mut login = begin(&json!({}), &[]).unwrap();
    let query = format!(
        "error=access_denied&error_description=no%0A%1b[31mway&state={}",
        login.state.expose()
    );

    let outcome = login.handle(&callback(&query));

    let refused = LoginError::Refused { code: "access_denied".into(), words: "no [31mway".into() };
    assert_eq!(outcome, CallbackOutcome::Failed(refused));
}

#[test]
fn a_refusal_without_words_ends_with_its_code() {
    let mut login = begin(&json!({}), &[]).unwrap();
    let query = format!("error=access_denied&state={}", login.state.expose());

    let outcome = login.handle(&callback(&query));

    let CallbackOutcome::Failed(refused) = outcome else { panic!("{outcome:?}") };
    assert_eq!(refused.to_string(), "the login was refused with `access_denied`");
}

#[test]
fn a_callback_is_read_from_a_target_a_pasted_url_or_its_query() {
    let login = begin(&json!({}), &[]).unwrap();
    let code = |callback: Option<Callback>| callback.unwrap().only("code").map(str::to_owned);

    assert_eq!(code(Callback::from_target("/callback?code=a%20b", &login)).unwrap(), "a b");
    assert!(Callback::from_target("/other?code=a", &login).is_none());
    assert!(Callback::from_target("/callback", &login).is_none());
    assert!(Callback::from_target("/favicon.ico", &login).is_none());
    for pasted in [
        " http://127.0.0.1:4000/callback?code=x&state=s \n",
        "\"http://localhost:4000/callback?code=x&state=s#\"",
        "?code=x&state=s",
        "code=x&state=s",
    ] {
        assert_eq!(code(Callback::from_pasted(pasted)).unwrap(), "x", "{pasted}");
    }
    assert!(Callback::from_pasted("skip").is_none());
}

#[test]
fn only_our_own_host_is_our_own() {
    let login = begin(&json!({}), &[]).unwrap();

    for own in ["127.0.0.1:4000", "localhost:4000", "[::1]:4000"] {
        assert!(is_own_host(own, &login), "{own}");
    }
    for other in ["evil.example:4000", "127.0.0.1:4001", "localhost", "localhost:4000/x", ""] {
        assert!(!is_own_host(other, &login), "{other}");
    }
}

#[test]
fn a_pending_login_survives_being_stored() {
    let login = begin(&json!({}), &[]).unwrap();
    let query = format!("code=good&state={}", login.state.expose());

    let stored = serde_json::to_string(&login).unwrap();
    let mut heir: PendingLogin = serde_json::from_str(&stored).unwrap();

    assert!(matches!(heir.handle(&callback(&query)), CallbackOutcome::Code(_)));
}

#[test]
fn neither_state_nor_verifier_nor_code_is_printed() {
    let mut login = begin(&json!({}), &[]).unwrap();
    let callback = callback(&format!("code=s3cret&state={}", login.state.expose()));
    let before = format!("{login:?} {callback:?}");

    let outcome = login.handle(&callback);

    let printed = format!("{before} {outcome:?}");
    for secret in ["s3cret", login.state.expose(), login.verifier.expose()] {
        assert!(!printed.contains(secret), "{printed}");
    }
}

#[test]
fn a_client_that_the_server_dropped_is_seen_before_the_browser_opens() {
    let read =
        |status| Preflight::read(&HttpAnswer::new(StatusCode::from_u16(status).unwrap(), ""));

    for dead in [400, 401, 404, 422] {
        assert_eq!(read(dead), Preflight::ClientDead, "{dead}");
    }
    for open in [200, 302, 303, 403, 405, 429, 500, 503] {
        assert_eq!(read(open), Preflight::Open, "{open}");
    }
}

proptest! {
    #[test]
    fn no_other_state_ever_ends_a_login(
        state in "\\PC{0,50}",
        code in "\\PC{0,20}",
        name in prop_oneof![Just("code"), Just("error"), Just("iss")],
    ) {
        let mut login = begin(&json!({}), &[]).unwrap();
        prop_assume!(state != login.state.expose());
        let query = form::write([(name, code.as_str()), ("state", state.as_str())]);

        let outcome = login.handle(&callback(&query));

        prop_assert!(matches!(outcome, CallbackOutcome::Ignored(_)));
        prop_assert!(!login.is_over);
    }

    #[test]
    fn no_pasted_text_is_too_odd_to_be_read(text in "\\PC{0,100}") {
        let mut login = begin(&json!({}), &[]).unwrap();
        if let Some(callback) = Callback::from_pasted(&text) {
            let outcome = login.handle(&callback);
            prop_assert!(matches!(outcome, CallbackOutcome::Ignored(_)));
        }
    }
}

fn start_reserved() -> [&'static str; 8] {
    [
        "response_type",
        "client_id",
        "redirect_uri",
        "state",
        "code_challenge",
        "code_challenge_method",
        "scope",
        "resource",
    ]
}

fn callback(query: &str) -> Callback {
    Callback::from_pasted(query).unwrap()
}

fn begin(more: &Value, extra: &[(String, String)]) -> Result<PendingLogin, LoginStartError> {
    request(&server(more), &Client::preregistered("c & d", None), extra).begin(&RANDOM)
}

fn request<'a>(
    server: &'a AuthorizationServer,
    client: &'a Client,
    extra: &'a [(String, String)],
) -> LoginRequest<'a> {
    LoginRequest {
        server,
        client,
        redirect_uri: Box::leak(Box::new(
            HttpUrl::parse("http://127.0.0.1:4000/callback").unwrap(),
        )),
        scope: Box::leak(Box::new(ScopeRequest::for_scopes(
            ScopeSet::from_text("a offline_access"),
            server,
        ))),
        resource: Some("https://mcp.example"),
        key_thumbprint: None,
        extra_parameters: extra,
    }
}

fn server(more: &Value) -> AuthorizationServer {
    let mut document = json!({
        "issuer": ISSUER,
        "authorization_endpoint": "https://as.example/authorize",
        "token_endpoint": "https://as.example/token",
    });
    document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    AuthorizationServer::from_json(&document.to_string()).unwrap()
}
