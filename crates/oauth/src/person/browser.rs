//! A person with a browser on this machine.
//!
//! An address of a server once reached a shell (CVE-2025-6514). The URL is checked again here, is one
//! argument of one program, and never passes through a shell. The login was shown before, so a browser that
//! does not open is no error.

use std::process::{Command, Stdio};

use ridethrough::transport::BoxFuture;
use ridethrough_oauth_core::HttpUrl;

use super::{LoginPrompt, Person, Terminal};
use crate::platform;

/// A person with a browser: the login is written to stderr, then opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Browser {
    terminal: Terminal,
}

impl Browser {
    /// Opens logins by `$BROWSER`, or by the platform's own program.
    pub const fn new() -> Self {
        Self { terminal: Terminal::new() }
    }

    /// Opens a login that was shown in another way. Must be called in a runtime; a browser that does not open
    /// is no error.
    pub fn open(prompt: &LoginPrompt) {
        let named = std::env::var("BROWSER").ok();
        if let Some(command) = opening(&prompt.url, named.as_deref()) {
            // A thread waits for the program, which ends at any time.
            tokio::task::spawn_blocking(|| run(command));
        }
    }

    /// Reads pasted callbacks from stdin, too.
    #[must_use]
    pub const fn reading_stdin(mut self) -> Self {
        self.terminal = self.terminal.reading_stdin();
        self
    }
}

impl Person for Browser {
    fn show<'a>(&'a self, prompt: &'a LoginPrompt) -> BoxFuture<'a, ()> {
        Box::pin(async {
            self.terminal.show(prompt).await;
            Self::open(prompt);
        })
    }

    fn pasted(&self) -> BoxFuture<'_, String> {
        self.terminal.pasted()
    }
}

/// Returns the program that opens this URL; `None` if the URL must not be opened.
fn opening(url: &str, named: Option<&str>) -> Option<Command> {
    let url = HttpUrl::parse(url).ok()?;
    // A list, or a command with arguments, is for shells: only the name of a program is accepted.
    let is_program = |name: &&str| !name.is_empty() && !name.contains([':', '%', ' ', '\t']);
    let mut command = named.filter(is_program).map_or_else(platform::opener, Command::new);
    command.arg(url.as_str()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Some(command)
}

fn run(mut command: Command) {
    match command.status() {
        Ok(status) => tracing::debug!(success = status.success(), "the browser was asked to open"),
        Err(error) => tracing::debug!(%error, "no browser could be opened"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_url_of_the_web_is_opened() {
        for url in
            ["file:///etc/passwd", "a:$(x)", "-flag", "https://a.example/\n-x", "javascript:x"]
        {
            assert!(opening(url, None).is_none(), "{url}");
        }
        assert!(opening(&format!("https://a.example/{}", "x".repeat(1 << 20)), None).is_none());
        assert!(opening("http://a.example/", None).is_none());
    }

    #[test]
    fn a_url_is_one_argument_as_it_came() {
        let url = "https://a.example/?x=$(touch+y)&z=%60id%60;";

        let command = opening(url, None).unwrap();

        assert_eq!(command.get_args().last().unwrap(), url);
    }

    #[test]
    fn a_browser_that_is_named_is_a_program_and_no_command_line() {
        let program = |named| opening("https://a.example/", Some(named)).unwrap();

        assert_eq!(program("firefox").get_program(), "firefox");
        assert_ne!(program("sh -c %s").get_program(), "sh -c %s");
    }
}
