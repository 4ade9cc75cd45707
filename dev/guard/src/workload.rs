//! What is counted: pieces of work that every call consists of, repeated.
//!
//! A turn checks its result, so that the compiler cannot leave any of it out.

mod decode;
mod envelope;
mod machine;

use anyhow::Result;

/// A piece of work.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// How many turns are counted: enough for a turn that differs not to matter.
    pub(crate) turns: u64,
    work: fn(u64) -> Result<()>,
}

impl Workload {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|workload| workload.name == name)
    }

    pub(crate) fn run(&self, turns: u64) -> Result<()> {
        (self.work)(turns)
    }
}

pub(crate) const ALL: &[Workload] = &[
    Workload { name: "decode-small", turns: 100, work: decode::small },
    Workload { name: "decode-large", turns: 10, work: decode::large },
    Workload { name: "envelope-small", turns: 1000, work: envelope::small },
    Workload { name: "envelope-large", turns: 5, work: envelope::large },
    Workload { name: "call-json", turns: 500, work: machine::json },
    Workload { name: "call-stream", turns: 500, work: machine::stream },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_does_what_it_says() {
        for workload in ALL {
            workload.run(3).unwrap();
        }
    }
}
