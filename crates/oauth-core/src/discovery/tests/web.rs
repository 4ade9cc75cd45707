//! A web of documents by URL, and the documents that most tests publish there.

use std::collections::BTreeMap;

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use super::*;

pub(super) fn prm(resource: &str) -> Value {
    prm_with(resource, &["https://as.example"])
}

pub(super) fn prm_with(resource: &str, issuers: &[&str]) -> Value {
    json!({"resource": resource, "authorization_servers": issuers})
}

pub(super) fn server(issuer: &str) -> Value {
    json!({
        "issuer": issuer,
        "authorization_endpoint": "https://as.example/authorize",
        "token_endpoint": "https://as.example/token",
        "code_challenge_methods_supported": ["S256"],
    })
}

/// Documents by URL; every other URL is 404.
#[derive(Default)]
pub(super) struct Web {
    pub(super) pages: BTreeMap<String, Fetched>,
}

impl Web {
    pub(super) fn json(&mut self, url: &str, document: Value) {
        self.answer(url, 200, &document.to_string());
    }

    pub(super) fn answer(&mut self, url: &str, status: u16, body: &str) {
        let answer = HttpAnswer::new(StatusCode::from_u16(status).unwrap(), body);
        self.pages.insert(url.to_owned(), Fetched::Answer(answer));
    }

    pub(super) fn discover(
        &self,
        challenge: Option<&str>,
        settings: DiscoverySettings,
    ) -> (Result<Found, DiscoveryError>, Vec<String>) {
        let mut headers = HeaderMap::new();
        if let Some(url) = challenge {
            let value = format!("Bearer resource_metadata=\"{url}\"");
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_str(&value).unwrap());
        }
        let server = HttpUrl::parse("https://mcp.example/mcp").unwrap();
        let mut discovery = Discovery::new(server, &Challenges::read(&headers), settings);
        let mut asked = Vec::new();
        loop {
            let url = match discovery.step() {
                Step::Failed(error) => return (Err(error.clone()), asked),
                Step::Found(found) => return (Ok(found.clone()), asked),
                Step::Get(url) => url.clone(),
            };
            asked.push(url.as_str().to_owned());
            let missing = Fetched::Answer(HttpAnswer::new(StatusCode::NOT_FOUND, ""));
            discovery.handle(&url, self.pages.get(url.as_str()).unwrap_or(&missing));
        }
    }
}
