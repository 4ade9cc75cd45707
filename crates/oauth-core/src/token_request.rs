//! Requests to the token endpoint and related endpoints: what is sent, and to whom.
//!
//! A request is a POST of a form, without following redirects. It holds secrets, so `Debug` shows only its
//! URL and its purpose. A client, a code or an assertion goes to the issuer that it belongs to, or no request
//! is made.

mod requests;
#[cfg(test)]
mod tests;

use std::fmt;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::address::HttpUrl;
use crate::form;
use crate::http_answer::HttpAnswer;
use crate::json;
use crate::secret::Secret;

pub(crate) use requests::ID_JAG;
pub use requests::{ClientAuthentication, IdJagExchange, TokenRequests};

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Tokens for a code.
    AuthorizationCode,
    /// Tokens for the client itself.
    ClientCredentials,
    /// A code for a device.
    DeviceAuthorization,
    /// Tokens for a device.
    DeviceCode,
    /// Tokens for an assertion.
    JwtBearer,
    /// New tokens for a refresh token.
    RefreshToken,
    /// The revocation of a token.
    Revocation,
    /// One kind of token for another.
    TokenExchange,
}

/// A request to an endpoint of an authorization server.
#[derive(Clone)]
pub struct TokenRequest {
    url: HttpUrl,
    asked: Asked,
    form: Vec<(&'static str, Secret)>,
    authorization: Option<Secret>,
    dpop: Option<Secret>,
    /// The id of the client, if it is not in the form.
    id_left_out: Option<Secret>,
}

impl TokenRequest {
    /// Returns where to POST, without following redirects.
    pub const fn url(&self) -> &HttpUrl {
        &self.url
    }

    /// Returns the purpose of the request, which decides how its answer is read.
    pub const fn asked(&self) -> Asked {
        self.asked
    }

    /// Returns the headers. `Authorization` and `DPoP` are marked as sensitive, so that lower layers do not
    /// print them.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        // Without it some servers answer with a form (GitHub).
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form);
        let secrets =
            [(AUTHORIZATION, &self.authorization), (HeaderName::from_static("dpop"), &self.dpop)];
        for (name, secret) in secrets {
            let Some(secret) = secret else { continue };
            // Both are base64 with a few other characters, which a header can carry.
            if let Ok(mut value) = HeaderValue::from_str(secret.expose()) {
                value.set_sensitive(true);
                headers.insert(name, value);
            }
        }
        headers
    }

    /// Returns the body, `application/x-www-form-urlencoded`.
    pub fn body(&self) -> Secret {
        Secret::new(form::write(self.form.iter().map(|(name, value)| (*name, value.expose()))))
    }

    /// Returns this request with the client's id in its form, too, if the server says that it is missing
    /// there.
    ///
    /// Beside an `Authorization` header the id is left out of the form: Okta and Notion take it for a second
    /// way to authenticate. The Python SDK refuses every request without it before it looks at anything else
    /// (modelcontextprotocol/python-sdk#3545), so nothing is used up.
    pub fn with_id_if_missing(&self, answer: &HttpAnswer) -> Option<Self> {
        let id = self.id_left_out.clone()?;
        let object = json::object(&answer.body).filter(|_| answer.status.is_client_error())?;
        let words = json::text(&object, "error_description")?.to_ascii_lowercase();
        let is_missing = words.contains("client_id") && words.contains("missing");
        let mut request = self.clone();
        request.form.push(("client_id", id));
        request.id_left_out = None;
        is_missing.then_some(request)
    }

    /// Removes the secrets of this request from an answer that is a refusal: servers repeat what they refuse,
    /// and their words are shown to people.
    pub fn mask_refusal(&self, mut answer: HttpAnswer) -> HttpAnswer {
        let text = String::from_utf8_lossy(&answer.body);
        // A granted refresh token may equal the one that was sent.
        if answer.status.is_success() && !text.contains("error") {
            return answer;
        }
        let mut masked = text.into_owned();
        for secret in self.secrets().filter(|secret| secret.len() >= LEAST_SECRET) {
            masked = masked.replace(secret, "...");
        }
        answer.body = masked.into_bytes();
        answer
    }

    /// Returns the parts of the request that must not be shown.
    fn secrets(&self) -> impl Iterator<Item = &str> {
        let form = self.form.iter().filter(|(name, _)| !PUBLIC.contains(name));
        let form = form.map(|(_, value)| value.expose());
        let header = self.authorization.as_ref().and_then(|it| it.expose().split(' ').nth(1));
        form.chain(header)
    }

    /// Adds a DPoP proof.
    #[must_use]
    pub fn with_dpop(mut self, proof: Secret) -> Self {
        self.dpop = Some(proof);
        self
    }
}

/// The parameters that are not secret.
const PUBLIC: [&str; 10] = [
    "audience",
    "client_assertion_type",
    "client_id",
    "grant_type",
    "redirect_uri",
    "requested_token_type",
    "resource",
    "scope",
    "subject_token_type",
    "token_type_hint",
];
/// The least length of a secret that is masked: a shorter one could be a part of any word.
const LEAST_SECRET: usize = 4;

impl fmt::Debug for TokenRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenRequest({:?}, {})", self.asked, self.url)
    }
}
