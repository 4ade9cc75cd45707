//! A minimal proxy: it passes each request on over a pool of connections, and the body of the answer back as it
//! comes. It knows no MCP and recovers from nothing.

use std::convert::Infallible;

use anyhow::{Context, Result};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let server = std::env::args().nth(1).context("the URL of the server is missing")?;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("http://{}", listener.local_addr()?);
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let http: Pool = Client::builder(TokioExecutor::new()).build(connector);
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let (http, server) = (http.clone(), server.clone());
        tokio::spawn(async move {
            let pass = service_fn(|request| pass(&http, &server, request));
            // A caller that closes is not an error of the proxy.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), pass).await;
        });
    }
}

type Pool = Client<HttpConnector, Incoming>;

async fn pass(
    http: &Pool,
    server: &str,
    mut request: Request<Incoming>,
) -> Result<Response<BoxBody<Bytes, hyper::Error>>, Infallible> {
    let to: Result<Uri, _> = format!("{server}{}", request.uri().path()).parse();
    let Ok(to) = to else { return Ok(bad_gateway()) };
    request.headers_mut().remove("host");
    *request.uri_mut() = to;
    Ok(match http.request(request).await {
        Ok(response) => response.map(BodyExt::boxed),
        Err(_) => bad_gateway(),
    })
}

fn bad_gateway() -> Response<BoxBody<Bytes, hyper::Error>> {
    let nothing = Empty::new().map_err(|never| match never {}).boxed();
    let mut response = Response::new(nothing);
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response
}
