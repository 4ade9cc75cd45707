//! The server of these tests over HTTP/2.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::case::Reply;
use crate::http1::ask;
use crate::rig::Shared;

type Body = StreamBody<stream::Iter<std::vec::IntoIter<io::Result<Frame<Bytes>>>>>;

/// Answers the requests of one connection until either side ends it.
pub(crate) async fn serve(
    io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    server: Shared,
) {
    let service = service_fn(move |request| answer(request, server.clone()));
    let connection = http2::Builder::new(TokioExecutor::new());
    // The client has seen the end of the connection, however it ended.
    let _ = connection.serve_connection(TokioIo::new(io), service).await;
}

async fn answer(request: Request<Incoming>, server: Shared) -> Result<Response<Body>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let header = |name: &str| parts.headers.get(name)?.to_str().ok().map(str::to_owned);
    let ask = ask(parts.method.as_str(), &body, header);
    let reply = server.lock().unwrap().answer(&ask);
    Ok(written(&reply))
}

fn written(reply: &Reply) -> Response<Body> {
    let mut response = Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        response = response.header(*name, value);
    }
    if let Some(content_type) = reply.content_type {
        response = response.header("content-type", content_type);
    }
    let mut frames = Vec::new();
    if !reply.body.is_empty() {
        frames.push(Ok(Frame::data(Bytes::from(reply.body.clone()))));
    }
    if reply.is_cut {
        // An error in the body resets the stream.
        frames.push(Err(io::ErrorKind::ConnectionReset.into()));
    }
    response.body(StreamBody::new(stream::iter(frames))).unwrap()
}
