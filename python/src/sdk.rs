//! Messages of the SDK, as calls of the client.
//!
//! The SDK believes that it speaks to a server. The link makes the handshake, listens and cancels by itself, so
//! those messages are answered or dropped here, and the rest are calls.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ridethrough::error::{CallError, Error};
use ridethrough::event::{Answer, QuestionId};
use ridethrough::server::{Identity, Server};
use ridethrough::{Client, Json};

use crate::call_options::CallOptions;
use crate::carried::TAG;
use crate::event;
use crate::messages::{self, SdkMessage, part};
use crate::porter::{CallKey, PorterCommand};
use crate::queue::Item;
use crate::repeats::Repeats;

/// Returns what the porter does about a message. A tag, if there is one, comes back with each HTTP request that
/// is made for it.
pub(crate) fn taken(
    client: &Client,
    repeats: &Arc<Repeats>,
    message: &SdkMessage<'_>,
    tag: Option<u64>,
    options: &CallOptions,
) -> Option<PorterCommand> {
    let params = message.params.map(part);
    match (message.id, message.method.as_deref()) {
        (Some(id), Some(method)) => {
            let request = SdkRequest { client, repeats, id: id.get(), method, params };
            Some(request.taken(tag, options))
        }
        (None, Some(method)) => notice(client, method, params),
        (Some(id), None) => reply(id.get(), message),
        (None, None) => None,
    }
}

struct SdkRequest<'a> {
    client: &'a Client,
    repeats: &'a Arc<Repeats>,
    id: &'a str,
    method: &'a str,
    params: Option<Json>,
}

impl SdkRequest<'_> {
    fn taken(self, tag: Option<u64>, options: &CallOptions) -> PorterCommand {
        let id = self.id.to_owned();
        let call = match self.method {
            "initialize" => greet(self.client.clone(), self.repeats.clone(), self.params)
                .map(move |greeted| messages::response(&id, greeted))
                .boxed(),
            // The SDK falls back to `initialize`. Sent on, it would begin a session before the SDK has named its
            // identity, and a server that is down would cost the SDK its whole patience.
            "server/discover" => {
                let refused = Answer::refusal(-32601, "Method not found");
                std::future::ready(messages::response(&id, Ok(refused))).boxed()
            }
            _ => return self.called(tag, options),
        };
        PorterCommand::Begin { key: CallKey::Id(self.id.into()), call }
    }

    fn called(self, tag: Option<u64>, options: &CallOptions) -> PorterCommand {
        let Self { client, repeats, id, method, params } = self;
        let stamped = params.as_ref().and_then(stamped);
        let is_stamped = stamped.is_some();
        if let Some(identity) = stamped {
            repeats.set_client(&identity.info);
            client.set_identity(identity);
        }
        if let Some(doubt) = repeats.held(method, params.as_ref()) {
            let answer = of_era(repeats.answer_to_repeat(&doubt), is_stamped);
            return held(messages::doubt_told(id, answer), params.as_ref());
        }
        let watched = repeats.watch(Some(id), method, params.as_ref());
        let mut call = options.apply(client.request(method, params));
        if is_stamped {
            // In the revision without a handshake the SDK provides what a server asks for itself, and
            // describes its requests in headers.
            call = call.passing_input().own_routing_headers();
        }
        if let Some(tag) = tag {
            call = call.header(TAG, tag.to_string());
        }
        let key = CallKey::Id(id.into());
        let id = id.to_owned();
        let call = call.answer().map(move |outcome| {
            let told = watched.and_then(|it| it.ended(&outcome));
            let outcome = told.map_or(outcome, |told| Ok(of_era(told, is_stamped)));
            messages::response(&id, outcome)
        });
        PorterCommand::Begin { key, call: call.boxed() }
    }
}

/// Returns the end of a call that is not sent, because it repeats one that may have run.
pub(crate) fn held(item: Item, params: Option<&Json>) -> PorterCommand {
    let tool = params.and_then(|it| it.member("name")?.read::<String>());
    PorterCommand::EndHeld { item, event: event::of_held_repeat(tool.as_deref()) }
}

/// Returns a result as the revision of the request has it: without sessions each says of what kind it is.
pub(crate) fn of_era(answer: Answer, is_stamped: bool) -> Answer {
    match answer {
        Answer::Result(result) if is_stamped => {
            let complete = Json::of("complete").expect("a text is JSON");
            Answer::Result(result.with_members([("resultType".to_owned(), complete)]))
        }
        other => other,
    }
}

fn notice(client: &Client, method: &str, params: Option<Json>) -> Option<PorterCommand> {
    match method {
        // The link itself sends it, in each of its sessions.
        "notifications/initialized" => None,
        // The link knows the request's id at the server, and whether the server has it.
        "notifications/cancelled" => {
            let id = params?.member("requestId")?;
            Some(PorterCommand::Cancel(CallKey::Id(id.as_str().into())))
        }
        _ => {
            let (client, method) = (client.clone(), method.to_owned());
            // An event tells of one that could not be delivered.
            let noticing = async move { drop(client.notify(method, params).await) };
            Some(PorterCommand::Perform(begun(noticing.boxed())))
        }
    }
}

fn reply(id: &str, message: &SdkMessage<'_>) -> Option<PorterCommand> {
    let question = QuestionId::new(id.parse().ok()?);
    let answer = match (message.result, message.error) {
        (Some(result), _) => Answer::Result(part(result)),
        (None, error) => Answer::Error(part(error?)),
    };
    Some(PorterCommand::Answer { question, answer })
}

/// Returns the identity that a request of the revision without a handshake names.
fn stamped(params: &Json) -> Option<Identity> {
    let meta = params.member("_meta")?;
    let [info, capabilities] = meta
        .pick(["io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities"]);
    Some(Identity { info: info?, capabilities: capabilities? })
}

/// Sets the identity that the SDK names, connects, and stays connected for the server's messages.
async fn greet(
    client: Client,
    repeats: Arc<Repeats>,
    params: Option<Json>,
) -> Result<Answer, CallError> {
    let identity = params.and_then(|params| {
        let [info, capabilities] = params.pick(["clientInfo", "capabilities"]);
        Some(Identity { info: info?, capabilities: capabilities? })
    });
    if let Some(identity) = identity {
        repeats.set_client(&identity.info);
        client.set_identity(identity);
    }
    let greeted = greeted(client.connect().await);
    client.keep_connected();
    greeted
}

/// Returns the server's description of itself as the answer to `initialize`.
pub(crate) fn greeted(connected: Result<Server, Error>) -> Result<Answer, CallError> {
    match connected {
        Ok(server) => Ok(Answer::Result(server.as_initialized())),
        Err(Error::Call(error)) => Err(error),
        Err(Error::Server(error)) => Ok(Answer::Error(error.json)),
        // The SDK itself decides which revisions it accepts.
        Err(Error::Answer { result, .. }) => Ok(Answer::Result(result)),
        Err(other) => Ok(Answer::refusal(-32603, &other.to_string())),
    }
}

/// Polls a future once, so that what it sends keeps its place in the order of calls.
pub(crate) fn begun<T: Send + 'static>(mut future: BoxFuture<'static, T>) -> BoxFuture<'static, T> {
    match (&mut future).now_or_never() {
        Some(ended) => std::future::ready(ended).boxed(),
        None => future,
    }
}
