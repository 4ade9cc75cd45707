//! Documents that lead to an authorization server, in the order in which they are asked for.
//!
//! The first byte chooses the settings. The rest are answers with an empty line between them: `3`, `4` and
//! `5` in front of one are its status, `F` is a failure, `W` makes the first one the server's challenge.

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, HeaderValue, StatusCode};
use ridethrough_oauth_core::address::NearHosts;
use ridethrough_oauth_core::challenge::Challenges;
use ridethrough_oauth_core::client::Client;
use ridethrough_oauth_core::discovery::{Discovery, DiscoverySettings, Found, PkceRule, Step};
use ridethrough_oauth_core::login::{LoginRandom, LoginRequest};
use ridethrough_oauth_core::metadata::{AuthorizationServer, PinnedEndpoints};
use ridethrough_oauth_core::scope::{ScopeRequest, ScopeSet};
use ridethrough_oauth_core::{Fetched, HttpAnswer, HttpUrl};

/// Checks that discovery ends and never connects to a closer network, and that a server that it accepts has
/// the issuer that was asked for, knows PKCE, and is unchanged after it was stored.
pub fn metadata(input: &[u8]) {
    let [choice, answers @ ..] = input else { return };
    let settings = settings(*choice);
    let mut answers = chunks(answers).into_iter().peekable();
    let challenge = answers.next_if(|it| it.first() == Some(&b'W'));
    let challenges = challenge.map(|it| challenges(&it[1..])).unwrap_or_default();
    let server = HttpUrl::parse(SERVER).expect("a URL");
    let mut discovery = Discovery::new(server.clone(), &challenges, settings.clone());
    let mut steps = 0;
    loop {
        steps += 1;
        assert!(steps <= MOST_STEPS, "discovery has no end");
        let url = match discovery.step() {
            Step::Found(found) => return check(found, &server, &settings),
            Step::Failed(error) => {
                let words = format!("{error} {error:?}");
                assert!(!words.contains(char::is_control), "control characters reach a terminal");
                return;
            }
            Step::Get(url) => url.clone(),
        };
        assert!(url.check_endpoint_of(&server, NearHosts::Refused).is_ok(), "{url} is asked");
        let answer = answers.next().unwrap_or(b"4");
        discovery.handle(&url, &fetched(answer));
    }
}

fn settings(choice: u8) -> DiscoverySettings {
    let is_set = |bit: u8| choice & bit != 0;
    DiscoverySettings {
        pkce: match choice % 3 {
            0 => PkceRule::Required,
            1 => PkceRule::Assumed,
            _ => PkceRule::NotNeeded,
        },
        trusted_issuer: is_set(16).then(|| TRUSTED.to_owned()),
        recorded_issuer: is_set(32).then(|| "https://b.example".to_owned()),
        ..DiscoverySettings::default()
    }
}

fn chunks(answers: &[u8]) -> Vec<&[u8]> {
    let mut chunks = Vec::new();
    let mut rest = answers;
    while let Some(at) = rest.windows(2).position(|it| it == b"\n\n") {
        chunks.push(&rest[..at]);
        rest = &rest[at + 2..];
    }
    chunks.push(rest);
    chunks
}

fn challenges(value: &[u8]) -> Challenges {
    let value = HeaderValue::from_bytes(value).into_iter().map(|value| (WWW_AUTHENTICATE, value));
    Challenges::read(&value.collect::<HeaderMap>())
}

fn fetched(answer: &[u8]) -> Fetched {
    let (status, body) = match answer {
        [b'3', body @ ..] => (StatusCode::FOUND, body),
        [b'4', body @ ..] => (StatusCode::NOT_FOUND, body),
        [b'5', body @ ..] => (StatusCode::SERVICE_UNAVAILABLE, body),
        [b'F', ..] => return Fetched::Failure("no answer".to_owned()),
        body => (StatusCode::OK, body),
    };
    Fetched::Answer(HttpAnswer::new(status, body))
}

