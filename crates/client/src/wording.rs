//! Events of the link, in words for people.
//!
//! An [`Event`] has fields and no sentences; this module has the sentences.

use std::time::Duration;

use ridethrough_core::event::Remedy;
use ridethrough_core::{Audience, CallName, Era, Event, Moment, Reason};

/// The importance of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Any other event, for a complete record.
    Detail,
    /// Something works again.
    Recovery,
    /// Something went wrong.
    Trouble,
    /// Nothing went wrong, but people should know it.
    Warning,
}

/// An event in words.
#[derive(Clone, Debug)]
pub struct Wording {
    /// Its importance.
    pub weight: Weight,
    /// The name of the event, for programs.
    pub name: &'static str,
    /// What happened, in one line. It may quote a server, and must be made safe before a terminal shows it.
    pub words: String,
}

/// Returns the wording of an event; `now` is the moment it was seen. The words may be those of a server.
pub fn of(event: &Event, now: Moment) -> Wording {
    to(Audience::Program, event, now)
}

/// Returns the wording of an event, for this audience.
pub fn to(audience: Audience, event: &Event, now: Moment) -> Wording {
    use Weight::{Detail, Recovery, Trouble};

    let (weight, name, words) = match event {
        Event::BreakerClosed => (Recovery, "breakerClosed", "calls go out again".to_owned()),
        Event::BreakerOpened { until } => {
            let words =
                format!("the server keeps failing: calls are held back {}", within(*until, now));
            (Trouble, "breakerOpened", words)
        }
        Event::CallsHeld { until } => {
            let words = format!(
                "the server is in trouble: calls that must not run twice wait until it answers; asked {}",
                within(*until, now)
            );
            (Trouble, "callsHeld", words)
        }
        Event::CallsReleased => (
            Recovery,
            "callsReleased",
            "the server answers: calls go out again, a few at first".to_owned(),
        ),
        // The handshake belongs to no call, and its first request has another name in each era.
        Event::CallEnded { kind: None, attempts: 0, elapsed, .. } => {
            (Detail, "callEnded", format!("the handshake took {}", time(*elapsed)))
        }
        Event::CallEnded { call, kind, attempts, elapsed, .. } => {
            let weight = if kind.is_some() { Trouble } else { Detail };
            let how = kind.map_or_else(|| "was answered".to_owned(), |kind| kind.words(audience));
            let sent = match attempts {
                0 => "not sent, ".to_owned(),
                1 => "1 request, ".to_owned(),
                n => format!("{n} requests, "),
            };
            (weight, "callEnded", format!("{call} {how} ({sent}{})", time(*elapsed)))
        }
        Event::ConnectFailed { failure, next } => {
            let words = failure.words(audience);
            (Trouble, "connectFailed", format!("{words}; next try {}", within(*next, now)))
        }
        Event::Connected { outage } => {
            (Recovery, "connected", format!("the server is back after {}", time(*outage)))
        }
        Event::CredentialsFailed { reason } => {
            let reason = reason.as_deref().map(|it| format!(": {it}")).unwrap_or_default();
            (Trouble, "credentialsFailed", format!("there are no better credentials{reason}"))
        }
        Event::CredentialsRenewed => (Recovery, "credentialsRenewed", "new credentials".to_owned()),
        Event::GateClosed { call, until } => {
            let words = format!(
                "the server asks to be left alone: {} wait {}",
                calls(call),
                within(*until, now)
            );
            (Trouble, "gateClosed", words)
        }
        Event::GateOpened { call } => {
            (Recovery, "gateOpened", format!("{} go out again", calls(call)))
        }
        Event::Hiccup { call, reason, remedy, .. } => {
            let remedy = remedied(*remedy, now);
            let words = match reason {
                Reason::Nothing => format!("{call}: {remedy}"),
                reason => format!("{call}: {}; {remedy}", reason.words(audience)),
            };
            (Trouble, "hiccup", words)
        }
        other => return of_the_link(audience, other, now),
    };
    Wording { weight, name, words }
}

