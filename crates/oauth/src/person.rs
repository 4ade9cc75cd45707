//! The person who logs in: sees where, and may bring the callback by hand.

mod browser;
mod function;
mod terminal;

use std::fmt;

use ridethrough::transport::BoxFuture;
use ridethrough_oauth_core::HttpUrl;
use ridethrough_oauth_core::scope::ScopeSet;

pub use browser::Browser;
pub use function::{FunctionPerson, from_fn};
pub use terminal::Terminal;

/// A person who can log in.
///
/// Without one no login is ever begun: a program in the background must not open windows.
pub trait Person: Send + Sync + 'static {
    /// Shows the login to the person. The login goes on whatever comes of it.
    fn show<'a>(&'a self, prompt: &'a LoginPrompt) -> BoxFuture<'a, ()>;

    /// Waits for the URL that the browser was sent to, which the person pastes if the browser runs on another
    /// machine. It is called again if what was pasted does not belong to the login. By default it never
    /// completes.
    fn pasted(&self) -> BoxFuture<'_, String> {
        Box::pin(std::future::pending())
    }
}

/// A login as a person sees it.
///
/// `Display` prints a few lines of text with the URL; `Debug` leaves the URL out.
#[derive(Clone)]
#[non_exhaustive]
pub struct LoginPrompt {
    /// The URL to open: https, or http on this machine. It must not be given to a shell.
    pub url: String,
    /// The code that the person compares or types in; `None` if a browser comes back by itself.
    pub user_code: Option<String>,
    /// The host of the authorization server, which a person can recognise.
    pub issuer_host: String,
    /// The MCP server that the login is for.
    pub server: String,
    /// The scopes that are asked for.
    pub scopes: ScopeSet,
}

impl LoginPrompt {
    /// Whether the login is at another host than the MCP server's, so that a person should check it.
    pub fn is_at_other_host(&self) -> bool {
        HttpUrl::parse(&self.server).is_ok_and(|server| server.host() != self.issuer_host)
    }
}

impl fmt::Display for LoginPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "log in at {} for {}", self.issuer_host, self.server)?;
        if self.is_at_other_host() {
            writeln!(f, "note: this is another host than the server's; go on only if you know it")?;
        }
        if let Some(scopes) = self.scopes.to_text() {
            writeln!(f, "scopes: {scopes}")?;
        }
        if let Some(code) = &self.user_code {
            writeln!(f, "code: {code}")?;
        }
        write!(f, "\n  {}\n", self.url)
    }
}

/// Leaves out the URL, which holds the state of the login.
impl fmt::Debug for LoginPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginPrompt")
            .field("issuer_host", &self.issuer_host)
            .field("server", &self.server)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
