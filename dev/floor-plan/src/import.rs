//! Finds what a source file imports from its own crate, as paths from the crate's root.
//!
//! A path counts wherever it stands: in `use`, in `pub use`, in a signature, in an expression. Code
//! under `#[cfg(test)]` is left out. This is a scanner, not a compiler, and has limits: it expands
//! no macros, ignores `#[path]`, and sees through a name only if the root imports it by name.

use crate::token::{Token, tokens};

/// The imports and test modules of one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Everything it imports from its own crate.
    pub imports: Vec<Import>,
    /// The modules that it declares for tests only and keeps in other files.
    pub test_modules: Vec<Vec<String>>,
}

/// One path into the crate.
#[derive(Debug, PartialEq, Eq)]
pub struct Import {
    /// The line where the path ends.
    pub line: usize,
    /// The path from the crate's root; empty if the root itself is imported as a whole.
    pub path: Vec<String>,
    /// The name that a `use` gives it, if it does.
    pub name: Option<String>,
}

/// Reads the file that holds the module `module` (a path from the root; empty for the root).
pub fn facts(module: &[String], source: &str) -> Facts {
    let mut reader = Reader {
        tokens: tokens(source),
        at: 0,
        module,
        scopes: Vec::new(),
        facts: Facts::default(),
    };
    while reader.at < reader.tokens.len() {
        reader.step();
    }
    reader.facts
}

struct Reader<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    module: &'a [String],
    /// The open braces; those of a `mod name { .. }` have its name.
    scopes: Vec<Option<&'a str>>,
    facts: Facts,
}

impl<'a> Reader<'a> {
    fn step(&mut self) {
        match self.ahead(0) {
            "#" => self.attribute(),
            "mod" if self.ahead(2) == "{" => {
                self.scopes.push(Some(self.ahead(1)));
                self.at += 3;
            }
            "{" => {
                self.scopes.push(None);
                self.at += 1;
            }
            "}" => {
                self.scopes.pop();
                self.at += 1;
            }
            // `use<..>` is a bound, not an import.
            "use" if self.ahead(1) != "<" => {
                self.at += 1;
                self.use_tree(Vec::new());
            }
            "crate" | "self" | "super" if self.ahead(1) == "::" => self.path(),
            _ => self.at += 1,
        }
    }

    /// Returns the text `distance` tokens ahead, empty beyond the end.
    fn ahead(&self, distance: usize) -> &'a str {
        self.tokens.get(self.at + distance).map_or("", |token| token.text)
    }

    fn path(&mut self) {
        let mut path = vec![self.ahead(0)];
        self.at += 1;
        while self.ahead(0) == "::" && self.tokens.get(self.at + 1).is_some_and(Token::is_word) {
            path.push(self.ahead(1));
            self.at += 2;
        }
        // A bare root outside a `use` is a visibility, `pub(in super::super)`.
        if !self.resolve(&path).is_empty() {
            self.record(&path, None);
        }
    }

    /// Reads one branch of a `use`, up to its `,`, `}` or `;`.
    fn use_tree(&mut self, mut path: Vec<&'a str>) {
        loop {
            match self.ahead(0) {
                "::" => self.at += 1,
                "{" => return self.use_branches(&path),
                "*" => {
                    self.at += 1;
                    return self.record(&path, None);
                }
                "as" => {
                    let name = self.ahead(1);
                    self.at += 2;
                    return self.record(&path, Some(name));
                }
                text if self.tokens.get(self.at).is_some_and(Token::is_word) => {
                    path.push(text);
                    self.at += 1;
                }
                _ => {
                    let name = path.iter().rev().find(|segment| **segment != "self").copied();
                    return self.record(&path, name);
                }
            }
        }
    }

    fn use_branches(&mut self, path: &[&'a str]) {
        self.at += 1;
        while !matches!(self.ahead(0), "}" | "") {
            self.use_tree(path.to_vec());
            if self.ahead(0) != "}" {
                self.at += 1;
            }
        }
        self.at += 1;
    }

    fn record(&mut self, path: &[&str], name: Option<&str>) {
        if path.is_empty() {
            return;
        }
        let read = &self.tokens[..self.at.min(self.tokens.len())];
        let line = read.last().map_or(0, |token| token.line);
        let path = self.resolve(path);
        self.facts.imports.push(Import { line, path, name: name.map(str::to_owned) });
    }

    /// Turns a path as written here into one from the root. A name that starts with none of
    /// the three keywords is a child of this module or another crate; as a child it does no harm.
    fn resolve(&self, path: &[&str]) -> Vec<String> {
        let mut resolved = self.current_module();
        for segment in path {
            match *segment {
                "crate" => resolved.clear(),
                "self" => {}
                "super" => drop(resolved.pop()),
                name => resolved.push(name.to_owned()),
            }
        }
        resolved
    }

    fn current_module(&self) -> Vec<String> {
        let inline = self.scopes.iter().flatten().map(|name| (*name).to_owned());
        self.module.iter().cloned().chain(inline).collect()
    }

    fn attribute(&mut self) {
        let is_inner = self.ahead(1) == "!";
        let is_test_only = self.skip_attribute();
        match (is_test_only, is_inner) {
            (true, true) if self.scopes.is_empty() => self.at = self.tokens.len(),
            (true, false) => self.skip_test_item(),
            _ => {}
        }
    }

    /// Moves past an attribute and tells whether it keeps its item to test builds.
    fn skip_attribute(&mut self) -> bool {
        self.at += if self.ahead(1) == "!" { 2 } else { 1 };
        if self.ahead(0) != "[" {
            return false;
        }
        let start = self.at + 1;
        self.skip_group();
        let inside = &self.tokens[start..self.at];
        let says = |word: &str| inside.iter().any(|token| token.text == word);
        inside.first().is_some_and(|first| first.text == "cfg")
            && says("test")
            && !says("any")
            && !says("not")
    }

    fn skip_test_item(&mut self) {
        while self.ahead(0) == "#" {
            self.skip_attribute();
        }
        if self.ahead(0) == "pub" {
            self.at += 1;
            if self.ahead(0) == "(" {
                self.skip_group();
            }
        }
        if self.ahead(0) == "mod" && self.ahead(2) == ";" {
            let mut module = self.current_module();
            module.push(self.ahead(1).to_owned());
            self.facts.test_modules.push(module);
        }
        // A field or an arm ends at its comma; an item may have commas between its angle brackets.
        let ends_at_comma = !ITEM_WORDS.contains(&self.ahead(0));
        loop {
            match self.ahead(0) {
                "" | ")" | "]" | "}" => return,
                "{" => return self.skip_group(),
                "(" | "[" => self.skip_group(),
                ";" => return self.at += 1,
                "," if ends_at_comma => return self.at += 1,
                _ => self.at += 1,
            }
        }
    }

    /// Moves past a bracket and everything up to its partner.
    fn skip_group(&mut self) {
        let mut depth = 0;
        while self.at < self.tokens.len() {
            match self.ahead(0) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }
}

const ITEM_WORDS: [&str; 14] = [
    "async",
    "const",
    "enum",
    "extern",
    "fn",
    "impl",
    "macro_rules",
    "mod",
    "static",
    "struct",
    "trait",
    "type",
    "unsafe",
    "use",
];

#[cfg(test)]
mod tests;
