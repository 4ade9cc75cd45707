//! The elements of a JSON array, read one at a time: a caller that needs few pays for few.

use bytes::Bytes;

use super::Json;
use super::scan::{self, Element};

/// An iterator over the elements of an array, without a copy and without looking ahead.
///
/// The text after an element is read when the next one is requested, so an array can turn out to be broken
/// after some of its elements were returned.
#[derive(Clone, Debug)]
pub struct Elements {
    text: Bytes,
    /// Where to go on; `None` after the end, or after a fault.
    next: Option<usize>,
    is_first: bool,
}

/// The error for a text that is no array, or is broken from here on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a JSON array")]
pub struct NotAnArray;

impl Elements {
    /// Creates an iterator over the array in this text; `None` if the text does not begin with one.
    pub fn of(text: &Bytes) -> Option<Self> {
        let next = Some(scan::array_start(text)?);
        Some(Self { text: text.clone(), next, is_first: true })
    }
}

impl Iterator for Elements {
    type Item = Result<Json, NotAnArray>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.next.take()?;
        let is_first = std::mem::replace(&mut self.is_first, false);
        match scan::element(&self.text, at, is_first) {
            Some(Element::End) => None,
            Some(Element::Value(place)) => {
                self.next = Some(place.end);
                let json = Json::scanned(self.text.slice(place));
                Some(json.ok_or(NotAnArray))
            }
            None => Some(Err(NotAnArray)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_those_of_the_whole_array() {
        for text in ["[]", " [ ] ", "[1]", "[1, \"a\" ,{\"b\":[2]},[[]]]\n", "[null,true]"] {
            let whole = Json::new(text).unwrap().elements().unwrap();

            let walked: Result<Vec<_>, _> = Elements::of(&Bytes::from(text)).unwrap().collect();

            assert_eq!(walked, Ok(whole), "{text}");
        }
    }

    #[test]
    fn what_is_broken_is_found_when_it_is_reached_and_is_the_end() {
        for (text, whole) in [("[1,2", 2), ("[1,]", 1), ("[,1]", 0), ("[1 2]", 1), ("[1]]", 1)] {
            let mut elements = Elements::of(&Bytes::from(text)).unwrap();

            for _ in 0..whole {
                assert!(matches!(elements.next(), Some(Ok(_))), "{text}");
            }
            assert_eq!(elements.next(), Some(Err(NotAnArray)), "{text}");
            assert_eq!(elements.next(), None, "{text}");
        }
        let not_text = Bytes::from_static(b"[\"\xff\"]");
        assert_eq!(Elements::of(&not_text).unwrap().next(), Some(Err(NotAnArray)));
    }

    #[test]
    fn what_is_no_array_has_none() {
        for text in ["", " ", "{}", "1", "\"[\""] {
            assert!(Elements::of(&Bytes::from(text)).is_none(), "{text}");
        }
    }
}
