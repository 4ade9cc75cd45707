use super::*;

#[test]
fn a_path_is_found_wherever_it_stands() {
    let source = "
        use crate::a;
        pub use crate::b::B;
        pub(crate) use crate::c as d;
        fn f(x: &crate::e::E) -> Vec<crate::g::G> { crate::h::new::<u8>(x) }
        macro_rules! m { () => { $crate::i::new() } }";

    assert_eq!(
        imported("x", source),
        ["2 a", "3 b::B", "4 c", "5 e::E", "5 g::G", "5 h::new", "6 i::new"]
    );
}

#[test]
fn nested_braces_over_several_lines_are_followed() {
    let source = "use crate::{
        a,
        b::{self, c::{D, E as F}},
        g::*,
    };
    use {crate::h, std::fmt};";

    assert_eq!(
        imported("x", source),
        ["2 a", "3 b", "3 b::c::D", "3 b::c::E", "4 g", "6 h", "6 x::std::fmt"]
    );
}

#[test]
fn super_is_followed_to_the_root() {
    assert_eq!(imported("x", "use super::a;"), ["1 a"]);
    assert_eq!(imported("x::y", "use super::a; use super::super::b;"), ["1 x::a", "1 b"]);
}

#[test]
fn super_in_an_inline_module_starts_from_that_module() {
    let source = "mod inner { use super::a; fn f() { super::super::b() } } fn g() { super::c() }";

    assert_eq!(imported("x", source), ["1 x::a", "1 b", "1 c"]);
}

#[test]
fn the_root_itself_has_an_empty_path() {
    assert_eq!(imported("x", "use super::*; use crate as root;"), ["1 ", "1 "]);
}

#[test]
fn visibility_is_not_an_import() {
    let source = "pub(crate) fn f() {} pub(super) fn g() {} pub(in super::super) fn h() {}";

    assert_eq!(imported("x::y", source), [""; 0]);
}

#[test]
fn a_captured_lifetime_is_not_an_import() {
    assert_eq!(imported("x", "fn f<'a>() -> impl Sized + use<'a> { }"), [""; 0]);
}

#[test]
fn comments_strings_and_attributes_are_silent() {
    let source = r#"
        //! Uses crate::a::A.
        /// [`crate::b`] /* */
        #[doc = "crate::c"]
        fn f() { g("crate::d") /* crate::e::new() */ }"#;

    assert_eq!(imported("x", source), [""; 0]);
}

#[test]
fn test_code_is_silent_and_what_follows_is_not() {
    for test_item in [
        "mod tests { use crate::z; mod deep { use crate::z; } }",
        "use crate::{z, y};",
        "#[derive(Debug)] pub(crate) struct S<A, B>(crate::z::Z, A, B);",
        "fn f<A, B>(a: A, b: [u8; 3]) -> crate::z::Z where A: B, B: Sized { crate::z::new() }",
        "const Z: crate::z::Z = crate::z::Z { a: 1 };",
    ] {
        let source = format!("#[cfg(test)] {test_item} use crate::a;");

        assert_eq!(imported("x", &source), ["1 a"], "{test_item}");
    }
}

#[test]
fn a_test_field_ends_at_its_comma_or_brace() {
    let source = "struct S { #[cfg(test)] a: crate::z::Z, b: crate::b::B, #[cfg(test)] c: u8 }
        use crate::c;";

    assert_eq!(imported("x", source), ["1 b::B", "2 c"]);
}

#[test]
fn only_conditions_that_need_a_test_build_are_silent() {
    assert_eq!(imported("x", "#[cfg(all(test, unix))] use crate::z;"), [""; 0]);
    assert_eq!(imported("x", "#[cfg(not(test))] use crate::a;"), ["1 a"]);
    assert_eq!(imported("x", "#[cfg(any(test, unix))] use crate::a;"), ["1 a"]);
    assert_eq!(imported("x", "#![cfg(test)] use crate::z;"), [""; 0]);
}

#[test]
fn a_test_module_in_its_own_file_is_named() {
    let found = facts(&["x".to_owned()], "#[cfg(test)] mod tests; mod y;");

    assert_eq!(found.test_modules, [["x", "tests"]]);
}

#[test]
fn an_import_has_the_name_that_it_gets() {
    let found = facts(&[], "use a::{self, B, C as D, *}; fn f() { crate::e() }");

    let names: Vec<_> = found.imports.iter().map(|import| import.name.as_deref()).collect();
    assert_eq!(names, [Some("a"), Some("B"), Some("D"), None, None]);
}

#[test]
fn unfinished_source_ends_the_reading() {
    for source in
        ["use crate::{a, {", "#[cfg(test", "use crate::a as", "mod", "#", "}}", "use $x::y;"]
    {
        facts(&[], source);
    }
}

fn imported(module: &str, source: &str) -> Vec<String> {
    let module: Vec<_> = module.split("::").map(str::to_owned).collect();
    let found = facts(&module, source);
    found
        .imports
        .iter()
        .map(|import| format!("{} {}", import.line, import.path.join("::")))
        .collect()
}
