//! Events of the link, as JSON.

use ridethrough::error::{Delivery, Kind};
use ridethrough::event::{Event, Seen};
use ridethrough::wording::{self, Weight};
use serde_json::{Value, json};

use crate::facts::millis;

/// The importance of an event, in the levels of Python's `logging`; the later, the more important.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Debug,
    Info,
    Warning,
}

impl Level {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Debug, Self::Info, Self::Warning].into_iter().find(|level| level.as_str() == text)
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warning => "warning",
        }
    }

    const fn of(weight: Weight) -> Self {
        match weight {
            Weight::Detail => Self::Debug,
            Weight::Recovery => Self::Info,
            Weight::Trouble | Weight::Warning => Self::Warning,
        }
    }
}

/// Returns an event as an observer sees it: a name for programs, words for people, and the facts of a call's
/// end. `None` if it is less important than `least`.
pub(crate) fn json(seen: &Seen, least: Level) -> Option<Vec<u8>> {
    let told = match seen {
        Seen::Missed(count) => json!({
            "name": "missed",
            "level": Level::Warning.as_str(),
            "message": format!("{count} events came too fast to be kept"),
        }),
        // Most events are of this kind, and words for them cost more than the call itself.
        Seen::Event { event: Event::CallEnded { kind: None, .. }, .. } if least > Level::Debug => {
            return None;
        }
        Seen::Event { at, event } => {
            let wording = wording::of(event, *at);
            let level = Level::of(wording.weight);
            if level < least {
                return None;
            }
            let mut told = json!({
                "name": wording.name,
                "level": level.as_str(),
                "message": wording.words,
            });
            add_call(&mut told, event);
            told
        }
    };
    Some(told.to_string().into_bytes())
}

/// Returns the event of a call that was not sent, because it repeats one that may have run.
pub(crate) fn of_held_repeat(tool: Option<&str>) -> Vec<u8> {
    let told = json!({
        "name": "repeatHeld",
        "level": Level::Warning.as_str(),
        "message": "a repeat of a call that may have run was not sent",
        "method": "tools/call",
        "tool": tool,
        "mayHaveRun": true,
    });
    told.to_string().into_bytes()
}

fn add_call(told: &mut Value, event: &Event) {
    match event {
        Event::CallEnded { call, kind, attempts, elapsed, delivery, .. } => {
            told["method"] = (*call.method).into();
            told["tool"] = call.tool.as_deref().into();
            told["kind"] = kind.map(Kind::name).into();
            told["attempts"] = (*attempts).into();
            told["elapsedMs"] = millis(*elapsed).into();
            told["mayHaveRun"] = (*delivery == Delivery::Unknown).into();
        }
        Event::Hiccup { call, .. } | Event::StaleServed { call, .. } => {
            told["method"] = (*call.method).into();
            told["tool"] = call.tool.as_deref().into();
        }
        _ => {}
    }
}
