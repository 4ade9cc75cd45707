//! The three sizes of bodies, each of which has memory and threads of its own: none waits for a larger one.

/// The size of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodySize {
    /// Parsed in a fraction of a millisecond.
    Small,
    /// Parsed in some milliseconds.
    Large,
    /// Parsed in up to a second.
    Huge,
}

impl BodySize {
    pub(crate) const fn of(bytes: usize) -> Self {
        if bytes <= SMALL {
            Self::Small
        } else if bytes <= LARGE {
            Self::Large
        } else {
            Self::Huge
        }
    }
}

const SMALL: usize = 64 << 10;
const LARGE: usize = 1 << 20;
