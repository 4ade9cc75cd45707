//! The mistakes, by name: each is the plain habits with one of them turned bad.

/// A client with bad habits.
#[derive(Clone, Copy, Debug)]
pub struct Mistake {
    /// Its name, as scenarios have it.
    pub name: &'static str,
    /// What it does wrong.
    pub what: &'static str,
    habits: &'static [Habit],
}

impl Mistake {
    const fn one(name: &'static str, what: &'static str, habits: &'static [Habit]) -> Self {
        Self { name, what, habits }
    }

    pub(super) fn has(&self, habit: Habit) -> bool {
        self.habits.contains(&habit)
    }
}

/// Something that a client should not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Habit {
    BearerOnPostsOnly,
    BelievesAnyType,
    CancelsSilently,
    ClosesEarly,
    DecodesPieces,
    DialsOnce,
    DiesOfBadEvent,
    FollowsAnywhere,
    GivesUp,
    GoesOnAfterCancel,
    Hammers,
    Hangs,
    IgnoresRetry,
    IgnoresTimeout,
    InsistsOnStanding,
    KeepsDeadSession,
    LfOnly,
    NeverListens,
    NoLimits,
    ObeysAbsurdWaits,
    OneAtATime,
    OneDataLine,
    Only404,
    PostsAgain,
    PrintsToken,
    RenewsForever,
    RenewsOn401,
    RenewsOnAnyError,
    RenewsPerCall,
    Repeats401,
    Repeats500,
    RepeatsOnDeadConnection,
    ResumesAfterAnswer,
    ResumesForever,
    ResumesFromFirstId,
    ResumesWithoutId,
    ReusesBlindly,
    SkipsInitialized,
    StandingHammers,
    StandingIsFatal,
    StandingTwice,
    TakesAnyAnswer,
    TakesLastAnswer,
    TellsReplays,
    TwoResumesInAll,
    UndercutsRetryAfter,
    WaitsAfter202,
    WaitsForTheEnd,
}

/// Every mistake that a scenario can name.
pub fn mistakes() -> &'static [Mistake] {
    MISTAKES
}

/// The mistake of this name; `plain` is none.
pub fn find(name: &str) -> Option<&'static Mistake> {
    MISTAKES.iter().chain([&PLAIN]).find(|mistake| mistake.name == name)
}

/// The plain habits, which every mistake starts from.
pub static PLAIN: Mistake = Mistake::one("plain", "makes no mistake on purpose", &[]);

