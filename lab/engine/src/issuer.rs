//! A small authorization server, and the guard of an MCP server that takes its tokens.
//!
//! By itself it is correct: metadata (RFC 8414), registration (RFC 7591), authorization codes with
//! PKCE (RFC 7636) and `iss` (RFC 9207), and refresh tokens that are replaced with each use. A person who
//! opens its authorization page has consented. Rules say what goes wrong, as for every server of the lab. It
//! knows no clock but tokio's.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::form;

mod guard;
mod tokens;
mod vault;

pub use guard::Extent;
pub(crate) use guard::{Guard, origin};
pub(crate) use tokens::challenge_of;
pub(crate) use vault::{IssuedSecret, Vault};

/// The tokens that an authorization server issues.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Issues {
    /// How many seconds an access token lives.
    pub access_lives: f64,
    /// What becomes of a refresh token that was used.
    pub rotation: Rotation,
    /// The scopes that it lists.
    pub scopes: Vec<String>,
    /// The form of an access token.
    pub form: TokenForm,
}

impl Default for Issues {
    fn default() -> Self {
        Self {
            access_lives: 3600.0,
            rotation: Rotation::default(),
            scopes: vec!["mcp".to_owned()],
            form: TokenForm::default(),
        }
    }
}

/// What becomes of a refresh token that was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rotation {
    /// It is replaced; sent again, it gets the tokens that replaced it.
    Grace,
    /// It stays valid, and the answer leaves it out.
    None,
    /// It is replaced; sent again, it ends the login.
    #[default]
    Strict,
}

/// The form of an access token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenForm {
    /// A JWT of a server whose clock is a day late: by its `exp` it ended yesterday.
    JwtOfYesterday,
    /// A text without a meaning of its own.
    #[default]
    Opaque,
}

/// The addresses of the servers of a stage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Addresses {
    /// The MCP server.
    pub(crate) main: String,
    /// The MCP endpoint of the other server; empty if there is none.
    pub(crate) other: String,
    /// The origin of the authorization server; empty if there is none.
    pub(crate) issuer: String,
}

/// The addresses, filled in when every server of a stage has its own.
pub(crate) type AddressBook = Arc<OnceLock<Addresses>>;

/// An authorization server. Clones share one.
#[derive(Clone, Debug)]
pub(crate) struct Issuer {
    pub(crate) origin: String,
    pub(crate) issues: Arc<Issues>,
    pub(crate) vault: Vault,
}

/// A request to an authorization server, as far as it matters here.
pub(crate) struct IssuerRequest<'a> {
    pub(crate) http: &'a str,
    pub(crate) target: &'a str,
    pub(crate) body: &'a [u8],
    pub(crate) authorization: Option<&'a str>,
}

/// The correct answer, and the values in it that the texts of a rule may name.
#[derive(Debug)]
pub(crate) struct IssuerReply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
    pub(crate) values: Vec<(&'static str, String)>,
}

impl Issuer {
    /// Carries a request out; `None` if it is for none of its endpoints.
    pub(crate) fn answer(&self, request: &IssuerRequest<'_>) -> Option<IssuerReply> {
        let (path, query) = form::target(request.target);
        let body = String::from_utf8_lossy(request.body);
        match (request.http, path) {
            ("GET", METADATA | OPENID) => Some(IssuerReply::json(200, &self.metadata())),
            ("GET", AUTHORIZE) => Some(self.authorize(&query)),
            ("POST", REGISTER) => Some(self.register(&body)),
            ("POST", TOKEN) => {
                let asked = form::parameters(&body);
                Some(self.tokens(&with_basic(asked, request.authorization), Instant::now()))
            }
            ("POST", REVOKE) => Some(IssuerReply::json(200, &json!({}))),
            _ => None,
        }
    }

    pub(crate) fn metadata(&self) -> Value {
        let at = |path: &str| format!("{}{path}", self.origin);
        json!({
            "issuer": self.origin,
            "authorization_endpoint": at(AUTHORIZE),
            "token_endpoint": at(TOKEN),
            "registration_endpoint": at(REGISTER),
            "revocation_endpoint": at(REVOKE),
            "scopes_supported": self.issues.scopes,
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_post"],
            "authorization_response_iss_parameter_supported": true,
        })
    }

    fn register(&self, body: &str) -> IssuerReply {
        let Ok(mut client @ Value::Object(_)) = serde_json::from_str::<Value>(body) else {
            return IssuerReply::error(400, "invalid_client_metadata");
        };
        let uris = client["redirect_uris"].as_array().into_iter().flatten();
        let uris: Vec<_> = uris.filter_map(|uri| uri.as_str().map(str::to_owned)).collect();
        if uris.is_empty() {
            return IssuerReply::error(400, "invalid_redirect_uri");
        }
        client["client_id"] = self.vault.add_client(&self.origin, uris).into();
        client["token_endpoint_auth_method"] = "none".into();
        IssuerReply::json(201, &client)
    }

    /// Consents at once: the browser is sent back with a code.
    fn authorize(&self, query: &BTreeMap<String, String>) -> IssuerReply {
        let word = |name: &str| query.get(name).map(String::as_str).unwrap_or_default();
        let (client, uri) = (word("client_id"), word("redirect_uri"));
        if !self.vault.is_client(&self.origin, client, Some(uri)) {
            // It must not send the browser anywhere (RFC 6749 4.1.2.1).
            return IssuerReply::error(400, "invalid_request");
        }
        let is_proper = word("response_type") == "code" && word("code_challenge_method") == "S256";
        let mut said = vec![("state", word("state")), ("iss", &self.origin)];
        let code = self.vault.add_code(&self.origin, query);
        said.insert(0, if is_proper { ("code", &code) } else { ("error", "invalid_request") });
        let location = back(uri, said);
        IssuerReply {
            status: 302,
            headers: vec![("location", location.clone())],
            body: String::new(),
            values: vec![
                ("code", code.clone()),
                ("location", location),
                ("redirect_uri", uri.to_owned()),
                ("state", word("state").to_owned()),
            ],
        }
    }
}

impl IssuerReply {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        let headers = vec![
            ("content-type", "application/json".to_owned()),
            ("cache-control", "no-store".to_owned()),
        ];
        Self { status, headers, body: body.to_string(), values: Vec::new() }
    }

    pub(crate) fn error(status: u16, error: &str) -> Self {
        Self::json(status, &json!({"error": error, "error_description": "as the lab has it"}))
    }
}

/// Returns the URL that the browser is sent back to.
fn back<'a>(uri: &str, said: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let joint = if uri.contains('?') { '&' } else { '?' };
    format!("{uri}{joint}{}", form::encoded(said))
}

/// Returns the form of a token request, with the client that a header may name in place of the form.
fn with_basic(
    mut asked: BTreeMap<String, String>,
    authorization: Option<&str>,
) -> BTreeMap<String, String> {
    use base64::Engine as _;
    let basic = authorization.and_then(|it| it.strip_prefix("Basic "));
    let basic = basic.and_then(|it| base64::engine::general_purpose::STANDARD.decode(it).ok());
    let basic = basic.and_then(|it| String::from_utf8(it).ok());
    if let Some((client, _)) = basic.as_deref().and_then(|it| it.split_once(':')) {
        asked.entry("client_id".to_owned()).or_insert_with(|| client.to_owned());
    }
    asked
}

const METADATA: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";
const AUTHORIZE: &str = "/authorize";
const REGISTER: &str = "/register";
const REVOKE: &str = "/revoke";
const TOKEN: &str = "/token";

#[cfg(test)]
mod tests;
