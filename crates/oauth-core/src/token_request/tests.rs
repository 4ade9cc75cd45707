use http::StatusCode;
use serde_json::json;

use super::*;
use crate::client::{AuthMethod, Client};
use crate::metadata::AuthorizationServer;
use crate::scope::ScopeSet;

const RESOURCE: &str = "https://mcp.example";

#[test]
fn a_refresh_repeats_the_resource_and_the_granted_scope() {
    let (server, client) = (server(), Client::preregistered("c", None));

    let request = requests(&server, &client).refresh(&Secret::new("rt"), Some("a b"));

    assert_eq!(
        request.body().expose(),
        "grant_type=refresh_token&refresh_token=rt&scope=a+b&resource=https%3A%2F%2Fmcp.example&client_id=c"
    );
    assert_eq!(request.url().as_str(), "https://as.example/token");
}

#[test]
fn without_a_resource_none_is_sent() {
    let (server, client) = (server(), Client::preregistered("c", None));

    let request = requests(&server, &client).for_resource(None).refresh(&Secret::new("rt"), None);

    assert_eq!(request.body().expose(), "grant_type=refresh_token&refresh_token=rt&client_id=c");
}

/// RFC 6749, 2.3.1: a colon in an id would otherwise move the border between both halves.
#[test]
fn both_halves_of_basic_authentication_are_encoded_before_they_are_joined() {
    let client = Client::preregistered("a:b c", Some(Secret::new("p+/é")));
    let server = server();

    let request = requests(&server, &client).refresh(&Secret::new("rt"), None);

    let headers = request.headers();
    let value = headers[AUTHORIZATION].to_str().unwrap();
    // base64 of `a%3Ab+c:p%2B%2F%C3%A9`
    assert_eq!(value, "Basic YSUzQWIrYzpwJTJCJTJGJUMzJUE5");
    assert!(headers[AUTHORIZATION].is_sensitive());
    assert!(!request.body().expose().contains("client_"));
}

#[test]
fn a_refusal_that_repeats_secrets_is_read_without_them() {
    let client = Client::preregistered("c", Some(Secret::new("s3cret")));
    let server = server();
    let request = requests(&server, &client).refresh(&Secret::new("rt-123"), Some("read"));
    let header = request.headers()[AUTHORIZATION].to_str().unwrap().to_owned();
    let words = format!(r#"{{"error":"invalid_grant","error_description":"no rt-123, {header}"}}"#);

    let masked = |status: StatusCode, body: &str| {
        let answer = request.mask_refusal(HttpAnswer::new(status, body));
        String::from_utf8(answer.body).unwrap()
    };

    let shown = r#"{"error":"invalid_grant","error_description":"no ..., Basic ..."}"#;
    assert_eq!(masked(StatusCode::BAD_REQUEST, &words), shown);
    assert_eq!(masked(StatusCode::OK, &words), shown);
    let granted = r#"{"access_token":"a","refresh_token":"rt-123","scope":"read"}"#;
    assert_eq!(masked(StatusCode::OK, granted), granted);
    assert_eq!(
        masked(StatusCode::BAD_REQUEST, "read refresh_token of c"),
        "read refresh_token of c"
    );
}

#[test]
fn a_secret_is_in_the_body_if_that_is_the_way() {
    let client = Client::preregistered("c", Some(Secret::new("s")))
        .with_method(AuthMethod::ClientSecretPost);
    let server = server();

    let request = requests(&server, &client).refresh(&Secret::new("rt"), None);

    assert!(request.body().expose().ends_with("&client_id=c&client_secret=s"));
    assert!(!request.headers().contains_key(AUTHORIZATION));
}

#[test]
fn an_assertion_is_in_the_body() {
    let (server, client) = (server(), Client::preregistered("c", None));
    let proof = ClientAuthentication::Assertion(Secret::new("jwt"));

    let request = TokenRequests::new(&server, &client, proof).unwrap();
    let body = request.client_credentials(&ScopeSet::from_text("a")).body();

    assert_eq!(
        body.expose(),
        "grant_type=client_credentials&scope=a&client_id=c&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3A\
         client-assertion-type%3Ajwt-bearer&client_assertion=jwt"
    );
}

#[test]
fn json_is_asked_for() {
    let (server, client) = (server(), Client::preregistered("c", None));

    let headers = requests(&server, &client).refresh(&Secret::new("rt"), None).headers();

    assert_eq!(headers[ACCEPT], "application/json");
    assert_eq!(headers[CONTENT_TYPE], "application/x-www-form-urlencoded");
}

#[test]
fn the_other_grants_say_what_they_are() {
    let (server, client) = (server(), Client::preregistered("c", None));
    let requests = requests(&server, &client);
    let token = Secret::new("t");
    let scopes = ScopeSet::from_text("a");
    let exchange = IdJagExchange {
        id_token: &token,
        audience: "https://mcp-as.example",
        resource: "https://other.example",
        scopes: &scopes,
    };

    for (request, expected) in [
        (requests.jwt_bearer(&token, &scopes), "jwt-bearer&assertion=t&scope=a&resource="),
        (requests.device_code(&token), "device_code&device_code=t&resource="),
        (
            requests.id_jag(exchange),
            "subject_token=t&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aid_token&audience=\
             https%3A%2F%2Fmcp-as.example&resource=https%3A%2F%2Fother.example&scope=a&client_id=c",
        ),
        (requests.revoke_refresh_token(&token).unwrap(), "token=t&token_type_hint=refresh_token"),
    ] {
        let body = request.body();
        assert!(body.expose().contains(expected), "{}", body.expose());
    }
    assert!(requests.device_authorization(&scopes).is_none());
}

#[test]
fn a_client_of_another_issuer_makes_no_request() {
    let server = server();
    let client = Client::preregistered("c", None).of_issuer("https://other.example");

    assert!(TokenRequests::new(&server, &client, ClientAuthentication::Secret).is_err());
}

#[test]
fn a_request_never_prints_what_it_holds() {
    let client = Client::preregistered("c", Some(Secret::new("s3cret")));
    let server = server();

    let request = requests(&server, &client).refresh(&Secret::new("t0ken"), None);
    let request = request.with_dpop(Secret::new("pr00f"));

    let headers = request.headers();
    let printed = format!("{request:?} {headers:?} {:?}", requests(&server, &client));
    assert!(headers.contains_key("dpop"));
    for secret in ["s3cret", "t0ken", "pr00f"] {
        assert!(!printed.contains(secret), "{printed}");
    }
}

fn requests<'a>(server: &'a AuthorizationServer, client: &'a Client) -> TokenRequests<'a> {
    TokenRequests::new(server, client, ClientAuthentication::Secret)
        .unwrap()
        .for_resource(Some(RESOURCE))
}

fn server() -> AuthorizationServer {
    let document = json!({
        "issuer": "https://as.example",
        "token_endpoint": "https://as.example/token",
        "revocation_endpoint": "https://as.example/revoke",
    });
    AuthorizationServer::from_json(&document.to_string()).unwrap()
}
