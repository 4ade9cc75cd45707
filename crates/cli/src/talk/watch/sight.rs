//! One line of `watch`, for people or as JSON for machines.

use ridethrough::Json;
use ridethrough::error::Audience;
use ridethrough::event::{Event, Moment, Status};
use ridethrough::machine::Generation;
use ridethrough::machine::breaker::BreakerState;
use ridethrough::model::Notification;
use serde::Serialize;

use crate::safe;
use crate::secrets;
use crate::talk::teller;

/// Something that `watch` saw, and when.
pub(super) struct Sight {
    at: Moment,
    what: What,
}

#[derive(Serialize)]
#[serde(tag = "seen", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum What {
    Event { event: &'static str, text: String },
    Missed { count: u64 },
    Notification { method: String, params: Option<Json> },
    Status(Standing),
}

/// The state of the link, as far as a change is worth a line.
#[derive(Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Standing {
    /// The number of the session; the first is 1.
    session: Option<u64>,
    /// Whether the last connection could be made, and carried an answer.
    is_reached: bool,
    revision: Option<&'static str>,
    breaker: &'static str,
    /// The last failure, as long as it lasts.
    last_failure: Option<String>,
    /// The same failure in words for people.
    #[serde(skip)]
    told_failure: Option<String>,
}

/// The status that was shown last.
#[derive(Default)]
pub(super) struct LastStatus {
    standing: Option<Standing>,
    generation: Option<Generation>,
    sessions: u64,
}

impl Sight {
    pub(super) fn event(at: Moment, event: &Event) -> Self {
        let news = teller::wording_of(event, at);
        Self { at, what: What::Event { event: news.name, text: news.words } }
    }

    /// Returns this event in other words.
    pub(super) fn reworded(self, words: String) -> Self {
        match self.what {
            What::Event { event, .. } => Self { what: What::Event { event, text: words }, ..self },
            _ => self,
        }
    }

    pub(super) const fn missed(at: Moment, count: u64) -> Self {
        Self { at, what: What::Missed { count } }
    }

    pub(super) fn notification(at: Moment, told: &Notification) -> Self {
        let object = |name: &str, value: &str| Json::from(serde_json::json!({ name: value }));
        let (method, params) = match told {
            Notification::ElicitationComplete { elicitation_id } => {
                ("elicitation/complete", Some(object("elicitationId", elicitation_id)))
            }
            Notification::Log(message) => ("message", Some(message.json.clone())),
            Notification::PromptsChanged => ("prompts/list_changed", None),
            Notification::ResourcesChanged => ("resources/list_changed", None),
            Notification::ResourceUpdated { uri } => {
                ("resources/updated", Some(object("uri", uri)))
            }
            Notification::ToolsChanged => ("tools/list_changed", None),
            Notification::Other { method, params } => {
                let method = method.strip_prefix("notifications/").unwrap_or(method);
                (method, params.clone())
            }
            // The library may learn new kinds before there are words for them here.
            _ => ("other", None),
        };
        let params = params.and_then(|it| Json::new(secrets::masked_json(it.as_str())).ok());
        Self { at, what: What::Notification { method: secrets::masked(method), params } }
    }

    /// Returns the status, if it differs from the last one.
    pub(super) fn status(status: &Status, last: &mut LastStatus) -> Option<Self> {
        if status.generation.is_some() && status.generation != last.generation {
            last.generation = status.generation;
            last.sessions += 1;
        }
        let is_reached = status.outage_since.is_none();
        let failure = status
            .last_failure
            .as_ref()
            .map(|(_, reason)| reason)
            .filter(|_| !is_reached || status.generation.is_none());
        let standing = Standing {
            session: status.generation.map(|_| last.sessions),
            is_reached,
            revision: status.version.map(|it| it.as_str()),
            breaker: match status.breaker {
                BreakerState::Closed => "closed",
                BreakerState::Open { .. } => "open",
                BreakerState::Probing => "probing",
            },
            last_failure: failure.map(ToString::to_string),
            told_failure: failure.map(|reason| reason.words(Audience::CommandLine)),
        };
        let is_new = last.standing.as_ref() != Some(&standing);
        last.standing = Some(standing.clone());
        is_new.then_some(Self { at: status.now, what: What::Status(standing) })
    }

    pub(super) fn line(&self) -> String {
        let at = self.at.to_string();
        format!("{at:>9}  {}", self.words())
    }

    /// Returns the line in words, safe to be shown.
    fn words(&self) -> String {
        let words = match &self.what {
            What::Event { text, .. } => text.clone(),
            What::Missed { count } => format!("{count} events were missed"),
            What::Notification { method, params } => {
                let params = params.as_ref().map(|it| safe::json(it.as_str())).unwrap_or_default();
                format!("server tells {method} {params}")
            }
            What::Status(standing) => standing.words(),
        };
        safe::our_line(words.trim_end())
    }

    pub(super) fn json(&self) -> String {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Line<'a> {
            at_ms: u64,
            #[serde(flatten)]
            what: &'a What,
        }

        let at_ms = u64::try_from(self.at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let line = Line { at_ms, what: &self.what };
        serde_json::to_string(&line).expect("strings, numbers and JSON are JSON")
    }
}

impl Standing {
    fn words(&self) -> String {
        let standing = match self.session {
            Some(_) if self.is_reached => "connected",
            Some(_) => "cannot be reached",
            None => "not connected",
        };
        let revision = self.revision.map(|it| format!(", revision {it}")).unwrap_or_default();
        let breaker = if self.breaker == "closed" { "" } else { ", calls are held back" };
        let failure = self.told_failure.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
        format!("status: {standing}{revision}{breaker}{failure}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_is_passed_on_as_it_was_sent() {
        let params = Json::new(r#"{"n":1.10,"big":123456789012345678901234567890}"#).unwrap();
        let told = Notification::Other { method: "notifications/x".into(), params: Some(params) };

        let sight = Sight::notification(Moment::millis(1500), &told);

        assert_eq!(
            sight.json(),
            r#"{"atMs":1500,"seen":"notification","method":"x","params":{"n":1.10,"big":123456789012345678901234567890}}"#
        );
    }

    #[test]
    fn harmful_words_do_no_harm_on_a_line() {
        let params = Json::new("{\"t\":\"\u{9b}2J\"}").unwrap();
        let told = Notification::Other { method: "a\u{1b}[2J\nb".into(), params: Some(params) };

        let line = Sight::notification(Moment::START, &told).line();

        assert!(!line.contains(|it: char| it.is_control()), "{line:?}");
    }
}
