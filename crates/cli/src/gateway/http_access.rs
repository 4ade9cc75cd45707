//! Who is let in over HTTP, by flags and by the config file.

use anyhow::Result;
use http::Uri;
use ridethrough_server::{AccessPolicy, Token};

use super::config::GatewayConfig;
use super::live_tokens::LiveTokens;
use super::{GatewayArgs, issuer};
use crate::expose::access::misuse;
use crate::gateway_secrets;
use crate::safe;

/// Who is let in over HTTP, and what people are told about it.
pub(super) struct HttpAccess {
    pub(super) policy: AccessPolicy,
    pub(super) told: String,
    pub(super) is_kept: bool,
}

impl GatewayArgs {
    /// Decides who is let in.
    pub(super) fn access(&self, config: &GatewayConfig, tokens: &LiveTokens) -> Result<HttpAccess> {
        if self.http.no_token && config.file.access.is_given {
            return Err(misuse(
                "`--no-token` would let everybody do everything, and the config file has `[gateway.access]`",
                "leave `--no-token` out, or take `[gateway.access]` out of the file",
            )
            .into());
        }
        if self.http.no_token && !self.http.listen.is_local() {
            return Err(misuse(
                "`--no-token` would let every machine that reaches this address in",
                "leave `--no-token` out, or listen on 127.0.0.1",
            )
            .into());
        }
        if self.http.no_token && config.file.login_needs_token {
            return Err(misuse(
                "`--no-token` leaves nobody a token, and the config file has `gateway.login_needs_token`: nobody could log in",
                "leave `--no-token` out, or take `gateway.login_needs_token` out of the file",
            )
            .into());
        }
        let (token, told) = self.owners_token()?;
        let mut access = AccessPolicy::new(self.http.listen.ip(), token);
        if !self.http.no_token {
            access = access.verify_with(tokens.hashed());
        }
        if let Some(jwt) = &config.file.access.jwt {
            access = access.verify_with(tokens.signed(jwt));
            if let Some(resource) = issuer::resource(jwt) {
                access = access.protected_resource(resource);
            }
        }
        let mut access = self.http.allowed(access)?;
        let public: Option<Uri> = config.file.public_url.as_ref().and_then(|it| it.parse().ok());
        if let Some(host) = public.as_ref().and_then(Uri::host) {
            access = access.allow_host(host).map_err(|error| {
                misuse(
                    &format!("no browser can come by `gateway.public_url`: {error}"),
                    "mend the file",
                )
            })?;
        }
        Ok(HttpAccess {
            policy: access,
            told,
            is_kept: self.http.token_env.is_none() && !self.http.no_token,
        })
    }

    /// Returns the token of the owner, if there is one, and what people are told about it.
    fn owners_token(&self) -> Result<(Option<Token>, String)> {
        Ok(match &self.http.token_env {
            _ if self.http.no_token => {
                (None, "whoever is on this machine may call it: there is no token".to_owned())
            }
            Some(name) => {
                let text = std::env::var(name).unwrap_or_default();
                let token = Token::new(text.trim()).map_err(|error| {
                    let what =
                        format!("the variable `{name}` of `--token-env` holds none: {error}");
                    misuse(&what, "set it to a token")
                })?;
                (Some(token), format!("clients must show the token of `{name}`"))
            }
            None => {
                let kept = gateway_secrets::token()?;
                let path = safe::path(&kept.path);
                (Some(kept.token), format!("clients must show the token in {path}:"))
            }
        })
    }
}
