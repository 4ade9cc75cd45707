//! `ridethrough-bench`: what `./bench` runs.

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    ridethrough_bench::run(&words)
}
