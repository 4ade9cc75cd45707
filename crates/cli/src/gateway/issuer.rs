//! The keys of the issuer of signed tokens, fetched over our own transport: proxies and certificates are those
//! of every other request.
//!
//! The issuer is what the config file says. Its metadata must be its own, and leads to no address that others
//! could listen to.

use std::future::poll_fn;

use futures_util::future::{BoxFuture, FutureExt};
use http::header::ACCEPT;
use http::{HeaderValue, StatusCode};
use ridethrough::probe::Question;
use ridethrough::transport::Endpoint;
use ridethrough::{Client, Network};
use ridethrough_config::address;
use ridethrough_config::gateway::JwtSettings;
use ridethrough_server::{Algorithm, FetchKeys, JwtRules, ProtectedResource};
use serde_json::Value;

/// Where the keys of an issuer are.
pub(super) struct IssuerKeys {
    network: Network,
    issuer: String,
    jwks_url: Option<String>,
}

impl IssuerKeys {
    pub(super) fn new(settings: &JwtSettings) -> Self {
        let (issuer, jwks_url) = (settings.issuer.clone(), settings.jwks_url.clone());
        Self { network: Client::builder(&issuer).network(), issuer, jwks_url }
    }

    async fn keys(&self) -> Result<Vec<u8>, String> {
        let url = match &self.jwks_url {
            Some(url) => url.clone(),
            None => self.find().await?,
        };
        self.get(&url).await
    }

    /// Returns where the issuer's metadata says that its keys are (RFC 8414, section 3).
    async fn find(&self) -> Result<String, String> {
        let mut fault = String::new();
        for url in metadata_urls(&self.issuer) {
            let found = match self.get(&url).await {
                Ok(found) => found,
                Err(why) => {
                    fault = why;
                    continue;
                }
            };
            let metadata: Value = serde_json::from_slice(&found).unwrap_or_default();
            if metadata["issuer"].as_str() != Some(&self.issuer) {
                fault = "its metadata names another issuer".to_owned();
                continue;
            }
            match metadata["jwks_uri"].as_str() {
                Some(keys) => return Ok(keys.to_owned()),
                None => fault = "its metadata does not say where its keys are".to_owned(),
            }
        }
        Err(fault)
    }

    async fn get(&self, url: &str) -> Result<Vec<u8>, String> {
        let endpoint = Endpoint::parse(url).map_err(|error| error.to_string())?;
        if !address::is_safe_from_listeners(&endpoint) {
            return Err("keys over plain HTTP could be anybody's".to_owned());
        }
        let mut question = Question::get();
        question.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let probe = self.network.probe(url).map_err(|error| error.to_string())?;
        let mut line = probe.connect().await.map_err(|failure| failure.to_string())?;
        let mut found = line.ask(question).await.map_err(|failure| failure.to_string())?;
        if found.head.status != StatusCode::OK {
            return Err(format!("it answers with status {}", found.head.status.as_u16()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = poll_fn(|context| found.body.poll_chunk(context)).await {
            body.extend_from_slice(&chunk.map_err(|failure| failure.to_string())?);
            if body.len() > MOST {
                return Err("its answer is longer than 1 MiB".to_owned());
            }
        }
        Ok(body)
    }
}

impl FetchKeys for IssuerKeys {
    fn fetch(&self) -> BoxFuture<'_, Result<Vec<u8>, String>> {
        self.keys().map(|found| found.map_err(|why| why.replace('\n', " "))).boxed()
    }
}

/// Returns which tokens are taken.
pub(super) fn rules(settings: &JwtSettings) -> JwtRules {
    JwtRules {
        issuer: settings.issuer.clone(),
        audience: settings.audience.clone(),
        algorithms: settings.algorithms.iter().filter_map(|it| Algorithm::parse(it)).collect(),
        groups_claim: settings.groups_claim.clone(),
    }
}

/// Returns where clients learn who gives them a token; `None` if the URL of the gateway is not known.
pub(super) fn resource(settings: &JwtSettings) -> Option<ProtectedResource> {
    let mut urls = settings.resource.iter().chain(&settings.audience);
    let resource = urls.find(|it| Endpoint::parse(it).is_ok())?.clone();
    let authorization_servers = vec![settings.issuer.clone()];
    Some(ProtectedResource { resource, authorization_servers, scopes: settings.scopes.clone() })
}

/// Returns where the metadata of an issuer may be.
fn metadata_urls(issuer: &str) -> [String; 2] {
    let issuer = issuer.trim_end_matches('/');
    let begin = issuer.find("://").map_or(0, |place| place + 3);
    let path = issuer[begin..].find('/').map_or(issuer.len(), |place| place + begin);
    let (origin, path) = issuer.split_at(path);
    [
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{issuer}/.well-known/openid-configuration"),
    ]
}

const MOST: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_looked_for_where_issuers_have_it() {
        assert_eq!(
            metadata_urls("https://i.example/realms/a"),
            [
                "https://i.example/.well-known/oauth-authorization-server/realms/a",
                "https://i.example/realms/a/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            metadata_urls("https://i.example/")[0],
            "https://i.example/.well-known/oauth-authorization-server"
        );
    }

    #[tokio::test]
    async fn keys_are_not_fetched_where_others_could_listen() {
        let network = Client::builder("http://i.example").network();
        let keys = IssuerKeys { network, issuer: "http://i.example".to_owned(), jwks_url: None };

        let refused = keys.fetch().await.unwrap_err();

        assert!(refused.contains("plain HTTP"), "{refused}");
    }
}
