//! Makes token requests, with one method for each grant.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Asked, TokenRequest};
use crate::address::HttpUrl;
use crate::client::{AuthMethod, Client, OtherIssuer};
use crate::form;
use crate::login::AuthorizationCode;
use crate::metadata::AuthorizationServer;
use crate::scope::ScopeSet;
use crate::secret::Secret;

/// How this client authenticates in one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientAuthentication {
    /// A signed assertion, made by [`crate::jwt::ClientAssertion`] for this request.
    Assertion(Secret),
    /// Its secret, in the way that the registration and the server ask for; its id if it has none.
    Secret,
}

/// Makes requests of one client to one authorization server.
#[derive(Clone, Debug)]
pub struct TokenRequests<'a> {
    server: &'a AuthorizationServer,
    client: &'a Client,
    authentication: ClientAuthentication,
    resource: Option<&'a str>,
}

impl<'a> TokenRequests<'a> {
    /// Creates requests; fails if the client belongs to another issuer.
    pub fn new(
        server: &'a AuthorizationServer,
        client: &'a Client,
        authentication: ClientAuthentication,
    ) -> Result<Self, OtherIssuer> {
        client.check_issuer(&server.issuer)?;
        Ok(Self { server, client, authentication, resource: None })
    }

    /// Sends this `resource` with every request for tokens: the one of the login, byte for byte.
    #[must_use]
    pub const fn for_resource(mut self, resource: Option<&'a str>) -> Self {
        self.resource = resource;
        self
    }

    /// Exchanges a code; fails if it is another issuer's.
    ///
    /// `resource` is the one of the login, whatever [`Self::for_resource`] says.
    pub fn authorization_code(
        &self,
        code: &AuthorizationCode,
    ) -> Result<TokenRequest, OtherIssuer> {
        if code.issuer != self.server.issuer {
            let (own, found) = (code.issuer.clone(), self.server.issuer.clone());
            return Err(OtherIssuer { own, found });
        }
        let mut form = vec![
            ("grant_type", Secret::new("authorization_code")),
            ("code", code.code.clone()),
            ("redirect_uri", Secret::new(&*code.redirect_uri)),
            ("code_verifier", code.pkce.verifier().clone()),
        ];
        form.extend(code.resource.as_deref().map(|it| ("resource", Secret::new(it))));
        Ok(self.request(&self.server.token_endpoint, Asked::AuthorizationCode, form))
    }

    /// Renews tokens. With `scope` the granted scope is repeated: Entra refuses a refresh without.
    pub fn refresh(&self, refresh_token: &Secret, scope: Option<&str>) -> TokenRequest {
        let form = vec![
            ("grant_type", Secret::new("refresh_token")),
            ("refresh_token", refresh_token.clone()),
        ];
        self.for_tokens(Asked::RefreshToken, form, scope)
    }

    /// Asks for tokens of the client itself.
    pub fn client_credentials(&self, scopes: &ScopeSet) -> TokenRequest {
        let form = vec![("grant_type", Secret::new("client_credentials"))];
        self.for_tokens(Asked::ClientCredentials, form, scopes.to_text().as_deref())
    }

    /// Asks for tokens of an assertion: workload identity, or an ID-JAG (RFC 7523, 2.1).
    pub fn jwt_bearer(&self, assertion: &Secret, scopes: &ScopeSet) -> TokenRequest {
        let form = vec![("grant_type", Secret::new(JWT_BEARER)), ("assertion", assertion.clone())];
        self.for_tokens(Asked::JwtBearer, form, scopes.to_text().as_deref())
    }

    /// Begins a device flow; `None` if the server has none.
    pub fn device_authorization(&self, scopes: &ScopeSet) -> Option<TokenRequest> {
        let url = self.server.device_authorization_endpoint.as_ref()?;
        let mut form = Vec::new();
        self.add_scope_and_resource(&mut form, scopes.to_text().as_deref());
        Some(self.request(url, Asked::DeviceAuthorization, form))
    }

    /// Asks whether the person has consented to a device.
    pub fn device_code(&self, device_code: &Secret) -> TokenRequest {
        let form =
            vec![("grant_type", Secret::new(DEVICE_CODE)), ("device_code", device_code.clone())];
        self.for_tokens(Asked::DeviceCode, form, None)
    }

