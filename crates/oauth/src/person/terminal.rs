//! A person at a terminal: the login as text on stderr, the callback pasted into stdin.

use std::io::Write;

use ridethrough::transport::BoxFuture;

use super::{LoginPrompt, Person};

/// A person at a terminal.
///
/// The login is written to stderr. With [`Terminal::reading_stdin`] a pasted callback is read from stdin,
/// which no other code may then read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminal {
    reads_stdin: bool,
}

impl Terminal {
    /// Writes logins to stderr, and reads nothing.
    pub const fn new() -> Self {
        Self { reads_stdin: false }
    }

    /// Reads pasted callbacks from stdin, too.
    #[must_use]
    pub const fn reading_stdin(mut self) -> Self {
        self.reads_stdin = true;
        self
    }
}

impl Person for Terminal {
    fn show<'a>(&'a self, prompt: &'a LoginPrompt) -> BoxFuture<'a, ()> {
        let paste = "paste the redirected URL here if the browser is on another machine\n";
        let paste = if self.reads_stdin && prompt.user_code.is_none() { paste } else { "" };
        // A closed stderr is not an error.
        let _ = write!(std::io::stderr(), "{prompt}{paste}");
        Box::pin(async {})
    }

    fn pasted(&self) -> BoxFuture<'_, String> {
        if !self.reads_stdin {
            return Box::pin(std::future::pending());
        }
        Box::pin(async {
            let read = tokio::task::spawn_blocking(|| {
                let mut line = String::new();
                std::io::stdin().read_line(&mut line).map(|bytes| (bytes, line))
            });
            match read.await {
                Ok(Ok((bytes, line))) if bytes > 0 => line,
                // Nothing more will be pasted.
                _ => std::future::pending().await,
            }
        })
    }
}
