//! The kinds of clients that a scenario is played with: not every check makes sense for each.

/// What a client is to the programs that call it, and to the servers that it calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContestantKind {
    /// A library: what its caller asks for twice is wanted twice.
    #[default]
    Client,
    /// A library that asks every server for a session.
    ClientWithSession,
    /// A bridge or a gateway: it speaks for hosts that have a session, and whose programs repeat what failed.
    Front,
}
