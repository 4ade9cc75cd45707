//! A local server that reads and writes lines, however it was started.

use std::io;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

/// Starts a child for each session.
pub trait Start: Send + Sync + 'static {
    /// Starts a child. A child that dies at once still counts as started.
    fn start(&self) -> BoxFuture<'_, io::Result<Child>>;

    /// Returns the name that clients may see: that of the program, without its arguments.
    fn name(&self) -> &str;
}

/// A running child.
///
/// Dropping `stdin` asks it to end, and dropping `ended` kills it.
pub struct Child {
    /// The pipe for messages to the child, one on a line.
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    /// The pipe for messages from the child, one on a line.
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    /// The future that completes when the child and everything that it started have ended.
    pub ended: BoxFuture<'static, Obituary>,
}

/// The end of a child.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Obituary {
    /// The exit status in words, such as `exit status: 1`.
    pub status: String,
    /// The last lines that it wrote to stderr, the oldest first, safe for a terminal.
    pub last_words: Vec<String>,
}

impl std::fmt::Debug for Child {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Child").finish_non_exhaustive()
    }
}
