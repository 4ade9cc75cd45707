//! Patterns of names: `*` stands for any letters.

/// Whether a name matches one of these patterns.
pub fn matches_any(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, name))
}

/// Whether a name matches the pattern. Each `*` takes as little as it can, and takes more when what follows
/// does not fit: the time is at most the product of both lengths.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut star, mut place) = (0, None, 0);
    while place < name.len() {
        match (pattern.get(at), star) {
            (Some('*'), _) => {
                star = Some((at, place));
                at += 1;
            }
            (Some(letter), _) if *letter == name[place] => {
                at += 1;
                place += 1;
            }
            (_, Some((begin, taken))) => {
                star = Some((begin, taken + 1));
                at = begin + 1;
                place = taken + 1;
            }
            (_, None) => return false,
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_letters_and_for_none() {
        for (pattern, name, expected) in [
            ("delete*", "delete", true),
            ("*account*", "myaccounts", true),
            ("a*b*c", "axxbyybzzc", true),
            ("a*b*c", "axxbyybzz", false),
            ("*", "", true),
            ("", "a", false),
            ("Task", "task", false),
            ("a.c", "abc", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_do_not_take_for_ever() {
        let (pattern, name) = ("a*".repeat(50) + "b", "a".repeat(2000));

        assert!(!matches(&pattern, &name));
    }
}
