//! The faults of a seed's world, and how often each happens.
//!
//! Each seed draws a subset: a world with all faults at once hides what two of them do together, because
//! calls rarely live long enough to meet both.

use ridethrough_core::rng::Rng;

/// Writes the faults, each with the highest rate that a world draws.
macro_rules! machine_faults {
    ($($(#[$meta:meta])* $fault:ident $most:literal,)*) => {
        /// Chances in a thousand, each for one request unless said otherwise.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct MachineFaults {
            $($(#[$meta])* pub $fault: u64,)*
            /// Whether the server issues no session ids at all.
            pub sessionless: bool,
        }

        impl MachineFaults {
            /// Draws the faults of a seed's world.
            pub fn draw(rng: &mut Rng) -> Self {
                let mut rate = |most| if rng.below(2) == 0 { 0 } else { 1 + rng.below(most) };
                Self { $($fault: rate($most),)* sessionless: rate(5) == 1 }
            }
        }
    };
}

machine_faults! {
    /// The transport proves that nothing was sent.
    unsent 150,
    /// Reset before the server saw the request.
    cut_before 100,
    /// Reset after the server ran it.
    cut_after 100,
    /// 429, 425 or 503 with `Retry-After`, and not run.
    deferral 150,
    /// 429 or 425 after it was run: a lie.
    lying_deferral 20,
    /// Words of a lost session after it was run: a lie.
    lying_loss 20,
    /// A bare 502, 503, 504 or 408, not run.
    gateway_before 80,
    /// A bare 502, 503, 504 or 408, run.
    gateway_after 80,
    /// What stands before the server refuses the answer: 503 with a hint, 403, 405, 413, 428, or a redirect to a
    /// page that refuses, run.
    door 80,
    /// 500, run.
    broken 40,
    /// A body that is not an answer.
    nonsense 30,
    /// The body is cut, after it was run.
    cut_body 60,
    /// No answer ever; half of them run.
    black_hole 20,
    /// 202, and the answer comes on the standing stream or never.
    accepted 40,
    /// The session is forgotten just before the request.
    expiry 60,
    /// The credentials expire just before the request.
    unauthorized 30,
    /// Of the answers: those in a stream.
    streams 1000,
    /// Of the streams: those with event ids.
    resumable 1000,
    /// Of the resumable streams: those where the server sends `retry:` and is polled.
    polling 600,
    /// Of the streams, resumed ones included: those cut before the answer.
    cut_stream 500,
    /// Of the resumes: those refused by a transient status.
    resume_busy 300,
    /// Of the resumes: those refused by 404 or by words of a lost session.
    resume_gone 150,
    /// Of the resumes: those refused for this stream only.
    resume_refused 100,
    /// Of the events: those with something odd before them (garbage, a foreign answer, a replay).
    odd_event 200,
    /// Of the executions: those slower than the silence that a call accepts.
    slow 30,
    /// Of the calls: those that the caller cancels.
    cancel 80,
    /// Outages in a run of 100 calls.
    outages 4,
    /// Restarts in a run of 100 calls.
    restarts 4,
}

impl MachineFaults {
    /// Returns a network and a server without faults.
    pub fn none() -> Self {
        Self { streams: 500, resumable: 500, ..Self::default() }
    }
}
