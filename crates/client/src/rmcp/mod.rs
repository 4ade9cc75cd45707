//! The official SDK over this client: a [`Client`] is a transport of `rmcp`. It needs the feature `rmcp`.
//!
//! One line changes; handlers, typed calls and everything else of `rmcp` stay:
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use ridethrough::Client;
//! use rmcp::ServiceExt;
//!
//! let service = ().serve(Client::new("https://example.com/mcp")?).await?;
//! let tools = service.list_all_tools().await?;
//! # Ok(()) }
//! ```
//!
//! This client then handles lost sessions, restarts, broken streams and refusals. `rmcp` sees answers; where
//! there is none, its error carries the [`Facts`].
//!
//! This module translates and decides nothing: it never waits, retries or keeps a message. It has no task of
//! its own: everything under way is in the [`ClientTransport`] and ends with it.

mod calls;
mod facts;
#[cfg(test)]
mod tests;
mod translate;

pub use facts::Facts;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;
use ridethrough_core::{CallError, Delivered, Identity, Outcome, QuestionId};
use ridethrough_wire::message::{Answer, Json};
use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::{IntoTransport, Transport};

use crate::client::{Client, Inbox, Server};

use calls::{CallEnd, Calls};

/// A client as a transport of `rmcp`. A [`Client`] becomes one when it is served.
///
/// It takes the client over: the identity is that of `rmcp`'s handler, the server's own messages go to that
/// handler, and the client is closed when the service ends. A clone may observe ([`Client::events`],
/// [`Client::status`]) and call; it must not take the inbox.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use ridethrough::rmcp::ClientTransport;
/// use ridethrough::{Client, RetryPolicy};
/// use rmcp::ServiceExt;
///
/// let client = Client::builder("https://example.com/mcp").retry_policy(RetryPolicy::unattended()).build()?;
/// let events = client.events();
/// let service = ().serve(ClientTransport::new(client)).await?;
/// # Ok(()) }
/// ```
pub struct ClientTransport {
    client: Client,
    inbox: Inbox,
    calls: Calls,
    /// How many messages of the server were handed over in a row, without a look at calls that ended.
    in_a_row: usize,
    /// Whether the inbox has ended, so that only ends of calls are left.
    is_over: bool,
}

impl ClientTransport {
    /// Takes over a client that has not connected yet.
    ///
    /// One that has connected keeps the identity of its session until the next one begins.
    pub fn new(client: Client) -> Self {
        let inbox = client.inbox();
        Self { client, inbox, calls: Calls::default(), in_a_row: 0, is_over: false }
    }

    fn ask(&mut self, id: RequestId, request: &ClientRequest) {
        let method: Arc<str> = request.method().into();
        let params = match translate::params(request) {
            Ok(params) => params,
            Err(error) => return self.calls.refuse(id, method, error),
        };
        let client = self.client.clone();
        match &*method {
            "initialize" => self.calls.begin(id, method, greet(client, params)),
            // The transport does not speak the revision of this method, so `rmcp` falls back to `initialize`.
            // Sent on, it would begin a session before `rmcp` has named its identity.
            "server/discover" => {
                let answer = Answer::refusal(-32601, "Method not found");
                self.calls.begin(id, method, std::future::ready(Ok(answer)));
            }
            _ => self.calls.begin(id, method.clone(), client.request(method, params).answer()),
        }
    }

    /// Returns the notification to send to the server, unless the link sends it itself.
    fn notice(&mut self, told: &ClientNotification) -> Option<(String, Option<Json>)> {
        match told {
            // The link itself sends it, in each of its sessions.
            ClientNotification::InitializedNotification(_) => None,
            // The link knows the request's id at the server, and whether the server has it.
            ClientNotification::CancelledNotification(cancelled) => {
                if let Some(id) = &cancelled.params.request_id {
                    self.calls.cancel(id);
                }
                None
            }
            told => translate::notice(told),
        }
    }

    fn reply(&self, id: &RequestId, answer: Result<Answer, serde_json::Error>) {
        let RequestId::Number(number) = id else { return };
        let Ok(number) = u64::try_from(*number) else { return };
        let answer = answer
            .unwrap_or_else(|_| Answer::refusal(-32603, "the answer could not be written as JSON"));
        self.inbox.answer(QuestionId::new(number), answer);
    }

