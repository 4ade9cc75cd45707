//! Performs discovery.

use ridethrough_oauth_core::challenge::Challenges;
use ridethrough_oauth_core::discovery::{Discovery, DiscoverySettings, Found, Step};

use crate::context::Context;
use crate::error::LoginFailure;
use crate::fetch::Fetch;

/// Finds the authorization server of the MCP server.
pub(crate) async fn find(
    context: &Context,
    challenges: &Challenges,
    recorded_issuer: Option<String>,
) -> Result<Found, LoginFailure> {
    let settings = DiscoverySettings {
        resource: context.oauth.resource.clone(),
        trusted_issuer: context.oauth.trusted_issuer.clone(),
        recorded_issuer,
        pkce: context.pkce(),
        near_hosts: context.oauth.near_hosts,
    };
    let discovery = Discovery::new(context.server.clone(), challenges, settings);
    let found = follow(&context.fetch, discovery).await?;
    Ok(context.with_token_endpoint(found))
}

/// Fetches what a discovery asks for, until it ends.
pub(super) async fn follow(fetch: &Fetch, mut discovery: Discovery) -> Result<Found, LoginFailure> {
    loop {
        let url = match discovery.step() {
            Step::Failed(error) => return Err(error.clone().into()),
            Step::Found(found) => return Ok(found.clone()),
            Step::Get(url) => url.clone(),
        };
        let fetched = fetch.get(&url).await;
        discovery.handle(&url, &fetched);
    }
}
