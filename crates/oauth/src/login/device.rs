//! Performs a login on another device (RFC 8628).

use std::time::Duration;

use ridethrough_oauth_core::device::{DeviceError, DeviceFlow, DeviceOutcome, DeviceStep};
use ridethrough_oauth_core::discovery::Found;
use ridethrough_oauth_core::store::GrantRecord;
use ridethrough_oauth_core::token_request::TokenRequest;
use ridethrough_oauth_core::{Fetched, HttpUrl, token_answer};
use tokio::time::sleep;

use super::{Granted, Login};
use crate::context::as_sent;
use crate::dpop::DpopKey;
use crate::error::LoginFailure;
use crate::person::{LoginPrompt, Person};
use crate::settings::RedirectTo;

impl Login {
    /// Shows a code, and asks until the person has consented.
    pub(super) async fn by_device(
        &self,
        found: &Found,
        person: &dyn Person,
    ) -> Result<GrantRecord, LoginFailure> {
        let no_endpoint = || LoginFailure::NoDeviceEndpoint { issuer: found.server.issuer.clone() };
        // Checked before a client is registered in vain.
        found.server.device_authorization_endpoint.as_ref().ok_or_else(no_endpoint)?;
        let scopes = self.scope_request(found).scopes;
        let client = self.client(found, &scopes, self.redirect_uris()).await?;
        let requests = self.context.requests(&found.server, &client)?;
        let requests = requests.for_resource(found.resource.as_deref());
        let request = requests.device_authorization(&scopes).ok_or_else(no_endpoint)?;
        let answer = match self.context.fetch.post(&request).await {
            Fetched::Answer(answer) => answer,
            Fetched::Failure(why) => {
                return Err(LoginFailure::NoAnswer { url: request.url().to_string(), why });
            }
        };
        let mut flow = DeviceFlow::begin(&answer, self.context.now())?;
        let url = flow.verification_uri_complete().unwrap_or(flow.verification_uri());
        person.show(&self.device_prompt(url, &flow, &scopes)).await;
        let key = self.dpop_key(found)?;
        let tokens = loop {
            match flow.step(self.context.now()) {
                DeviceStep::Ask(code) => {
                    let request = requests.device_code(&code);
                    if let Some(tokens) = self.ask(&mut flow, &request, key.as_ref()).await? {
                        break tokens;
                    }
                }
                DeviceStep::Expired => return Err(DeviceError::Expired.into()),
                // No request is out here: each is awaited above.
                DeviceStep::Wait => sleep(MOMENT).await,
                DeviceStep::WaitUntil(at) => sleep(at.since(self.context.now()).max(MOMENT)).await,
            }
        };
        let tokens =
            as_sent(tokens, self.context.oauth.uses_id_token).ok_or(LoginFailure::NoIdToken)?;
        let granted = Granted { found: found.clone(), client: client.clone(), scopes, key };
        self.keep(granted, tokens).await
    }

    /// Returns redirect URIs to register: no browser comes back, but servers want one of every client.
    fn redirect_uris(&self) -> Vec<HttpUrl> {
        let RedirectTo { host, port, path } = &self.context.oauth.redirect;
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        HttpUrl::parse(&format!("http://{host}{port}{path}")).into_iter().collect()
    }

    async fn ask(
        &self,
        flow: &mut DeviceFlow,
        request: &TokenRequest,
        key: Option<&DpopKey>,
    ) -> Result<Option<ridethrough_oauth_core::tokens::Tokens>, LoginFailure> {
        let now = || self.context.now();
        let sent_at = now();
        let answer = match self.context.post(request, key).await {
            Fetched::Answer(answer) => Some(token_answer::read(&answer, request.asked(), sent_at)),
            Fetched::Failure(_) => None,
        };
        match flow.handle(now(), answer) {
            DeviceOutcome::Failed(error) => Err(error.into()),
            DeviceOutcome::Granted(tokens) => Ok(Some(tokens)),
            DeviceOutcome::NotYet => Ok(None),
        }
    }

    fn device_prompt(
        &self,
        url: &HttpUrl,
        flow: &DeviceFlow,
        scopes: &ridethrough_oauth_core::scope::ScopeSet,
    ) -> LoginPrompt {
        LoginPrompt {
            url: url.as_str().to_owned(),
            user_code: Some(flow.user_code().to_owned()),
            issuer_host: url.host().to_owned(),
            server: self.context.account.server_url.clone(),
            scopes: scopes.clone(),
        }
    }
}

/// The shortest pause: a clock that is set back must not make us ask without one.
const MOMENT: Duration = Duration::from_millis(10);
