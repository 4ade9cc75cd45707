//! What doors may say differently: each difference is a named row with its reason.
//!
//! A run is good if what differed is exactly what the rows say. A row that has healed must be struck out, so
//! that the list is never longer than the truth.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::backend::Era;
use crate::door::Place;

/// What each place said to one sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Played {
    pub(crate) line: String,
    pub(crate) said: BTreeMap<Place, Vec<String>>,
}

/// All rows.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Differences {
    #[serde(default, rename = "difference")]
    rows: Vec<Row>,
}

/// A difference that is known, why it is there, and every line of the script that shows it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    name: String,
    reason: String,
    #[serde(default)]
    shown: Vec<Shown>,
}

/// What the doors say to one line.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shown {
    line: String,
    says: Vec<Group>,
}

/// Places that say one thing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    at: Vec<String>,
    what: Vec<String>,
}

/// A way in which rows and run do not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The places differ otherwise than the row says.
    Changed { line: String, says: Vec<Group> },
    /// All places say one thing, and the row is still there.
    Healed { line: String },
    /// A row has no reason, or shows nothing.
    Empty { row: String },
    /// A row shows what is no line of the script, or what another row shows.
    Stray { line: String },
    /// There is no row.
    Unlisted { line: String, says: Vec<Group> },
}

impl Differences {
    pub(crate) fn read(text: &str) -> Result<Self> {
        toml::from_str(text).context("the file of differences cannot be read")
    }

    /// Returns the name of the row that shows a line.
    pub(crate) fn name(&self, line: &str) -> Option<&str> {
        self.rows
            .iter()
            .find(|row| row.shown.iter().any(|it| it.line == line))
            .map(|row| &*row.name)
    }

    /// Returns how many rows there are.
    pub(crate) const fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the name and the reason of each row.
    pub(crate) fn reasons(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rows.iter().map(|row| (&*row.name, &*row.reason))
    }

    /// Returns every way in which these rows do not fit what was played.
    pub(crate) fn check(&self, played: &[Played]) -> Vec<Fault> {
        let mut faults: Vec<_> = played.iter().filter_map(|it| self.check_one(it)).collect();
        let is_empty = |row: &&Row| row.reason.trim().is_empty() || row.shown.is_empty();
        let empty = self.rows.iter().filter(is_empty);
        faults.extend(empty.map(|row| Fault::Empty { row: row.name.clone() }));
        let mut known = BTreeSet::new();
        for Shown { line, .. } in self.rows.iter().flat_map(|row| &row.shown) {
            if !known.insert(line) || !played.iter().any(|it| it.line == *line) {
                faults.push(Fault::Stray { line: line.clone() });
            }
        }
        faults
    }

    /// Whether a line's row says what was played.
    pub(crate) fn fits(&self, played: &Played) -> bool {
        self.check_one(played).is_none()
    }

    fn check_one(&self, played: &Played) -> Option<Fault> {
        let line = played.line.clone();
        let says = groups(played);
        let mut shown = self.rows.iter().flat_map(|row| &row.shown);
        match shown.find(|it| it.line == line) {
            None if says.is_empty() => None,
            None => Some(Fault::Unlisted { line, says }),
            Some(_) if says.is_empty() => Some(Fault::Healed { line }),
            Some(shown) if shown.says != says => Some(Fault::Changed { line, says }),
            Some(_) => None,
        }
    }

    /// Returns the file as it would fit what was played. What no row shows is shown by a last one, which has no
    /// reason and so is a fault.
    pub(crate) fn rewritten(&self, head: &str, played: &[Played]) -> String {
        let apart: Vec<_> = played.iter().map(|it| (it, groups(it))).collect();
        let apart: Vec<_> = apart.into_iter().filter(|(_, says)| !says.is_empty()).collect();
        let rows = self.rows.iter().map(|row| (Some(&*row.name), &*row.name, &*row.reason));
        let mut text = head.to_owned();
        for (owner, name, reason) in rows.chain([(None, "new", "")]) {
            let shown: Vec<_> =
                apart.iter().filter(|(played, _)| self.name(&played.line) == owner).collect();
            if shown.is_empty() {
                continue;
            }
            let (name, reason) = (quoted(name), quoted(reason));
            text.push_str(&format!("\n[[difference]]\nname = {name}\nreason = {reason}\n"));
            for (played, says) in shown {
                let line = quoted(&played.line);
                text.push_str(&format!("\n[[difference.shown]]\nline = {line}\nsays = [\n"));
                says.iter().for_each(|group| text.push_str(&group.written()));
                text.push_str("]\n");
            }
        }
        text
    }
}

impl Group {
    fn written(&self) -> String {
        let at: Vec<_> = self.at.iter().map(|it| quoted(it)).collect();
        let what: Vec<_> = self.what.iter().map(|it| quoted(it)).collect();
        format!("  {{ at = [{}], what = [{}] }},\n", at.join(", "), what.join(", "))
    }
}

/// Returns who says what, where the places with one server behind them differ; nothing where they do not.
pub(crate) fn groups(played: &Played) -> Vec<Group> {
    let mut groups = Vec::new();
    for era in [Era::Sessions, Era::Stateless] {
        let said: Vec<_> = played.said.iter().filter(|(place, _)| place.behind == era).collect();
        let is_one = said.windows(2).all(|pair| pair[0].1 == pair[1].1);
        if is_one {
            continue;
        }
        for (place, what) in said {
            let at = place.name().to_owned();
            match groups.iter_mut().find(|it: &&mut Group| it.what == *what) {
                Some(group) => group.at.push(at),
                None => groups.push(Group { at: vec![at], what: what.clone() }),
            }
        }
    }
    groups
}

