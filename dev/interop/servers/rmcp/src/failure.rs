//! What all tools share: why one gave no text, and the line that survives the program.

use std::fs::OpenOptions;
use std::io::Write;

use rmcp::RoleServer;
use rmcp::model::{CreateTaskResult, ErrorCode, ErrorData, InputRequiredResult};
use rmcp::service::RequestContext;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) type Context = RequestContext<RoleServer>;

/// Why a tool gave no text: it asks for input, it answers later, a result with `isError`, or an error of
/// the protocol.
pub(crate) enum Failure {
    Asks(InputRequiredResult),
    Later(Box<CreateTaskResult>),
    Protocol(ErrorData),
    Tool(String),
}

impl From<ErrorData> for Failure {
    fn from(error: ErrorData) -> Self {
        Self::Protocol(error)
    }
}

impl From<rmcp::ServiceError> for Failure {
    fn from(error: rmcp::ServiceError) -> Self {
        refusal(-32603, error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        refusal(-32603, error.to_string())
    }
}

pub(crate) fn refusal(code: i32, message: String) -> Failure {
    Failure::Protocol(error(code, message))
}

pub(crate) fn error(code: i32, message: String) -> ErrorData {
    ErrorData::new(ErrorCode(code), message, None)
}

pub(crate) fn of<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|wrong| error(-32603, wrong.to_string()))
}

/// A line that survives us: one write to a file opened for appending.
pub(crate) fn note(line: &str) -> std::io::Result<()> {
    let path = std::env::var("INTEROP_LEDGER").map_err(std::io::Error::other)?;
    let mut ledger = OpenOptions::new().create(true).append(true).open(path)?;
    ledger.write_all(format!("{line}\n").as_bytes())
}
