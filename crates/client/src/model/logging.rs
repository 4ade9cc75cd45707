//! The log messages that a server sends.

use ridethrough_wire::message::Json;
use serde::{Deserialize, Serialize};

use super::keeps_its_json;

/// The severity of a log message: the levels of RFC 5424, the least severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words of RFC 5424 are all there is to say")]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// One message of a server's log.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct LogMessage {
    /// The severity.
    pub level: LogLevel,
    /// The part of the server that logs.
    #[serde(default)]
    pub logger: Option<String>,
    /// The data: a string, or any other JSON.
    pub data: Json,
    /// The whole message, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

keeps_its_json!(LogMessage);
