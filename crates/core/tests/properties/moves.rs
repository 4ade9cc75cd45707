//! The moves of a script: what application, server, network and clock may do next.

use proptest::collection::vec;
use proptest::prelude::*;

/// One thing that happens. Numbers select among what exists at that moment.
#[derive(Clone, Debug)]
pub(crate) enum Move {
    /// The application calls; safe or not.
    Call { is_safe: bool },
    /// The application cancels one of its calls.
    Cancel(u8),
    /// The application gives the input that the server asked for, or refuses to.
    Input(u8, bool),
    /// The application subscribes to messages that belong to no call.
    Listen,
    /// The application sends a notification.
    Notify,
    /// The computer slept.
    Suspend,
    /// The server changes its era, or names another when it is next asked.
    Switch,
    /// The server, or the network, does this to one of the requests that are out.
    Serve(u8, Deed),
    /// The connect loop's connect succeeds or fails.
    Connect(bool),
    /// The credentials hook returns.
    Credentials(bool),
    /// The credentials hook returns from a demand for more scope.
    Scope(bool),
    /// Time passes, in milliseconds.
    Wait(u32),
}

/// What happens to a request.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// The right answer, by JSON or on the open stream.
    Answer,
    /// A JSON-RPC error with these words.
    Error(&'static str),
    /// A request for input for a stateless call: a state, and a number of questions.
    NeedInput(Option<u8>, u8),
    /// The refusal of a server of the other era.
    OtherEra,
    /// A refusal with a code of the stateless era.
    Refuse(i64),
    /// A status, with a hint in milliseconds.
    Status(u16, Option<u32>),
    /// 401 with a challenge.
    Challenge,
    /// 403 that asks for more scope.
    NeedScope,
    /// A body that is no answer.
    Nonsense,
    /// An open stream.
    Open,
    /// An event: its id, and whether it carries a notification.
    Event(Option<u8>, bool),
    /// `retry:` in milliseconds, with an id.
    Retry(u32),
    /// An answer to another id.
    Stray,
    /// A comment.
    Comment,
    /// The stream ends.
    End,
    /// The connection breaks.
    Reset,
    /// A failure before anything was sent.
    Unsent,
    /// An answer that is too large.
    TooLarge,
}

/// Returns a whole script.
pub(crate) fn script() -> impl Strategy<Value = Vec<Move>> {
    vec(next(), 1..60)
}

/// Returns how long the server takes for each answer once everything works, in milliseconds.
pub(crate) fn healing() -> impl Strategy<Value = u32> {
    0..3000_u32
}

fn next() -> impl Strategy<Value = Move> {
    prop_oneof![
        3 => any::<bool>().prop_map(|is_safe| Move::Call { is_safe }),
        1 => any::<u8>().prop_map(Move::Cancel),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(which, is_given)| Move::Input(which, is_given)),
        1 => Just(Move::Switch),
        1 => Just(Move::Listen),
        1 => Just(Move::Notify),
        1 => Just(Move::Suspend),
        12 => (any::<u8>(), deed()).prop_map(|(which, deed)| Move::Serve(which, deed)),
        2 => any::<bool>().prop_map(Move::Connect),
        1 => any::<bool>().prop_map(Move::Credentials),
        1 => any::<bool>().prop_map(Move::Scope),
        4 => wait().prop_map(Move::Wait),
    ]
}

fn wait() -> impl Strategy<Value = u32> {
    prop_oneof![0..200_u32, 0..5_000_u32, 0..60_000_u32]
}

fn deed() -> impl Strategy<Value = Deed> {
    let statuses = vec![
        200, 202, 400, 401, 403, 404, 405, 406, 408, 409, 410, 413, 425, 429, 500, 501, 502, 503,
        504,
    ];
    let words = vec!["no", "Session expired", "Server not initialized", "Method not found"];
    prop_oneof![
        8 => Just(Deed::Answer),
        2 => proptest::sample::select(words).prop_map(Deed::Error),
        6 => (proptest::sample::select(statuses), proptest::option::of(0..20_000_u32))
            .prop_map(|(status, hint)| Deed::Status(status, hint)),
        3 => (proptest::option::of(any::<u8>()), 0..3_u8)
            .prop_map(|(state, questions)| Deed::NeedInput(state, questions)),
        2 => Just(Deed::OtherEra),
        1 => proptest::sample::select(vec![-32020, -32021, -32022, -32602]).prop_map(Deed::Refuse),
        1 => Just(Deed::Challenge),
        1 => Just(Deed::NeedScope),
        1 => Just(Deed::Nonsense),
        6 => Just(Deed::Open),
        5 => (proptest::option::of(0..6_u8), any::<bool>())
            .prop_map(|(id, has_news)| Deed::Event(id, has_news)),
        2 => (0..5000_u32).prop_map(Deed::Retry),
        1 => Just(Deed::Stray),
        1 => Just(Deed::Comment),
        4 => Just(Deed::End),
        4 => Just(Deed::Reset),
        3 => Just(Deed::Unsent),
        1 => Just(Deed::TooLarge),
    ]
}
