//! The faults of a seed's world, and how often each happens.
//!
//! Each seed draws a subset: a world with all faults at once hides what two of them do together, because
//! calls rarely live long enough to meet both.

use ridethrough_core::rng::Rng;

/// Chances in a thousand, each for one request unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineFaults {
    /// The transport proves that nothing was sent.
    pub unsent: u64,
    /// Reset before the server saw the request.
    pub cut_before: u64,
    /// Reset after the server ran it.
    pub cut_after: u64,
    /// 429, 425 or 503 with `Retry-After`, and not run.
    pub deferral: u64,
    /// 429 or 425 after it was run: a lie.
    pub lying_deferral: u64,
    /// Words of a lost session after it was run: a lie.
    pub lying_loss: u64,
    /// A bare 502, 503, 504 or 408, not run.
    pub gateway_before: u64,
    /// A bare 502, 503, 504 or 408, run.
    pub gateway_after: u64,
    /// What stands before the server refuses the answer: 503 with a hint, 403, 405, 413, 428, or a redirect to a
    /// page that refuses, run.
    pub door: u64,
    /// 500, run.
    pub broken: u64,
    /// A body that is not an answer.
    pub nonsense: u64,
    /// The body is cut, after it was run.
    pub cut_body: u64,
    /// No answer ever; half of them run.
    pub black_hole: u64,
    /// 202, and the answer comes on the standing stream or never.
    pub accepted: u64,
    /// The session is forgotten just before the request.
    pub expiry: u64,
    /// The credentials expire just before the request.
    pub unauthorized: u64,
    /// Of the answers: those in a stream.
    pub streams: u64,
    /// Of the streams: those with event ids.
    pub resumable: u64,
    /// Of the resumable streams: those where the server sends `retry:` and is polled.
    pub polling: u64,
    /// Of the streams, resumed ones included: those cut before the answer.
    pub cut_stream: u64,
    /// Of the resumes: those refused by a transient status.
    pub resume_busy: u64,
    /// Of the resumes: those refused by 404 or by words of a lost session.
    pub resume_gone: u64,
    /// Of the resumes: those refused for this stream only.
    pub resume_refused: u64,
    /// Of the events: those with something odd before them (garbage, a foreign answer, a replay).
    pub odd_event: u64,
    /// Of the executions: those slower than the silence that a call accepts.
    pub slow: u64,
    /// Of the calls: those that the caller cancels.
    pub cancel: u64,
    /// Outages in a run of 100 calls.
    pub outages: u64,
    /// Restarts in a run of 100 calls.
    pub restarts: u64,
    /// Whether the server issues no session ids at all.
    pub sessionless: bool,
}

impl MachineFaults {
    /// Returns a network and a server without faults.
    pub fn none() -> Self {
        Self { streams: 500, resumable: 500, ..Self::default() }
    }

    /// Draws the faults of a seed's world.
    pub fn draw(rng: &mut Rng) -> Self {
        let mut rate = |most: u64| if rng.below(2) == 0 { 0 } else { 1 + rng.below(most) };
        Self {
            unsent: rate(150),
            cut_before: rate(100),
            cut_after: rate(100),
            deferral: rate(150),
            lying_deferral: rate(20),
            lying_loss: rate(20),
            gateway_before: rate(80),
            gateway_after: rate(80),
            door: rate(80),
            broken: rate(40),
            nonsense: rate(30),
            cut_body: rate(60),
            black_hole: rate(20),
            accepted: rate(40),
            expiry: rate(60),
            unauthorized: rate(30),
            streams: rate(1000),
            resumable: rate(1000),
            polling: rate(600),
            cut_stream: rate(500),
            resume_busy: rate(300),
            resume_gone: rate(150),
            resume_refused: rate(100),
            odd_event: rate(200),
            slow: rate(30),
            cancel: rate(80),
            outages: rate(4),
            restarts: rate(4),
            sessionless: rate(5) == 1,
        }
    }
}
