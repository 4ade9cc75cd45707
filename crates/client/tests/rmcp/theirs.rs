//! `rmcp`'s own client transport over the pipes of these tests, for comparison.
//!
//! All recovery is `rmcp`'s: only the single HTTP request is made here.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, request};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rmcp::RoleClient;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::service::{RunningService, ServiceExt};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use crate::guest::Guest;
use crate::rig::Rig;

/// Returns a service over `rmcp`'s own transport.
pub(crate) async fn served(rig: &Rig) -> RunningService<RoleClient, Guest> {
    let config = StreamableHttpClientTransportConfig::with_uri("http://localhost/mcp");
    let transport = StreamableHttpClientTransport::with_client(Wire(rig.clone()), config);
    Guest::default().serve(transport).await.unwrap()
}

#[derive(Clone)]
struct Wire(Rig);

type Failed = StreamableHttpError<io::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl Wire {
    async fn ask(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Failed> {
        let broken = |error: hyper::Error| Failed::Client(io::Error::other(error));
        let pipe = self.0.connect().map_err(Failed::Client)?;
        let (mut requests, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(pipe)).await.map_err(broken)?;
        tokio::spawn(connection);
        let answer = requests.send_request(request).await.map_err(broken)?;
        match answer.status() {
            StatusCode::NOT_FOUND => Err(Failed::SessionExpired),
            status if status.is_success() => Ok(answer),
            status => Err(Failed::UnexpectedServerResponse(status.to_string().into())),
        }
    }
}

impl StreamableHttpClient for Wire {
    type Error = io::Error;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let body = serde_json::to_vec(&message).unwrap();
        let request = head(Method::POST, session, headers)
            .header("content-type", "application/json")
            .header("accept", "text/event-stream, application/json");
        let answer = self.ask(request.body(Full::from(body)).unwrap()).await?;
        if answer.status() == StatusCode::ACCEPTED {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let session = answer.headers().get("mcp-session-id");
        let session = session.and_then(|id| id.to_str().ok()).map(str::to_owned);
        Ok(StreamableHttpPostResponse::Sse(events(answer), session))
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<(), Failed> {
        let request = head(Method::DELETE, Some(session), headers);
        self.ask(request.body(Full::default()).unwrap()).await.map(drop)
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        session: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let mut request = head(Method::GET, session, headers).header("accept", "text/event-stream");
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        self.ask(request.body(Full::default()).unwrap()).await.map(events)
    }
}

fn head(method: Method, session: Option<Arc<str>>, headers: Headers) -> request::Builder {
    let request = Request::builder().method(method).uri("/mcp").header("host", "localhost");
    let request = headers.into_iter().fold(request, |it, (name, value)| it.header(name, value));
    session.into_iter().fold(request, |it, id| it.header("mcp-session-id", &*id))
}

fn events(answer: Response<Incoming>) -> BoxStream<'static, Result<Sse, SseError>> {
    SseStream::from_bytes_stream(answer.into_body().into_data_stream()).boxed()
}
