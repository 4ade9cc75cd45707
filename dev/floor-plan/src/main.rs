//! `floor-plan [FOLDER]`: checks the workspace of this folder, or of the one given.
//!
//! Exit codes: 0 everything is as planned, 1 something is not (listed on stdout), 2 could not check.

use std::path::Path;
use std::process::ExitCode;

use floor_plan::workspace::Workspace;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let folder = match arguments.as_slice() {
        [] => Path::new("."),
        [folder] => Path::new(folder),
        _ => return fail("give one folder at most"),
    };
    match Workspace::read(folder) {
        Ok(workspace) => report(&workspace),
        Err(error) => fail(&format!("{error:#}")),
    }
}

fn report(workspace: &Workspace) -> ExitCode {
    let breaches = floor_plan::check(workspace);
    if breaches.is_empty() {
        let crates = workspace.sources.len();
        println!(
            "floor plan: {crates} crates, every import points down, none goes in a circle, every \
             type has its own name, routers only route, platforms are in their place"
        );
        return ExitCode::SUCCESS;
    }
    for breach in &breaches {
        println!("{breach}");
    }
    eprintln!(
        "\nhint: move the code, or change `dev/floor-plan/floor-plan.toml` and say why in the commit"
    );
    ExitCode::from(1)
}

fn fail(reason: &str) -> ExitCode {
    eprintln!("error: the floor plan could not be checked: {reason}");
    ExitCode::from(2)
}
