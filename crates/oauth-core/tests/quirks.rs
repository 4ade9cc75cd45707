//! Deviations of real servers from the specifications; each test has an answer of that form.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::time::Duration;

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, HeaderValue, StatusCode};
use ridethrough_oauth_core::challenge::{Challenges, Demand};
use ridethrough_oauth_core::client::{AuthMethod, Client};
use ridethrough_oauth_core::device::{DeviceFlow, DeviceStep};
use ridethrough_oauth_core::discovery::{
    Discovery, DiscoverySettings, Found, PkceRule, ResourceParameter, Step,
};
use ridethrough_oauth_core::grant::{
    AccessRefusal, Effect, Grant, LoginReason, RefreshOutcome, RepeatScope,
};
use ridethrough_oauth_core::login::{LoginRandom, LoginRequest, Preflight};
use ridethrough_oauth_core::metadata::AuthorizationServer;
use ridethrough_oauth_core::registration::{
    ClientDescription, LoginWay, Registration, RegistrationError, RegistrationOutcome,
};
use ridethrough_oauth_core::scope::{ScopeRequest, ScopeSet, ScopeSources};
use ridethrough_oauth_core::token_answer::{self, TokenError};
use ridethrough_oauth_core::token_request::{Asked, ClientAuthentication, TokenRequests};
use ridethrough_oauth_core::tokens::Tokens;
use ridethrough_oauth_core::{Fetched, HttpAnswer, HttpUrl, Secret, Timestamp};
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp::from_unix_secs(1_000_000);

#[test]
fn github_answers_in_a_form() {
    let body = "access_token=gho_x&expires_in=28800&refresh_token=ghr_y&scope=&token_type=bearer";

    let tokens = read(200, body, Asked::AuthorizationCode).unwrap();

    assert_eq!(tokens.access.expose(), "gho_x");
    assert_eq!(tokens.refresh.unwrap().expose(), "ghr_y");
    assert_eq!(tokens.expires_at.unwrap().since(NOW).as_secs(), 28800);
    assert_eq!(tokens.scope, None);
}

#[test]
fn github_refuses_a_dead_refresh_token_and_a_dead_code_with_200() {
    for body in [
        "error=bad_refresh_token&error_description=The+refresh+token+passed+is+incorrect+or+expired.",
        r#"{"error":"bad_refresh_token","error_description":"expired","error_uri":"https://x"}"#,
        r#"{"error":"bad_verification_code"}"#,
    ] {
        assert_dead(read(200, body, Asked::RefreshToken));
    }
}

#[test]
fn github_issues_tokens_without_an_expiry() {
    let body = r#"{"access_token":"gho_x","token_type":"bearer","scope":"repo"}"#;

    assert_eq!(read(200, body, Asked::AuthorizationCode).unwrap().expires_at, None);
}

#[test]
fn github_cognito_and_entra_do_not_list_pkce() {
    let mut server = server_document("https://as.example");
    server.as_object_mut().unwrap().remove("code_challenge_methods_supported");

    assert!(discover(&prm("https://mcp.example/mcp"), &server, Default::default()).is_err());
    let settings = DiscoverySettings { pkce: PkceRule::Assumed, ..Default::default() };
    assert!(discover(&prm("https://mcp.example/mcp"), &server, settings).is_ok());
}

