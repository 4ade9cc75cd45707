//! How a check ended.

use ridethrough::Error;

/// How a check ended. Whatever it found out before is in its notes.
#[derive(Debug)]
pub enum Ended {
    /// The time of the check was over before an answer came.
    Deadline,
    /// Everything was examined.
    Done,
    /// The program could not be started, or its handshake failed.
    Failed(Error),
    /// This is no MCP server, or one that our client cannot speak with.
    Protocol,
    /// The server asks for credentials, or for other ones.
    Unauthorized,
    /// The server cannot be reached, says nothing, or turns every client away.
    Unreachable,
}
