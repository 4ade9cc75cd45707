//! What a server tells unasked.

use ridethrough_core::message::Json;
use ridethrough_core::message::notification;
use serde::Deserialize;

use super::{LogMessage, read};

/// Something that a server told. Progress is not among them: it goes to its call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notification {
    /// What a person was asked to do at a URL is done, as far as the server is concerned.
    ElicitationComplete {
        /// Names the request, as in [`UrlRequest`](super::UrlRequest).
        elicitation_id: String,
    },
    /// A message of the server's log.
    Log(LogMessage),
    /// There may be other prompts than before.
    PromptsChanged,
    /// There may be other resources than before.
    ResourcesChanged,
    /// A resource that was subscribed to has changed.
    ResourceUpdated {
        /// Which.
        uri: String,
    },
    /// There may be other tools than before.
    ToolsChanged,
    /// Something else, as it was sent.
    Other {
        /// What.
        method: Box<str>,
        /// The details.
        params: Option<Json>,
    },
}

impl Notification {
    /// What does not keep to the rules of its method stays what it was.
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