#[test]
fn slack_says_200_and_not_ok() {
    let refused = read(200, r#"{"ok":false,"error":"invalid_code"}"#, Asked::AuthorizationCode);
    assert!(
        matches!(refused, Err(TokenError::Refused { code: Some(it), .. }) if it == "invalid_code")
    );

    let bare = read(200, r#"{"ok":false}"#, Asked::AuthorizationCode);
    assert!(matches!(bare, Err(TokenError::Refused { .. })));
    assert_dead(read(200, r#"{"ok":false,"error":"invalid_refresh_token"}"#, Asked::RefreshToken));
}

#[test]
fn slack_has_the_persons_token_in_a_member_of_its_own() {
    let body = r#"{"ok":true,"app_id":"A1","authed_user":{"id":"U1","scope":"search:read",
        "access_token":"xoxp-1","token_type":"user","expires_in":3600}}"#;

    let tokens = read(200, body, Asked::AuthorizationCode).unwrap();

    assert_eq!(tokens.access.expose(), "xoxp-1");
    assert_eq!(tokens.scope.as_deref(), Some("search:read"));
    assert_eq!(tokens.refresh, None);
}

#[test]
fn slack_without_a_refresh_token_needs_a_person_each_hour() {
    let body = r#"{"ok":true,"authed_user":{"access_token":"xoxp-1","expires_in":3600}}"#;
    let tokens = read(200, body, Asked::AuthorizationCode).unwrap();
    let mut grant = Grant::new(Some(tokens), ScopeSet::default(), RepeatScope::Yes);

    let Effect::AskStore { id, .. } = grant.want_token(later(3600)) else { panic!() };

    let login = grant.handle_store(later(3600), id, None);
    assert_eq!(login, Some(Effect::LoginNeeded(LoginReason::Expired)));
}

#[test]
fn slack_has_its_issuer_on_another_host() {
    let mut resource = prm("https://mcp.example/mcp");
    resource["authorization_servers"] = json!(["https://slack.example"]);

    let found = discover(&resource, &server_document("https://slack.example"), Default::default());

    assert_eq!(found.unwrap().server.issuer, "https://slack.example");
}

#[test]
fn figma_admits_approved_clients_only() {
    let outcome = register(403, "Forbidden: this client is not on the list");

    let RegistrationOutcome::Failed(error) = outcome else { panic!("{outcome:?}") };
    let text = error.to_string();
    assert!(text.contains("admits approved clients only"), "{text}");
    assert!(text.contains("not on the list"), "{text}");
}

#[test]
fn figma_says_none_and_wants_the_secret_that_it_issued() {
    let client =
        registered(r#"{"client_id":"c","client_secret":"s","token_endpoint_auth_method":"none"}"#);

    assert_eq!(client.method_at(None), AuthMethod::ClientSecretPost);
    assert!(refresh_body(&client, None, None).contains("client_secret=s"));
}

#[test]
fn atlassian_calls_a_dead_refresh_token_an_unauthorized_client() {
    let body = r#"{"error":"unauthorized_client","error_description":"refresh_token is invalid"}"#;

    assert_dead(read(403, body, Asked::RefreshToken));
    let other = read(403, body, Asked::AuthorizationCode);
    assert!(matches!(other, Err(TokenError::ClientDead { .. })));
}

#[test]
fn atlassian_answers_a_dead_client_with_an_error_page() {
    let page = read(500, "<html>Internal Server Error</html>", Asked::RefreshToken);

    assert!(matches!(page, Err(TokenError::Transient { .. })));
}

#[test]
fn atlassian_drops_the_path_from_its_issuer() {
    let mut resource = prm("https://mcp.example/mcp");
    resource["authorization_servers"] = json!(["https://as.example/tenant"]);
    let server = server_document("https://as.example");

    let error = discover(&resource, &server, Default::default()).unwrap_err();
    let trusted_issuer = Some("https://as.example".to_owned());
    let settings = DiscoverySettings { trusted_issuer, ..Default::default() };

    assert!(error.contains("`https://as.example/tenant`") && error.contains("trust"), "{error}");
    assert!(discover(&resource, &server, settings).is_ok());
}

#[test]
fn google_lists_its_issuer_with_a_slash_that_the_document_has_not() {
    let mut resource = prm("https://mcp.example/mcp");
    resource["authorization_servers"] = json!(["https://accounts.google.com/"]);

    let found =
        discover(&resource, &server_document("https://accounts.google.com"), Default::default());

    let server = found.unwrap().server;
    let request = ScopeRequest::choose(ScopeSources::default(), &server);
    assert_eq!(request.parameters, [("access_type", "offline"), ("prompt", "consent")]);
}

#[test]
fn google_leaves_the_refresh_token_out_when_it_renews() {
    let old = tokens("1", 3600);
    let new = read(200, r#"{"access_token":"a2","expires_in":3599}"#, Asked::RefreshToken);

    assert_eq!(new.unwrap().renewing(&old).refresh, old.refresh);
}

#[test]
fn entra_wants_the_granted_scope_again_and_no_resource() {
    let client = Client::preregistered("c", None);

    let body = refresh_body(&client, Some("api://x/mcp offline_access"), None);

    assert!(body.contains("scope=api%3A%2F%2Fx%2Fmcp+offline_access"), "{body}");
    assert!(!body.contains("resource"), "{body}");
}

#[test]
fn auth0_wants_an_audience() {
    let server = server(&server_document("https://as.example"));
    let client = Client::preregistered("c", None);
    let redirect_uri = HttpUrl::parse("http://127.0.0.1:4000/callback").unwrap();
    let login = LoginRequest {
        server: &server,
        client: &client,
        redirect_uri: &redirect_uri,
        scope: &ScopeRequest::default(),
        resource: None,
        key_thumbprint: None,
        extra_parameters: &[("audience".into(), "https://api".into())],
    };

    let pending = login.begin(&LoginRandom { state: [1; 32], verifier: [2; 32] }).unwrap();

    assert!(pending.url().contains("audience=https%3A%2F%2Fapi"));
}

#[test]
fn keycloak_and_fastmcp_refuse_to_register_an_unknown_scope() {
    let mut registration = registration("openid");
    let body = r#"{"error":"invalid_client_metadata","error_description":"Not permitted scope"}"#;

    let outcome = registration.handle(&answer(400, body));

    assert_eq!(outcome, RegistrationOutcome::AgainWithoutScope);
    assert!(!registration.body().contains("openid"));
}

#[test]
fn keycloak_refuses_strangers_by_trusted_hosts() {
    let body =
        r#"{"error":"insufficient_scope","error_description":"Policy 'Trusted Hosts' rejected"}"#;

    let outcome = register(403, body);

    let RegistrationOutcome::Failed(RegistrationError::ApprovedOnly { words }) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(words.contains("Trusted Hosts"));
}

#[test]
fn cognito_wants_the_identity_token() {
    let id_token = jwt(r#"{"exp":1000900}"#);
    let body = json!({"access_token": "a", "id_token": id_token, "expires_in": 3600});

    let tokens = read(200, &body.to_string(), Asked::RefreshToken).unwrap();
    let tokens = tokens.with_id_token_as_access().unwrap();

    assert_eq!(tokens.access.expose(), id_token);
    assert_eq!(tokens.expires_at, Some(later(900)));
}

#[test]
fn supabase_has_errors_of_its_own() {
    let body =
        r#"{"code":400,"error_code":"refresh_token_not_found","msg":"Invalid Refresh Token"}"#;

    assert_dead(read(400, body, Asked::RefreshToken));
}

#[test]
fn supabase_and_fastmcp_show_people_an_error_for_a_client_that_they_dropped() {
    let supabase = answer(422, r#"{"message":"Unrecognized client_id"}"#);
    let fastmcp = answer(400, r#"{"error":"invalid_request"}"#);

    assert_eq!(Preflight::read(&supabase), Preflight::ClientDead);
    assert_eq!(Preflight::read(&fastmcp), Preflight::ClientDead);
}

#[test]
fn supabase_issues_a_secret_and_does_not_say_for_what() {
    let client = registered(r#"{"client_id":"c","client_secret":"s"}"#);

    assert_eq!(client.method_at(None), AuthMethod::ClientSecretPost);
}

#[test]
fn fastmcp_says_invalid_grant_with_401() {
    assert_dead(read(401, r#"{"error":"invalid_grant"}"#, Asked::RefreshToken));
}

#[test]
fn fastmcp_has_an_issuer_with_a_slash() {
    let mut resource = prm("https://mcp.example/mcp");
    resource["authorization_servers"] = json!(["https://as.example/"]);

    let found = discover(&resource, &server_document("https://as.example/"), Default::default());

    assert_eq!(found.unwrap().server.issuer, "https://as.example/");
}

#[test]
fn python_sdk_wants_the_client_id_beside_basic_and_okta_does_not() {
    let client = Client::preregistered("c", Some(Secret::new("s")));
    let server = server(&server_document("https://as.example"));
    let requests = TokenRequests::new(&server, &client, ClientAuthentication::Secret).unwrap();
    let request = requests.refresh(&Secret::new("rt"), None);
    assert!(!request.body().expose().contains("client_id"), "Okta takes it for a second way");

    let missing = r#"{"error":"invalid_client","error_description":"Missing client_id"}"#;
    let again = request.with_id_if_missing(&answer(401, missing)).unwrap();

    assert!(again.body().expose().ends_with("&client_id=c"));
    assert!(again.headers().contains_key("authorization"));
    assert!(again.with_id_if_missing(&answer(401, missing)).is_none(), "it is sent once more only");
    let other = r#"{"error":"invalid_client","error_description":"Invalid client_id"}"#;
    assert!(request.with_id_if_missing(&answer(401, other)).is_none());
}

#[test]
fn better_auth_wants_the_resource_in_a_refresh() {
    let client = Client::preregistered("c", None);

    assert!(refresh_body(&client, None, Some("https://mcp.example")).contains("resource="));
    let refusal = read(400, r#"{"error":"invalid_target"}"#, Asked::RefreshToken);
    assert!(matches!(refusal, Err(TokenError::InvalidTarget { .. })));
}

#[test]
fn oidc_provider_forgets_offline_access_without_a_prompt_and_the_interval_of_a_device() {
    let mut document = server_document("https://as.example");
    document["scopes_supported"] = json!(["openid", "offline_access"]);
    let sources = ScopeSources { challenge: Some("mcp:read"), ..ScopeSources::default() };
    let body = r#"{"device_code":"d","user_code":"U","verification_uri":"https://as.example/d","expires_in":600}"#;

    let request = ScopeRequest::choose(sources, &server(&document));
    let mut flow = DeviceFlow::begin(&answer(200, body), NOW).unwrap();

    assert_eq!(request.scopes, ScopeSet::from_text("mcp:read offline_access"));
    assert_eq!(request.parameters, [("prompt", "consent")]);
    assert_eq!(flow.step(NOW), DeviceStep::WaitUntil(later(5)));
}

#[test]
fn salesforce_says_when_a_token_ends_in_the_token() {
    let body = json!({"access_token": jwt(r#"{"exp":1007200}"#), "token_type": "Bearer"});

    let tokens = read(200, &body.to_string(), Asked::AuthorizationCode).unwrap();

    assert_eq!(tokens.expires_at, Some(later(7200)));
}

#[test]
fn a_clock_that_is_a_day_ahead_does_not_make_each_jwt_an_expired_one() {
    let body = json!({"access_token": jwt(r#"{"exp":900000}"#)});

    let tokens = read(200, &body.to_string(), Asked::AuthorizationCode).unwrap();

    assert_eq!(tokens.expires_at, None);
}

#[test]
fn asana_names_a_foreign_resource() {
    let resource = prm("https://asana.workers.example/mcp");
    let server = server_document("https://as.example");
    let configured = ResourceParameter::Given("https://asana.workers.example/mcp".to_owned());

    assert!(discover(&resource, &server, Default::default()).is_err());
    let settings = DiscoverySettings { resource: configured, ..Default::default() };
    assert!(discover(&resource, &server, settings).is_ok());
}

#[test]
fn metabase_calls_a_dead_refresh_token_an_invalid_request() {
    let mut grant = Grant::new(Some(tokens("1", 10)), ScopeSet::default(), RepeatScope::Yes);
    let mut refreshes = 0;
    for minute in 1..30 {
        let now = later(60 * minute);
        let Effect::AskStore { id, .. } = grant.want_token(now) else { continue };
        let Some(Effect::RefreshWith { id, .. }) = grant.handle_store(now, id, None) else {
            continue;
        };
        refreshes += 1;
        let refusal = read(400, r#"{"error":"invalid_request"}"#, Asked::RefreshToken);
        grant.handle_refresh(now, id, RefreshOutcome::Answered(refusal));
    }

    assert_eq!(refreshes, 3);
    assert!(grant.tokens().unwrap().refresh.is_some());
}

#[test]
fn datadog_lists_no_scopes_and_means_it() {
    let sources = ScopeSources { resource: Some(&[]), ..ScopeSources::default() };

    let request = ScopeRequest::choose(sources, &server(&server_document("https://as.example")));

    assert_eq!(request.scopes.to_text(), None);
}

#[test]
fn vercel_lists_offline_access_at_the_authorization_server_only() {
    let mut document = server_document("https://as.example");
    document["scopes_supported"] = json!(["offline_access"]);
    let listed = ["read".to_owned()];
    let sources = ScopeSources { resource: Some(&listed), ..ScopeSources::default() };

    let request = ScopeRequest::choose(sources, &server(&document));

    assert_eq!(request.scopes, ScopeSet::from_text("read offline_access"));
}

#[test]
fn cdns_put_a_page_in_front_of_the_registration() {
    let outcome = register(200, "<!DOCTYPE html><title>Just a moment...</title>");

    let unreadable = RegistrationError::Unreadable(StatusCode::OK);
    assert_eq!(outcome, RegistrationOutcome::Failed(unreadable));
}

#[test]
fn servers_say_403_about_a_token_that_has_ended() {
    let mut headers = HeaderMap::new();
    let value = HeaderValue::from_static("Bearer error=\"invalid_token\"");
    headers.insert(WWW_AUTHENTICATE, value);

    let demand = Challenges::read(&headers).demand(StatusCode::FORBIDDEN);

    assert_eq!(demand, Some(Demand::Token));
}

#[test]
fn servers_say_any_4xx_about_a_token_that_has_ended() {
    let mut grant = Grant::new(Some(tokens("1", 3600)), ScopeSet::default(), RepeatScope::Yes);
    let token = Secret::new("a1");
    let mut refused =
        |secs| grant.token_refused(later(secs), &token, AccessRefusal::OtherClientError);

    assert_eq!(refused(10), None);
    assert!(matches!(refused(3601), Some(Effect::AskStore { .. })));
}

#[test]
fn cloudflare_refuses_a_refresh_while_the_access_token_lives() {
    let mut grant = Grant::new(Some(tokens("1", 3600)), ScopeSet::default(), RepeatScope::Yes);
    let now = later(3550);
    let Effect::AskStore { id, .. } = grant.want_token(now) else { panic!() };
    let Some(Effect::RefreshWith { id, .. }) = grant.handle_store(now, id, None) else { panic!() };

    let refusal = read(400, r#"{"error":"invalid_grant"}"#, Asked::RefreshToken);
    let effect = grant.handle_refresh(now, id, RefreshOutcome::Answered(refusal));

    assert_eq!(effect, Some(Effect::UseToken(Secret::new("a1"))));
}

#[test]
fn an_identity_provider_issues_an_id_jag_of_no_token_type() {
    let body = r#"{"access_token":"jag","token_type":"N_A","expires_in":300,
        "issued_token_type":"urn:ietf:params:oauth:token-type:id-jag"}"#;

    let tokens = read(200, body, Asked::TokenExchange).unwrap();

    assert_eq!(tokens.access.expose(), "jag");
}

fn later(secs: u64) -> Timestamp {
    NOW + Duration::from_secs(secs)
}

fn answer(status: u16, body: &str) -> HttpAnswer {
    HttpAnswer::new(StatusCode::from_u16(status).unwrap(), body)
}

fn read(status: u16, body: &str, asked: Asked) -> Result<Tokens, TokenError> {
    token_answer::read(&answer(status, body), asked, NOW)
}

fn assert_dead(read: Result<Tokens, TokenError>) {
    assert!(matches!(read, Err(TokenError::GrantDead { .. })), "{read:?}");
}

fn tokens(number: &str, life: u64) -> Tokens {
    let body = json!({
        "access_token": format!("a{number}"),
        "refresh_token": format!("r{number}"),
        "expires_in": life,
    });
    read(200, &body.to_string(), Asked::AuthorizationCode).unwrap()
}

fn jwt(claims: &str) -> String {
    use base64::Engine;
    let payload = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(claims);
    format!("e30.{payload}.c2ln")
}

fn server_document(issuer: &str) -> Value {
    json!({
        "issuer": issuer,
        "authorization_endpoint": "https://as.example/authorize",
        "token_endpoint": "https://as.example/token",
        "registration_endpoint": "https://as.example/register",
        "code_challenge_methods_supported": ["S256"],
    })
}

fn server(document: &Value) -> AuthorizationServer {
    AuthorizationServer::from_json(&document.to_string()).unwrap()
}

fn prm(resource: &str) -> Value {
    json!({"resource": resource, "authorization_servers": ["https://as.example"]})
}

fn registration(scopes: &str) -> Registration {
    let description = ClientDescription {
        name: "ridethrough".into(),
        redirect_uris: vec![HttpUrl::parse("http://127.0.0.1:4000/callback").unwrap()],
        scopes: ScopeSet::from_text(scopes),
        login: LoginWay::Browser,
    };
    Registration::new(description, &server(&server_document("https://as.example"))).unwrap()
}

fn register(status: u16, body: &str) -> RegistrationOutcome {
    registration("").handle(&answer(status, body))
}

fn registered(body: &str) -> Client {
    match register(201, body) {
        RegistrationOutcome::Registered(client) => *client,
        other => panic!("{other:?}"),
    }
}

fn refresh_body(client: &Client, scope: Option<&str>, resource: Option<&str>) -> String {
    let server = server(&server_document("https://as.example"));
    let requests = TokenRequests::new(&server, client, ClientAuthentication::Secret).unwrap();
    let request = requests.for_resource(resource).refresh(&Secret::new("rt"), scope);
    request.body().expose().to_owned()
}

/// Discovers with these documents: the first request gets the resource's, each other one the server's.
fn discover(
    resource: &Value,
    server: &Value,
    settings: DiscoverySettings,
) -> Result<Found, String> {
    let url = HttpUrl::parse("https://mcp.example/mcp").unwrap();
    let mut discovery = Discovery::new(url, &Challenges::default(), settings);
    let mut document = resource;
    loop {
        let url = match discovery.step() {
            Step::Failed(error) => return Err(error.to_string()),
            Step::Found(found) => return Ok(found.clone()),
            Step::Get(url) => url.clone(),
        };
        discovery.handle(&url, &Fetched::Answer(answer(200, &document.to_string())));
        document = server;
    }
}
