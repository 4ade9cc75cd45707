//! The faults of a world, and how often each happens.
//!
//! Each seed draws a subset: a world with all faults at once hides what two of them do together, because
//! calls rarely live long enough to meet both. Faults have names, so that a world can be written down, and
//! run again without one of them.

use crate::rates::{Rates, fault_kinds};

fault_kinds! {
    /// A fault that a world may have.
    Fault

    // Of the network, in a thousand dials.
    /// The dial is refused.
    Refused "refused" 200,
    /// The dial is never answered.
    Hangs "hangs" 60,
    /// Everything is delayed by up to 200 ms, each way.
    Delay "delay" 1000,
    /// Bytes arrive a few at a time.
    Slices "slices" 500,
    /// Cut after some kilobytes, by FIN or reset.
    Cut "cut" 500,
    /// A black hole after some kilobytes.
    Stall "stall" 100,
    /// Nothing passes for up to 40 s, then everything goes on.
    Pause "pause" 100,

    // Of the server, in a thousand calls, before the tool runs.
    /// Reset before the tool ran.
    ResetBefore "reset-before" 100,
    /// Closed before the tool ran.
    CloseBefore "close-before" 100,
    /// 429, 425 or 503 with `Retry-After`, and not run.
    Deferral "deferral" 150,
    /// A bare 502, 503, 504 or 408, not run.
    GatewayBefore "gateway-before" 80,
    /// HTTP/2 refuses the stream.
    RefusedStream "refused-stream" 80,
    /// The session is forgotten just before the call, in any dialect.
    Expiry "expiry" 60,
    /// The token expires just before the call.
    Unauthorized "unauthorized" 40,
    /// Never answered, not run.
    HoleBefore "hole-before" 20,

    // After the tool ran.
    /// Reset after the tool ran.
    ResetAfter "reset-after" 100,
    /// Closed after the tool ran.
    CloseAfter "close-after" 100,
    /// A bare 502, 503, 504 or 408, run.
    GatewayAfter "gateway-after" 80,
    /// 500, run.
    Broken "broken" 40,
    /// A body that is not an answer, run.
    Nonsense "nonsense" 30,
    /// A body that ends before its length, run.
    CutBody "cut-body" 60,
    /// Never answered, run.
    HoleAfter "hole-after" 20,
    /// What stands before the server refuses the answer: 503 with a hint, 403, 405, 413, 428, or a redirect to a
    /// page that refuses, run.
    Door "door" 80,
    /// 429 or 425 after it was run: a lie.
    LyingDeferral "lying-deferral" 20,
    /// Words of a lost session after it was run, though the session lives.
    LyingLoss "lying-loss" 20,
    /// A refusal of any status that proves nothing, with any words, run.
    OddRefusal "odd-refusal" 60,
    /// 202, and the answer comes on the standing stream or never.
    Accepted "accepted" 40,

    // How it answers, in a thousand answers.
    /// In a stream.
    Streams "streams" 1000,
    /// Of the streams: with event ids.
    Resumable "resumable" 1000,
    /// Of the resumable streams: the server sends `retry:` and is polled.
    Polling "polling" 600,
    /// Of the streams, resumed ones included: closed before the answer.
    CutStream "cut-stream" 500,
    /// Of the streams: with comments, foreign answers and garbage before the answer.
    OddEvents "odd-events" 200,
    /// Of the streams: with progress.
    Progress "progress" 500,
    /// Of the streams: the answer and the end in two writes.
    Apart "apart" 800,
    /// The tool takes up to 90 s.
    Slow "slow" 30,
    /// An answer of some hundred kilobytes.
    Large "large" 30,
    /// An endless answer.
    Flood "flood" 10,

    // Per resume.
    /// A transient status.
    ResumeBusy "resume-busy" 300,
    /// 404, or a dialect of a lost session.
    ResumeGone "resume-gone" 150,
    /// A refusal of this stream only.
    ResumeRefused "resume-refused" 100,

    // Per request of the link itself.
    /// A handshake is cut, or answered by a 5xx.
    Handshakes "handshakes" 200,

    // Events in a world of a hundred calls.
    /// The server cannot be connected to for a while; open connections stay open.
    Outages "outages" 4 event,
    /// The server is killed, and comes back after a while.
    Restarts "restarts" 4 event,
    /// Every connection turns into a black hole.
    StallAll "stall-all" 2 event,
    /// Every connection is reset.
    ResetAll "reset-all" 3 event,
    /// Every idle connection is closed; HTTP/2 says GOAWAY.
    CloseIdle "close-idle" 5 event,
    /// The sessions are forgotten.
    Amnesia "amnesia" 4 event,
    /// The server is upgraded or rolled back.
    EraChanges "era-changes" 3 event,
    /// The computer sleeps; its connections are dead when it wakes up.
    Sleeps "sleeps" 2 event,
    /// The wall clock is set.
    ClockJumps "clock-jumps" 3 event,

    // Of the application, in a thousand calls.
    /// The caller cancels.
    Cancels "cancels" 80,
    /// The caller has a short deadline.
    ShortDeadlines "short-deadlines" 100,
}

/// The rate of each fault.
pub type Faults = Rates<Fault>;

/// Returns the faults that a server can have.
pub(crate) fn fitting(faults: &Faults, has_tokens: bool, has_sessions: bool) -> Faults {
    let mut faults = faults.clone();
    if !has_tokens {
        faults = faults.without(Fault::Unauthorized);
    }
    if !has_sessions {
        // The oracle could not tell whose answer it is.
        faults = faults.without(Fault::Accepted).without(Fault::Expiry).without(Fault::LyingLoss);
    }
    faults
}

#[cfg(test)]
mod tests {
    use ridethrough_core::rng::Rng;

    use super::*;

    #[test]
    fn what_is_written_down_is_read_again() {
        for seed in 0..50 {
            let faults = Faults::draw(&mut Rng::new(seed));
            assert_eq!(faults.to_string().parse(), Ok(faults));
        }
        assert_eq!("none".parse(), Ok(Faults::none()));
    }

    #[test]
    fn seeds_draw_subsets_and_every_fault_is_in_some() {
        let worlds: Vec<_> = (0..200).map(|seed| Faults::draw(&mut Rng::new(seed))).collect();

        for fault in Fault::ALL {
            let having = worlds.iter().filter(|faults| faults[*fault] > 0).count();
            assert!((40..160).contains(&having), "{fault:?} is in {having} of 200");
        }
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        assert_eq!("frogs=3".parse::<Faults>(), Err("there is no fault `frogs`".to_owned()));
        assert!("cut".parse::<Faults>().is_err());
    }
}
