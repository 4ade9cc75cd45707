//! The official SDK over this client: a [`Client`] is a transport of `rmcp`. Feature `rmcp`.
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
//! Lost sessions, restarts, broken streams and refusals are then this client's affair. `rmcp` sees
//! answers; where there is none, its error carries the [`Facts`].
//!
//! This module translates and decides nothing: it never waits, retries or keeps a message. It has no
//! task of its own either: all that is under way is in the [`ClientTransport`] and ends with it.

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
use ridethrough_core::message::{Answer, Json};
use ridethrough_core::{CallError, Delivered, Identity, Outcome, QuestionId};
use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::{IntoTransport, Transport};

use crate::client::{Client, Inbox, Server};

use calls::{CallEnd, Calls};

/// A client of ours as `rmcp` sees it. A [`Client`] becomes one when it is served.
///
/// It takes the client over: who we are is what `rmcp`'s handler says, the server's own messages go
/// to that handler, and the client is closed when the service ends. A clone may watch
/// ([`Client::events`], [`Client::status`]) and call; it must not take the inbox.
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
    /// How many messages of the server were handed over since a call was looked at.
    in_a_row: usize,
    /// The inbox has ended: what is left are the ends of calls.
    is_over: bool,
}

impl ClientTransport {
    /// Takes over a client that has not connected yet.
    ///
    /// One that has keeps the identity of its session until the next one begins.
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
            // The revision it belongs to is not spoken here: `rmcp` then falls back to `initialize`.
            // Sent on, it would begin a session before `rmcp` has said who we are.
            "server/discover" => {
                let answer = Answer::refusal(-32601, "Method not found");
                self.calls.begin(id, method, std::future::ready(Ok(answer)));
            }
            _ => self.calls.begin(id, method.clone(), client.request(method, params).answer()),
        }
    }

    /// What is to be told to the server, if it is not ours to say.
    fn notice(&mut self, told: &ClientNotification) -> Option<(String, Option<Json>)> {
        match told {
            // The link tells the server itself, in each of its sessions.
            ClientNotification::InitializedNotification(_) => None,
            // The link knows by which id the server knows the request, and whether it does.
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

    /// The server's messages first: progress belongs before the answer it leads to. But a server
    /// that never stops talking must not hold up the answers.
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
            // It names the server's id of a question. `Withdrawn` says the same in ours.
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

    /// Begins a request at once, and ends at once. Only a notification is waited for: until the
    /// server has taken it.
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

    /// `None` when the client is closed and every call has ended.
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

    /// Ends every call, gives the session back and closes the client; takes at most 5 s.
    async fn close(&mut self) -> Result<(), CallError> {
        self.client.close().await;
        Ok(())
    }
}

impl Drop for ClientTransport {
    /// A clone of the client may live on, and with it the link.
    fn drop(&mut self) {
        // The command to close is made at once; nobody waits for it to come true.
        let _ = self.client.close().now_or_never();
    }
}

impl fmt::Debug for ClientTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTransport").finish_non_exhaustive()
    }
}

/// Tells `rmcp` that a [`Client`] can be served. Nobody needs to name it.
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

/// Says who we are, connects, and stays connected: handlers live from what the server tells.
async fn greet(client: Client, params: Option<Json>) -> Outcome {
    if let Some(identity) = params.as_ref().and_then(identity) {
        client.set_identity(identity);
    }
    // Which revisions `rmcp` speaks is for `rmcp` to say.
    let answer = client.handshake(None).await?;
    let Answer::Result(result) = answer else { return Ok(answer) };
    client.keep_connected();
    // What is no description of a server is for `rmcp` to refuse.
    let result = Server::read(result.clone()).map_or(result, |server| server.as_initialized());
    Ok(Answer::Result(result))
}

/// Who `rmcp`'s handler says we are.
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

/// So many messages of the server may come before the answers that wait are looked at.
const CROWD: usize = 64;
