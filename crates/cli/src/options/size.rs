//! Sizes as people write them: `16MiB`, `20000000`.

/// Parses a number of bytes, within what a client takes as the limit of a message.
pub(super) fn bytes(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let (number, unit) =
        text.split_at(text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len()));
    let unit = unit.trim();
    let factor = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    let size = factor.and_then(|(_, factor)| number.parse::<usize>().ok()?.checked_mul(*factor));
    size.filter(|size| (LEAST..=MOST).contains(size)).ok_or_else(|| BOUNDS.to_owned())
}

pub(super) const BOUNDS: &str = "must be a size such as `16MiB` or `20000000`, 1KiB to 1GiB";

const UNITS: [(&str, usize); 8] = [
    ("", 1),
    ("B", 1),
    ("KB", 1000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
];
/// The smallest limit that the builder of a client takes.
const LEAST: usize = 1 << 10;
const MOST: usize = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_number_of_bytes_or_of_a_unit_within_bounds() {
        for (text, size) in [
            ("20000000", 20_000_000),
            ("16MiB", 16 << 20),
            (" 64 kib ", 64 << 10),
            ("20MB", 20_000_000),
            ("1GiB", 1 << 30),
            ("1024B", 1024),
        ] {
            assert_eq!(bytes(text), Ok(size), "{text}");
        }
        for text in ["", "MiB", "1023", "2GiB", "-1", "1.5MiB", "16 miles", "99999999999999999999"]
        {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
