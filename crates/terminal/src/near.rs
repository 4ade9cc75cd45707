//! Suggestions for a name that is not known.

use strsim::damerau_levenshtein;

/// Returns a question whether a similar name was meant: `did you mean `a` or `b`?`, if both are equally
/// similar.
pub fn question<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let meant: Vec<_> = nearest(name, known).iter().map(|it| format!("`{it}`")).collect();
    (!meant.is_empty()).then(|| format!("did you mean {}?", meant.join(" or ")))
}

/// Returns the names that are most similar to this one, three at most; none, if no name is similar.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    // A server's text may be of any length, and the time of a comparison grows with the product of both.
    if name.len() > LONGEST {
        return Vec::new();
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
    let rated: Vec<_> = rated.collect();
    let length = wanted.chars().count();
    let least = rated.iter().map(|(distance, _)| *distance).min();
    let least = least.filter(|it| *it < length && *it <= (length / 3).clamp(1, 3));
    let mut nearest: Vec<_> = rated
        .into_iter()
        .filter(|(distance, _)| Some(*distance) == least)
        .map(|(_, it)| it)
        .collect();
    nearest.sort_unstable();
    nearest.dedup();
    nearest.truncate(MOST_MEANT);
    nearest
}

const LONGEST: usize = 100;
const LEAST_PART: usize = 3;
const MOST: usize = 2000;
/// The most names in a question. With more, the whole list is easier to read.
const MOST_MEANT: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_seen_and_another_word_is_not() {
        let known = ["get-sum", "echo", "get_weather"];

        assert_eq!(nearest("get_sum", known), ["get-sum"]);
        assert_eq!(nearest("getsum", known), ["get-sum"]);
        assert_eq!(nearest("sum", known), ["get-sum"]);
        assert_eq!(nearest("ehco", known), ["echo"]);
        assert!(nearest("deploy", known).is_empty());
        assert!(nearest("echo", ["echo"]).is_empty());
        assert!(nearest("b", ["a"]).is_empty());
        assert!(nearest(&"x".repeat(1000), known).is_empty());
    }

    /// Before this was fixed, only the first of several equally similar names was suggested.
    #[test]
    fn names_that_are_as_like_are_all_asked_for() {
        let known = ["get_item", "get_user", "put_items"];

        assert_eq!(question("get", known).unwrap(), "did you mean `get_item` or `get_user`?");
        assert_eq!(question("get_itme", known).unwrap(), "did you mean `get_item`?");
        assert_eq!(question("deploy", known), None);
    }
}
