//! Shows a person what happens while a command runs, so that no wait is silent.
//!
//! Without `-v`: trouble that lasts for two seconds is shown, then again at widening intervals, and so is a
//! wait without trouble; on a terminal a line counts the seconds instead. With `-v` every fault is shown as
//! it happens.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use ridethrough::Client;
use ridethrough::error::{Audience, Reason};
use ridethrough::event::{Event, Events, Moment, Seen};
use ridethrough::wording::{self, Weight, Wording};
use ridethrough_terminal::stderr::Terminal;
use ridethrough_terminal::stray_line::StrayLine;
use tokio::task::AbortHandle;
use tokio::time::{Instant, interval, timeout};

use crate::options::Settings;
use crate::safe;
use crate::secrets;
use crate::server::target::Target;

/// Watches a client until it is closed, or until the task is aborted.
pub(super) fn start(
    client: &Client,
    terminal: Arc<Terminal>,
    target: &Target,
    verbose: u8,
) -> AbortHandle {
    let teller = Teller {
        terminal,
        whom: target.awaited(),
        stray_line: target.stray_line(),
        least: match verbose {
            0 => None,
            1 => Some(Weight::Recovery),
            _ => Some(Weight::Detail),
        },
        began: Instant::now(),
        next: SILENCE,
        trouble: None,
    };
    tokio::spawn(teller.watch(client.events())).abort_handle()
}

struct Teller {
    terminal: Arc<Terminal>,
    /// What a person waits for, in a word.
    whom: &'static str,
    /// The first stray line on stdout, if the server is a program.
    stray_line: StrayLine,
    /// The least weight of an event that is shown as it happens; `None` without `-v`.
    least: Option<Weight>,
    began: Instant,
    /// When trouble is shown next, counted from the beginning.
    next: Duration,
    /// The last trouble, until it is over.
    trouble: Option<String>,
}

impl Teller {
    async fn watch(mut self, mut events: Events) {
        let mut ticks = interval(TICK);
        loop {
            tokio::select! {
                seen = events.next() => match seen {
                    Some(seen) => self.see(&seen),
                    None => return,
                },
                _ = ticks.tick() => self.tick(),
            }
        }
    }

    fn see(&mut self, seen: &Seen) {
        let (at, Wording { weight, words, .. }) = match seen {
            Seen::Event { at, event } => (*at, wording_of(event, *at)),
            Seen::Missed(count) => {
                return self.terminal.say(&format!("{count} events were missed"));
            }
        };
        let words = safe::our_line(&words);
        if self.least.is_some_and(|least| weight >= least) {
            self.terminal.say(&format!("{:>9}  {words}", at.to_string()));
        }
        match weight {
            // The client has stopped trying: how the call ended is reported at the end.
            _ if matches!(seen, Seen::Event { event: Event::CallEnded { .. }, .. }) => {
                self.trouble = None;
            }
            // The time of the next try has passed when trouble is shown again.
            Weight::Trouble => {
                let words = words.split("; next try").next().unwrap_or_default();
                self.trouble = Some(words.to_owned());
            }
            Weight::Recovery => self.trouble = None,
            Weight::Warning if self.least.is_none() => {
                self.terminal.say(&format!("warning: {words}"))
            }
            Weight::Detail | Weight::Warning => {}
        }
    }

    fn tick(&mut self) {
        let waited = self.began.elapsed();
        if waited < SILENCE || self.terminal.is_done() {
            return;
        }
        if let Some(words) = self.stray_line.take() {
            self.terminal.say(&format!("warning: {}", safe::our_line(&words)));
        }
        let waiting = format!("waiting for {}: {} s", self.whom, waited.as_secs());
        self.terminal.wait(&waiting);
        if waited < self.next {
            return;
        }
        match &self.trouble {
            // With `-v` it was shown as it happened.
            Some(_) if self.least.is_some() => return,
            Some(trouble) => {
                self.terminal
                    .say(&format!("still trying after {}: {trouble}", wording::time(waited)));
            }
            None if self.terminal.is_terminal() => return,
            None => self.terminal.say(&waiting),
        }
        self.next = waited * 2;
    }
}

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

/// Waits until a token that is being renewed is stored: the next command needs it.
pub(super) async fn wait_for_renewal(settings: &Settings, terminal: &Terminal) {
    let mut renewed = pin!(settings.renewals_ended());
    if timeout(SILENCE, &mut renewed).await.is_err() {
        terminal.say("done; waiting for a token that is being renewed");
        // After this time the authorization server's answer is lost.
        let _ = timeout(LONGEST_RENEWAL, renewed).await;
    }
}

/// The longest time without a line about what goes on.
const SILENCE: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(250);
/// The longest wait. A refresh takes 10 s at most, its repetition 10 s more, and the lock may take as long
/// again.
const LONGEST_RENEWAL: Duration = Duration::from_secs(40);

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
