//! A verdict as a word, a colour and a shape, so that any one of them is enough.

use crate::page::{self, Markup, Sign};
use crate::score::{Score, Verdict};

/// All verdicts, the worst first, as readers look for them.
pub(super) const ALL: [Verdict; 3] = [Verdict::Fail, Verdict::Soft, Verdict::Pass];

pub(super) fn badge(page: &mut Markup, verdict: Verdict) {
    let word = verdict.word();
    page.element("span", &[("class", &format_args!("badge {word}"))], |page| {
        shape(page, verdict);
        page.text(word);
    });
}

pub(super) fn shape(page: &mut Markup, verdict: Verdict) {
    let sign = match verdict {
        Verdict::Fail => Sign::Fail,
        Verdict::Pass => Sign::Pass,
        Verdict::Soft => Sign::Soft,
    };
    page::shape(page, sign);
}

/// Returns the names by which the style shows or hides a part of the page.
pub(super) fn marks<'a>(scores: impl Iterator<Item = &'a Score>) -> String {
    let mut verdicts: Vec<_> = scores.map(|score| score.verdict).collect();
    verdicts.sort_unstable();
    verdicts.dedup();
    let names: Vec<_> = verdicts.iter().map(|it| format!("has-{}", it.word())).collect();
    names.join(" ")
}
