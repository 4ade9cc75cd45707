//! Every input that the fuzzer has kept, without the fuzzer: the committed corpus, and what once broke.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use ridethrough_fuzz::{TARGETS, Target};

macro_rules! replays {
    ($($target:ident)*) => {
        $(
            #[test]
            fn $target() {
                replay(stringify!($target));
            }
        )*

        #[test]
        fn every_target_is_replayed() {
            assert_eq!(TARGETS.map(|(name, _)| name), [$(stringify!($target)),*]);
        }
    };
}

replays! {
    adapter_script batch callback challenges config_import envelope gateway_config headers metadata mirror names
    request_state schema sse token_answer
}

#[test]
fn every_target_has_a_program_for_the_fuzzer() {
    for (name, _) in TARGETS {
        let program = fuzz().join("targets").join(name).with_extension("rs");
        assert!(program.is_file(), "{} is missing", program.display());
    }
}

fn replay(name: &str) {
    let target = TARGETS.into_iter().find(|(known, _): &Target| *known == name);
    let (_, run) = target.expect("a target of this name");
    let corpus = inputs(&fuzz().join("corpus").join(name));
    assert!(!corpus.is_empty(), "the corpus of {name} is missing");
    let regressions = inputs(&fuzz().join("regressions").join(name));

    for path in corpus.iter().chain(&regressions) {
        let input = fs::read(path).expect("a file that can be read");
        assert!(catch_unwind(|| run(&input)).is_ok(), "{name} fails with {}", path.display());
    }
}

/// The files of a folder, which need not be there.
fn inputs(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<_> =
        entries.map(|entry| entry.expect("a folder that can be read").path()).collect();
    paths.sort();
    paths
}

fn fuzz() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
