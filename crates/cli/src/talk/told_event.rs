//! Events in words, with the server's words in them masked.

use ridethrough::error::{Audience, Reason};
use ridethrough::event::{Event, Moment};
use ridethrough::wording::{self, Wording};

use crate::secrets;

/// Returns the wording of an event.
pub(super) fn wording_of(event: &Event, at: Moment) -> Wording {
    let mut wording = wording::to(Audience::CommandLine, event, at);
    if let Some(said) = said_in(event) {
        let masked = format!("`{}`", secrets::masked(said));
        wording.words = wording.words.replace(&format!("`{said}`"), &masked);
    }
    wording
}

/// Returns the server's words in an event.
fn said_in(event: &Event) -> Option<&str> {
    match event {
        Event::QuestionIgnored { method } => Some(method),
        Event::ToolDropped { tool, .. } => Some(tool),
        Event::Hiccup { reason, .. }
        | Event::NotificationDropped { reason }
        | Event::SessionRenewalFailed { reason, .. } => match reason {
            Reason::Elsewhere(words) | Reason::Said(words) => Some(words),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_server_are_masked_and_ours_are_not() {
        secrets::keep("https://example.com/mcp", &[("authorization", "server")]);
        let event = Event::QuestionIgnored { method: "a server".into() };

        let words = wording_of(&event, Moment::START).words;

        assert_eq!(words, "the server asked `a ...`, which a stateless one may not");
    }
}
