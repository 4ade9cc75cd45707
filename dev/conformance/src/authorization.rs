//! The login of the client under test: the library's own, with a browser that only follows redirects.
//!
//! Discovery, registration, scopes, step-up, a moved authorization server and the checks of a callback are
//! the library's. Only what a user would set is set here, from the variables of the suite.

use anyhow::{Context, Result, bail};
use ridethrough::Client;
use ridethrough::probe::Question;
use ridethrough_oauth::person::{LoginPrompt, from_fn};
use ridethrough_oauth::store::MemoryStore;
use ridethrough_oauth::{ClientKey, IdentityProvider, OAuth, Secret, SigningKey};
use serde::Deserialize;

/// The facts that the suite gives about the client; each scenario has some of them.
#[derive(Default, Deserialize)]
struct Registered {
    client_id: Option<String>,
    client_secret: Option<String>,
    private_key_pem: Option<String>,
    /// The assertion of a workload's platform.
    valid_jwt: Option<String>,
    /// The identity provider of an enterprise, our client there, and its token about the person.
    idp_issuer: Option<String>,
    idp_client_id: Option<String>,
    idp_id_token: Option<String>,
}

/// Returns the login of a scenario; `None` if it has none.
pub(crate) fn login(scenario: &str) -> Result<Option<OAuth>> {
    let Some(name) = scenario.strip_prefix("auth/") else { return Ok(None) };
    let oauth = match name {
        "client-credentials-basic" => {
            let Registered { client_id, client_secret, .. } = registered()?;
            let secret = Secret::new(client_secret.context("`client_secret` is missing")?);
            let id = client_id.context("`client_id` is missing")?;
            OAuth::client_credentials(id, ClientKey::Secret(secret))
        }
        "client-credentials-jwt" => {
            let Registered { client_id, private_key_pem, .. } = registered()?;
            let key = SigningKey::es256(&private_key_pem.context("`private_key_pem` is missing")?)?;
            let id = client_id.context("`client_id` is missing")?;
            OAuth::client_credentials(id, ClientKey::PrivateKey(key))
        }
        "pre-registration" => {
            let Registered { client_id, client_secret, .. } = registered()?;
            let secret = Secret::new(client_secret.context("`client_secret` is missing")?);
            by_browser()
                .client_id(client_id.context("`client_id` is missing")?)
                .client_secret(secret)
        }
        "wif-jwt-bearer" => {
            let Registered { client_id, valid_jwt, .. } = registered()?;
            let assertion = valid_jwt.context("`valid_jwt` is missing")?;
            let id = client_id.context("`client_id` is missing")?;
            OAuth::workload_identity(id, move || {
                std::future::ready(Ok(Secret::new(assertion.clone())))
            })
        }
        "enterprise-managed-authorization" => enterprise_managed()?,
        _ => by_browser(),
    };
    Ok(Some(oauth.store(MemoryStore::default())))
}

fn enterprise_managed() -> Result<OAuth> {
    let given = registered()?;
    let id_token = given.idp_id_token.context("`idp_id_token` is missing")?;
    let provider = IdentityProvider::new(
        given.idp_issuer.context("`idp_issuer` is missing")?,
        given.idp_client_id.context("`idp_client_id` is missing")?,
        move || std::future::ready(Ok(Secret::new(id_token.clone()))),
    );
    let secret = Secret::new(given.client_secret.context("`client_secret` is missing")?);
    let id = given.client_id.context("`client_id` is missing")?;
    Ok(OAuth::enterprise_managed(id, provider).client_secret(secret))
}

fn by_browser() -> OAuth {
    OAuth::new("ridethrough in the conformance suite")
        .client_metadata_url("https://conformance-test.local/client-metadata.json")
        .person(from_fn(|prompt: &LoginPrompt| {
            let url = prompt.url.clone();
            tokio::spawn(async move {
                if let Err(error) = browse(url).await {
                    eprintln!("the browser: {error:#}");
                }
            });
        }))
}

/// Follows redirects from the authorization endpoint to the callback.
async fn browse(mut url: String) -> Result<()> {
    for _ in 0..MOST_REDIRECTS {
        let probe = Client::builder(&url).no_proxy().probe()?;
        let mut line = probe.connect().await.map_err(|failure| anyhow::anyhow!("{failure}"))?;
        let found = line.ask(Question::get()).await.map_err(|it| anyhow::anyhow!("{it}"))?;
        let Some(location) = found.headers.get("location") else { return Ok(()) };
        url = location.to_str().context("a `Location` that is no text")?.to_owned();
    }
    bail!("more than {MOST_REDIRECTS} redirects")
}

fn registered() -> Result<Registered> {
    let given = std::env::var("MCP_CONFORMANCE_CONTEXT").context("MCP_CONFORMANCE_CONTEXT")?;
    serde_json::from_str(&given).context("MCP_CONFORMANCE_CONTEXT")
}

const MOST_REDIRECTS: usize = 5;
