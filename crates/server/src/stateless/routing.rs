//! The headers that repeat parts of a stateless request, compared with its body.
//!
//! Intermediaries route by the headers and servers act on the body, so a request in which they differ is
//! refused before anything is run (2026-07-28, Streamable HTTP, "Server Validation").

use http::{HeaderMap, HeaderName};
use ridethrough_wire::message::Json;
use ridethrough_wire::mirror::{self, Mirrors};

use super::refusal::Refusal;

/// Checks `Mcp-Method` and `Mcp-Name`.
pub(crate) fn check(
    headers: &HeaderMap,
    method: &str,
    params: Option<&Json>,
) -> Result<(), Refusal> {
    match only(headers, &METHOD)? {
        None => return Err(Refusal::header("`Mcp-Method` is missing")),
        Some(named) if named.to_str().ok() != Some(method) => {
            return Err(Refusal::header("`Mcp-Method` is not the method of the body"));
        }
        Some(_) => {}
    }
    let wanted = mirror::name(method, params);
    match (only(headers, &NAME)?, wanted) {
        (None, Some(_)) => Err(Refusal::header("`Mcp-Name` is missing")),
        (Some(named), Some(wanted)) if mirror::decode(named) != mirror::decode(&wanted) => {
            Err(Refusal::header("`Mcp-Name` is not the name in the body"))
        }
        (Some(_), None) if has_name(method) => {
            Err(Refusal::header("`Mcp-Name` is there, and the body has no name"))
        }
        _ => Ok(()),
    }
}

/// Checks the `Mcp-Param-...` headers of a call against the arguments that its tool mirrors.
pub(crate) fn check_arguments(
    headers: &HeaderMap,
    mirrors: &Mirrors,
    arguments: Option<&Json>,
) -> Result<(), Refusal> {
    let wanted = mirrors.headers(arguments.unwrap_or(&Json::empty_object()));
    for name in mirrors.names() {
        let found = only(headers, name)?;
        let wanted = wanted.iter().find(|(header, _)| header == name).map(|(_, value)| value);
        let is_right = match (found, wanted) {
            (None, None) => true,
            (Some(found), Some(wanted)) => is_same(found, wanted),
            _ => false,
        };
        if !is_right {
            return Err(Refusal::header(&format!("`{name}` is not what the arguments say")));
        }
    }
    Ok(())
}

/// Whether two values mean one thing. Whole numbers are compared as numbers.
fn is_same(one: &http::HeaderValue, other: &http::HeaderValue) -> bool {
    let (Some(one), Some(other)) = (mirror::decode(one), mirror::decode(other)) else {
        return false;
    };
    let numbers = || Some((one.parse::<i64>().ok()?, other.parse::<i64>().ok()?));
    one == other || numbers().is_some_and(|(one, other)| one == other)
}

/// Returns the header, if it occurs once. Two might be read differently by two programs.
fn only<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a http::HeaderValue>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(Refusal::header(&format!("`{name}` is there twice")));
    }
    Ok(first)
}

fn has_name(method: &str) -> bool {
    matches!(method, "prompts/get" | "resources/read" | "tools/call")
}

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn method_and_name_must_be_those_of_the_body() {
        for (method, name, is_right) in [
            (Some("tools/call"), Some("é"), true),
            (Some("tools/call"), Some("other"), false),
            (Some("tools/call"), None, false),
            (Some("tools/list"), Some("é"), false),
            (Some("Tools/Call"), Some("é"), false),
            (None, Some("é"), false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(method) = method {
                headers.insert(METHOD, method.parse().unwrap());
            }
            if let Some(name) = name {
                headers.insert(NAME, mirror::encode(name));
            }
            let params = Json::new(r#"{"name":"é"}"#).unwrap();

            let checked = check(&headers, "tools/call", Some(&params));

            assert_eq!(checked.is_ok(), is_right, "{method:?} {name:?}");
        }
    }

    #[test]
    fn a_header_that_is_there_twice_or_is_broken_is_refused() {
        let params = Json::new(r#"{"name":"a"}"#).unwrap();
        let mut twice = HeaderMap::new();
        twice.insert(METHOD, "tools/call".parse().unwrap());
        twice.append(NAME, "a".parse().unwrap());
        let mut broken = twice.clone();
        assert!(check(&twice, "tools/call", Some(&params)).is_ok());

        twice.append(NAME, "a".parse().unwrap());
        broken.insert(NAME, "=?base64?*?=".parse().unwrap());

        assert!(check(&twice, "tools/call", Some(&params)).is_err());
        assert!(check(&broken, "tools/call", Some(&params)).is_err());
    }

    #[test]
    fn mirrored_arguments_are_compared_by_their_meaning() {
        let schema = r#"{"properties":{"n":{"type":"integer","x-mcp-header":"N"},
                         "s":{"type":"string","x-mcp-header":"S"}}}"#;
        let mirrors = Mirrors::of_schema(&Json::new(schema).unwrap()).unwrap();
        for (n, s, arguments, is_right) in [
            (Some("7"), Some("a"), r#"{"n":7,"s":"a"}"#, true),
            (Some("007"), Some("a"), r#"{"n":7,"s":"a"}"#, true),
            (Some("7"), None, r#"{"n":7,"s":null}"#, true),
            (Some("7"), Some("b"), r#"{"n":7,"s":"a"}"#, false),
            (Some("8"), Some("a"), r#"{"n":7,"s":"a"}"#, false),
            (None, Some("a"), r#"{"n":7,"s":"a"}"#, false),
            (Some("7"), None, r#"{"s":"a"}"#, false),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [("mcp-param-n", n), ("mcp-param-s", s)] {
                if let Some(value) = value {
                    headers.insert(name, value.parse().unwrap());
                }
            }

            let checked = check_arguments(&headers, &mirrors, Some(&Json::new(arguments).unwrap()));

            assert_eq!(checked.is_ok(), is_right, "{n:?} {s:?} {arguments}");
        }
    }
}
