use super::*;

#[test]
fn a_member_is_found_where_it_stands_and_the_last_one_wins() {
    let text = r#"{ "a" : 1, "b": {"a": 2}, "a" : [3] }"#;

    let found = member(text, "a").unwrap();

    assert_eq!(&text[found], "[3]");
    assert_eq!(member(text, "c"), None);
    assert_eq!(member("[1]", "a"), None);
}

#[test]
fn several_members_are_found_by_one_look_in_a_small_text_and_in_a_large_one() {
    let long = "x".repeat(2 * LARGE);
    for padding in ["", &long] {
        let text = format!(r#"{{"a":1,"p":"{padding}","b\u0021":[2],"a":{{"b":3}}}}"#);
        let mut inner = Vec::new();
        scan::members(text.as_bytes(), |member| inner.push(member)).unwrap();
        let text = Bytes::from(text);

        for json in [Json::bare(text.clone()), Json::kept_object(&text, &text, inner)] {
            let found = json.pick(["b!", "c", "a"]).map(|it| it.map(|it| it.as_str().to_owned()));
            assert_eq!(found, [Some("[2]".into()), None, Some("{\"b\":3}".into())]);
        }
    }
    assert_eq!(Json::new("[{\"a\":1}]").unwrap().pick(["a"]), [None]);
}

#[test]
fn a_string_is_copied_only_if_something_in_it_is_escaped() {
    let string = |text: &str| Json::new(text.to_owned()).unwrap().string().map(Cow::into_owned);
    assert_eq!(string("\"\""), Some(String::new()));
    assert_eq!(string("\"a\u{e9}\""), Some("a\u{e9}".to_owned()));
    assert_eq!(string(r#""a\"\u00e9""#), Some("a\"\u{e9}".to_owned()));
    for not in ["1", "null", "[\"a\"]", r#""\ud800""#] {
        assert_eq!(string(not), None, "{not}");
    }

    let plain = Json::new("\"plain\"").unwrap();
    assert!(matches!(plain.string(), Some(Cow::Borrowed("plain"))));
}

/// Places of five million members would take many times the memory of the text.
#[test]
fn the_places_of_very_many_members_are_not_kept_and_each_is_found() {
    for (count, is_indexed) in [(scan::MOST_LISTED, true), (scan::MOST_LISTED + 1, false)] {
        let members: Vec<_> = (0..count).map(|it| format!("\"k{it}\":{it}")).collect();
        let text = Bytes::from(format!("{{\"result\":{{{}}}}}", members.join(",")));
        let mut found = None;
        scan::nested_members(&text, b"result", |member, inner| {
            found = Some(Json::kept_object(&text, &text[member.value], inner));
        })
        .unwrap();

        let object = found.unwrap();

        assert_eq!(object.index.is_some(), is_indexed, "{count}");
        let last = format!("k{}", count - 1);
        assert_eq!(object.member(&last).unwrap().as_str(), (count - 1).to_string());
    }
}

#[test]
fn members_and_elements_are_parts_of_the_text() {
    let json = Json::new(r#"{"n":1.10,"list":[ {"a":1e2} , "\u00e9" ]}"#).unwrap();

    let list = json.member("list").unwrap().elements().unwrap();

    let texts: Vec<_> = list.iter().map(Json::as_str).collect();
    assert_eq!(texts, [r#"{"a":1e2}"#, r#""\u00e9""#]);
    assert!(json.as_bytes().as_ptr_range().contains(&list[0].as_bytes().as_ptr()));
    assert_eq!(json.member("n").unwrap().elements(), None);
}

#[test]
fn what_is_taken_out_leaves_the_others_in_their_order_and_as_they_are() {
    let object = Json::new(r#"{ "n": 1.10 , "v" : {"v":1} , "w\u0021":2, "\u0076":3 }"#).unwrap();

    assert_eq!(object.without(&["v"]).as_str(), r#"{"n":1.10,"w\u0021":2}"#);
    assert_eq!(object.without(&["n", "v", "w!"]).as_str(), "{}");
    assert_eq!(Json::new("[1]").unwrap().without(&["v"]).as_str(), "[1]");
}

#[test]
fn members_are_put_behind_those_of_an_object_and_of_nothing_else() {
    let more = || [("a\"".to_owned(), Json::new("1.10").unwrap())];

    for (text, expected) in [
        ("{}", r#"{"a\"":1.10}"#),
        (r#"{"b": {} }"#, r#"{"b": {} ,"a\"":1.10}"#),
        // A key that is no Unicode: valid JSON, but not a string in Rust.
        (r#"{"\ud800":0}"#, r#"{"\ud800":0,"a\"":1.10}"#),
        ("[]", "[]"),
        (r#""}""#, r#""}""#),
    ] {
        let with = Json::new(text).unwrap().with_members(more());

        assert_eq!(with.as_str(), expected);
    }
}

#[test]
fn json_inside_a_type_keeps_its_bytes_both_ways() {
    #[derive(Serialize, Deserialize)]
    struct Envelope {
        payload: Json,
    }
    let text = r#"{"payload":{"z":1.10, "a":123456789012345678901234567890}}"#;

    let read: Envelope = serde_json::from_str(text).unwrap();

    assert_eq!(read.payload.as_str(), r#"{"z":1.10, "a":123456789012345678901234567890}"#);
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}

#[test]
fn debug_prints_the_size_and_never_the_payload() {
    let json = Json::new(r#"{"password":"hunter2"}"#).unwrap();

    assert_eq!(format!("{json:?}"), "Json(22 bytes)");
}
