//! The person at this command: sees where to log in, and may paste the URL that the browser ended at.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use ridethrough::transport::BoxFuture;
use ridethrough_oauth::person::{Browser, LoginPrompt, Person, Terminal as Stdin};
use ridethrough_terminal::stderr::Terminal;
use tokio::task::AbortHandle;
use tokio::time::{Instant, interval};

use crate::safe;

/// The person at this command.
pub(crate) struct LoginPerson {
    opens: Opens,
    stdin: Stdin,
    reads_stdin: bool,
    terminal: Arc<Terminal>,
    within: Duration,
    clock: std::sync::Mutex<Option<AbortHandle>>,
}

/// What is opened for the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opens {
    Browser,
    Nothing,
}

impl LoginPerson {
    pub(crate) fn new(opens: Opens, terminal: Arc<Terminal>, within: Option<Duration>) -> Self {
        // Without a browser here, the pasted URL may come through a pipe.
        let reads_stdin = opens == Opens::Nothing || io::stdin().is_terminal();
        let stdin = if reads_stdin { Stdin::new().reading_stdin() } else { Stdin::new() };
        let within = within.unwrap_or(WITHIN);
        Self { opens, stdin, reads_stdin, terminal, within, clock: std::sync::Mutex::default() }
    }

    fn told(&self, prompt: &LoginPrompt) -> String {
        let what = match (&prompt.user_code, self.opens) {
            (Some(_), _) => "open the URL on any device, and type in the code",
            (None, Opens::Browser) => {
                "a browser should open; if it does not, open the URL yourself"
            }
            (None, Opens::Nothing) => "open the URL in a browser",
        };
        let paste = if self.reads_stdin && prompt.user_code.is_none() {
            "\nif the browser is on another machine, paste the URL that it ends at here, and press Enter"
        } else {
            ""
        };
        let seconds = self.within.as_secs();
        // Scopes and host are words of servers.
        let prompt = safe::our_text(&prompt.to_string());
        format!("{prompt}\n{what}{paste}\nwaiting for up to {seconds} s; Ctrl-C ends it")
    }

    /// Counts the seconds on a terminal, unless the person may type there.
    fn start_clock(&self) {
        if !self.terminal.is_terminal() || (self.reads_stdin && io::stdin().is_terminal()) {
            return;
        }
        let (terminal, began) = (self.terminal.clone(), Instant::now());
        let counting = tokio::spawn(async move {
            let mut ticks = interval(TICK);
            loop {
                ticks.tick().await;
                terminal.wait(&format!("waiting for the login: {} s", began.elapsed().as_secs()));
            }
        });
        self.stop_clock(Some(counting.abort_handle()));
    }

    fn stop_clock(&self, next: Option<AbortHandle>) {
        let mut clock = self.clock.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(old) = std::mem::replace(&mut *clock, next) {
            old.abort();
        }
    }
}

impl Person for LoginPerson {
    fn show<'a>(&'a self, prompt: &'a LoginPrompt) -> BoxFuture<'a, ()> {
        self.terminal.clear();
        self.terminal.say(&self.told(prompt));
        // The other device has a browser of its own.
        if self.opens == Opens::Browser && prompt.user_code.is_none() {
            Browser::open(prompt);
        }
        self.start_clock();
        Box::pin(async {})
    }

    fn pasted(&self) -> BoxFuture<'_, String> {
        self.stdin.pasted()
    }
}

impl Drop for LoginPerson {
    fn drop(&mut self) {
        self.stop_clock(None);
    }
}

/// How long the library waits for a person.
const WITHIN: Duration = Duration::from_secs(300);
const TICK: Duration = Duration::from_secs(1);
