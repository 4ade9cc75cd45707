//! The ways in which the backend fails after its tool ran.

/// When a way is played, in the order of the phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Together,
    /// One call at a time.
    Alone,
    /// All calls of this way together, after everything else.
    Last,
}

macro_rules! ways {
    ($($way:ident $name:literal,)*) => {
        /// A way to fail. A call names it in its arguments. The short run plays each third of them, in this order, and
        /// none that is played alone or last.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Way {
            $($way,)*
        }

        impl Way {
            pub(crate) const ALL: &[Self] = &[$(Self::$way,)*];

            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$way => $name,)*
                }
            }
        }
    };
}

ways! {
    BareHint "503 with Retry-After",
    ResetBeforeHead "reset before the head",
    HeadOf64K "head of 64 KiB",
    SlowHead "slow head",
    HalfBody "half a body",
    PageOf500 "500 with a page",
    TwoLengths "two lengths",
    HalfChunkedBody "half a chunked body",
    EmptyStream "stream without the answer",
    Garbage "garbage for a head",
    BareUnavailable "bare 503",
    CloseWithoutByte "closes without a byte",
    LengthTooShort "length too short",
    HalfHead "half a head",
    CutInEvent "stream cut in mid-event",
    Rpc500WithoutId "500 with an error without id",
    HalfBodyReset "half a body and a reset",
    InterimForever "1xx for ever",
    HeadOf1M "head of 1 MiB",
    InvalidChunkSize "invalid chunk size",
    LargeAnswer "answer of 2 MB",
    LengthTooLong "length too long",
    NoHead "page without a head",
    OwnBadGateway "502 of its own",
    SlowBody "slow body",
    SqlError "quotes an SQL error",
    Crash "crash",
    GzipLie "gzip that is none",
}

impl Way {
    /// Returns the way of this number.
    pub(crate) fn numbered(number: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Returns the number by which a call names it: rules that read requests take no offence at a number.
    pub(crate) const fn number(self) -> usize {
        self as usize
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
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_short_run_waits_for_no_way_that_is_played_apart() {
        assert!(Way::ALL.iter().step_by(3).all(|way| way.phase() == Phase::Together));
    }

    #[test]
    fn each_way_has_a_name_and_a_number_of_its_own() {
        let names: BTreeSet<_> = Way::ALL.iter().map(|way| way.name()).collect();

        assert_eq!((names.len(), Way::ALL.len()), (28, 28));
        for (number, way) in (0..).zip(Way::ALL) {
            assert_eq!(Way::numbered(number), Some(*way));
            assert_eq!(u64::try_from(way.number()), Ok(number));
        }
    }
}
