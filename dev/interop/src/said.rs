//! How each server says that a session is gone, as recorded in a run: a table for the documentation.

use std::fmt::Write;

/// One answer of a server, on one occasion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    /// When it was given: `after a restart`.
    pub(crate) when: String,
    /// Status, headers and body, in one line.
    pub(crate) answer: String,
}

/// Returns a line for each answer of a server, for a terminal.
pub(crate) fn text(server: &str, said: &[Said]) -> String {
    let mut text = String::new();
    for Said { when, answer } in said {
        _ = write!(text, "\n{server}, {when}: {answer}");
    }
    text
}

/// Returns all answers of all servers. Occasions with one answer share a row.
pub(crate) fn markdown<'a>(servers: impl Iterator<Item = (&'a str, &'a [Said])>) -> String {
    let mut text = String::from("| server | session | answer |\n|---|---|---|");
    for (server, said) in servers {
        for (whens, answer) in by_answer(said) {
            // A bar would end the cell, even in code.
            let answer = answer.replace('|', "\\|");
            _ = write!(text, "\n| {server} | {} | {answer} |", whens.join("; "));
        }
    }
    text
}

fn by_answer(said: &[Said]) -> Vec<(Vec<&str>, &str)> {
    let mut rows: Vec<(Vec<&str>, &str)> = Vec::new();
    for Said { when, answer } in said {
        match rows.iter_mut().find(|(_, it)| it == answer) {
            Some((whens, _)) if whens.contains(&when.as_str()) => {}
            Some((whens, _)) => whens.push(when),
            None => rows.push((vec![when], answer)),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occasions_with_one_answer_share_a_row() {
        let said = [("deleted", "404"), ("expired", "410"), ("after a restart", "404")]
            .map(|(when, answer)| Said { when: when.to_owned(), answer: answer.to_owned() });

        let table = markdown([("python", said.as_slice())].into_iter());

        assert!(table.ends_with(
            "\n| python | deleted; after a restart | 404 |\n| python | expired | 410 |"
        ));
    }
}
