//! The mistakes, by name: each is the plain habits with one of them turned bad.

/// A client with bad habits.
#[derive(Clone, Copy, Debug)]
pub struct Mistake {
    /// Its name in scenarios.
    pub name: &'static str,
    /// What it does wrong.
    pub what: &'static str,
    habits: &'static [Habit],
    /// Whether it asks servers for their era; otherwise every server is legacy to it.
    pub(super) asks_era: bool,
}

impl Mistake {
    const fn new(name: &'static str, what: &'static str, habits: &'static [Habit]) -> Self {
        Self { name, what, habits, asks_era: false }
    }

    /// Makes the client ask servers for their era before anything else.
    #[must_use]
    pub const fn asking_era(self) -> Self {
        Self { asks_era: true, ..self }
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
    BelievesRefusals,
    BlamesTheSum,
    CancelsAloud,
    CancelsSilently,
    ChangesState,
    ClosesEarly,
    DecodesPieces,
    Denies,
    DialsOnce,
    DiesOfBadEvent,
    DowngradesOnTrouble,
    DropsWords,
    FollowsAnywhere,
    ForgetsHints,
    GivesUp,
    GoesOnAfterCancel,
    GoesRound,
    Hammers,
    Hangs,
    IgnoresRetry,
    IgnoresTimeout,
    InitializesOnly,
    InsistsOnModern,
    InsistsOnStanding,
    KeepsBadTools,
    KeepsDeadSession,
    KeepsIds,
    KeepsOwnTime,
    LeavesGuesses,
    LfOnly,
    NeverAsksAgain,
    NeverFallsBack,
    NeverLearns,
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
    RepeatsInAnyEra,
    RepeatsOnDeadConnection,
    RepeatsUnchanged,
    ResumesAfterAnswer,
    ResumesAnyway,
    ResumesForever,
    ResumesFromFirstId,
    ResumesWithoutId,
    ReusesBlindly,
    ShutsForHints,
    StandingHammers,
    StandingIsFatal,
    StandingTwice,
    TakesAnyAnswer,
    TakesLastAnswer,
    TellsReplays,
    ThreeTries,
    TrustsAnyPing,
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
pub static PLAIN: Mistake = Mistake::new("plain", "makes no mistake on purpose", &[]);

#[rustfmt::skip]
static MISTAKES: &[Mistake] = &[
    Mistake::new("gives-up", "fails at the first trouble: no resume, no renewal, no waiting", &[Habit::GivesUp]),
    Mistake::new("hangs", "never ends a call that had trouble, whatever its timeout", &[Habit::Hangs]),
    Mistake::new("posts-again", "sends the call again after any fault, 3 times, 50 ms apart", &[Habit::PostsAgain]),
    Mistake::new("hammers", "tries again at once, up to 200 times: calls, resumes, dials", &[Habit::Hammers]),
    Mistake::new("resumes-forever", "resumes every 100 ms, whatever the deadline", &[Habit::ResumesForever]),
    Mistake::new("ignores-retry", "resumes at once, whatever `retry:` says", &[Habit::IgnoresRetry]),
    Mistake::new("resumes-without-id", "resumes without saying after which event", &[Habit::ResumesWithoutId]),
    Mistake::new("resumes-from-first-id", "resumes after the first event it saw, not the last", &[Habit::ResumesFromFirstId]),
    Mistake::new("two-resumes-in-all", "gives up after 2 resumes, even if each brought something", &[Habit::TwoResumesInAll]),
    Mistake::new("keeps-dead-session", "names a session that was refused for ever after", &[Habit::KeepsDeadSession]),
    Mistake::new("renews-per-call", "renews the session for each caller anew", &[Habit::RenewsPerCall]),
    Mistake::new("renews-forever", "renews the session and tries again without limit", &[Habit::RenewsForever]),
    Mistake::new("renews-on-any-error", "takes any error, and the word session, for a lost session", &[Habit::RenewsOnAnyError]),
    Mistake::new("only-404", "knows a lost session only by 404", &[Habit::Only404]),
    Mistake::new("closes-early", "closes the connection as soon as it has the answer", &[Habit::ClosesEarly]),
    Mistake::new("reuses-blindly", "uses an idle connection without a look at it", &[Habit::ReusesBlindly]),
    Mistake::new("repeats-on-dead-connection", "sends a call again if a connection dies that was used before", &[Habit::RepeatsOnDeadConnection]),
    Mistake::new("waits-for-the-end", "gives the answer only when its stream has ended", &[Habit::WaitsForTheEnd]),
    Mistake::new("takes-any-answer", "takes the first answer, whatever its id", &[Habit::TakesAnyAnswer]),
    Mistake::new("tells-replays", "tells notifications again that are replayed", &[Habit::TellsReplays]),
    Mistake::new("dies-of-bad-event", "fails the call at an event that is no message", &[Habit::DiesOfBadEvent]),
    Mistake::new("lf-only", "ends the lines of a stream at LF only, and keeps a byte order mark", &[Habit::LfOnly]),
    Mistake::new("decodes-pieces", "decodes each piece of a body as UTF-8 by itself", &[Habit::DecodesPieces]),
    Mistake::new("no-limits", "keeps what it is sent without end", &[Habit::NoLimits]),
    Mistake::new("believes-any-type", "takes any 200 for a stream, and waits for the answer on it", &[Habit::BelievesAnyType]),
    Mistake::new("waits-after-202", "waits for ever after a 202 to a request", &[Habit::WaitsAfter202]),
    Mistake::new("follows-anywhere", "follows any redirect, credentials and all", &[Habit::FollowsAnywhere]),
    Mistake::new("cancels-silently", "drops a cancelled call and tells nobody", &[Habit::CancelsSilently]),
    Mistake::new("ignores-timeout", "waits without limit", &[Habit::IgnoresTimeout]),
    Mistake::new("goes-on-after-cancel", "resumes or repeats a cancelled call", &[Habit::GoesOnAfterCancel]),
    Mistake::new("repeats-401", "sends again what was refused with 401, 20 times", &[Habit::Repeats401]),
    Mistake::new("renews-on-401", "makes a new session after 401, 5 times", &[Habit::RenewsOn401]),
    Mistake::new("prints-token", "has the token in its error texts", &[Habit::PrintsToken]),
    Mistake::new("standing-is-fatal", "fails every call after trouble on the standing stream", &[Habit::StandingIsFatal]),
    Mistake::new("standing-hammers", "reopens the standing stream at once, always", &[Habit::StandingHammers]),
    Mistake::new("standing-twice", "opens two standing streams", &[Habit::StandingTwice]),
    Mistake::new("never-listens", "opens no standing stream", &[Habit::NeverListens]),
    Mistake::new("insists-on-standing", "asks for a standing stream again after 405, each 200 ms", &[Habit::InsistsOnStanding]),
    Mistake::new("undercuts-retry-after", "waits 100 ms, whatever `Retry-After` asks for", &[Habit::UndercutsRetryAfter]),
    Mistake::new("repeats-500", "sends a call again after 5xx, 3 times, 50 ms apart", &[Habit::Repeats500]),
    Mistake::new("obeys-absurd-waits", "sleeps as long as the server says, past any deadline", &[Habit::ObeysAbsurdWaits]),
    Mistake::new("resumes-after-answer", "resumes a stream that broke after the answer", &[Habit::ResumesAfterAnswer]),
    Mistake::new("takes-last-answer", "waits for more answers, and takes the last one", &[Habit::TakesLastAnswer]),
    Mistake::new("one-data-line", "keeps only the last line of an event's data", &[Habit::OneDataLine]),
    Mistake::new("one-at-a-time", "begins a call when the one before has ended", &[Habit::OneAtATime]),
    Mistake::new("bearer-on-posts-only", "shows its token in calls, but not when it listens or ends", &[Habit::BearerOnPostsOnly]),
    Mistake::new("initializes-only", "begins with `initialize`, whatever the server says", &[Habit::InitializesOnly]),
    Mistake::new("insists-on-modern", "speaks the stateless revision or nothing", &[Habit::InsistsOnModern]),
    Mistake::new("downgrades-on-trouble", "takes any trouble for a sign of a legacy server", &[Habit::DowngradesOnTrouble]),
    Mistake::new("never-asks-again", "asks a server for its era once and for all", &[Habit::NeverAsksAgain]),
    Mistake::new("keeps-ids", "sends a lost request again under the same id, 3 times", &[Habit::KeepsIds]),
    Mistake::new("resumes-anyway", "resumes streams that cannot be resumed", &[Habit::ResumesAnyway]),
    Mistake::new("cancels-aloud", "tells of a cancel, but leaves the stream open", &[Habit::CancelsAloud]),
    Mistake::new("changes-state", "tidies up the state that the server wants back", &[Habit::ChangesState]),
    Mistake::new("keeps-bad-tools", "offers tools that break the rules for headers", &[Habit::KeepsBadTools]),
    Mistake::new("repeats-unchanged", "sends what was refused for its form again as it was, 5 times", &[Habit::RepeatsUnchanged]),
    Mistake::new("believes-refusals", "takes 404, 410 and words of a lost session for proof that a call did not run", &[Habit::BelievesRefusals]),
    Mistake::new("trusts-any-ping", "keeps a session for as long as a ping is answered in it", &[Habit::TrustsAnyPing]),
    Mistake::new("denies", "says of every call that was refused that it did not run", &[Habit::Denies]),
    Mistake::new("drops-words", "tells the status of a refusal, but not what the server said", &[Habit::DropsWords]),
    Mistake::new("repeats-in-any-era", "asks for the era after a refusal, and sends the call again whatever it hears", &[Habit::RepeatsInAnyEra]),
    Mistake::new("never-falls-back", "asks for the era until it is told, and never tries `initialize`", &[Habit::NeverFallsBack]),
    Mistake::new("goes-round", "sends a call again that asks for input, even if it asks for none", &[Habit::GoesRound]),
    Mistake::new("three-tries", "gives up after 3 tries, whatever time is left", &[Habit::ThreeTries]),
    Mistake::new("shuts-for-hints", "sends nothing more until the time in a `Retry-After` is over", &[Habit::ShutsForHints]),
    Mistake::new("never-learns", "uses connections again, however often they died of it", &[Habit::NeverLearns]),
    Mistake::new("blames-the-sum", "fails answers that are larger than 16 MiB together", &[Habit::BlamesTheSum]),
    Mistake::new("keeps-own-time", "ends a silent call after two minutes, however long its caller waits", &[Habit::KeepsOwnTime]),
    Mistake::new("forgets-hints", "forgets with each session which tools only read", &[Habit::ForgetsHints]),
    Mistake::new("leaves-guesses", "leaves the session alone that it made without knowing the server's era", &[Habit::LeavesGuesses]),
    Mistake::new("naive", "makes many of these mistakes at once", NAIVE),
];

/// Habits of a client that was written in an afternoon.
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
