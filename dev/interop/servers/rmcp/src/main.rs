//! The surface of ../README.md on rmcp, or what the official suite asks for, in both eras, with the SDK's own
//! sessions and its cache of events.

mod conformance;
mod failure;
mod news;
mod rounds;
mod surface;
mod tasks;
mod tools;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt};

use conformance::Fixture;
use surface::Surface;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    if std::env::var_os("INTEROP_CONFORMANCE").is_some() {
        serve::<Fixture>().await
    } else {
        serve::<Surface>().await
    }
}

async fn serve<S: Default + ServerHandler>() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("stdio") {
        S::default().serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    }
    let mut config = StreamableHttpServerConfig::default();
    config.sse_retry = Some(RETRY);
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.sse_retry = Some(RETRY);
    if let Ok(idle) = std::env::var("INTEROP_IDLE_MS") {
        sessions.session_config.keep_alive = Some(Duration::from_millis(idle.parse()?));
    }
    let service = StreamableHttpService::new(|| Ok(S::default()), Arc::new(sessions), config);
    let port: u16 = std::env::var("PORT").unwrap_or_default().parse().unwrap_or(0);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening on http://{}/mcp", listener.local_addr()?);
    let app = axum::Router::new().nest_service("/mcp", service);
    let mut ended = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        served = axum::serve(listener, app) => served?,
        _ = ended.recv() => {}
    }
    Ok(())
}

/// How soon a client may come back to a stream.
const RETRY: Duration = Duration::from_millis(200);
