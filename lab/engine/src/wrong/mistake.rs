//! The mistakes, by name: each is the correct habits with one of them turned bad.

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

/// Returns every mistake that a scenario can name.
pub fn mistakes() -> &'static [Mistake] {
    MISTAKES
}

/// Returns the mistake of this name; `plain` is none.
pub fn find(name: &str) -> Option<&'static Mistake> {
    MISTAKES.iter().chain([&PLAIN]).find(|mistake| mistake.name == name)
}

/// The plain habits, which every mistake starts from.
pub static PLAIN: Mistake = Mistake::new("plain", "makes no mistake on purpose", &[]);

macro_rules! mistakes {
    ($($habit:ident $name:literal $what:literal,)*) => {
        /// A habit that a client should not have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Habit {
            DialsOnce,
            $($habit,)*
        }

        static MISTAKES: &[Mistake] = &[
            $(Mistake::new($name, $what, &[Habit::$habit]),)*
            Mistake::new("naive", "makes many of these mistakes at once", NAIVE),
        ];
    };
}

mistakes! {
    GivesUp "gives-up" "fails at the first trouble: no resume, no renewal, no waiting",
    Hangs "hangs" "never ends a call that had trouble, whatever its timeout",
    PostsAgain "posts-again" "sends the call again after any fault, 3 times, 50 ms apart",
    Hammers "hammers" "tries again at once, up to 200 times: calls, resumes, dials",
    ResumesForever "resumes-forever" "resumes every 100 ms, whatever the deadline",
    IgnoresRetry "ignores-retry" "resumes at once, whatever `retry:` says",
    ResumesWithoutId "resumes-without-id" "resumes without saying after which event",
    ResumesFromFirstId "resumes-from-first-id" "resumes after the first event it saw, not the last",
    TwoResumesInAll "two-resumes-in-all" "gives up after 2 resumes, even if each brought something",
    KeepsDeadSession "keeps-dead-session" "names a session that was refused for ever after",
    RenewsPerCall "renews-per-call" "renews the session for each caller anew",
    RenewsForever "renews-forever" "renews the session and tries again without limit",
    RenewsOnAnyError "renews-on-any-error" "takes any error, and the word session, for a lost session",
    Only404 "only-404" "knows a lost session only by 404",
    ClosesEarly "closes-early" "closes the connection as soon as it has the answer",
    ReusesBlindly "reuses-blindly" "uses an idle connection without a look at it",
    RepeatsOnDeadConnection "repeats-on-dead-connection" "sends a call again if a connection dies that was used before",
    WaitsForTheEnd "waits-for-the-end" "gives the answer only when its stream has ended",
    TakesAnyAnswer "takes-any-answer" "takes the first answer, whatever its id",
    TellsReplays "tells-replays" "tells notifications again that are replayed",
    DiesOfBadEvent "dies-of-bad-event" "fails the call at an event that is no message",
    LfOnly "lf-only" "ends the lines of a stream at LF only, and keeps a byte order mark",
    DecodesPieces "decodes-pieces" "decodes each piece of a body as UTF-8 by itself",
    NoLimits "no-limits" "keeps what it is sent without end",
    BelievesAnyType "believes-any-type" "takes any 200 for a stream, and waits for the answer on it",
    WaitsAfter202 "waits-after-202" "waits for ever after a 202 to a request",
    FollowsAnywhere "follows-anywhere" "follows any redirect, credentials and all",
    CancelsSilently "cancels-silently" "drops a cancelled call and tells nobody",
    IgnoresTimeout "ignores-timeout" "waits without limit",
    GoesOnAfterCancel "goes-on-after-cancel" "resumes or repeats a cancelled call",
    Repeats401 "repeats-401" "sends again what was refused with 401, 20 times",
    RenewsOn401 "renews-on-401" "makes a new session after 401, 5 times",
    PrintsToken "prints-token" "has the token in its error texts",
    StandingIsFatal "standing-is-fatal" "fails every call after trouble on the standing stream",
    StandingHammers "standing-hammers" "reopens the standing stream at once, always",
    StandingTwice "standing-twice" "opens two standing streams",
    NeverListens "never-listens" "opens no standing stream",
    InsistsOnStanding "insists-on-standing" "asks for a standing stream again after 405, each 200 ms",
    UndercutsRetryAfter "undercuts-retry-after" "waits 100 ms, whatever `Retry-After` asks for",
    Repeats500 "repeats-500" "sends a call again after 5xx, 3 times, 50 ms apart",
    ObeysAbsurdWaits "obeys-absurd-waits" "sleeps as long as the server says, past any deadline",
    ResumesAfterAnswer "resumes-after-answer" "resumes a stream that broke after the answer",
    TakesLastAnswer "takes-last-answer" "waits for more answers, and takes the last one",
    OneDataLine "one-data-line" "keeps only the last line of an event's data",
    OneAtATime "one-at-a-time" "begins a call when the one before has ended",
    BearerOnPostsOnly "bearer-on-posts-only" "shows its token in calls, but not when it listens or ends",
    InitializesOnly "initializes-only" "begins with `initialize`, whatever the server says",
    InsistsOnModern "insists-on-modern" "speaks the stateless revision or nothing",
    DowngradesOnTrouble "downgrades-on-trouble" "takes any trouble for a sign of a legacy server",
    NeverAsksAgain "never-asks-again" "asks a server for its era once and for all",
    KeepsIds "keeps-ids" "sends a lost request again under the same id, 3 times",
    ResumesAnyway "resumes-anyway" "resumes streams that cannot be resumed",
    CancelsAloud "cancels-aloud" "tells of a cancel, but leaves the stream open",
    ChangesState "changes-state" "tidies up the state that the server wants back",
    KeepsBadTools "keeps-bad-tools" "offers tools that break the rules for headers",
    RepeatsUnchanged "repeats-unchanged" "sends what was refused for its form again as it was, 5 times",
    BelievesRefusals "believes-refusals" "takes 404, 410 and words of a lost session for proof that a call did not run",
    BelievesHints "believes-hints" "takes any `Retry-After` for proof that a call did not run",
    HoldsForEver "holds-for-ever" "never sends a call again that may have run, though its caller has looked",
    SendsRepeats "sends-repeats" "sends a call that may have run as often as its caller repeats it",
    RushesIn "rushes-in" "sends calls that may run only once into an outage",
    TrustsAnyPing "trusts-any-ping" "keeps a session for as long as a ping is answered in it",
    Denies "denies" "says of every call that was refused that it did not run",
    DropsWords "drops-words" "tells the status of a refusal, but not what the server said",
    RepeatsInAnyEra "repeats-in-any-era" "asks for the era after a refusal, and sends the call again whatever it hears",
    NeverFallsBack "never-falls-back" "asks for the era until it is told, and never tries `initialize`",
    GoesRound "goes-round" "sends a call again that asks for input, even if it asks for none",
    ThreeTries "three-tries" "gives up after 3 tries, whatever time is left",
    ShutsForHints "shuts-for-hints" "sends nothing more until the time in a `Retry-After` is over",
    NeverLearns "never-learns" "uses connections again, however often they died of it",
    BlamesTheSum "blames-the-sum" "fails answers that are larger than 16 MiB together",
    KeepsOwnTime "keeps-own-time" "ends a silent call after two minutes, however long its caller waits",
    ForgetsHints "forgets-hints" "forgets with each session which tools only read",
    LeavesGuesses "leaves-guesses" "leaves the session alone that it made without knowing the server's era",
    AsksAgain "asks-again" "opens the login page again after every login that failed",
    Believes200 "believes-200" "takes every answer of status 200 for tokens",
    BelievesTokenTimes "believes-token-times" "believes the times inside a token, whatever the answer said",
    DoesWithoutPkce "does-without-pkce" "logs in at servers that do not say that they know PKCE",
    DropsScopes "drops-scopes" "asks for the missing scope alone, and loses those that it had",
    FetchesEndpointsAnew "fetches-endpoints-anew" "sends refresh tokens wherever the metadata of the day says",
    ForgetsLogin "forgets-login" "keeps a login no longer than the client that made it",
    ForgetsRefreshToken "forgets-refresh-token" "drops its refresh token if an answer has no new one",
    IgnoresIss "ignores-iss" "takes the code of any issuer",
    IgnoresState "ignores-state" "takes the code of any login",
    InsistsOnGrant "insists-on-grant" "sends a refresh token that was refused again and again",
    KeepsDeadClient "keeps-dead-client" "keeps a client that the server has forgotten",
    LogsInForever "logs-in-forever" "asks for new tokens as long as they are refused",
    LogsInOnTrouble "logs-in-on-trouble" "takes any failed refresh for the end of the login",
    NeverRefreshes "never-refreshes" "logs in again instead of using its refresh token",
    OmitsResource "omits-resource" "does not say which server its tokens are for",
    ReadsJsonOnly "reads-json-only" "reads tokens in JSON only",
    RefreshesOnPostsOnly "refreshes-on-posts-only" "gives up a stream that needs a new token to be resumed",
    RefreshesPerCall "refreshes-per-call" "brings tokens for each caller anew",
    TakesSecretsAlong "takes-secrets-along" "shows the secrets of one issuer to the next",
    TrustsAnyIssuer "trusts-any-issuer" "believes metadata of any authorization server",
    TrustsAnyMetadata "trusts-any-metadata" "believes metadata from any origin",
    TrustsAnyResource "trusts-any-resource" "believes metadata about another server",
    WaitsForLogin "waits-for-login" "waits for a person without end",
}

