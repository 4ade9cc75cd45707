//! The committed counts, and the conditions under which they are valid.
//!
//! The file is TOML, but only the part of TOML that is written here is read: a parser would be built for this
//! alone, and take longer than everything that is counted.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// The instructions of one turn, by workload.
pub(crate) type Counts = BTreeMap<String, u64>;

/// The contents of `dev/guard/baseline.toml`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Baseline {
    pub(crate) maker: Maker,
    pub(crate) counts: Counts,
}

/// Everything that changes a count without a change of our code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Maker {
    pub(crate) rustc: String,
    pub(crate) target: String,
    /// The level of optimisation, and settings from the environment.
    pub(crate) built: String,
    /// The processor: searches and copies choose their instructions when the program starts.
    pub(crate) processor: String,
}

impl Baseline {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("there is no baseline at {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} cannot be read", path.display()))
    }

    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        std::fs::write(path, self.text()).with_context(|| path.display().to_string())
    }

    fn text(&self) -> String {
        let Maker { rustc, target, built, processor } = &self.maker;
        let mut text = format!(
            "# Instructions of one turn of each workload; `dev/guard` counts and compares.\n\
             # Written by `cargo run --profile dist -p ridethrough-guard -- --update`.\n\n\
             [maker]\nrustc = \"{rustc}\"\ntarget = \"{target}\"\nbuilt = \"{built}\"\nprocessor = \"{processor}\"\n\n\
             [counts]\n"
        );
        for (name, count) in &self.counts {
            let _ = writeln!(text, "{name} = {count}");
        }
        text
    }

    fn parse(text: &str) -> Result<Self> {
        let (mut words, mut counts) = (BTreeMap::new(), Counts::new());
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '['])) {
            let Some((name, value)) = line.split_once(" = ") else { bail!("`{line}`") };
            match value.strip_prefix('"').and_then(|it| it.strip_suffix('"')) {
                Some(word) => _ = words.insert(name, word.to_owned()),
                None => _ = counts.insert(name.to_owned(), value.parse().context(line.to_owned())?),
            }
        }
        let mut word =
            |name| words.remove(name).with_context(|| format!("it does not say `{name}`"));
        let maker = Maker {
            rustc: word("rustc")?,
            target: word("target")?,
            built: word("built")?,
            processor: word("processor")?,
        };
        Ok(Self { maker, counts })
    }
}

impl Maker {
    /// Returns the compiler that built this program, and the machine that runs it.
    pub(crate) fn this() -> Self {
        Self {
            rustc: env!("GUARD_RUSTC").to_owned(),
            target: env!("GUARD_TARGET").to_owned(),
            built: env!("GUARD_BUILT").to_owned(),
            processor: processor().to_owned(),
        }
    }

    /// Checks whether counts of the two can be compared; if not, returns why.
    pub(crate) fn is_same(&self, now: &Self) -> Result<(), String> {
        let pairs = [
            ("the compiler", &self.rustc, &now.rustc),
            ("the target", &self.target, &now.target),
            ("how it was built", &self.built, &now.built),
            ("the processor", &self.processor, &now.processor),
        ];
        match pairs.into_iter().find(|(_, then, now)| then != now) {
            Some((what, then, now)) => {
                Err(format!("{what} is another: `{now}`, and the baseline was made with `{then}`"))
            }
            None => Ok(()),
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn processor() -> &'static str {
    if std::arch::is_x86_feature_detected!("avx2") { "avx2" } else { "sse2" }
}

#[cfg(not(target_arch = "x86_64"))]
const fn processor() -> &'static str {
    std::env::consts::ARCH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let baseline = Baseline {
            maker: maker("rustc 1.0 (odd = true)"),
            counts: [("call".to_owned(), 7), ("sse".to_owned(), 1_000_000)].into(),
        };

        assert_eq!(Baseline::parse(&baseline.text()).unwrap(), baseline);
    }

    #[test]
    fn a_baseline_that_says_less_is_refused() {
        let text = Baseline { maker: maker("1.95"), counts: Counts::new() }.text();

        assert!(Baseline::parse(&text.replace("target", "aim")).is_err());
        assert!(Baseline::parse(&format!("{text}call = many\n")).is_err());
        assert!(Baseline::parse(&format!("{text}call\n")).is_err());
    }

    #[test]
    fn counts_of_another_compiler_are_not_compared() {
        let why = maker("1.95").is_same(&maker("1.96")).unwrap_err();

        assert!(why.contains("the compiler") && why.contains("1.95") && why.contains("1.96"));
        assert_eq!(maker("1.95").is_same(&maker("1.95")), Ok(()));
    }

    fn maker(rustc: &str) -> Maker {
        Maker { rustc: rustc.into(), target: "t".into(), built: "b".into(), processor: "p".into() }
    }
}