    /// Exchanges an identity token for an ID-JAG at the identity provider (RFC 8693).
    pub fn id_jag(&self, exchange: IdJagExchange<'_>) -> TokenRequest {
        let mut form = vec![
            ("grant_type", Secret::new(TOKEN_EXCHANGE)),
            ("requested_token_type", Secret::new(ID_JAG)),
            ("subject_token", exchange.id_token.clone()),
            ("subject_token_type", Secret::new(ID_TOKEN)),
            ("audience", Secret::new(exchange.audience)),
            ("resource", Secret::new(exchange.resource)),
        ];
        form.extend(exchange.scopes.to_text().map(|scope| ("scope", Secret::new(scope))));
        self.request(&self.server.token_endpoint, Asked::TokenExchange, form)
    }

    /// Revokes a refresh token; `None` if the server has no endpoint for it.
    pub fn revoke_refresh_token(&self, token: &Secret) -> Option<TokenRequest> {
        self.revoke(token, "refresh_token")
    }

    /// Revokes an access token; `None` if the server has no endpoint for it.
    pub fn revoke_access_token(&self, token: &Secret) -> Option<TokenRequest> {
        self.revoke(token, "access_token")
    }

    fn revoke(&self, token: &Secret, hint: &str) -> Option<TokenRequest> {
        let url = self.server.revocation_endpoint.as_ref()?;
        let form = vec![("token", token.clone()), ("token_type_hint", Secret::new(hint))];
        Some(self.request(url, Asked::Revocation, form))
    }

    fn for_tokens(
        &self,
        asked: Asked,
        mut form: Vec<(&'static str, Secret)>,
        scope: Option<&str>,
    ) -> TokenRequest {
        self.add_scope_and_resource(&mut form, scope);
        self.request(&self.server.token_endpoint, asked, form)
    }

    fn add_scope_and_resource(&self, form: &mut Vec<(&'static str, Secret)>, scope: Option<&str>) {
        form.extend(scope.map(|scope| ("scope", Secret::new(scope))));
        form.extend(self.resource.map(|resource| ("resource", Secret::new(resource))));
    }

    /// Adds the client's authentication.
    fn request(
        &self,
        url: &HttpUrl,
        asked: Asked,
        mut form: Vec<(&'static str, Secret)>,
    ) -> TokenRequest {
        let id = ("client_id", Secret::new(&*self.client.id));
        let (mut authorization, mut id_left_out) = (None, None);
        match (&self.authentication, self.method(), &self.client.secret) {
            (ClientAuthentication::Assertion(assertion), _, _) => form.extend([
                id,
                ("client_assertion_type", Secret::new(CLIENT_ASSERTION)),
                ("client_assertion", assertion.clone()),
            ]),
            (ClientAuthentication::Secret, AuthMethod::ClientSecretBasic, Some(secret)) => {
                authorization = Some(basic(&self.client.id, secret));
                id_left_out = Some(id.1);
            }
            (ClientAuthentication::Secret, AuthMethod::ClientSecretPost, Some(secret)) => {
                form.extend([id, ("client_secret", secret.clone())]);
            }
            (ClientAuthentication::Secret, _, _) => form.push(id),
        }
        TokenRequest { url: url.clone(), asked, form, authorization, dpop: None, id_left_out }
    }

    fn method(&self) -> AuthMethod {
        let listed = self.server.token_endpoint_auth_methods_supported.as_deref();
        self.client.method_at(listed)
    }
}

/// The parameters of a request for an ID-JAG.
#[derive(Clone, Copy, Debug)]
pub struct IdJagExchange<'a> {
    /// The person's identity token.
    pub id_token: &'a Secret,
    /// The issuer of the MCP server's authorization server.
    pub audience: &'a str,
    /// The MCP server.
    pub resource: &'a str,
    /// The scopes that are asked for.
    pub scopes: &'a ScopeSet,
}

/// Returns the value of basic authentication. Both halves are encoded as in a form before they are joined
/// (RFC 6749, 2.3.1).
fn basic(id: &str, secret: &Secret) -> Secret {
    let halves =
        Secret::new(format!("{}:{}", form::write_value(id), form::write_value(secret.expose())));
    Secret::new(format!("Basic {}", STANDARD.encode(halves.expose())))
}

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const CLIENT_ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
pub(crate) const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
