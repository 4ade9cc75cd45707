//! The backend over HTTP: `/ROOM/mcp` for each sequence, in one era.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use bytes::Bytes;
use futures_util::stream;
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::room::Room;
use super::{Answer, Asked, Backend, Envelope, Era, answer, error, response};

type Reply = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// Serves a backend on a port that the system chooses. Returns its address; dropping the task ends it.
pub(crate) async fn serve(backend: Arc<Backend>) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let backend = backend.clone();
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    let backend = backend.clone();
                    async move { Ok::<_, Infallible>(reply(&backend, request).await) }
                });
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                // A client that leaves ends its connection.
                let _ = connection.await;
            });
        }
    });
    Ok(address)
}

async fn reply(backend: &Backend, request: Request<Incoming>) -> Reply {
    let path = request.uri().path().to_owned();
    let Some(room) = path.strip_suffix("/mcp").map(|it| backend.room(it)) else {
        return empty(StatusCode::NOT_FOUND);
    };
    let session = request.headers().get(SESSION).and_then(|it| it.to_str().ok());
    let session = session.map(str::to_owned);
    match (request.method(), session) {
        (&Method::POST, session) => {
            let Ok(body) = request.into_body().collect().await else {
                return empty(StatusCode::BAD_REQUEST);
            };
            post(&room, session, &String::from_utf8_lossy(&body.to_bytes())).await
        }
        (&Method::GET, Some(session)) => {
            let (out, messages) = mpsc::unbounded_channel();
            room.listen(&session, out);
            events(messages, None)
        }
        (&Method::DELETE, Some(_)) => empty(StatusCode::OK),
        _ => empty(StatusCode::METHOD_NOT_ALLOWED),
    }
}

async fn post(room: &Arc<Room>, session: Option<String>, body: &str) -> Reply {
    let Ok(read) = serde_json::from_str::<Envelope<'_>>(body) else {
        let refusal = Err(error(-32700, "no message").to_string());
        return json(StatusCode::BAD_REQUEST, response("null", &refusal));
    };
    let text = read.params.map_or("{}", |it| it.get()).to_owned();
    let params: Value = serde_json::from_str(&text).unwrap_or_default();
    let is_session = room.era == Era::Sessions;
    let Some((method, id)) = read.method.clone().zip(read.id.map(|it| it.get().to_owned())) else {
        if let (Some(id), Some(_)) = (read.id, &session) {
            room.answered(id.get(), read.result.unwrap_or_default());
        } else if let (Some("notifications/cancelled"), Some(session)) =
            (read.method.as_deref(), &session)
        {
            room.cancel(session, &params["requestId"].to_string());
        }
        return empty(StatusCode::ACCEPTED);
    };
    let begins = is_session && method == "initialize";
    if is_session && session.is_none() && !begins {
        let refusal = Err(error(-32000, "a session is needed").to_string());
        return json(StatusCode::BAD_REQUEST, response(&id, &refusal));
    }
    if !is_session && params["_meta"][VERSION] != "2026-07-28" {
        let mut refusal = error(-32601, "2026-07-28 is spoken here");
        refusal["data"] = json!({"supported": ["2026-07-28"]});
        return json(StatusCode::NOT_FOUND, response(&id, &Err(refusal.to_string())));
    }
    let peer = session.filter(|_| !begins).unwrap_or_else(next_peer);
    let (out, messages) = mpsc::unbounded_channel();
    let asked = Asked { peer: peer.clone(), id, method, params, text, out };
    if !is_session && asked.method == "subscriptions/listen" {
        let wanted = &asked.params["notifications"];
        room.listen_stateless(&peer, &asked.id, wanted, asked.out.clone());
        return events(messages, None);
    }
    if asked.method == "tools/call" {
        let answering = Box::pin(answered(room.clone(), asked));
        return events(messages, Some(answering));
    }
    let answer = answer(room, &asked).await;
    let status = match &answer {
        Err(error) if !is_session && error.contains("-32601") => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    };
    let mut reply = json(status, response(&asked.id, &answer));
    if let (true, Ok(peer)) = (begins, peer.parse()) {
        reply.headers_mut().insert(SESSION, peer);
    }
    reply
}

/// Answers a call. In the stateless era a client that closes the stream takes its call back.
async fn answered(room: Arc<Room>, asked: Asked) -> String {
    let mut abandoned = Abandoned(Some(room.clone()).filter(|it| it.era == Era::Stateless));
    let answer: Answer = answer(&room, &asked).await;
    abandoned.0 = None;
    response(&asked.id, &answer)
}

/// Tells a room that the client left, unless it is emptied before.
struct Abandoned(Option<Arc<Room>>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        if let Some(room) = &self.0 {
            room.abandon();
        }
    }
}

/// A stream of messages that ends with the answer, if there is one to wait for.
fn events(
    messages: mpsc::UnboundedReceiver<String>,
    answer: Option<std::pin::Pin<Box<dyn Future<Output = String> + Send>>>,
) -> Reply {
    struct Talk {
        messages: mpsc::UnboundedReceiver<String>,
        answer: Option<std::pin::Pin<Box<dyn Future<Output = String> + Send>>>,
        last: Option<String>,
        stands: bool,
    }
    let stands = answer.is_none();
    let talk = Talk { messages, answer, last: None, stands };
    let events = stream::unfold(talk, |mut talk| async move {
        loop {
            let next = match &mut talk.answer {
                Some(answering) => tokio::select! {
                    biased;
                    Some(message) = talk.messages.recv() => message,
                    last = answering => {
                        talk.answer = None;
                        talk.last = Some(last);
                        continue;
                    }
                },
                None if talk.stands => talk.messages.recv().await?,
                None => match talk.messages.try_recv() {
                    Ok(message) => message,
                    Err(_) => talk.last.take()?,
                },
            };
            let event = Bytes::from(format!("data: {next}\n\n"));
            return Some((Ok::<_, Infallible>(Frame::data(event)), talk));
        }
    });
    let mut reply = Response::new(BodyExt::boxed_unsync(StreamBody::new(events)));
    let kind = http::HeaderValue::from_static("text/event-stream");
    reply.headers_mut().insert(CONTENT_TYPE, kind);
    reply
}

fn json(status: StatusCode, body: String) -> Reply {
    let mut reply = Response::new(Full::new(Bytes::from(body)).boxed_unsync());
    *reply.status_mut() = status;
    let kind = http::HeaderValue::from_static("application/json");
    reply.headers_mut().insert(CONTENT_TYPE, kind);
    reply
}

fn empty(status: StatusCode) -> Reply {
    let mut reply = Response::new(Full::new(Bytes::new()).boxed_unsync());
    *reply.status_mut() = status;
    reply
}

/// Names a session, or a request that has none.
fn next_peer() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    format!("peer-{}", LAST.fetch_add(1, Ordering::Relaxed))
}

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
