//! What may go wrong around a login, and how often.

use crate::rates::{Rates, fault_kinds};

fault_kinds! {
    /// A fault that a world with an authorization server may have.
    AuthFault

    // Of the authorization server, in a thousand requests for tokens.
    /// 503, at times with `Retry-After`; nothing is done.
    Busy "busy" 150,
    /// A page with 200; nothing is done.
    Page "page" 80,
    /// 400 with an error that says nothing about the grant; nothing is done.
    Refusal "refusal" 60,
    /// The connection is closed; nothing is done.
    LostBefore "lost-before" 80,
    /// The tokens are replaced, and the answer is lost.
    LostAfter "lost-after" 80,
    /// The tokens are replaced, and the answer comes when nobody waits for it.
    TooLate "too-late" 30,
    /// The answer takes up to 6 s.
    Slow "slow" 200,

    // Of the MCP server, in a thousand calls.
    /// The access token is revoked just before the call.
    EarlyEnd "early-end" 30,
    /// The tool runs and the answer is lost.
    LostAnswer "lost-answer" 60,
    /// The server wants a scope that is never granted.
    EndlessScope "endless-scope" 15,

    // Of people, in a thousand logins.
    /// The person says no.
    Denied "denied" 150,
    /// The person never finishes.
    Abandoned "abandoned" 60,
    /// The person takes up to two minutes.
    SlowPerson "slow-person" 200,
    /// A stranger's callback comes before the right one.
    Stranger "stranger" 300,
    /// The callback is that of another issuer.
    MixUp "mix-up" 100,

    // Of the store and the processes, in a thousand writes.
    /// The store cannot be written for a second.
    StoreFails "store-fails" 30,
    /// The process is killed between the answer and the write.
    KilledBefore "killed-before" 40,
    /// The process is killed just after the write.
    KilledAfter "killed-after" 40,

    // Events in a world of a hundred calls.
    /// The authorization server cannot be reached for up to 20 s.
    Outages "outages" 3 event,
    /// The person ends the grant elsewhere.
    Revocations "revocations" 1 event,
    /// The MCP server sends its people to another issuer.
    Moves "moves" 1 event,
    /// The authorization server forgets its clients.
    ForgottenClients "forgotten-clients" 1 event,
    /// The metadata names a foreign token endpoint for a while.
    Swaps "swaps" 2 event,
    /// A process is killed.
    Kills "kills" 3 event,
    /// The wall clock is set, by seconds or by a day.
    ClockJumps "clock-jumps" 2 event,
}

/// The rate of each fault.
pub type AuthFaults = Rates<AuthFault>;
