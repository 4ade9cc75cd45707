//! The source files of a crate, and the modules that they hold.

use crate::import::{Facts, facts};

/// One source file of a crate.
#[derive(Debug)]
pub struct Source {
    /// Its path below `src`, with `/` between the parts.
    pub file: String,
    /// Its contents.
    pub text: String,
}

/// The module in one file.
#[derive(Debug)]
pub struct Module<'a> {
    /// The file, as [`Source::file`] has it.
    pub file: &'a str,
    /// Its path from the root; empty for a root (`lib.rs`, `main.rs`).
    pub path: Vec<String>,
    /// Its imports and test modules.
    pub facts: Facts,
}

/// Reads the modules of a crate, without those that are for tests only.
pub fn modules(sources: &[Source]) -> Vec<Module<'_>> {
    let mut modules: Vec<_> = sources.iter().filter_map(Module::read).collect();
    let for_tests: Vec<_> = modules
        .iter_mut()
        .flat_map(|module| std::mem::take(&mut module.facts.test_modules))
        .collect();
    modules.retain(|module| !for_tests.iter().any(|test| module.path.starts_with(test)));
    modules
}

impl<'a> Module<'a> {
    /// Returns the module of a file; none under `bin`, where each file is a crate of its own.
    fn read(source: &'a Source) -> Option<Self> {
        let path = module_path(&source.file)?;
        let facts = facts(&path, &source.text);
        Some(Self { file: &source.file, path, facts })
    }
}

fn module_path(file: &str) -> Option<Vec<String>> {
    let mut path: Vec<_> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    let name = path.last()?;
    if name == "mod" || (path.len() == 1 && (name == "lib" || name == "main")) {
        path.pop();
    }
    (path.first().is_none_or(|first| first != "bin")).then_some(path)
}