impl Fault {
    /// Says what is wrong, and what to do.
    pub(crate) fn report(&self) -> String {
        match self {
            Self::Changed { line, says } => {
                format!("`{line}`: the doors differ otherwise than its row says\n{}", shown(says))
            }
            Self::Healed { line } => {
                format!("`{line}`: all doors say one thing; strike it out of its row")
            }
            Self::Empty { row } => format!("the row `{row}` has no reason, or shows nothing"),
            Self::Stray { line } => {
                format!("`{line}`: no line of the script, or shown by two rows; strike it out")
            }
            Self::Unlisted { line, says } => {
                format!("`{line}`: the doors differ, and no row says why\n{}", shown(says))
            }
        }
    }
}

fn shown(says: &[Group]) -> String {
    let said = says.iter().map(|group| {
        let what = if group.what.is_empty() {
            "(nothing)".to_owned()
        } else {
            group.what.join("\n      ")
        };
        format!("    {}\n      {what}", group.at.join(", "))
    });
    said.collect::<Vec<_>>().join("\n")
}

/// Returns a text as TOML has it, which for these texts is as JSON has it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        [[difference]]
        name = "row"
        reason = "one of them is wrong"
        [[difference.shown]]
        line = "a"
        says = [
          { at = ["bridge"], what = ["x"] },
          { at = ["expose", "gateway", "gateway --stdio"], what = ["y"] },
        ]
    "#;

    #[test]
    fn a_difference_without_a_row_is_a_fault_and_one_with_its_row_is_none() {
        let apart = played("a", ["x", "y", "y", "y"]);
        let listed = Differences::read(FILE).unwrap();

        assert_eq!(listed.check(std::slice::from_ref(&apart)), []);
        let faults = Differences::default().check(&[apart]);
        assert!(matches!(&faults[..], [Fault::Unlisted { line, .. }] if line == "a"), "{faults:?}");
        assert_eq!(Differences::default().check(&[played("a", ["x"; 4])]), []);
    }

    #[test]
    fn a_line_that_has_healed_is_a_fault() {
        let faults = Differences::read(FILE).unwrap().check(&[played("a", ["y"; 4])]);

        assert_eq!(faults, [Fault::Healed { line: "a".to_owned() }]);
    }

    #[test]
    fn a_row_pins_who_differs_and_how() {
        let listed = Differences::read(FILE).unwrap();
        for said in [["z", "y", "y", "y"], ["x", "x", "y", "y"], ["x", "y", "y", "z"]] {
            let faults = listed.check(&[played("a", said)]);

            assert!(matches!(&faults[..], [Fault::Changed { .. }]), "{said:?}");
        }
    }

    #[test]
    fn rows_that_show_nothing_or_say_no_reason_are_faults() {
        let apart = || played("a", ["x", "y", "y", "y"]);
        let silent = FILE.replace("one of them is wrong", " ");
        let hollow = format!("{FILE}[[difference]]\nname = \"hollow\"\nreason = \"none\"");
        let faults = |file: &str, run: &[Played]| Differences::read(file).unwrap().check(run);

        assert_eq!(faults(FILE, &[]), [Fault::Stray { line: "a".to_owned() }]);
        assert_eq!(faults(&silent, &[apart()]), [Fault::Empty { row: "row".to_owned() }]);
        assert_eq!(faults(&hollow, &[apart()]), [Fault::Empty { row: "hollow".to_owned() }]);
        assert_eq!(faults(&FILE.repeat(2), &[apart()]), [Fault::Stray { line: "a".to_owned() }]);
    }

    #[test]
    fn doors_with_different_servers_behind_them_are_not_compared() {
        let place = |behind| *Place::ALL.iter().find(|it| it.behind == behind).unwrap();
        let said = [(place(Era::Sessions), "x"), (place(Era::Stateless), "y")];
        let said = said.map(|(place, what)| (place, vec![what.to_owned()])).into();

        assert_eq!(groups(&Played { line: "a".to_owned(), said }), []);
    }

    #[test]
    fn what_is_rewritten_keeps_its_reasons_and_fits_but_for_what_is_new() {
        let listed = Differences::read(FILE).unwrap();
        let run = [
            played("a", ["\"", "y", "é", "y"]),
            played("b", ["x"; 4]),
            played("c", ["y", "x", "x", "x"]),
        ];

        let text = listed.rewritten("# head\n", &run);

        let read = Differences::read(&text).unwrap();
        assert!(text.starts_with("# head\n"));
        assert_eq!(read.reasons().next(), Some(("row", "one of them is wrong")));
        assert_eq!(read.check(&run), [Fault::Empty { row: "new".to_owned() }]);
    }

    /// What bridge, expose, gateway and gateway --stdio said.
    fn played(line: &str, said: [&str; 4]) -> Played {
        let mut places: Vec<_> =
            Place::ALL.into_iter().filter(|it| it.behind == Era::Sessions).collect();
        places.sort();
        let said = places.into_iter().zip(said.map(|it| vec![it.to_owned()])).collect();
        Played { line: line.to_owned(), said }
    }
}
