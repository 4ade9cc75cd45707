use serde_json::value::RawValue;

use super::*;

#[test]
fn what_is_json_and_what_is_not_is_what_serde_json_says() {
    let bare = r#"
        1 -1 01 - 1. 1.5 .5 1e 1e5 1E+05 1e- -0.0e-0 true tru truex false null nul NaN
        "" " "a "a"b "\n" "\x" "\u12" "\u12g4" "\u12aF" "\" "01234567" "0123456\"8" "\u00e9\ud83d"
        {} [] { [ } ] [1] [1,] [,1] [1,2] [1]] {"a":1} {"a":1,} {"a"} {"a":} {a:1} {"a":[1}
        {"a":1,"b":[{"c":[]}]} [{"a":1]] [[1],{"a":{}}]
    "#;
    let blank = ["", " ", "{ }", "[ ]", "[1 2]", "1 1", "\u{b}1", "\u{feff}1", "\u{a0}1"];
    let long = [r#"{"a":1 "b":2}"#, " [ 1 , { \"a\" : 2 } ]\r\n\t", "\"\t\"", "\"0123456\t\""];
    for text in bare.split_ascii_whitespace().chain(blank).chain(long) {
        assert_eq!(only_value(text.as_bytes()).is_some(), is_json(text), "{text:?}");
    }
}

#[test]
fn a_broken_text_is_broken_wherever_it_is_cut_or_changed() {
    let text =
        r#"{"a":[1.5e3,-0,"x\u00e9\"y"],"b":{"c":null,"d":[true,false,{}]},"e":"0123456789"}"#;
    for at in 0..text.len() {
        assert_eq!(only_value(&text.as_bytes()[..at]), None, "cut at {at}");
        for byte in [b'"', b'\\', b'{', b'}', b'[', b']', b',', b':', b'0', b'x', b' ', 1] {
            let mut changed = text.as_bytes().to_vec();
            changed[at] = byte;
            let is_json = is_json(std::str::from_utf8(&changed).unwrap());
            assert_eq!(only_value(&changed).is_some(), is_json, "{byte} at {at}");
        }
    }
}

#[test]
fn every_character_is_seen_at_every_place_of_a_string() {
    for character in (0..=0x7f).chain([0x80, 0x122, 0x2022, 0x5c5c]).filter_map(char::from_u32) {
        for at in 0..=17 {
            let text = format!("[\"{:a<at$}{character}{:b<17}\"]", "", "");
            assert_eq!(only_value(text.as_bytes()).is_some(), is_json(&text), "{text:?}");
        }
    }
}

#[test]
fn containers_may_be_nested_to_any_depth_and_must_match() {
    for depth in [1, 63, 64, 65, 128, 129, 100_000] {
        let mut text = String::new();
        (0..depth).for_each(|level| text += if level % 3 == 0 { "{\"k\":" } else { "[" });
        text += "1";
        let closed = (0..depth).rev().map(|level| if level % 3 == 0 { '}' } else { ']' });
        text.extend(closed);
        assert!(only_value(text.as_bytes()).is_some(), "{depth}");

        let last = text.pop();
        text.push(if last == Some('}') { ']' } else { '}' });
        assert_eq!(only_value(text.as_bytes()), None, "{depth}");
    }
}

#[test]
fn members_and_elements_are_found_where_they_stand() {
    let text = r#" { "a" : [1, 2] ,"b\"":"x", "a":{} } "#;
    let mut found = Vec::new();

    members(text.as_bytes(), |it| found.push((&text[it.key], &text[it.value]))).unwrap();

    assert_eq!(found, [("a", "[1, 2]"), ("b\\\"", "\"x\""), ("a", "{}")]);
    let mut found = Vec::new();
    elements(b" [ 1,[2] , {} ] ", |it| found.push(it)).unwrap();
    assert_eq!(found, [3..4, 5..8, 11..13]);
    for not in ["[1]", "{} 1", "{\"a\":1", "1", "{\"a\" 1}", "{,}"] {
        assert_eq!(members(not.as_bytes(), |_| {}), None, "{not}");
    }
    for not in ["{}", "[1] 1", "[1", "[1,]", "1"] {
        assert_eq!(elements(not.as_bytes(), |_| {}), None, "{not}");
    }
}

#[test]
fn members_of_members_are_found_in_them() {
    let text = r#" {"id":1, "result": { "a": {"b":1}, "c":[] } , "e":{"f":2} } "#;
    let mut found = Vec::new();

    nested_members(text.as_bytes(), b"result", |member, inner| {
        let value = &text[member.value];
        let inner = inner.into_iter().map(|it| (&value[it.key], &value[it.value]));
        found.push((&text[member.key], inner.collect::<Vec<_>>()));
    })
    .unwrap();

    let result = vec![("a", "{\"b\":1}"), ("c", "[]")];
    assert_eq!(found, [("id", vec![]), ("result", result), ("e", vec![])]);
    for not in ["{\"a\":{\"b\":1}", "{\"a\":{\"b\"}}", "{\"a\":{\"b\":1,}}", "{\"a\":{} 1}", "7"] {
        assert_eq!(nested_members(not.as_bytes(), b"a", |_, _| {}), None, "{not}");
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}
