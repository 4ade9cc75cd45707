//! A picture of what happened in a scenario.
//!
//! ```text
//! Score --story--> what is shown, in ms --layout--> where, in px --draw--> SVG
//! ```
//!
//! Time goes to the right, in proportion. Above are the steps of the client, below them one lane
//! for each connection that a server had, with a bar for each request. Every picture is drawn
//! twice, because text that is scaled down to a phone cannot be read; the style shows one of them.

mod bar;
mod draw;
mod layout;
mod rows;
mod scale;
mod steps;
mod story;

use self::draw::Picture;
use self::story::Story;
use crate::page::Markup;
use crate::score::Score;

/// Draws what the servers saw and what the client reported, or says that there is nothing.
pub(super) fn timeline(page: &mut Markup, score: &Score) {
    let story = Story::of(score);
    if story.is_empty() {
        page.words("p", &[("class", &"none")], NOTHING);
        return;
    }
    page.element("figure", &[], |page| {
        for format in [Format::Wide, Format::Narrow] {
            Picture::new(&story, format).draw(page);
        }
    });
}

/// The screen for which a picture is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// A phone: without the details that only a mouse can reach.
    Narrow,
    /// A desktop.
    Wide,
}

const NOTHING: &str =
    "The log is empty: no request reached a server, and the client reported nothing.";

#[cfg(test)]
mod tests;
