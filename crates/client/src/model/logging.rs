//! What a server writes into its log for us to see.

use ridethrough_core::message::Json;
use serde::{Deserialize, Serialize};

use super::keeps_its_json;

/// How much a message of the log matters: the levels of RFC 5424, the least first.
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
    /// How much it matters.
    pub level: LogLevel,
    /// Which part of the server speaks.
    #[serde(default)]
    pub logger: Option<String>,
    /// What it says: a string, or anything else.
    pub data: Json,
    /// The whole message, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

keeps_its_json!(LogMessage);
