//! The notifications of a server, and the log messages in some of them.

use ridethrough_wire::message::Json;
use ridethrough_wire::message::notification;
use serde::{Deserialize, Serialize};

use super::{keeps_its_json, read};

/// A notification of the server. Progress is not among them: it goes to its call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notification {
    /// A person has completed what was asked for at a URL, as far as the server knows.
    ElicitationComplete {
        /// The id of the request, as in [`UrlRequest`](super::UrlRequest).
        elicitation_id: String,
    },
    /// A log message of the server.
    Log(LogMessage),
    /// The list of prompts may have changed.
    PromptsChanged,
    /// The list of resources may have changed.
    ResourcesChanged,
    /// A resource that was subscribed to has changed.
    ResourceUpdated {
        /// The resource.
        uri: String,
    },
    /// The list of tools may have changed.
    ToolsChanged,
    /// Another notification, as it was sent.
    Other {
        /// The JSON-RPC method.
        method: Box<str>,
        /// The params, as sent.
        params: Option<Json>,
    },
}

impl Notification {
    /// Reads a notification; one that is invalid for its method is kept as it was sent.
    pub(crate) fn read(method: Box<str>, params: Option<Json>) -> Self {
        #[derive(Deserialize)]
        struct Updated {
            uri: String,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Complete {
            elicitation_id: String,
        }

        let details = params.as_ref();
        let known = match &*method {
            notification::ELICITATION_COMPLETE => details
                .and_then(Json::read)
                .map(|Complete { elicitation_id }| Self::ElicitationComplete { elicitation_id }),
            notification::LOG => {
                details.and_then(|params| read(params.clone()).ok()).map(Self::Log)
            }
            notification::PROMPTS_CHANGED => Some(Self::PromptsChanged),
            notification::RESOURCES_CHANGED => Some(Self::ResourcesChanged),
            notification::RESOURCE_UPDATED => {
                details.and_then(Json::read).map(|Updated { uri }| Self::ResourceUpdated { uri })
            }
            notification::TOOLS_CHANGED => Some(Self::ToolsChanged),
            _ => None,
        };
        known.unwrap_or(Self::Other { method, params })
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_keep_to_the_rules_of_its_method_stays_what_it_was() {
        for (method, params) in [
            ("notifications/message", Some(r#"{"level":"loud","data":1}"#)),
            ("notifications/resources/updated", None),
            ("notifications/elicitation/complete", Some("{}")),
            ("notifications/of/next/year", Some("[1.10]")),
        ] {
            let params = params.map(|text| Json::new(text).unwrap());

            let read = Notification::read(method.into(), params.clone());

            assert_eq!(read, Notification::Other { method: method.into(), params });
        }
    }
}
