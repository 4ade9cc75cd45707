//! The ways in which the backend fails after its tool ran.

use std::fmt;

/// A way to fail. A call names it in its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    BareHint,
    BareUnavailable,
    CloseWithoutByte,
    Crash,
    CutInEvent,
    EmptyStream,
    Garbage,
    GzipLie,
    HalfBody,
    HalfBodyReset,
    HalfChunkedBody,
    HalfHead,
    HeadOf1M,
    HeadOf64K,
    InterimForever,
    InvalidChunkSize,
    LargeAnswer,
    LengthTooLong,
    LengthTooShort,
    NoHead,
    OwnBadGateway,
    PageOf500,
    ResetBeforeHead,
    Rpc500WithoutId,
    SlowBody,
    SlowHead,
    SqlError,
    TwoLengths,
}

/// When a way is played, in the order of the phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Together,
    /// One call at a time.
    Alone,
    /// All calls of this way together, after everything else.
    Last,
}

impl Way {
    /// Every way. The short run plays each third of them, and none that is played alone or last.
    pub(crate) const ALL: [Self; 28] = [
        Self::BareHint,
        Self::ResetBeforeHead,
        Self::HeadOf64K,
        Self::SlowHead,
        Self::HalfBody,
        Self::PageOf500,
        Self::TwoLengths,
        Self::HalfChunkedBody,
        Self::EmptyStream,
        Self::Garbage,
        Self::BareUnavailable,
        Self::CloseWithoutByte,
        Self::LengthTooShort,
        Self::HalfHead,
        Self::CutInEvent,
        Self::Rpc500WithoutId,
        Self::HalfBodyReset,
        Self::InterimForever,
        Self::HeadOf1M,
        Self::InvalidChunkSize,
        Self::LargeAnswer,
        Self::LengthTooLong,
        Self::NoHead,
        Self::OwnBadGateway,
        Self::SlowBody,
        Self::SqlError,
        Self::Crash,
        Self::GzipLie,
    ];

    /// Returns the way of this number.
    pub(crate) fn numbered(number: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Returns the number by which a call names it: rules that read requests take no offence at a number.
    pub(crate) fn number(self) -> Option<usize> {
        Self::ALL.into_iter().position(|way| way == self)
    }

    /// Returns when it is played: some ways hit the calls of others, too.
    pub(crate) const fn phase(self) -> Phase {
        match self {
            Self::Crash => Phase::Alone,
            // Some proxies take the first `102` for the answer, and keep the connection for the next request.
            Self::InterimForever => Phase::Last,
            _ => Phase::Together,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::BareHint => "503 with Retry-After",
            Self::BareUnavailable => "bare 503",
            Self::CloseWithoutByte => "closes without a byte",
            Self::Crash => "crash",
            Self::CutInEvent => "stream cut in mid-event",
            Self::EmptyStream => "stream without the answer",
            Self::Garbage => "garbage for a head",
            Self::GzipLie => "gzip that is none",
            Self::HalfBody => "half a body",
            Self::HalfBodyReset => "half a body and a reset",
            Self::HalfChunkedBody => "half a chunked body",
            Self::HalfHead => "half a head",
            Self::HeadOf1M => "head of 1 MiB",
            Self::HeadOf64K => "head of 64 KiB",
            Self::InterimForever => "1xx for ever",
            Self::InvalidChunkSize => "invalid chunk size",
            Self::LargeAnswer => "answer of 2 MB",
            Self::LengthTooLong => "length too long",
            Self::LengthTooShort => "length too short",
            Self::NoHead => "page without a head",
            Self::OwnBadGateway => "502 of its own",
            Self::PageOf500 => "500 with a page",
            Self::ResetBeforeHead => "reset before the head",
            Self::Rpc500WithoutId => "500 with an error without id",
            Self::SlowBody => "slow body",
            Self::SlowHead => "slow head",
            Self::SqlError => "quotes an SQL error",
            Self::TwoLengths => "two lengths",
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_short_run_waits_for_no_way_that_is_played_apart() {
        assert!(Way::ALL.into_iter().step_by(3).all(|way| way.phase() == Phase::Together));
    }

    #[test]
    fn each_way_has_a_name_and_a_number_of_its_own() {
        let names: BTreeSet<_> = Way::ALL.iter().map(|way| way.name()).collect();

        assert_eq!(names.len(), Way::ALL.len());
        for (number, way) in (0..).zip(Way::ALL) {
            assert_eq!(Way::numbered(number), Some(way));
            assert_eq!(way.number(), usize::try_from(number).ok());
        }
    }
}
