//! Sizes in the units that people use, and the failure of a message that is too large.

use std::fmt;

use ridethrough_core::{Cause, Failure};

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) usize);

impl fmt::Display for Size {
    /// Prints the largest unit that needs no fraction, because a limit must be exact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        match units.iter().find(|(unit, _)| self.0 >= *unit && self.0.is_multiple_of(*unit)) {
            Some((unit, name)) => write!(f, "{} {name}", self.0 / unit),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

/// Returns the failure of an answer of which `what` is larger than the message limit.
pub fn too_large(what: &str, limit: usize) -> Failure {
    let limit = Size(limit);
    Failure::unknown(Cause::TooLarge).with_detail(format!("{what} of more than {limit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_told_exactly_and_in_the_largest_unit_that_can() {
        let told = [0, 1000, 1024, 64 << 10, (64 << 10) + 1, 16 << 20, 1 << 30, 20_000_000]
            .map(|size| Size(size).to_string());

        let right = [
            "0 bytes",
            "1000 bytes",
            "1 KiB",
            "64 KiB",
            "65537 bytes",
            "16 MiB",
            "1 GiB",
            "20000000 bytes",
        ];
        assert_eq!(told, right);
    }
}
