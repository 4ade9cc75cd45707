//! Finds the authorization server of an MCP server, and becomes its client.

use serde_json::{Value, json};

use super::tokens::TokenTrouble;
use super::{REDIRECT_URI, WrongLogin};
use crate::lock::lock;
use crate::wrong::mistake::Habit;
use crate::wrong::target::Target;

/// The metadata of an authorization server.
#[derive(Clone)]
pub(super) struct Document {
    pub(super) issuer: String,
    pub(super) authorize: String,
    pub(super) token: String,
    register: String,
    /// Whether it promises `iss` in callbacks.
    pub(super) says_iss: bool,
}

impl WrongLogin {
    /// Finds the authorization server, and the scopes that the MCP server lists.
    pub(super) async fn find(&self, header: &str) -> Result<(Document, String), String> {
        let own = format!("http://{}", self.server.authority);
        let usual = format!("{own}/.well-known/oauth-protected-resource{}", self.server.path);
        let named = parameter(header, "resource_metadata").unwrap_or_else(|| usual.clone());
        let is_own =
            Target::of(&named, None).is_some_and(|it| it.authority == self.server.authority);
        if !is_own && !self.has(Habit::TrustsAnyMetadata) {
            return Err("the server's metadata is on another origin".to_owned());
        }
        let resource = self.document(&named).await?;
        let is_other = resource["resource"] != self.resource();
        if is_other && !self.has(Habit::TrustsAnyResource) && !self.has(Habit::TrustsAnyMetadata) {
            return Err("the server's metadata names another resource".to_owned());
        }
        let scopes = resource["scopes_supported"].as_array().into_iter().flatten();
        let scopes: Vec<_> = scopes.filter_map(Value::as_str).collect();
        let issuer = resource["authorization_servers"][0].as_str().unwrap_or(&own).to_owned();
        Ok((self.issuer(&issuer).await?, scopes.join(" ")))
    }

    async fn issuer(&self, issuer: &str) -> Result<Document, String> {
        let url = format!("{issuer}/.well-known/oauth-authorization-server");
        let document = self.document(&url).await?;
        let word = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
        if word("issuer") != issuer && !self.has(Habit::TrustsAnyIssuer) {
            return Err(format!("the metadata of `{issuer}` names another issuer"));
        }
        let knows_pkce = document["code_challenge_methods_supported"].as_array();
        let knows_pkce = knows_pkce.is_some_and(|it| it.iter().any(|it| it == "S256"));
        if !knows_pkce && !self.has(Habit::DoesWithoutPkce) {
            return Err("the authorization server does not say that it knows PKCE".to_owned());
        }
        Ok(Document {
            issuer: issuer.to_owned(),
            authorize: word("authorization_endpoint"),
            token: word("token_endpoint"),
            register: word("registration_endpoint"),
            says_iss: document["authorization_response_iss_parameter_supported"] == true,
        })
    }

    async fn document(&self, url: &str) -> Result<Value, String> {
        let found = self.get(url).await?;
        let document = serde_json::from_str(&found.body).ok().filter(Value::is_object);
        document.filter(|_| found.status == 200).ok_or_else(|| format!("`{url}` is no metadata"))
    }

    /// Returns the client that is registered, or registers one.
    pub(super) async fn client(&self, document: &Document) -> Result<String, TokenTrouble> {
        if let Some(client) = self.held().client {
            return Ok(client);
        }
        let body = json!({
            "client_name": "ridethrough-lab-wrong",
            "redirect_uris": [REDIRECT_URI],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        });
        let registered = self.post(&document.register, "application/json", &body.to_string()).await;
        let registered = registered.map_err(TokenTrouble::Failed)?;
        let client: Value = serde_json::from_str(&registered.body).unwrap_or_default();
        let Some(id) = client["client_id"].as_str() else {
            return Err(TokenTrouble::Failed("the client could not be registered".to_owned()));
        };
        lock(&self.held).client = Some(id.to_owned());
        Ok(id.to_owned())
    }
}

/// Returns a parameter of a challenge.
pub(super) fn parameter(header: &str, name: &str) -> Option<String> {
    let (_, rest) = header.split_once(&format!("{name}=\""))?;
    rest.split_once('"').map(|(value, _)| value.to_owned())
}
