//! JSON as people read it on a terminal. Only the space between values changes.

/// Returns the JSON with a member on each line.
pub(super) fn pretty(json: &str) -> String {
    let mut pretty = String::with_capacity(json.len() * 2);
    let mut depth: usize = 0;
    let (mut is_text, mut is_escaped) = (false, false);
    let mut characters = json.chars().peekable();
    while let Some(it) = characters.next() {
        if is_text {
            pretty.push(it);
            is_text = it != '"' || is_escaped;
            is_escaped = it == '\\' && !is_escaped;
            continue;
        }
        match it {
            '{' | '[' => {
                pretty.push(it);
                while characters.next_if(|it| it.is_ascii_whitespace()).is_some() {}
                match characters.next_if(|it| matches!(it, '}' | ']')) {
                    Some(end) => pretty.push(end),
                    None => {
                        depth += 1;
                        break_line(&mut pretty, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut pretty, depth);
                pretty.push(it);
            }
            ',' => {
                pretty.push(it);
                break_line(&mut pretty, depth);
            }
            ':' => pretty.push_str(": "),
            it if it.is_ascii_whitespace() => {}
            it => {
                pretty.push(it);
                is_text = it == '"';
            }
        }
    }
    pretty
}

fn break_line(pretty: &mut String, depth: usize) {
    pretty.push('\n');
    // A server's lists may be of any depth, so the indent is bounded.
    pretty.push_str(&"  ".repeat(depth.min(DEEPEST)));
}

const DEEPEST: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_changes_but_the_space_between_values() {
        let json = r#"{"a":[1.10,{"b\"]":"x, {y}: \\"}], "e":{ },"l":[],"n":123456789012345678901234567890}"#;

        let pretty = pretty(json);

        assert_eq!(
            pretty,
            r#"{
  "a": [
    1.10,
    {
      "b\"]": "x, {y}: \\"
    }
  ],
  "e": {},
  "l": [],
  "n": 123456789012345678901234567890
}"#
        );
    }
}
