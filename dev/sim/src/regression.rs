//! Worlds that once broke a promise, one to a line: `SEED CALLS FAULTS # what it was`.

use std::fmt;
use std::str::FromStr;

use crate::world::World;

/// A world that every test run runs again.
#[derive(Clone, Debug)]
pub struct Regression {
    /// The world.
    pub world: World,
    /// What was broken in it.
    pub what: String,
}

impl fmt::Display for Regression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let World { seed, faults, calls } = &self.world;
        write!(f, "{seed} {calls} {faults} # {}", self.what)
    }
}

impl FromStr for Regression {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let (world, what) = line.split_once('#').unwrap_or((line, ""));
        let words: Vec<_> = world.split_whitespace().collect();
        let [seed, calls, faults] = words[..] else {
            return Err(format!("`{line}` is not SEED CALLS FAULTS # WHAT"));
        };
        let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is no whole number"));
        let world = World { seed: number(seed)?, calls: number(calls)?, faults: faults.parse()? };
        Ok(Self { world, what: what.trim().to_owned() })
    }
}

/// Returns all worlds that were kept.
///
/// # Errors
///
/// Fails if a line cannot be read.
pub fn kept() -> Result<Vec<Regression>, String> {
    let lines = KEPT.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::parse).collect()
}

const KEPT: &str = include_str!("../regressions.txt");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let line = "7 40 cut=30,restarts=2 # an unsafe call ran twice";

        assert_eq!(line.parse::<Regression>().unwrap().to_string(), line);
        assert!("7 cut=30".parse::<Regression>().is_err());
    }
}
