//! A small run from end to end: real contestants, a real server, figures that come out.

use std::process::Command;

use serde_json::Value;

#[test]
fn contestants_take_turns_and_the_figures_say_what_was_counted() {
    let file = std::env::temp_dir().join(format!("bench-run-{}.json", std::process::id()));
    let run = Command::new(env!("CARGO_BIN_EXE_ridethrough-bench"))
        .args(["--smoke", "--only", "P1,P3,P4,P6", "--json"])
        .arg(&file)
        // The runner looks for contestants beside itself; naming them here has them built.
        .env(
            "BUILT",
            concat!(env!("CARGO_BIN_EXE_floor-client"), env!("CARGO_BIN_EXE_ours-client")),
        )
        .output()
        .unwrap();

    let told = String::from_utf8_lossy(&run.stderr);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|_| panic!("no figures: {told}"));
    let _ = std::fs::remove_file(&file);
    let figures: Value = serde_json::from_str(&text).unwrap();
    let figures = figures["figures"].as_array().unwrap();
    // How fast it is depends on what else runs; what it does must not.
    let connections: Vec<_> =
        figures.iter().filter(|it| it["bar"] == "P1").map(|it| it["median"].clone()).collect();
    assert_eq!(connections.len(), 5, "{text}");
    assert!(connections.iter().all(|count| *count == 2.0 || *count == 3.0), "{text}");
    let costs: Vec<_> = figures.iter().filter(|it| it["bar"] != "P1").collect();
    assert_eq!(costs.len(), 6, "{text}");
    for figure in costs {
        let rounds = figure["rounds"].as_array().unwrap();
        assert!(rounds.len() == 2 && rounds.iter().all(|it| it.as_f64() > Some(0.0)), "{text}");
    }
    let table = String::from_utf8_lossy(&run.stdout);
    assert!(table.starts_with("| bar |") && table.contains("| P6 |"), "{table}");
}

#[test]
fn wrong_words_are_refused_with_2_and_nothing_is_measured() {
    let run = Command::new(env!("CARGO_BIN_EXE_ridethrough-bench")).arg("--fast").output().unwrap();

    assert_eq!(run.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&run.stderr).contains("`--fast` is no option"));
}
