//! The settings of a login, from flags and from a server's entry, and the [`OAuth`] made of them.

use std::time::Duration;

use ridethrough_oauth::{ClientKey, OAuth, RedirectTo, ResourceParameter, Secret};

/// The settings of the login at one server. Secrets are left out of its `Debug` output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OAuthSettings {
    /// The person's name for one of several accounts at the server.
    pub profile: Option<String>,
    /// How tokens are obtained, if not by a browser on this machine.
    pub flow: Option<LoginFlow>,
    /// The client that a person registered.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<Secret>,
    /// The name of the client that people read when they consent.
    pub client_name: Option<String>,
    /// Where the client's metadata is published.
    pub client_metadata_url: Option<String>,
    /// What is asked for, instead of what the server names.
    pub scopes: Option<Vec<String>>,
    /// The host for the browser to come back to.
    pub redirect_host: Option<String>,
    /// The port for the browser to come back to.
    pub redirect_port: Option<u16>,
    /// The path for the browser to come back to.
    pub redirect_path: Option<String>,
    /// The parameter `resource`.
    pub resource: Option<ResourceParameter>,
    /// An issuer that the server does not name.
    pub trusted_issuer: Option<String>,
    /// A token endpoint that the issuer does not name.
    pub token_endpoint: Option<String>,
    /// Whether PKCE is taken for granted.
    pub assumes_pkce: bool,
    /// Whether the issuer may be closer than the server.
    pub allows_near_hosts: bool,
    /// Whether the identity token is sent.
    pub uses_id_token: bool,
    /// Parameters of the authorization URL.
    pub authorize_parameters: Vec<(String, String)>,
    /// How long a person is waited for.
    pub login_within: Option<Duration>,
}

/// How tokens are obtained, if not by a browser on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginFlow {
    /// The client authenticates with its secret; there is no person.
    ClientCredentials,
    /// A person logs in on another device.
    Device,
}

impl OAuthSettings {
    /// Returns these settings, completed by those of `below`. Of two parameters of one name this one's
    /// counts.
    #[must_use]
    pub fn over(mut self, below: &Self) -> Self {
        let below = below.clone();
        let is_own = |name: &str| self.authorize_parameters.iter().any(|(own, _)| own == name);
        let more = below.authorize_parameters.into_iter().filter(|(name, _)| !is_own(name));
        let more: Vec<_> = more.collect();
        self.authorize_parameters.extend(more);
        // A secret belongs to its client.
        let client_secret = if self.client_id.is_some() { None } else { below.client_secret };
        Self {
            profile: self.profile.or(below.profile),
            flow: self.flow.or(below.flow),
            client_secret: self.client_secret.or(client_secret),
            client_id: self.client_id.or(below.client_id),
            client_name: self.client_name.or(below.client_name),
            client_metadata_url: self.client_metadata_url.or(below.client_metadata_url),
            scopes: self.scopes.or(below.scopes),
            redirect_host: self.redirect_host.or(below.redirect_host),
            redirect_port: self.redirect_port.or(below.redirect_port),
            redirect_path: self.redirect_path.or(below.redirect_path),
            resource: self.resource.or(below.resource),
            trusted_issuer: self.trusted_issuer.or(below.trusted_issuer),
            token_endpoint: self.token_endpoint.or(below.token_endpoint),
            assumes_pkce: self.assumes_pkce || below.assumes_pkce,
            allows_near_hosts: self.allows_near_hosts || below.allows_near_hosts,
            uses_id_token: self.uses_id_token || below.uses_id_token,
            login_within: self.login_within.or(below.login_within),
            ..self
        }
    }

    /// Returns the login that these settings describe, without a person: the caller adds one.
    pub fn oauth(&self) -> OAuth {
        let mut oauth = self.begun();
        if let Some(url) = &self.client_metadata_url {
            oauth = oauth.client_metadata_url(url);
        }
        if let Some(scopes) = &self.scopes {
            oauth = oauth.scopes(scopes.iter().map(String::as_str));
        }
        if let Some(resource) = &self.resource {
            oauth = oauth.resource(resource.clone());
        }
        if let Some(issuer) = &self.trusted_issuer {
            oauth = oauth.trust_issuer(issuer);
        }
        if let Some(url) = &self.token_endpoint {
            oauth = oauth.token_endpoint(url);
        }
        if self.assumes_pkce {
            oauth = oauth.assume_pkce();
        }
        if self.allows_near_hosts {
            oauth = oauth.allow_near_hosts();
        }
        if self.uses_id_token {
            oauth = oauth.use_id_token();
        }
        if let Some(time) = self.login_within {
            oauth = oauth.login_within(time);
        }
        for (name, value) in &self.authorize_parameters {
            oauth = oauth.authorize_parameter(name, value);
        }
        oauth.redirect(self.redirect()).profile(self.profile.clone().unwrap_or_default())
    }

    /// Returns where the browser is sent back to.
    pub fn redirect(&self) -> RedirectTo {
        let usual = RedirectTo::default();
        RedirectTo {
            host: self.redirect_host.clone().unwrap_or(usual.host),
            port: self.redirect_port,
            path: self.redirect_path.clone().unwrap_or(usual.path),
        }
    }

    fn begun(&self) -> OAuth {
        let name = self.client_name.as_deref().unwrap_or(CLIENT_NAME);
        let (id, secret) = (self.client_id.as_ref(), self.client_secret.as_ref());
        if let (Some(LoginFlow::ClientCredentials), Some(id), Some(secret)) =
            (self.flow, id, secret)
        {
            return OAuth::client_credentials(id, ClientKey::Secret(secret.clone()));
        }
        let mut oauth = OAuth::new(name);
        if let Some(id) = id {
            oauth = oauth.client_id(id);
        }
        if let Some(secret) = secret {
            oauth = oauth.client_secret(secret.clone());
        }
        if self.flow == Some(LoginFlow::Device) { oauth.device() } else { oauth }
    }
}

/// The name of the client that people read when they consent, and that servers list.
const CLIENT_NAME: &str = "ridethrough";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_nearer_wins_and_parameters_add_up() {
        let near = OAuthSettings {
            profile: Some("work".into()),
            authorize_parameters: vec![("audience".into(), "near".into())],
            ..OAuthSettings::default()
        };
        let far = OAuthSettings {
            profile: Some("home".into()),
            scopes: Some(vec!["read".into()]),
            assumes_pkce: true,
            authorize_parameters: vec![
                ("audience".into(), "far".into()),
                ("prompt".into(), "login".into()),
            ],
            ..OAuthSettings::default()
        };

        let said = near.over(&far);

        assert_eq!(said.profile.as_deref(), Some("work"));
        assert_eq!(said.scopes, Some(vec!["read".into()]));
        assert!(said.assumes_pkce);
        let parameter = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            said.authorize_parameters,
            [parameter("audience", "near"), parameter("prompt", "login")]
        );
    }

    /// The secret of one client must not be sent as another's.
    #[test]
    fn a_secret_stays_with_its_client() {
        let near = OAuthSettings { client_id: Some("mine".into()), ..OAuthSettings::default() };
        let far = OAuthSettings {
            client_id: Some("theirs".into()),
            client_secret: Some(Secret::new("s3cret")),
            ..OAuthSettings::default()
        };

        let said = near.over(&far);

        assert_eq!((said.client_id.as_deref(), said.client_secret), (Some("mine"), None));
        let kept = OAuthSettings::default().over(&far);
        assert!(kept.client_secret.is_some());
        assert!(!format!("{kept:?}").contains("s3cret"));
    }
}