fn check(found: &Found, server: &HttpUrl, settings: &DiscoverySettings) {
    let issuer = &found.server.issuer;
    let asked_for = match &found.metadata {
        Some(resource) => resource.authorization_servers.clone(),
        None => vec![format!("{}/", server.origin()), server.origin()],
    };
    let is_asked_for = |asked: &String| asked == issuer || *asked == format!("{issuer}/");
    let is_trusted = settings.trusted_issuer.as_ref() == Some(issuer);
    assert!(is_trusted || asked_for.iter().any(is_asked_for), "{issuer} was not asked for");
    if let Some(resource) = &found.metadata {
        check_resource(&resource.resource);
        assert_eq!(found.resource.as_ref(), Some(&resource.resource));
    }

    let methods = found.server.code_challenge_methods_supported.as_ref();
    let has_s256 = methods.is_some_and(|it| it.iter().any(|method| method == "S256"));
    match settings.pkce {
        PkceRule::Assumed => assert!(has_s256 || methods.is_none()),
        PkceRule::NotNeeded => {}
        PkceRule::Required => assert!(has_s256),
    }
    check_endpoints(&found.server, server);
    let stored = found.server.to_json().to_string();
    assert_eq!(AuthorizationServer::from_json(&stored).as_ref(), Ok(&found.server));
    assert!(PinnedEndpoints::of(&found.server).check(&found.server).is_ok());
    check_login(&found.server);
}

/// Checks the resource, if its spelling is plain enough to say whether it leads to the server.
fn check_resource(resource: &str) {
    let rest = resource.to_ascii_lowercase();
    let rest = rest.strip_prefix("https://").expect("https is required").to_owned();
    if resource.is_ascii() && !rest.contains(['%', ':']) {
        let known = ["", "/", "/a", "/a/", "/a/mcp", "/a/mcp/"];
        let path = rest.strip_prefix("mcp.example");
        assert!(path.is_some_and(|path| known.contains(&path)), "{resource} is somebody else's");
    }
}

fn check_endpoints(found: &AuthorizationServer, server: &HttpUrl) {
    let optional = [
        &found.authorization_endpoint,
        &found.registration_endpoint,
        &found.revocation_endpoint,
        &found.device_authorization_endpoint,
    ];
    for url in optional.into_iter().flatten().chain([&found.token_endpoint]) {
        assert!(url.as_str().to_ascii_lowercase().starts_with("https://"), "{url}");
        assert!(url.check_endpoint_of(server, NearHosts::Refused).is_ok(), "{url} is near");
        assert!(!url.as_str().contains(char::is_whitespace), "{url} has a space");
    }
}

/// Checks that the URL for the browser leads to the endpoint, whatever that is, and has each parameter once.
fn check_login(found: &AuthorizationServer) {
    let Some(endpoint) = &found.authorization_endpoint else { return };
    let redirect_uri = HttpUrl::parse("http://127.0.0.1:8765/callback").expect("a URL");
    let scope = ScopeRequest::for_scopes(ScopeSet::default(), found);
    let request = LoginRequest {
        server: found,
        client: &Client::preregistered("client", None),
        redirect_uri: &redirect_uri,
        scope: &scope,
        resource: Some(SERVER),
        key_thumbprint: None,
        extra_parameters: &[],
    };
    let random = LoginRandom { state: [1; 32], verifier: [2; 32] };
    let Ok(login) = request.begin(&random) else { return };
    let url = HttpUrl::parse(login.url()).expect("it was checked");
    assert_eq!(url.origin(), endpoint.origin());
    assert_eq!(url.path(), endpoint.path());
    let query = format!("&{}", url.query().unwrap_or_default());
    for name in ["state", "code_challenge", "redirect_uri", "client_id", "resource"] {
        assert_eq!(query.matches(&format!("&{name}=")).count(), 1, "{name}");
    }
    assert_eq!(login.issuer(), found.issuer);
}

const SERVER: &str = "https://mcp.example/a/mcp";
const TRUSTED: &str = "https://c.example";
/// The most steps of a discovery: the challenge's document and two others; then four issuers with three
/// documents each.
const MOST_STEPS: usize = 3 + 4 * 3 + 1;
