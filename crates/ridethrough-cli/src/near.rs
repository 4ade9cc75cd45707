//! What may have been meant by a name that is not known.

use strsim::damerau_levenshtein;

/// The name that is most like this one, if one is like it.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Texts of a stranger may be of any length, and comparing takes a time that grows with the product.
    if name.len() > LONGEST {
        return None;
    }
    let plain = |it: &str| it.to_lowercase().replace(['-', '_', '.', ' '], "");
    let wanted = plain(name);
    let known = known.into_iter().filter(|it| it.len() <= LONGEST && *it != name).take(MOST);
    let rated = known.map(|it| {
        let other = plain(it);
        let is_long = wanted.len().min(other.len()) >= LEAST_PART;
        let is_part = is_long && (other.contains(&wanted) || wanted.contains(&other));
        let distance = damerau_levenshtein(&wanted, &other);
        (if is_part { distance.min(1) } else { distance }, it)
    });
    let (distance, nearest) = rated.min_by_key(|(distance, _)| *distance)?;
    let length = wanted.chars().count();
    (distance < length && distance <= (length / 3).clamp(1, 3)).then_some(nearest)
}

const LONGEST: usize = 100;
const LEAST_PART: usize = 3;
const MOST: usize = 2000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_seen_and_another_word_is_not() {
        let known = ["get-sum", "echo", "get_weather"];

        assert_eq!(nearest("get_sum", known), Some("get-sum"));
        assert_eq!(nearest("getsum", known), Some("get-sum"));
        assert_eq!(nearest("sum", known), Some("get-sum"));
        assert_eq!(nearest("ehco", known), Some("echo"));
        assert_eq!(nearest("deploy", known), None);
        assert_eq!(nearest("echo", ["echo"]), None);
        assert_eq!(nearest("b", ["a"]), None);
        assert_eq!(nearest(&"x".repeat(1000), known), None);
    }
}
