//! The parts of every HTML page that the lab and the command line write: safe markup, one style for light and
//! dark, wide and narrow, and the shapes of verdicts.
//!
//! A page needs no network and no other file, and its policy forbids what it does not need. This module does
//! not know what a page is about.

mod markup;

pub use markup::{Attributes, Markup};

/// Whether a page changes after it was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It follows what happens, by a script beside it. Where scripts are off, it is loaded anew every few
    /// seconds.
    Live {
        /// The name of the script.
        script: &'static str,
    },
    /// It does not: it has no script, and its policy forbids every script.
    Still,
}

/// A sign beside a sentence: a colour and a shape, either of which is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Something is wrong.
    Fail,
    /// Something is worth knowing.
    Note,
    /// Everything is right.
    Pass,
    /// Something could be better.
    Soft,
    /// Something could not be checked.
    Unknown,
}

impl Sign {
    /// Returns its name in the style.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Note => "note",
            Self::Pass => "pass",
            Self::Soft => "soft",
            Self::Unknown => "unknown",
        }
    }
}

/// Returns a whole page with this title and the body that `body` writes.
pub fn document(title: &str, life: Life, body: impl FnOnce(&mut Markup)) -> String {
    let mut page = Markup::default();
    page.source("<!doctype html>\n");
    page.element("html", &[("lang", &"en")], |page| {
        page.element("head", &[], |page| {
            page.source(META);
            policy(page, life);
            page.words("title", &[], title);
            page.source("<style>").source(STYLE).source("</style>");
        });
        page.element("body", &[], |page| {
            page.source(SHAPES);
            body(page);
        });
    });
    page.source("\n");
    page.into_string()
}

/// Draws a sign.
pub fn shape(page: &mut Markup, sign: Sign) {
    let shape = format!("#s-{}", sign.word());
    page.element("svg", &[("class", &"shape"), ("aria-hidden", &"true")], |page| {
        page.void("use", &[("href", &shape)]);
    });
}

fn policy(page: &mut Markup, life: Life) {
    match life {
        Life::Live { script } => {
            page.source(LIVE).source(ANEW);
            page.element("script", &[("src", &script), ("defer", &"")], |_| {});
        }
        Life::Still => {
            page.source(STILL);
        }
    }
}

const META: &str = concat!(
    "<meta charset=\"utf-8\">",
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
    "<meta name=\"color-scheme\" content=\"light dark\">",
    "<link rel=\"icon\" href=\"data:,\">",
);
const STILL: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
    style-src 'unsafe-inline'; img-src data:\">";
const LIVE: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
    style-src 'unsafe-inline'; img-src data:; script-src 'self'; connect-src 'self'\">";
const ANEW: &str = "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>";
const STYLE: &str = include_str!("page/style.css");
/// The shapes of signs, drawn once and used everywhere.
const SHAPES: &str = include_str!("page/shapes.svg");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_stands_still_allows_no_script() {
        let still = document("a <title>", Life::Still, |_| {});

        assert!(still.contains("<title>a &lt;title&gt;</title>"), "{still}");
        assert!(still.contains("default-src 'none'"), "{still}");
        assert!(!still.contains("script"), "{still}");
    }

    #[test]
    fn every_sign_has_a_shape_and_a_colour() {
        for sign in [Sign::Fail, Sign::Note, Sign::Pass, Sign::Soft, Sign::Unknown] {
            let word = sign.word();

            assert!(SHAPES.contains(&format!("id=\"s-{word}\"")), "{word}");
            assert!(STYLE.contains(&format!(".{word}>.shape")), "{word}");
        }
    }
}
