//! The five acts, in the order in which they are played.

mod dropped;
mod refused;
mod restarted;
mod ten;

use super::act::Act;

/// All acts, each with the lab's scenario of its fault.
pub(super) const ACTS: [Act; 5] = [
    Act {
        name: "dropped resumes",
        breaks: "the server accepts every resume and drops it at once",
        report: "python-sdk #2393",
        scenario: "A1",
        promise: "the call ends with an error in under 30 s, and the tool runs once",
        play: |tell| Box::pin(dropped::play(tell)),
        judge: dropped::judge,
    },
    Act {
        name: "503 on a resume",
        breaks: "connections are reset, and a balancer answers 503 to whoever comes back",
        report: "go-sdk #1027",
        scenario: "B8",
        promise: "the call is answered, and the session and its standing stream live on",
        play: |tell| Box::pin(refused::play(tell)),
        judge: refused::judge,
    },
    Act {
        name: "ten answers",
        breaks: "ten answers come on streams that end a moment after the answer",
        report: "python-sdk #2750",
        scenario: "C1",
        promise: "no call pays for a new connection: two are enough for all ten",
        play: |tell| Box::pin(ten::play_reused(tell)),
        judge: ten::judge_reused,
    },
    Act {
        name: "lost session",
        breaks: "the server forgets the session while ten calls are under way",
        report: "hermes-agent #13406",
        scenario: "D7",
        promise: "one renewal serves all ten callers, and each call runs once and is answered",
        play: |tell| Box::pin(ten::play_forgotten(tell)),
        judge: ten::judge_forgotten,
    },
    Act {
        name: "restart",
        breaks: "the server dies during a call; 2 s later it is back, its memory gone",
        report: "codex #35486",
        scenario: "I4",
        promise: "calls that wait are answered; the one that was cut says that it may have run",
        play: |tell| Box::pin(restarted::play(tell)),
        judge: restarted::judge,
    },
];
