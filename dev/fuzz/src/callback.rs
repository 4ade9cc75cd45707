//! Requests to the loopback listener, and texts that a person pastes.
//!
//! The first byte chooses the way in and whether the server says that it names itself. In the rest `{S}` is
//! the state of the login and `{I}` its issuer, which the fuzzer cannot guess.

use ridethrough_oauth::rehearse_callback;
use ridethrough_oauth_core::HttpUrl;
use ridethrough_oauth_core::client::Client;
use ridethrough_oauth_core::login::{
    AuthorizationCode, Callback, CallbackOutcome, LoginRandom, LoginRequest, PendingLogin,
};
use ridethrough_oauth_core::metadata::AuthorizationServer;
use ridethrough_oauth_core::scope::{ScopeRequest, ScopeSet};

/// Checks that a login ends by its own callback only, once, with the code in that callback, and that no code
/// is ever printed.
pub fn callback(input: &[u8]) {
    let [choice, text @ ..] = input else { return };
    let Ok(text) = str::from_utf8(text) else { return };
    let sends_issuer = choice & 2 != 0;
    let mut login = login(sends_issuer);
    let text = text.replace("{S}", &state(&login)).replace("{I}", ISSUER_ENCODED);
    // What follows the head is not read.
    let text = text.split("\r\n\r\n").next().unwrap_or_default();
    let (outcome, query) = if choice & 1 == 0 {
        let head = format!("{text}\r\n\r\n");
        (rehearse_callback(&mut login, head.as_bytes()), Query::of_head(&head))
    } else {
        let callback = Callback::from_pasted(text);
        (callback.map(|it| login.handle(&it)), Some(Query::pasted(text)))
    };
    let outcome = outcome.filter(|it| !matches!(it, CallbackOutcome::Ignored(_)));
    let is_certain = query.as_ref().is_some_and(|query| query.is_certain);
    let expected = query.and_then(|query| query.outcome(&state(&login), sends_issuer));
    assert!(outcome.is_some() || expected.is_none() || !is_certain, "the callback was not taken");
    assert!(outcome.is_none() || expected.is_some(), "somebody else ended the login");
    let expected = expected.flatten();
    if let Some(CallbackOutcome::Code(code)) = &outcome {
        let right = taken(sends_issuer, &expected.expect("a code where there must be none"));
        assert_eq!(Some(code), right.as_ref(), "another code came out");
        let shown = |code: &_| format!("{code:?}");
        assert_eq!(Some(shown(code)), taken(sends_issuer, "x").as_ref().map(shown));
    } else if let Some(CallbackOutcome::Failed(error)) = &outcome {
        assert!(expected.is_none(), "a good code was refused: {error}");
        assert!(!error.to_string().contains(char::is_control), "{error:?}");
    }
    // A stranger's request changes nothing; the login's own ends it.
    let last = format!("code=last&iss={ISSUER_ENCODED}&state={}", state(&login));
    let last = login.handle(&Callback::from_pasted(&last).expect("a query"));
    assert_eq!(matches!(last, CallbackOutcome::Code(_)), outcome.is_none());
}

fn login(sends_issuer: bool) -> PendingLogin {
    let document = format!(
        r#"{{"issuer":"{ISSUER}","token_endpoint":"{ISSUER}/token","authorization_endpoint":"{ISSUER}/authorize",
        "authorization_response_iss_parameter_supported":{sends_issuer}}}"#
    );
    let server = AuthorizationServer::from_json(&document).expect("a document");
    let redirect_uri = HttpUrl::parse("http://127.0.0.1:8765/callback").expect("a URL");
    let request = LoginRequest {
        server: &server,
        client: &Client::preregistered("client", None),
        redirect_uri: &redirect_uri,
        scope: &ScopeRequest::for_scopes(ScopeSet::default(), &server),
        resource: None,
        key_thumbprint: None,
        extra_parameters: &[],
    };
    request.begin(&LoginRandom { state: [1; 32], verifier: [2; 32] }).expect("a login")
}

fn state(login: &PendingLogin) -> String {
    let (_, state) = login.url().split_once("state=").expect("a state");
    state.split('&').next().unwrap_or_default().to_owned()
}

/// Returns the code that a login holds after this callback.
fn taken(sends_issuer: bool, code: &str) -> Option<AuthorizationCode> {
    let mut login = login(sends_issuer);
    let encoded: String = code.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let query = format!("code={encoded}&iss={ISSUER_ENCODED}&state={}", state(&login));
    match login.handle(&Callback::from_pasted(&query)?) {
        CallbackOutcome::Code(code) => Some(code),
        _ => None,
    }
}

/// The query of a callback.
struct Query {
    text: String,
    /// Whether the listener must accept it. Under other names of this machine it may.
    is_certain: bool,
}

impl Query {
    /// Returns the query of a request; `None` if it is not for us.
    fn of_head(head: &str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let words: Vec<_> = lines.next()?.split(' ').collect();
        let ["GET", target, version] = words[..] else { return None };
        let hosts: Vec<_> = lines
            .filter_map(|line| line.split_once(':'))
            .filter(|(name, _)| name.eq_ignore_ascii_case("host"))
            .map(|(_, value)| value.trim())
            .collect();
        let [host] = hosts[..] else { return None };
        let query = target.strip_prefix("/callback?")?;
        let is_ours = host.ends_with(":8765") && version.starts_with("HTTP/1.");
        let is_certain = OUR_HOSTS.contains(&host);
        is_ours.then(|| Self { text: query.to_owned(), is_certain })
    }

    fn pasted(text: &str) -> Self {
        let text = text.trim().trim_matches(['"', '\'', '<', '>']);
        let query = text.split_once('?').map_or(text, |(_, query)| query);
        let query = query.split('#').next().unwrap_or_default();
        Self { text: query.to_owned(), is_certain: true }
    }

    /// Returns what it must lead to: nothing, the end of the login without a code, or a code.
    #[allow(clippy::option_option, reason = "two questions: is it for us, and is there a code")]
    fn outcome(&self, state: &str, sends_issuer: bool) -> Option<Option<String>> {
        let pairs = self.text.split('&').filter(|it| !it.is_empty()).map(pair);
        let pairs: Vec<(String, String)> = pairs.collect();
        let all = |name: &str| -> Vec<&str> {
            pairs.iter().filter(|(it, _)| it == name).map(|(_, value)| value.as_str()).collect()
        };
        if all("state") != [state] {
            return None;
        }
        let is_right_issuer = match all("iss")[..] {
            [] => !sends_issuer,
            [issuer] => issuer == ISSUER,
            _ => false,
        };
        let is_refused = all("error").len() == 1;
        Some(match all("code")[..] {
            [code] if is_right_issuer && !is_refused && !code.is_empty() => Some(code.to_owned()),
            _ => None,
        })
    }
}

fn pair(text: &str) -> (String, String) {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    (decoded(name), decoded(value))
}

/// Decodes a word of a form, slowly.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|it| char::from(*it).to_digit(16));
    let (mut decoded, mut at) = (Vec::new(), 0);
    while let Some(byte) = bytes.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push(u8::try_from(high * 16 + low).unwrap_or_default());
                at += 2;
            }
            (b'+', ..) => decoded.push(b' '),
            _ => decoded.push(*byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

const ISSUER: &str = "https://as.example";
const ISSUER_ENCODED: &str = "https%3A%2F%2Fas.example";
const OUR_HOSTS: [&str; 3] = ["127.0.0.1:8765", "localhost:8765", "[::1]:8765"];
