//! Cursors of our own: each names the element behind which the next page begins, so that a list that changes
//! between two pages repeats nothing and loses nothing that was there before and after.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

/// The place of an element in a list of all servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) server: String,
    pub(crate) original: String,
}

impl Cursor {
    pub(crate) fn write(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(format!("{}\n{}", self.server, self.original))
    }

    /// Reads a cursor that was written here; `None` if it was not.
    pub(crate) fn read(text: &str) -> Option<Self> {
        if text.len() > MOST {
            return None;
        }
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let (server, original) = text.split_once('\n')?;
        Some(Self { server: server.to_owned(), original: original.to_owned() })
    }
}

/// Longer names are not listed.
const MOST: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_cursor_is_read_as_it_was_written(server in "[^\n]*", original in ".*") {
            let cursor = Cursor { server, original };

            prop_assert_eq!(Cursor::read(&cursor.write()), Some(cursor));
        }

        #[test]
        fn any_text_is_a_cursor_or_is_not(text in ".*") {
            let _ = Cursor::read(&text);
        }
    }

    #[test]
    fn what_others_wrote_is_none() {
        for text in ["", "2", "abc", "YWJj", "=", &"A".repeat(MOST + 1)] {
            assert_eq!(Cursor::read(text), None, "{text}");
        }
    }
}
