//! The metadata of an authorization server (RFC 8414, OpenID Connect Discovery).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::DocumentError;
use crate::address::{AddressError, HttpUrl, NearHosts};
use crate::json::{self, Object};

/// The metadata of an authorization server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuthorizationServer {
    /// The issuer, byte for byte: it is compared exactly.
    pub issuer: String,
    /// The endpoint at which a person logs in.
    pub authorization_endpoint: Option<HttpUrl>,
    /// The endpoint that issues tokens.
    pub token_endpoint: HttpUrl,
    /// The endpoint at which clients register (RFC 7591).
    pub registration_endpoint: Option<HttpUrl>,
    /// The endpoint that revokes tokens (RFC 7009).
    pub revocation_endpoint: Option<HttpUrl>,
    /// The endpoint at which a device asks for a code (RFC 8628).
    pub device_authorization_endpoint: Option<HttpUrl>,
    /// The scopes that it knows.
    pub scopes_supported: Option<Vec<String>>,
    /// The methods of making a PKCE challenge.
    pub code_challenge_methods_supported: Option<Vec<String>>,
    /// How clients may authenticate at the token endpoint.
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// The grants that it knows.
    pub grant_types_supported: Option<Vec<String>>,
    /// The algorithms that a DPoP proof may be signed with.
    pub dpop_signing_alg_values_supported: Option<Vec<String>>,
    /// Whether a URL of a metadata document may be a client id.
    pub supports_client_id_metadata: bool,
    /// Whether every callback names its issuer (RFC 9207).
    pub sends_issuer: bool,
    /// The source of this metadata.
    pub source: MetadataSource,
}

/// The source of the metadata of an authorization server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetadataSource {
    /// No document: the default paths of the MCP revision 2025-03-26.
    DefaultPaths,
    /// A document.
    #[default]
    Document,
}

impl AuthorizationServer {
    /// Reads a document on behalf of an MCP server, which limits where endpoints may be.
    pub fn read(body: &[u8], server: &HttpUrl, near: NearHosts) -> Result<Self, DocumentError> {
        let object = json::object(body).ok_or(DocumentError::NotAnObject)?;
        Self::from_object(&object, |url| url.check_endpoint_of(server, near))
    }

    /// Reads a document that was stored: it was checked when it came.
    pub fn from_json(text: &str) -> Result<Self, DocumentError> {
        let object = json::object(text.as_bytes()).ok_or(DocumentError::NotAnObject)?;
        let mut server = Self::from_object(&object, |_| Ok(()))?;
        if json::is_true(&object, DEFAULT_PATHS) {
            server.source = MetadataSource::DefaultPaths;
        }
        Ok(server)
    }

    /// Returns the document to store, in the words of RFC 8414; [`Self::from_json`] reads it.
    pub fn to_json(&self) -> Value {
        let url = |url: &Option<HttpUrl>| url.as_ref().map(|url| url.as_str().to_owned());
        let mut document = json!({
            "issuer": self.issuer,
            "authorization_endpoint": url(&self.authorization_endpoint),
            "token_endpoint": self.token_endpoint.as_str(),
            "registration_endpoint": url(&self.registration_endpoint),
            "revocation_endpoint": url(&self.revocation_endpoint),
            "device_authorization_endpoint": url(&self.device_authorization_endpoint),
            "scopes_supported": self.scopes_supported,
            "code_challenge_methods_supported": self.code_challenge_methods_supported,
            "token_endpoint_auth_methods_supported": self.token_endpoint_auth_methods_supported,
            "grant_types_supported": self.grant_types_supported,
            "dpop_signing_alg_values_supported": self.dpop_signing_alg_values_supported,
            "client_id_metadata_document_supported": self.supports_client_id_metadata,
            "authorization_response_iss_parameter_supported": self.sends_issuer,
            DEFAULT_PATHS: self.source == MetadataSource::DefaultPaths,
        });
        if let Some(members) = document.as_object_mut() {
            members.retain(|_, value| !value.is_null() && value != &Value::Bool(false));
        }
        document
    }

    /// Returns the metadata of a server of revision 2025-03-26 that publishes nothing: default paths at its
    /// origin.
    pub(crate) fn at_default_paths(server: &HttpUrl) -> Option<Self> {
        Some(Self {
            issuer: server.origin(),
            authorization_endpoint: server.at_path("/authorize"),
            token_endpoint: server.at_path("/token")?,
            registration_endpoint: server.at_path("/register"),
            revocation_endpoint: None,
            device_authorization_endpoint: None,
            scopes_supported: None,
            // That revision requires PKCE.
            code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
            token_endpoint_auth_methods_supported: None,
            grant_types_supported: None,
            dpop_signing_alg_values_supported: None,
            supports_client_id_metadata: false,
            sends_issuer: false,
            source: MetadataSource::DefaultPaths,
        })
    }

    fn from_object(
        object: &Object,
        check: impl Fn(&HttpUrl) -> Result<(), AddressError>,
    ) -> Result<Self, DocumentError> {
        let issuer = json::text(object, "issuer").ok_or(DocumentError::Missing("issuer"))?;
        let endpoint = |member: &'static str| match json::text(object, member) {
            None => Ok(None),
            Some(text) => HttpUrl::parse(text)
                .and_then(|url| check(&url).map(|()| Some(url)))
                .map_err(|why| DocumentError::Address { member, why }),
        };
        // An optional endpoint that must not be used counts as absent: that removes an option and puts
        // nothing at risk.
        let optional = |member| endpoint(member).ok().flatten();
        Ok(Self {
            issuer: issuer.to_owned(),
            authorization_endpoint: endpoint("authorization_endpoint")?,
            token_endpoint: endpoint("token_endpoint")?
                .ok_or(DocumentError::Missing("token_endpoint"))?,
            registration_endpoint: optional("registration_endpoint"),
            revocation_endpoint: optional("revocation_endpoint"),
            device_authorization_endpoint: optional("device_authorization_endpoint"),
            scopes_supported: json::texts(object, "scopes_supported"),
            code_challenge_methods_supported: json::texts(
                object,
                "code_challenge_methods_supported",
            ),
            token_endpoint_auth_methods_supported: json::texts(
                object,
                "token_endpoint_auth_methods_supported",
            ),
            grant_types_supported: json::texts(object, "grant_types_supported"),
            dpop_signing_alg_values_supported: json::texts(
                object,
                "dpop_signing_alg_values_supported",
            ),
            supports_client_id_metadata: json::is_true(
                object,
                "client_id_metadata_document_supported",
            ),
            sends_issuer: json::is_true(object, "authorization_response_iss_parameter_supported"),
            source: MetadataSource::Document,
        })
    }
}

/// The member that marks a stored document that no server published.
const DEFAULT_PATHS: &str = "ridethrough_default_paths";