/// Habits of a client that was written in an afternoon.
const NAIVE: &[Habit] = &[
    Habit::AsksAgain,
    Habit::BearerOnPostsOnly,
    Habit::Believes200,
    Habit::BelievesAnyType,
    Habit::CancelsSilently,
    Habit::ClosesEarly,
    Habit::DecodesPieces,
    Habit::DialsOnce,
    Habit::DiesOfBadEvent,
    Habit::DropsScopes,
    Habit::FetchesEndpointsAnew,
    Habit::FollowsAnywhere,
    Habit::ForgetsLogin,
    Habit::ForgetsRefreshToken,
    Habit::IgnoresIss,
    Habit::IgnoresState,
    Habit::IgnoresTimeout,
    Habit::KeepsDeadClient,
    Habit::KeepsDeadSession,
    Habit::LfOnly,
    Habit::LogsInForever,
    Habit::LogsInOnTrouble,
    Habit::NoLimits,
    Habit::ObeysAbsurdWaits,
    Habit::OmitsResource,
    Habit::OneAtATime,
    Habit::OneDataLine,
    Habit::PostsAgain,
    Habit::PrintsToken,
    Habit::ReadsJsonOnly,
    Habit::RefreshesPerCall,
    Habit::Repeats401,
    Habit::StandingHammers,
    Habit::StandingIsFatal,
    Habit::TakesAnyAnswer,
    Habit::TakesSecretsAlong,
    Habit::TellsReplays,
    Habit::TrustsAnyMetadata,
    Habit::TrustsAnyResource,
    Habit::WaitsAfter202,
    Habit::WaitsForTheEnd,
];
