//! The rule on routers: a type that only brings things to others stays small, and what it brings them to does
//! not know it.
//!
//! The plan names such a type by its path, the most methods that it may have, in all its `impl` blocks
//! together, and the only files that may import it. Methods of traits are not counted.

use crate::breach::Breach;
use crate::plan::Router;
use crate::source::{Source, modules};
use crate::token::{Token, tokens};

/// Checks one router of a crate, named by its path from the root, as in `link::Link`.
pub fn check(crate_name: &str, path: &str, router: &Router, sources: &[Source]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let name = path.rsplit("::").next().unwrap_or(path);
    let methods: usize = sources.iter().map(|source| methods(name, &tokens(&source.text))).sum();
    if methods == 0 {
        breaches.push(Breach::of(crate_name, format!("`{path}` is a router and has no methods")));
    }
    if methods > router.most_methods {
        let most = router.most_methods;
        let what = format!("`{path}` has {methods} methods and may have {most}: it only routes");
        breaches.push(Breach::of(crate_name, what));
    }
    for module in modules(sources) {
        if router.known_to.iter().any(|file| file == module.file) {
            continue;
        }
        let imports = module.facts.imports.iter().filter(|import| import.path.join("::") == path);
        for import in imports {
            let what = format!("imports `{path}`, which only routes: ask for an effect instead");
            breaches.push(Breach::at(crate_name, module.file, import.line, what));
        }
    }
    breaches
}

/// Counts the methods that a file gives to a type.
fn methods(name: &str, tokens: &[Token<'_>]) -> usize {
    let (mut depth, mut is_inside, mut count) = (0_usize, false, 0);
    for (at, token) in tokens.iter().enumerate() {
        let ahead = |distance: usize| tokens.get(at + distance).map_or("", |token| token.text);
        match token.text {
            "impl" if depth == 0 => is_inside = ahead(1) == name && ahead(2) == "{",
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "fn" if depth == 1 && is_inside => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_of_all_files_count_together_and_those_of_traits_and_others_do_not() {
        let files = [
            ("link/mod.rs", "impl Link { fn a() { fn inner() {} } pub const fn b() {} }"),
            ("link/news.rs", "use super::Link; impl Link { fn c() {} } impl Part { fn d() {} }"),
            ("link/text.rs", "use super::Link; impl Display for Link { fn fmt() {} }"),
        ];
        let known = ["link/news.rs", "link/text.rs"];

        assert_eq!(check_with(3, &known, &files), [""; 0]);
        assert_eq!(
            check_with(2, &known, &files),
            ["house: `link::Link` has 3 methods and may have 2: it only routes"]
        );
    }

    #[test]
    fn a_file_that_is_not_listed_may_not_import_it() {
        let files = [
            ("link/mod.rs", "impl Link { fn a() {} }"),
            ("link/part.rs", "//! A part.\nuse crate::link::Link;"),
            ("link/words.rs", "enum Waiting { Link }"),
        ];

        let breaches = check_with(1, &[], &files);

        let what = "imports `link::Link`, which only routes: ask for an effect instead";
        assert_eq!(breaches, [format!("house src/link/part.rs:2: {what}")]);
    }

    #[test]
    fn a_router_that_is_gone_is_told() {
        let breaches = check_with(1, &[], &[("link/mod.rs", "struct Other;")]);

        assert_eq!(breaches, ["house: `link::Link` is a router and has no methods"]);
    }

    fn check_with(most_methods: usize, known_to: &[&str], files: &[(&str, &str)]) -> Vec<String> {
        let known_to = known_to.iter().map(|file| (*file).to_owned()).collect();
        let sources: Vec<_> = files
            .iter()
            .map(|(file, text)| Source { file: (*file).to_owned(), text: (*text).to_owned() })
            .collect();
        let router = Router { most_methods, known_to };
        check("house", "link::Link", &router, &sources).iter().map(ToString::to_string).collect()
    }
}
