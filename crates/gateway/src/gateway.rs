//! The public type of this crate: many servers as one backend.

use std::fmt;
use std::sync::Arc;

use ridethrough_server::{
    Backend, BoxFuture, Caller, Conversation, HostSide, Page, PageRequest, TokenOwners, Unavailable,
};

use crate::catalogue::{AccessRights, Approved};
use crate::conversation;
use crate::news::GatewayNews;
use crate::settings::{GatewaySettings, ServerSettings};
use crate::state::GatewayState;
use crate::status::{self, UpstreamStatus};

/// Many servers as the backend of one.
///
/// Clones share one gateway.
#[derive(Clone)]
pub struct Gateway {
    state: Arc<GatewayState>,
}

impl Gateway {
    /// Puts these servers behind one endpoint. Nothing is started or connected before it is needed. Events for
    /// people go to `tell`, which must not block.
    pub fn new(
        servers: Vec<ServerSettings>,
        settings: GatewaySettings,
        tell: impl Fn(GatewayNews) + Send + Sync + 'static,
    ) -> Self {
        Self { state: GatewayState::new(servers, settings, tell) }
    }

    /// Sets the servers. Links and lists of those that are not touched stay as they are, and callers are told
    /// of the lists that change. Calls under way at servers that are gone are given up when this returns.
    pub async fn set_servers(&self, servers: Vec<ServerSettings>) {
        let gone = self.state.set_servers(servers);
        futures_util::future::join_all(gone.iter().map(|it| it.links.close())).await;
    }

    /// Sets what each principal may, from the next request on. Callers are told of lists that change for them.
    pub fn set_access(&self, access: AccessRights) {
        self.state.set_access(access);
    }

    /// Sets which definitions of a server's tools are approved. With `None` those that it has now are, or, if
    /// none were seen yet, the next; [`Notice::Pinned`](crate::Notice::Pinned) then says which. Callers are
    /// told of tools that come or go.
    pub fn set_approved(&self, server: &str, approved: Option<Approved>) {
        self.state.set_approved(server, approved);
    }

    /// Sets where people's browsers find the gateway, without a path: `https://gateway.example.com`. Before that,
    /// nobody can log in for a principal. It is set once.
    pub fn set_public_url(&self, url: &str) {
        self.state.set_public_url(url);
    }

    /// Returns how each server is, in the order of the servers. Nothing is sent to any of them.
    pub async fn status(&self) -> Vec<UpstreamStatus> {
        let upstreams = self.state.upstreams();
        futures_util::future::join_all(upstreams.iter().map(|it| status::of(it))).await
    }

    /// Closes the links to all servers.
    pub async fn close(&self) {
        self.state.close().await;
    }
}

impl Backend for Gateway {
    fn open<'a>(
        &'a self,
        caller: &'a Caller,
        host: HostSide,
    ) -> BoxFuture<'a, Result<Conversation, Unavailable>> {
        let (state, caller) = (self.state.clone(), caller.clone());
        Box::pin(async move { Ok(conversation::open(state, caller, host)) })
    }

    fn name(&self) -> &str {
        "ridethrough"
    }

    /// Rounds and tasks of the stateless revision pass through.
    fn understands_stateless(&self) -> bool {
        true
    }

    /// Each server is at an endpoint of its own, beside the one for all of them. One that the caller may not
    /// use is not there.
    fn serves(&self, caller: &Caller) -> bool {
        self.state.serves(caller)
    }

    fn has_page(&self, path: &str) -> bool {
        self.state.has_page(path)
    }

    /// The pages at which people log in for principals.
    fn page<'a>(
        &'a self,
        request: PageRequest,
        tokens: &'a dyn TokenOwners,
    ) -> BoxFuture<'a, Page> {
        Box::pin(self.state.page(request, tokens))
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").finish_non_exhaustive()
    }
}
