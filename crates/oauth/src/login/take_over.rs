//! Takes over a login that a person has made with `mcp-remote`, so that no second login is needed.

use ridethrough_oauth_core::HttpUrl;
use ridethrough_oauth_core::discovery::Found;
use ridethrough_oauth_core::scope::ScopeSet;
use ridethrough_oauth_core::store::{GrantKey, GrantRecord};

use super::find;
use crate::context::Context;
use crate::error::LoginFailure;
use crate::store::{McpRemoteStore, RemoteLogin};

/// Takes a login over and stores it; `None` if there is none that may be used here.
///
/// The documents of the server are read anew, because the files of `mcp-remote` do not hold them. A login
/// whose issuer is not known, or is not the one that the server names, is left alone: its refresh token is
/// for the issuer that it came from.
pub(crate) async fn take_over(context: &Context) -> Result<Option<GrantRecord>, LoginFailure> {
    let Some(theirs) = &context.oauth.mcp_remote else { return Ok(None) };
    let is_server = |url: &HttpUrl| url.without_query() == context.account.server_url;
    let is_own = HttpUrl::parse(&theirs.arguments().url).is_ok_and(|url| is_server(&url));
    if !is_own || !context.account.profile.is_empty() {
        return Ok(None);
    }
    let Some(login) = theirs.read().await? else { return Ok(None) };
    let Some(issuer) = login.issuer.clone() else { return Ok(None) };
    let challenges = context.fetch.challenges().await;
    let found = find(context, &challenges, Some(issuer.clone())).await?;
    if found.server.issuer != issuer {
        tracing::info!(issuer, "a login of mcp-remote belongs to another issuer");
        return Ok(None);
    }
    let Some(record) = record(context, theirs, login, found) else { return Ok(None) };
    context.save_login(&record).await?;
    tracing::info!(issuer, "a login of mcp-remote was taken over");
    Ok(Some(record))
}

fn record(
    context: &Context,
    theirs: &McpRemoteStore,
    login: RemoteLogin,
    found: Found,
) -> Option<GrantRecord> {
    let configured = context.preregistered.clone();
    let document = || context.metadata_document.clone();
    let client = match (configured, login.client) {
        // Tokens of another client than the one of the settings cannot be used by that client.
        (Some(own), Some(registered)) if own.id != registered.id => return None,
        (Some(own), _) => own,
        (None, registered) => registered.or_else(document)?,
    };
    let issuer = found.server.issuer.clone();
    let key = GrantKey {
        resource: found.resource.clone().unwrap_or_else(|| context.account.server_url.clone()),
        issuer: issuer.clone(),
        client_id: client.id.clone(),
        profile: context.account.profile.clone(),
    };
    let client = client.of_issuer(issuer);
    let mut record = GrantRecord::new(key, &context.account.server_url, client, &found.server);
    record.resource_parameter = found.resource;
    record.requested = login.tokens.scope.as_deref().map(ScopeSet::from_text).unwrap_or_default();
    record.tokens = Some(login.tokens);
    record.mcp_remote = Some(theirs.arguments().hash());
    Some(record)
}
