//! Which faults a seed's world has, and how often.
//!
//! Each seed draws a subset: a world where everything happens at once hides what two faults do
//! together, because calls rarely live long enough to meet both.

use ridethrough_core::rng::Rng;

/// Chances in a thousand, each per request unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineFaults {
    /// The transport proves that nothing was sent.
    pub unsent: u64,
    /// Reset before the server saw the request.
    pub cut_before: u64,
    /// Reset after the server ran it.
    pub cut_after: u64,
    /// 429, 425 or 503 with `Retry-After`, honestly.
    pub deferral: u64,
    /// The same after it was run: a lie.
    pub lying_deferral: u64,
    /// A session dialect after it was run: a lie.
    pub lying_loss: u64,
    /// Bare 502, 503, 504 or 408, not run.
    pub gateway_before: u64,
    /// The same, run.
    pub gateway_after: u64,
    /// Status 500, run.
    pub broken: u64,
    /// A body that is no answer.
    pub nonsense: u64,
    /// The body is cut, after it was run.
    pub cut_body: u64,
    /// Nothing ever comes back; half of them run.
    pub black_hole: u64,
    /// 202, and the answer comes on the standing stream or never.
    pub accepted: u64,
    /// The session is forgotten just before the request.
    pub expiry: u64,
    /// The credentials expire just before the request.
    pub unauthorized: u64,
    /// Of the answers: by a stream.
    pub streams: u64,
    /// Of the streams: with event ids.
    pub resumable: u64,
    /// Of the resumable streams: the server sends `retry:` and polls.
    pub polling: u64,
    /// Per stream, also a resumed one: cut before its answer.
    pub cut_stream: u64,
    /// Per resume: a transient status.
    pub resume_busy: u64,
    /// Per resume: 404 or a dialect.
    pub resume_gone: u64,
    /// Per resume: a refusal that is about this stream only.
    pub resume_refused: u64,
    /// Per event: something odd before it (garbage, a foreign answer, a replay).
    pub odd_event: u64,
    /// Of the executions: slower than the silence that a call bears.
    pub slow: u64,
    /// Of the calls: the caller gives up.
    pub cancel: u64,
    /// Outages in a run of 100 calls.
    pub outages: u64,
    /// Restarts in a run of 100 calls.
    pub restarts: u64,
    /// The server issues no session ids (all or nothing).
    pub sessionless: bool,
}

impl MachineFaults {
    /// A network and a server that do what they should.
    pub fn none() -> Self {
        Self { streams: 500, resumable: 500, ..Self::default() }
    }

    /// The world of a seed.
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
