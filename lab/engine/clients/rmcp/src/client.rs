//! A client of the SDK, by the calls that its documentation shows.

use std::error::Error;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, CustomRequest,
    ServerResult,
};
use rmcp::service::{PeerRequestOptions, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::guest::Heard;

pub struct Client(RunningService<RoleClient, Heard>);

impl Client {
    pub async fn connect(url: &str, bearer: Option<String>, heard: Heard) -> Result<Self, String> {
        let mut config = StreamableHttpClientTransportConfig::with_uri(url);
        if let Some(token) = bearer {
            config = config.auth_header(token);
        }
        let transport = StreamableHttpClientTransport::from_config(config);
        heard.serve(transport).await.map(Self).map_err(|error| told(&error))
    }

    pub fn server(&self) -> Value {
        self.0.peer_info().and_then(|info| serde_json::to_value(&*info).ok()).unwrap_or_default()
    }

    pub async fn call(
        &self,
        tool: &str,
        args: Map<String, Value>,
        limit: Option<Duration>,
        cancel_after: Option<Duration>,
    ) -> Result<Value, String> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
        let result = match (limit, cancel_after) {
            (None, None) => self.0.call_tool(params).await,
            _ => self.call_with_options(params, limit, cancel_after).await,
        };
        let result = result.map_err(|error| told(&error))?;
        let texts: Vec<_> =
            result.content.iter().filter_map(|it| Some(it.as_text()?.text.as_str())).collect();
        let is_error = result.is_error.unwrap_or(false);
        Ok(json!({ "text": texts.join("\n"), "isError": is_error }))
    }

    /// The SDK takes a limit, and can be told to cancel, only with the request as such.
    async fn call_with_options(
        &self,
        params: CallToolRequestParams,
        limit: Option<Duration>,
        cancel_after: Option<Duration>,
    ) -> Result<CallToolResult, ServiceError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = limit.map(PeerRequestOptions::with_timeout).unwrap_or_default();
        let mut handle = self.0.send_cancellable_request(request, options).await?;
        let answer = match cancel_after {
            None => handle.await_response().await?,
            Some(after) => match timeout(after, &mut handle.rx).await {
                Ok(answered) => answered.map_err(|_| ServiceError::TransportClosed)??,
                Err(_) => {
                    let reason = Some("the caller cancelled".to_owned());
                    handle.cancel(reason.clone()).await?;
                    return Err(ServiceError::Cancelled { reason });
                }
            },
        };
        match answer {
            ServerResult::CallToolResult(result) => Ok(result),
            _ => Err(ServiceError::UnexpectedResponse),
        }
    }

    pub async fn request(
        &self,
        method: String,
        params: Option<Value>,
        limit: Option<Duration>,
    ) -> Result<Value, String> {
        let request = ClientRequest::CustomRequest(CustomRequest::new(method, params));
        let options = limit.map(PeerRequestOptions::with_timeout).unwrap_or_default();
        let asking = async {
            self.0.send_cancellable_request(request, options).await?.await_response().await
        };
        let result = asking.await.map_err(|error| told(&error))?;
        let json = serde_json::to_value(result).map_err(|error| error.to_string())?;
        Ok(json!({ "json": json }))
    }

    pub async fn close(self) -> Result<Value, String> {
        self.0.cancel().await.map(|_| Value::Null).map_err(|error| error.to_string())
    }
}

/// An error and everything behind it.
fn told(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text += &format!("; cause: {inner}");
        cause = inner.source();
    }
    text
}
