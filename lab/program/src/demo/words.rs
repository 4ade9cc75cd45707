//! The client's events in words for people.

use std::time::Duration;

use ridethrough::error::{Delivery, Reason};
use ridethrough::event::{Event, Moment};
use ridethrough::machine::event::Remedy;
use ridethrough::wording;

use super::judge::seconds;

/// Turns events into words, one after the other.
#[derive(Default)]
pub(super) struct Narrator {
    /// How many connects have failed since the server was last reached. Only the first is shown when it
    /// happens.
    failed_dials: u32,
    /// How many sessions there were. The machine's own generations also count handshakes that made none.
    sessions: u32,
}

impl Narrator {
    /// Returns the words for this event; `None`, if the one before has said it.
    pub(super) fn words(&mut self, at: Moment, event: &Event) -> Option<String> {
        let until = |moment: &Moment| seconds_short(moment.since(at));
        Some(match event {
            // The event of its new session is shown instead.
            Event::CallEnded { call, kind: None, .. } if &*call.method == "initialize" => {
                return None;
            }
            Event::CallEnded { call, kind: None, attempts: 0 | 1, .. } => {
                format!("{call} is answered")
            }
            Event::CallEnded { call, kind: None, attempts, .. } => {
                format!("{call} is answered, after {attempts} requests")
            }
            Event::CallEnded { call, kind: Some(kind), delivery, .. } => {
                format!("{call} {kind}; the server {}", acted(*delivery))
            }
            Event::ConnectFailed { failure, .. } => return self.dial_failed(failure.cause),
            Event::Connected { outage } => {
                let (dials, outage) = (std::mem::take(&mut self.failed_dials), seconds(*outage));
                format!("the server is reached again after {outage}; {dials} dials had failed")
            }
            Event::Hiccup { call, reason, remedy, .. } => {
                let remedy = remedy_words(*remedy, at);
                match reason {
                    Reason::Nothing => format!("{call}: {remedy}"),
                    // The rest is for developers: the words of the system or a library.
                    Reason::Transport(failure) => format!("{call}: {}; {remedy}", failure.cause),
                    reason => format!("{call}: {reason}; {remedy}"),
                }
            }
            Event::ListenerBack { gap } => {
                format!("the standing stream is back after {}", seconds(*gap))
            }
            Event::ListenerLost { retry } => {
                format!("the standing stream is lost; open it again in {}", until(retry))
            }
            Event::SessionLost { .. } => format!("session {} is gone", self.sessions),
            Event::SessionReady { version, .. } => {
                self.sessions += 1;
                format!("session {} is ready, revision {version}", self.sessions)
            }
            Event::SessionRenewalFailed { reason, next } => {
                format!("the handshake failed: {reason}; ask again in {}", until(next))
            }
            other => wording::of(other, at).words,
        })
    }

    fn dial_failed(&mut self, cause: ridethrough::transport::Cause) -> Option<String> {
        self.failed_dials += 1;
        let is_first = self.failed_dials == 1;
        is_first.then(|| format!("{cause}; dial until the server is back"))
    }
}

fn remedy_words(remedy: Remedy, now: Moment) -> String {
    match remedy {
        Remedy::CheckSession => "ask whether the session is still there".to_owned(),
        Remedy::RenewCredentials => "renew the credentials, send again".to_owned(),
        Remedy::RenewSession => "session lost; renew it, send again".to_owned(),
        Remedy::Resend { at } => format!("send again in {}", seconds_short(at.since(now))),
        Remedy::Resume { at } => format!("resume in {}", seconds_short(at.since(now))),
        Remedy::WaitForLink => "wait for the server".to_owned(),
        Remedy::CheckEra => "ask which era the server belongs to".to_owned(),
        _ => "go on".to_owned(),
    }
}

const fn acted(delivery: Delivery) -> &'static str {
    match delivery {
        Delivery::NotSent => "never had it",
        Delivery::Refused => "did not run it",
        Delivery::Unknown => "may have run it",
    }
}

/// Returns a wait to the hundredth of a second.
fn seconds_short(wait: Duration) -> String {
    format!("{:.2} s", wait.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use ridethrough::call::{CallName, ExchangeId};
    use ridethrough::error::Kind;
    use ridethrough::machine::Generation;
    use ridethrough::server::Version;
    use ridethrough::transport::{Cause, Failure, StatusCode};

    use super::*;

    #[test]
    fn a_fault_is_told_with_what_is_done_about_it_and_when() {
        let remedy = Remedy::Resume { at: Moment::millis(1500) };
        let reason = Reason::Status(StatusCode::SERVICE_UNAVAILABLE);
        let event = Event::Hiccup { exchange: ExchangeId::new(1), call: deploy(), reason, remedy };

        let words = Narrator::default().words(Moment::millis(1250), &event).unwrap();

        assert_eq!(words, "tools/call `deploy`: status 503; resume in 0.25 s");
    }

    #[test]
    fn of_many_failed_dials_the_first_is_told_and_the_rest_are_counted() {
        let mut narrator = Narrator::default();
        let failure = Failure::not_sent(Cause::ConnectRefused);
        let failed = Event::ConnectFailed { failure, next: Moment::START };
        let back = Event::Connected { outage: Duration::from_secs(2) };

        let told: Vec<_> = [&failed, &failed, &failed, &back, &failed]
            .into_iter()
            .filter_map(|event| narrator.words(Moment::START, event))
            .collect();

        let refused = "connection refused; dial until the server is back";
        let reached = "the server is reached again after 2 s; 3 dials had failed";
        assert_eq!(told, [refused, reached, refused]);
    }

    #[test]
    fn the_end_of_a_call_says_whether_it_may_have_run() {
        let event = Event::CallEnded {
            exchange: ExchangeId::new(1),
            call: deploy(),
            kind: Some(Kind::Exhausted),
            attempts: 9,
            elapsed: Duration::from_secs(12),
            delivery: Delivery::Unknown,
        };

        let words = Narrator::default().words(Moment::START, &event).unwrap();

        assert_eq!(words, "tools/call `deploy` gave up; the server may have run it");
    }

    #[test]
    fn what_has_no_words_here_is_told_in_the_usual_ones() {
        let words = Narrator::default().words(Moment::START, &Event::ToolsChanged);

        assert_eq!(words.as_deref(), Some("the tools have changed"));
    }

    #[test]
    fn sessions_are_counted_from_one() {
        let mut narrator = Narrator::default();
        let (generation, version) = (Generation::new(7), Version::LATEST_LEGACY);
        let ready = Event::SessionReady { generation, version };
        let lost = Event::SessionLost { generation };

        let told = [&ready, &lost, &ready].map(|it| narrator.words(Moment::START, it).unwrap());

        let expected = ["session 1 is ready, ", "session 1 is gone", "session 2 is ready, "];
        assert!(told.iter().zip(expected).all(|(it, start)| it.starts_with(start)), "{told:?}");
    }

    fn deploy() -> CallName {
        CallName { method: "tools/call".into(), tool: Some("deploy".into()) }
    }
}
