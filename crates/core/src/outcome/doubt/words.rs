//! The sentences that tell a doubt.
//!
//! They never name the tool, the server, a status or a time: such a word could be one that a program looks for to
//! send the call again, `reset_password` as well as `502.1 s`.

/// Returns what happened to a call that ended in this way.
pub(super) fn happened(kind: &str) -> &'static str {
    match kind {
        "answerLost" => "The answer came, and there was no room to keep it until it was read.",
        "cancelled" => "The call was withdrawn before its answer came.",
        "childDied" => "The server's process ended before the answer came.",
        "closed" => "The program that made the call ended before the answer came.",
        "deadlinePassed" => "No answer came in the time that the call had.",
        "exhausted" => "No answer came, and nothing more may be tried to get it.",
        "interrupted" => "The answer was lost on its way.",
        "peerMisbehaved" => "The answer cannot be read.",
        "rejected" => "An error page came in place of the answer.",
        "sessionEnded" => "The session ended before the answer came.",
        "sessionLost" => "The server forgot the session before the answer came.",
        "tooLarge" => "The answer is larger than the limit, which `--max-message` raises.",
        "unauthorized" => "The credentials were not accepted, and no answer came.",
        "unreachable" => "The server was lost before the answer came.",
        _ => "No answer came.",
    }
}

pub(super) const SERVER_MAY: &str = "The server may have run the call.";
pub(super) const TOOL_MAY: &str = "The tool may have run.";
pub(super) const LOOK: &str =
    "Look whether it took effect before you call it again, or ask the user.";
/// Of a call that is safe to repeat.
pub(super) const HARMLESS: &str = "A second run would do no harm.";
/// Of a repeat that was held.
pub(super) const TAKEN_AGAIN: &str =
    " This call was not sent; the same call is taken again after 30 s.";
