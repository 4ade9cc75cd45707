//! Lists the files of the scenarios, so that each of them is in the program.

use std::fmt::Write as _;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").ok_or(std::io::ErrorKind::NotFound)?;
    let folder = Path::new(&package).join("scenarios");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "toml") {
            files.push(path);
        }
    }
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        // Writing to a `String` cannot fail.
        let _ = writeln!(list, "    include_str!({file:?}),");
    }
    list.push_str("]\n");
    let out = std::env::var_os("OUT_DIR").ok_or(std::io::ErrorKind::NotFound)?;
    std::fs::write(Path::new(&out).join("scenarios.rs"), list)
}
