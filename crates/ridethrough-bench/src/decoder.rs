//! The decoder of event streams, with its limit, against a bare search for line ends: P11.

use anyhow::Result;

use crate::figure::Figure;
use crate::pace::Pace;

/// Measures everything that is to be said about the decoder.
pub(crate) fn measure(_: Pace) -> Result<Vec<Figure>> {
    let figure = Figure::more("P11", "SSE decoder against a search for line ends", "x");
    Ok(vec![figure.bars(0.45, 0.7).not_measured("nothing measures it yet")])
}