/// Returns the wording of events about sessions, the standing stream and the server as a whole.
fn of_the_link(audience: Audience, event: &Event, now: Moment) -> Wording {
    use Weight::{Detail, Recovery, Trouble, Warning};

    let (weight, name, words) = match event {
        Event::FellBack { .. } => (
            Trouble,
            "fellBack",
            "the server refuses Streamable HTTP; it is spoken to by HTTP+SSE of 2024-11-05"
                .to_owned(),
        ),
        Event::EraDowngraded => (
            Warning,
            "eraDowngraded",
            "the server was stateless when it was last asked, and wants sessions now: it was rolled \
             back, or somebody in between changes what is said; `--era modern` refuses that"
                .to_owned(),
        ),
        Event::EraFound { era: Era::Legacy } => {
            (Detail, "eraFound", "the server begins with a session".to_owned())
        }
        Event::EraFound { era: Era::Modern } => {
            (Detail, "eraFound", "the server is stateless".to_owned())
        }
        Event::ListenerBack { gap } => {
            (Recovery, "listenerBack", format!("listening again after {}", time(*gap)))
        }
        Event::ListenerLost { retry } => (
            Detail,
            "listenerLost",
            format!("the standing stream ended; asked for again {}", within(*retry, now)),
        ),
        Event::ListenerUnsupported => {
            (Detail, "listenerUnsupported", "this server has no standing stream".to_owned())
        }
        Event::NotificationDropped { reason } => {
            let words = format!("a notification was not delivered: {}", reason.words(audience));
            (Trouble, "notificationDropped", words)
        }
        Event::QuestionIgnored { method } => {
            let words = format!("the server asked `{method}`, which a stateless one may not");
            (Detail, "questionIgnored", words)
        }
        Event::RestoreFailed { call } => {
            (Trouble, "restoreFailed", format!("{call} could not be restored in the new session"))
        }
        Event::ServerChanged => {
            (Detail, "serverChanged", "the server describes itself differently".to_owned())
        }
        Event::ServerFloods => {
            (Trouble, "serverFloods", "the server asks more than it takes answers for".to_owned())
        }
        Event::SessionLost { .. } => {
            (Trouble, "sessionLost", "the session is gone; a new one is made".to_owned())
        }
        Event::SessionReady { version, .. } if !version.era().has_sessions() => {
            (Recovery, "sessionReady", format!("the server is ready, revision {version}"))
        }
        Event::SessionReady { version, .. } => {
            (Recovery, "sessionReady", format!("a session is ready, revision {version}"))
        }
        Event::SessionRenewalFailed { reason, next } => {
            let words = reason.words(audience);
            let words = format!("the handshake failed: {words}; next try {}", within(*next, now));
            (Trouble, "sessionRenewalFailed", words)
        }
        Event::StaleServed { call, age, .. } => {
            let words = format!("{call} is answered with what the server said {} ago", time(*age));
            (Trouble, "staleServed", words)
        }
        Event::StrayAnswer => {
            (Detail, "strayAnswer", "an answer that no call waits for".to_owned())
        }
        Event::Suspended { gap } => {
            (Detail, "suspended", format!("this machine slept for {}", time(*gap)))
        }
        Event::ToolDropped { tool, why } => {
            (Warning, "toolDropped", format!("the tool `{tool}` cannot be called: {why}"))
        }
        Event::ToolsChanged => (Detail, "toolsChanged", "the tools have changed".to_owned()),
        Event::UnreadableEvent => (
            Trouble,
            "unreadableEvent",
            "an event was no JSON-RPC message; it was skipped".to_owned(),
        ),
        // The core may have new kinds of events before there are words for them here.
        _ => (Detail, "other", "something for which there are no words here".to_owned()),
    };
    Wording { weight, name, words }
}

fn remedied(remedy: Remedy, now: Moment) -> String {
    match remedy {
        Remedy::CheckEra => "asking which era the server belongs to".to_owned(),
        Remedy::CheckSession => "asking whether the session is still there".to_owned(),
        Remedy::RenewCredentials => "renewing the credentials".to_owned(),
        Remedy::RenewSession => "renewing the session".to_owned(),
        Remedy::Resend { at } => format!("sent again {}", within(at, now)),
        Remedy::Resume { at } => format!("resumed {}", within(at, now)),
        Remedy::WaitForLink => "waiting for the server".to_owned(),
        _ => "going on".to_owned(),
    }
}

fn calls(call: &Option<CallName>) -> String {
    call.as_ref().map_or_else(|| "calls".to_owned(), |call| format!("calls of {call}"))
}

fn within(at: Moment, now: Moment) -> String {
    format!("in {}", time(at.since(now)))
}

/// Returns a time with as many digits as people want.
pub fn time(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 1.0 => format!("{:.0} ms", seconds * 1e3),
        seconds => format!("{seconds:.1} s"),
    }
}

#[cfg(test)]
mod tests {
    use ridethrough_core::{Cause, ExchangeId, Failure};

    use super::*;

    #[test]
    fn a_fault_says_what_is_done_about_it_and_when() {
        let call = CallName { method: "tools/call".into(), tool: Some("read".into()) };
        let reason = Reason::Transport(Failure::unknown(Cause::Reset));
        let remedy = Remedy::Resend { at: Moment::millis(1400) };
        let hiccup = Event::Hiccup { exchange: ExchangeId::new(1), call, reason, remedy };

        let news = of(&hiccup, Moment::millis(1000));

        assert_eq!(news.words, "tools/call `read`: connection reset; sent again in 400 ms");
        assert_eq!(news.weight, Weight::Trouble);
    }

    #[test]
    fn times_have_the_unit_that_people_use() {
        assert_eq!(time(Duration::from_micros(1500)), "2 ms");
        assert_eq!(time(Duration::from_millis(61_250)), "61.2 s");
    }
}
