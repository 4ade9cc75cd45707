//! What was seen of a server's login, for machines.

use ridethrough_oauth::{ClientOutlook, LoginOutlook, RedirectTo};
use ridethrough_oauth_core::AddressError;
use ridethrough_oauth_core::HttpUrl;
use ridethrough_oauth_core::discovery::{DiscoveryError, DiscoveryFailure, Verdict};
use ridethrough_oauth_core::metadata::AuthorizationServer;
use ridethrough_terminal::safe::{self, quoted};
use ridethrough_terminal::secrets::cut;
use serde::Serialize;

use crate::grant::{GrantShown, client_word};

/// The findings about a login, for machines.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuthorizationSeen {
    /// The URLs of metadata that were asked for, and the outcome of each.
    asked: Vec<DocumentAsked>,
    resource: Option<String>,
    issuers: Vec<String>,
    issuer: Option<String>,
    endpoints: Option<EndpointsSeen>,
    /// How clients become known to the issuer: `registers-itself`, `metadata-document`, `by-hand`.
    client_kinds: Vec<&'static str>,
    /// How our client would become known; `None`, if there is no way.
    client: Option<&'static str>,
    scopes: Vec<String>,
    redirect: String,
    /// Why a login would be refused, and the flags that allow it.
    refused: Option<String>,
    allowed_by: Option<String>,
    pub(crate) stored_login: Option<GrantShown>,
}

#[derive(Serialize)]
struct DocumentAsked {
    url: String,
    answer: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EndpointsSeen {
    authorization: Option<String>,
    token: String,
    registration: Option<String>,
    revocation: Option<String>,
    device: Option<String>,
}

impl AuthorizationSeen {
    pub(crate) fn of(outlook: &LoginOutlook, redirect: &RedirectTo) -> Self {
        let found = outlook.found.as_ref().ok();
        let metadata = found.and_then(|found| found.metadata.as_ref());
        let server = found.map(|found| &found.server);
        let error = outlook.found.as_ref().err();
        let asked = outlook.asked.iter();
        Self {
            asked: asked
                .map(|(url, answer)| DocumentAsked { url: cut(url), answer: cut(answer) })
                .collect(),
            resource: metadata.map(|it| it.resource.clone()),
            issuers: metadata.map(|it| it.authorization_servers.clone()).unwrap_or_default(),
            issuer: server.map(|it| it.issuer.clone()),
            endpoints: server.map(EndpointsSeen::of),
            client_kinds: server.map(client_kinds).unwrap_or_default(),
            client: match &outlook.client {
                Some(ClientOutlook::Known(kind)) => Some(client_word(*kind)),
                Some(ClientOutlook::Registers) => Some("registers-itself"),
                _ => None,
            },
            scopes: outlook.scopes.iter().map(str::to_owned).collect(),
            redirect: redirect_words(redirect),
            refused: error.map(|it| it.failure.to_string()),
            allowed_by: error.and_then(allowing),
            stored_login: None,
        }
    }
}

impl EndpointsSeen {
    fn of(server: &AuthorizationServer) -> Self {
        let text = |url: &Option<HttpUrl>| url.as_ref().map(ToString::to_string);
        Self {
            authorization: text(&server.authorization_endpoint),
            token: server.token_endpoint.to_string(),
            registration: text(&server.registration_endpoint),
            revocation: text(&server.revocation_endpoint),
            device: text(&server.device_authorization_endpoint),
        }
    }
}

pub(crate) fn client_kinds(server: &AuthorizationServer) -> Vec<&'static str> {
    let registers = server.registration_endpoint.as_ref().map(|_| "registers-itself");
    let document = server.supports_client_id_metadata.then_some("metadata-document");
    registers.into_iter().chain(document).chain(["by-hand"]).collect()
}

pub(crate) fn redirect_words(redirect: &RedirectTo) -> String {
    let port = redirect.port.map_or("PORT".to_owned(), |it| it.to_string());
    format!("http://{}:{port}{}", redirect.host, redirect.path)
}

/// Returns the flags that allow what discovery refuses, if there are any.
pub fn allowing(error: &DiscoveryError) -> Option<String> {
    match &error.failure {
        DiscoveryFailure::IssuerMismatch { found, .. } => {
            Some(format!("--trust-issuer {}", quoted(&safe::line(found))))
        }
        DiscoveryFailure::NoPkce => Some("--assume-pkce".to_owned()),
        DiscoveryFailure::ResourceMismatch { resource, .. } => {
            Some(format!("--resource {}", quoted(&safe::line(resource))))
        }
        _ => {
            let is_near = |verdict: &Verdict| *verdict == Verdict::Unusable(AddressError::NearHost);
            let is_near = error.tried.iter().any(|tried| is_near(&tried.verdict));
            is_near.then(|| "--allow-near-issuer".to_owned())
        }
    }
}
