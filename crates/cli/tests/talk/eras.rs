//! The era that is spoken, what is kept of it, and what is reported when a server is rolled back.

use std::fs;
use std::path::PathBuf;

use ridethrough_lab::{Spoken, When};

use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_speaks_with_a_stateless_server() {
    let rig = Rig::new().await;
    rig.mcp.speaks(Spoken::Modern);
    let commands: [&[&str]; 6] = [
        &["tools", "SERVER"],
        &["call", "SERVER", "echo", "msg=hello"],
        &["ping", "SERVER"],
        &["prompts", "SERVER"],
        &["resources", "SERVER"],
        &["read", "SERVER", "lab://note"],
    ];

    for era in ["auto", "modern"] {
        for words in commands {
            let ran = rig.run(&[words, &["--era", era]].concat()).await;

            assert_eq!(ran.code, Some(0), "{words:?} --era {era}: {ran:?}");
        }
    }

    let pinged = rig.run(&["ping", "SERVER", "--era", "auto"]).await;
    assert!(pinged.out.starts_with("ridethrough-lab speaks 2026-07-28;"), "{pinged:?}");
    assert_eq!(rig.mcp.count(&When::method("initialize")), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_found_of_the_era_is_kept_for_the_next_command() {
    let rig = Rig::new().await;
    let asked = || rig.mcp.count(&When::method("server/discover"));

    for _ in 0..2 {
        let ran = rig.run(&["ping", "SERVER", "--era", "auto", "--header", "X-Key: s3cret"]).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    assert_eq!(asked(), 1, "the second command knew it");
    let files = kept(&rig);
    assert_eq!(files.len(), 1, "{files:?}");
    let text = fs::read_to_string(&files[0]).unwrap();
    assert!(text.contains("legacy") && !text.contains("s3cret"), "{text}");

    // Other credentials may lead to another server, and a file of another form does not count.
    rig.run(&["ping", "SERVER", "--era", "auto"]).await;
    assert_eq!((asked(), kept(&rig).len()), (2, 2));
    fs::write(&files[0], "no json").unwrap();
    let ran = rig.run(&["ping", "SERVER", "--era", "auto", "--header", "X-Key: s3cret"]).await;
    assert_eq!((ran.code, asked()), (Some(0), 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_goes_back_to_sessions_is_told_and_refused_where_the_era_is_pinned() {
    let rig = Rig::new().await;
    rig.mcp.speaks(Spoken::Modern);
    rig.run(&["ping", "SERVER", "--era", "auto"]).await;
    rig.mcp.speaks(Spoken::Legacy);

    let pinned = rig.run(&["tools", "SERVER", "--era", "modern"]).await;
    assert!(pinned.code != Some(0), "{pinned:?}");
    assert_eq!(rig.mcp.count(&When::method("initialize")), 0);

    let told = rig.run(&["tools", "SERVER", "--era", "auto"]).await;
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(
        told.err.contains("warning: the server was stateless when it was last asked"),
        "{told:?}"
    );

    let again = rig.run(&["tools", "SERVER", "--era", "auto"]).await;
    assert_eq!((again.code, again.err.contains("stateless")), (Some(0), false), "{again:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_era_that_is_none_is_wrong_usage_wherever_it_is_said() {
    let rig = Rig::new().await;

    let by_flag = rig.run(&["ping", "SERVER", "--era", "classical"]).await;
    let by_variable = rig.run_with(&["ping", "SERVER"], &[("RIDETHROUGH_ERA", "classical")]).await;

    assert_eq!([by_flag.code, by_variable.code], [Some(2), Some(2)]);
    assert!(by_variable.err.contains("`auto`, `legacy` or `modern`"), "{by_variable:?}");
    assert!(rig.mcp.log().is_empty());
}

/// Returns the files that are kept about servers.
fn kept(rig: &Rig) -> Vec<PathBuf> {
    let files = fs::read_dir(rig.folder.join(".cache/ridethrough/catalogues"));
    let mut files: Vec<_> = files.into_iter().flatten().map(|it| it.unwrap().path()).collect();
    files.sort();
    files
}