#[rustfmt::skip]
static MISTAKES: &[Mistake] = &[
    Mistake::one("gives-up", "fails at the first trouble: no resume, no renewal, no waiting", &[Habit::GivesUp]),
    Mistake::one("hangs", "never ends a call that had trouble, whatever its timeout", &[Habit::Hangs]),
    Mistake::one("posts-again", "sends the call again after any fault, 3 times, 50 ms apart", &[Habit::PostsAgain]),
    Mistake::one("hammers", "tries again at once, up to 200 times: calls, resumes, dials", &[Habit::Hammers]),
    Mistake::one("resumes-forever", "resumes every 100 ms, whatever the deadline", &[Habit::ResumesForever]),
    Mistake::one("ignores-retry", "resumes at once, whatever `retry:` says", &[Habit::IgnoresRetry]),
    Mistake::one("resumes-without-id", "resumes without saying after which event", &[Habit::ResumesWithoutId]),
    Mistake::one("resumes-from-first-id", "resumes after the first event it saw, not the last", &[Habit::ResumesFromFirstId]),
    Mistake::one("two-resumes-in-all", "gives up after 2 resumes, even if each brought something", &[Habit::TwoResumesInAll]),
    Mistake::one("keeps-dead-session", "names a session that was refused for ever after", &[Habit::KeepsDeadSession]),
    Mistake::one("renews-per-call", "renews the session for each caller anew", &[Habit::RenewsPerCall]),
    Mistake::one("renews-forever", "renews the session and tries again without limit", &[Habit::RenewsForever]),
    Mistake::one("renews-on-any-error", "takes any error, and the word session, for a lost session", &[Habit::RenewsOnAnyError]),
    Mistake::one("skips-initialized", "never sends `notifications/initialized`", &[Habit::SkipsInitialized]),
    Mistake::one("only-404", "knows a lost session only by 404", &[Habit::Only404]),
    Mistake::one("closes-early", "closes the connection as soon as it has the answer", &[Habit::ClosesEarly]),
    Mistake::one("reuses-blindly", "uses an idle connection without a look at it", &[Habit::ReusesBlindly]),
    Mistake::one("repeats-on-dead-connection", "sends a call again if a connection dies that was used before", &[Habit::RepeatsOnDeadConnection]),
    Mistake::one("waits-for-the-end", "gives the answer only when its stream has ended", &[Habit::WaitsForTheEnd]),
    Mistake::one("takes-any-answer", "takes the first answer, whatever its id", &[Habit::TakesAnyAnswer]),
    Mistake::one("tells-replays", "tells notifications again that are replayed", &[Habit::TellsReplays]),
    Mistake::one("dies-of-bad-event", "fails the call at an event that is no message", &[Habit::DiesOfBadEvent]),
    Mistake::one("lf-only", "ends the lines of a stream at LF only, and keeps a byte order mark", &[Habit::LfOnly]),
    Mistake::one("decodes-pieces", "decodes each piece of a body as UTF-8 by itself", &[Habit::DecodesPieces]),
    Mistake::one("no-limits", "keeps what it is sent without end", &[Habit::NoLimits]),
    Mistake::one("believes-any-type", "takes any 200 for a stream, and waits for the answer on it", &[Habit::BelievesAnyType]),
    Mistake::one("waits-after-202", "waits for ever after a 202 to a request", &[Habit::WaitsAfter202]),
    Mistake::one("follows-anywhere", "follows any redirect, credentials and all", &[Habit::FollowsAnywhere]),
    Mistake::one("cancels-silently", "drops a cancelled call and tells nobody", &[Habit::CancelsSilently]),
    Mistake::one("ignores-timeout", "waits without limit", &[Habit::IgnoresTimeout]),
    Mistake::one("goes-on-after-cancel", "resumes or repeats a cancelled call", &[Habit::GoesOnAfterCancel]),
    Mistake::one("repeats-401", "sends again what was refused with 401, 20 times", &[Habit::Repeats401]),
    Mistake::one("renews-on-401", "makes a new session after 401, 5 times", &[Habit::RenewsOn401]),
    Mistake::one("prints-token", "has the token in its error texts", &[Habit::PrintsToken]),
    Mistake::one("standing-is-fatal", "fails every call after trouble on the standing stream", &[Habit::StandingIsFatal]),
    Mistake::one("standing-hammers", "reopens the standing stream at once, always", &[Habit::StandingHammers]),
    Mistake::one("standing-twice", "opens two standing streams", &[Habit::StandingTwice]),
    Mistake::one("never-listens", "opens no standing stream", &[Habit::NeverListens]),
    Mistake::one("insists-on-standing", "asks for a standing stream again after 405, each 200 ms", &[Habit::InsistsOnStanding]),
    Mistake::one("dials-once", "does not wait while nobody listens", &[Habit::DialsOnce]),
    Mistake::one("undercuts-retry-after", "waits 100 ms, whatever `Retry-After` asks for", &[Habit::UndercutsRetryAfter]),
    Mistake::one("repeats-500", "sends a call again after 5xx, 3 times, 50 ms apart", &[Habit::Repeats500]),
    Mistake::one("obeys-absurd-waits", "sleeps as long as the server says, past any deadline", &[Habit::ObeysAbsurdWaits]),
    Mistake::one("resumes-after-answer", "resumes a stream that broke after the answer", &[Habit::ResumesAfterAnswer]),
    Mistake::one("takes-last-answer", "waits for more answers, and takes the last one", &[Habit::TakesLastAnswer]),
    Mistake::one("one-data-line", "keeps only the last line of an event's data", &[Habit::OneDataLine]),
    Mistake::one("one-at-a-time", "begins a call when the one before has ended", &[Habit::OneAtATime]),
    Mistake::one("bearer-on-posts-only", "shows its token in calls, but not when it listens or ends", &[Habit::BearerOnPostsOnly]),
    Mistake::one("naive", "makes many of these mistakes at once", NAIVE),
];

/// What is easily left out by who writes a client in an afternoon.
const NAIVE: &[Habit] = &[
    Habit::BearerOnPostsOnly,
    Habit::BelievesAnyType,
    Habit::CancelsSilently,
    Habit::ClosesEarly,
    Habit::DecodesPieces,
    Habit::DialsOnce,
    Habit::DiesOfBadEvent,
    Habit::FollowsAnywhere,
    Habit::IgnoresTimeout,
    Habit::KeepsDeadSession,
    Habit::LfOnly,
    Habit::NoLimits,
    Habit::ObeysAbsurdWaits,
    Habit::OneAtATime,
    Habit::OneDataLine,
    Habit::PostsAgain,
    Habit::PrintsToken,
    Habit::Repeats401,
    Habit::StandingHammers,
    Habit::StandingIsFatal,
    Habit::TakesAnyAnswer,
    Habit::TellsReplays,
    Habit::WaitsAfter202,
    Habit::WaitsForTheEnd,
];
