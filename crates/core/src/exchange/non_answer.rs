//! What a server, or something on the way to it, sends in place of an answer, and when a call that may be sent
//! again need not be.
//!
//! A page of an error, garbage or a head beyond the limit may be the way there having a bad moment. The same
//! three times over some seconds is what there is to come.

use std::time::Duration;

use http::StatusCode;

use crate::answer::status;
use crate::failure::Cause;
use crate::head::Content;
use crate::moment::Moment;

/// Something that came in place of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NonAnswer {
    /// The request was accepted, and no answer followed.
    Accepted,
    /// A body that is no answer, under this status and of this type.
    Page(Option<(StatusCode, Content)>),
    /// Bytes that are no HTTP, or too many of them.
    Unreadable { cause: Cause, is_head: bool },
}

/// The last kind of thing that came in place of the answer to one call, and how often.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NonAnswers {
    last: Option<(NonAnswer, Moment)>,
    times: u32,
}

impl NonAnswers {
    /// Notes that this came, and returns whether that is enough: nothing else is to be expected.
    pub(crate) fn is_enough(&mut self, now: Moment, what: NonAnswer) -> bool {
        let since = match self.last {
            Some((last, since)) if last == what => {
                self.times += 1;
                since
            }
            _ => {
                (self.last, self.times) = (Some((what, now)), 1);
                now
            }
        };
        let is_settled = self.times >= ENOUGH && now.since(since) >= SETTLED;
        is_settled || self.times >= what.most()
    }
}

impl NonAnswer {
    /// Returns how often this is met at the most, however fast.
    fn most(self) -> u32 {
        match self {
            Self::Page(Some((status, _))) if status::is_lasting_trouble(status) => 1,
            // A page of a login or of a captive portal, which a person has to see.
            Self::Page(Some((status, Content::Html))) if status.is_success() => 2,
            // The answer is as large when it is asked for again, but a head may be somebody else's.
            Self::Unreadable { cause: Cause::Flooded, .. }
            | Self::Unreadable { cause: Cause::TooLarge, is_head: false } => 1,
            Self::Accepted | Self::Page(_) | Self::Unreadable { .. } => u32::MAX,
        }
    }
}

/// How often the same may come in a row.
const ENOUGH: u32 = 3;
/// How long that must have gone on.
const SETTLED: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_of_a_kind_are_enough_once_3_s_have_passed() {
        let mut seen = NonAnswers::default();

        assert!(!seen.is_enough(Moment::secs(0), page(500, Content::Other)));
        assert!(!seen.is_enough(Moment::secs(1), page(500, Content::Other)));
        assert!(!seen.is_enough(Moment::secs(2), page(500, Content::Other)));
        assert!(seen.is_enough(Moment::secs(3), page(500, Content::Other)));
    }

    #[test]
    fn another_kind_begins_anew() {
        let mut seen = NonAnswers::default();
        seen.is_enough(Moment::secs(0), page(500, Content::Html));
        seen.is_enough(Moment::secs(4), page(500, Content::Html));

        assert!(!seen.is_enough(Moment::secs(8), page(500, Content::Other)));
        assert!(!seen.is_enough(Moment::secs(9), page(500, Content::Html)));
    }

    #[test]
    fn what_will_not_change_ends_a_call_at_once_and_a_web_page_at_the_second() {
        let large = |is_head| NonAnswer::Unreadable { cause: Cause::TooLarge, is_head };
        for what in [
            page(501, Content::Other),
            page(505, Content::Html),
            page(511, Content::Html),
            large(false),
        ] {
            assert!(NonAnswers::default().is_enough(Moment::START, what), "{what:?}");
        }
        for what in
            [page(500, Content::Html), page(200, Content::Json), large(true), NonAnswer::Accepted]
        {
            let mut seen = NonAnswers::default();
            assert!((0..9).all(|_| !seen.is_enough(Moment::START, what)), "{what:?}");
        }
        let mut seen = NonAnswers::default();
        assert!(!seen.is_enough(Moment::START, page(200, Content::Html)));
        assert!(seen.is_enough(Moment::START, page(200, Content::Html)));
    }

    fn page(status: u16, content: Content) -> NonAnswer {
        NonAnswer::Page(StatusCode::from_u16(status).ok().zip(Some(content)))
    }
}
