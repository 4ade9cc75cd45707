//! The MCP server: it asks for a token of its issuer with every request, and answers calls.

use std::time::Duration;

use ridethrough_lab::{Ask, Mcp, Service, Times, Turn, What, When};
use serde_json::json;

use super::addresses::{RESOURCE, origin};
use super::faults::AuthFault;
use super::issuer::answer;
use super::oracle::Admission;
use super::shape::AuthShape;
use super::truth::Truth;
use crate::world::order::Order;

/// The MCP server of a world.
#[derive(Clone)]
pub(super) struct ResourceSite {
    mcp: Mcp,
    shape: AuthShape,
    truth: Truth,
}

impl ResourceSite {
    pub(super) fn new(shape: AuthShape, truth: Truth) -> Self {
        let site = Self { mcp: Mcp::new(), shape, truth };
        let serving = site.clone();
        site.mcp.rule(When::any(), Times::Always, move |ask| serving.clone().answer(ask));
        site
    }

    /// Removes the rule, which would otherwise keep the site alive for ever.
    pub(super) fn retire(&self) {
        self.mcp.clear_rules();
    }

    pub(super) async fn serve(self, turn: Turn) {
        self.truth.oracle().received("resource", &turn.request);
        if turn.request.target.starts_with("/.well-known/oauth-protected-resource") {
            let issuer = origin(self.truth.oracle().named);
            let document = json!({"resource": RESOURCE, "authorization_servers": [issuer]});
            return turn.reply.respond(answer(200, &document)).await;
        }
        self.mcp.serve(turn).await;
    }

    async fn answer(self, ask: Ask) {
        let token = ask.entry.header("authorization").and_then(|it| it.strip_prefix("Bearer "));
        let token = token.unwrap_or_default().to_owned();
        let order = match &ask.entry.what {
            What::Request { tool: Some(_), .. } => Order::of(&ask),
            _ => None,
        };
        if order.is_some() && self.truth.happens(AuthFault::EarlyEnd) {
            self.truth.oracle().revoke_early(&token);
        }
        let wants_more = order.is_some() && self.truth.happens(AuthFault::EndlessScope);
        let wanted = match order {
            Some(order) if wants_more && !order.is_safe => "endless",
            Some(order) if self.shape.wants_scope && !order.is_safe => "write",
            _ => "read",
        };
        let admission = self.truth.oracle().admit(&token, wanted, order.map(|it| it.call));
        match (admission, order) {
            (Admission::Unauthorized, _) => self.refuse(ask).await,
            (Admission::MoreScope, _) => {
                let challenge =
                    format!(r#"Bearer error="insufficient_scope", scope="read {wanted}""#);
                ask.status(403, &[("www-authenticate", &challenge)], "").await;
            }
            (Admission::Welcome, Some(order)) => self.call(ask, order).await,
            (Admission::Welcome, None) => ask.pass().await,
        }
    }

    async fn refuse(&self, ask: Ask) {
        let challenge = r#"Bearer resource_metadata="http://127.0.0.1/.well-known/oauth-protected-resource/mcp", scope="read""#;
        ask.status(401, &[("www-authenticate", challenge)], "").await;
    }

    async fn call(self, ask: Ask, order: Order) {
        // Some last longer than the token that they came with.
        let work = if self.truth.below(10) == 0 { 5_000 } else { 50 };
        tokio::time::sleep(self.truth.up_to(Duration::from_millis(work))).await;
        self.truth.oracle().executed(order.call);
        if self.truth.happens(AuthFault::LostAnswer) {
            self.truth.oracle().lost_answer(order.call);
            return ask.reply().1.reset();
        }
        let response = order.response(&ask.id());
        ask.json(response).await;
    }
}
