//! Tells the program what made it: its counts are true for that only.

use std::path::Path;
use std::process::Command;

fn main() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned());
    println!("cargo::rustc-env=GUARD_RUSTC={}", version.unwrap_or_default());
    println!("cargo::rustc-env=GUARD_TARGET={}", variable("TARGET"));
    println!("cargo::rustc-env=GUARD_BUILT={}", built());
    println!("cargo::rerun-if-changed=build.rs");
    for name in OVERRIDES {
        println!("cargo::rerun-if-env-changed={name}");
    }
}

/// Whatever else changes the code that the compiler writes.
fn built() -> String {
    // Cargo names no profile that inherits another, but puts what it builds into a folder of that name.
    let folder = variable("OUT_DIR");
    let profile = Path::new(&folder).ancestors().nth(3).and_then(Path::file_name);
    let profile = profile.unwrap_or_default().to_string_lossy().into_owned();
    let mut words = vec![profile, format!("opt-level={}", variable("OPT_LEVEL"))];
    let overrides = OVERRIDES.iter().map(|name| (name, variable(name)));
    let overrides = overrides.filter(|(_, value)| !value.is_empty());
    words.extend(overrides.map(|(name, value)| format!("{name}={value}")));
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    words.extend(flags.split('\x1f').filter(|flag| !flag.is_empty()).map(str::to_owned));
    words.join(" ")
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// Settings of `[profile.dist]` that people change for a while.
const OVERRIDES: [&str; 3] = [
    "CARGO_PROFILE_DIST_CODEGEN_UNITS",
    "CARGO_PROFILE_DIST_DEBUG_ASSERTIONS",
    "CARGO_PROFILE_DIST_LTO",
];
