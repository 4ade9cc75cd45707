//! The parts of a request that are repeated in headers: any text must come back from its header unchanged,
//! and any schema and any arguments must make headers that HTTP can carry.

use ridethrough_wire::message::Json;
use ridethrough_wire::mirror::{Mirrors, encode, name};

/// Checks the headers. The first line is a schema, the second one arguments or params; the whole is also a
/// text to be carried.
pub fn mirror(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    // A text that looks encoded must be encoded once more.
    for text in [text, &format!("=?base64?{text}?=")] {
        let value = encode(text);
        let carried = value.to_str().expect("a header of visible ASCII");
        assert_eq!(decoded(carried), text.as_bytes(), "another text came out");
    }

    let (schema, arguments) = text.split_once('\n').unwrap_or((text, "{}"));
    let Ok(arguments) = Json::new(arguments.to_owned()) else { return };
    for method in ["tools/call", "prompts/get", "resources/read", "tasks/get", "ping"] {
        let value = name(method, Some(&arguments));
        assert!(value.is_none_or(|value| value.to_str().is_ok()), "{method}");
    }
    let Ok(schema) = Json::new(schema.to_owned()) else { return };
    let Ok(mirrors) = Mirrors::of_schema(&schema) else { return };
    let mut names = Vec::new();
    for (name, value) in mirrors.headers(&arguments) {
        assert!(name.as_str().starts_with("mcp-param-"), "{name}");
        assert!(value.to_str().is_ok(), "{name}");
        assert!(!names.contains(&name), "{name} is there twice");
        names.push(name);
    }
}

/// Decodes a header as a server does, slowly.
fn decoded(value: &str) -> Vec<u8> {
    let inside = value.strip_prefix("=?base64?").and_then(|it| it.strip_suffix("?="));
    let Some(inside) = inside else { return value.as_bytes().to_vec() };
    assert_eq!(inside.len() % 4, 0, "base64 comes in fours");
    let bits = inside.trim_end_matches('=').bytes().flat_map(|letter| {
        let place = LETTERS.iter().position(|it| *it == letter).expect("a letter of base64");
        (0..6).rev().map(move |bit| place >> bit & 1 == 1)
    });
    let bits: Vec<bool> = bits.collect();
    let byte = |bits: &[bool]| bits.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
    bits.chunks_exact(8).map(byte).collect()
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