    /// Returns the next message. Those of the server come first, because progress belongs before its answer;
    /// but a server that never stops must not delay the answers.
    async fn next(&mut self) -> Option<ServerNews> {
        if self.in_a_row >= CROWD {
            self.in_a_row = 0;
            if let Some(Some(ended)) = self.calls.next().now_or_never() {
                return Some(ServerNews::Ended(ended));
            }
        }
        loop {
            tokio::select! {
                biased;
                delivered = self.inbox.next(), if !self.is_over => match delivered {
                    Some(delivered) => {
                        self.in_a_row += 1;
                        return Some(ServerNews::Delivered(delivered));
                    }
                    None => self.is_over = true,
                },
                Some(ended) = self.calls.next(), if !self.calls.is_empty() => {
                    self.in_a_row = 0;
                    return Some(ServerNews::Ended(ended));
                }
                else => return None,
            }
        }
    }

    fn hand_over(&self, delivered: Delivered) -> Option<ServerJsonRpcMessage> {
        match delivered {
            // It names the server's id of a question; `Withdrawn` names the link's number.
            Delivered::Notification { method, .. } if &*method == "notifications/cancelled" => None,
            Delivered::Notification { method, params, .. } => {
                translate::notification(&method, params.as_ref())
            }
            Delivered::Question { question, method, params, .. } => {
                let asked = translate::question(question, &method, params.as_ref());
                if asked.is_none() {
                    self.inbox.answer(question, Answer::refusal(-32600, "Invalid request"));
                }
                asked
            }
            Delivered::Withdrawn { question } => Some(translate::withdrawn(question)),
        }
    }
}

impl Transport<RoleClient> for ClientTransport {
    type Error = CallError;

    fn name() -> Cow<'static, str> {
        "ridethrough".into()
    }

    /// Begins a request and returns at once. Only a notification is waited for, until the server has accepted
    /// it.
    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), CallError>> + Send + 'static {
        let notice = match message {
            JsonRpcMessage::Request(asked) => {
                self.ask(asked.id, &asked.request);
                None
            }
            JsonRpcMessage::Notification(told) => self.notice(&told.notification),
            JsonRpcMessage::Response(answered) => {
                self.reply(&answered.id, Json::of(&answered.result).map(Answer::Result));
                None
            }
            JsonRpcMessage::Error(refused) => {
                if let Some(id) = &refused.id {
                    self.reply(id, Json::of(&refused.error).map(Answer::Error));
                }
                None
            }
        };
        let client = self.client.clone();
        async move {
            match notice {
                Some((method, params)) => client.notify(method, params).await,
                None => Ok(()),
            }
        }
    }

    /// Returns the next message; `None` when the client is closed and every call has ended.
    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let message = match self.next().await? {
                ServerNews::Delivered(delivered) => self.hand_over(delivered),
                ServerNews::Ended(ended) => Some(translate::answer(ended)),
            };
            if message.is_some() {
                return message;
            }
        }
    }

    /// Ends every call, deletes the session and closes the client, within 5 s.
    async fn close(&mut self) -> Result<(), CallError> {
        self.client.close().await;
        Ok(())
    }
}

impl Drop for ClientTransport {
    /// Closes the client, because a clone may keep the link alive.
    fn drop(&mut self) {
        // The command to close is sent at once; its completion is not waited for.
        let _ = self.client.close().now_or_never();
    }
}

impl fmt::Debug for ClientTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTransport").finish_non_exhaustive()
    }
}

/// Tells `rmcp` that a [`Client`] can be served. Applications need not name it.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServesClient {}

impl IntoTransport<RoleClient, CallError, ServesClient> for Client {
    fn into_transport(self) -> impl Transport<RoleClient, Error = CallError> + 'static {
        ClientTransport::new(self)
    }
}

enum ServerNews {
    Delivered(Delivered),
    Ended(CallEnd),
}

/// Sets the identity, connects, and stays connected, because handlers depend on the server's messages.
async fn greet(client: Client, params: Option<Json>) -> Outcome {
    if let Some(identity) = params.as_ref().and_then(identity) {
        client.set_identity(identity);
    }
    // `rmcp` itself decides which revisions it accepts.
    let answer = client.handshake(None).await?;
    let Answer::Result(result) = answer else { return Ok(answer) };
    client.keep_connected();
    // `rmcp` itself refuses what is no description of a server.
    let result = Server::read(result.clone()).map_or(result, |server| server.as_initialized());
    Ok(Answer::Result(result))
}

/// Returns the identity that `rmcp`'s handler names.
fn identity(params: &Json) -> Option<Identity> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialize<'a> {
        #[serde(borrow)]
        client_info: &'a serde_json::value::RawValue,
        #[serde(borrow)]
        capabilities: &'a serde_json::value::RawValue,
    }

    let Initialize { client_info, capabilities } = params.read()?;
    let (info, capabilities) = (Json::of(client_info).ok()?, Json::of(capabilities).ok()?);
    Some(Identity { info, capabilities })
}

/// How many messages of the server may come in a row before calls that ended are looked at.
const CROWD: usize = 64;
