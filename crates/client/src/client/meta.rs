//! Members that a caller adds to the `_meta` of a request.

use ridethrough_wire::message::Json;

/// Returns the params with this member in their `_meta`, in place of one of that name; everything else is
/// kept. `None` if the params, or their `_meta`, are no object.
pub(super) fn with_meta(params: Option<&Json>, name: String, value: Json) -> Option<Json> {
    let empty = Json::empty_object();
    let params = params.unwrap_or(&empty);
    let meta = params.member(META).unwrap_or_else(Json::empty_object);
    if !params.as_str().starts_with('{') || !meta.as_str().starts_with('{') {
        return None;
    }
    let kept = meta.members().into_iter().filter(|(key, _)| *key != name);
    let meta = Json::empty_object().with_members(kept.chain([(name.clone(), value)]));
    let rest = params.members().into_iter().filter(|(key, _)| key != META);
    Some(Json::empty_object().with_members(rest.chain([(META.to_owned(), meta)])))
}

const META: &str = "_meta";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_added_or_replaced_and_the_rest_stays_as_it_was() {
        for (params, expected) in [
            (None, Some(r#"{"_meta":{"a":1}}"#)),
            (Some(r#"{"n":1.10}"#), Some(r#"{"n":1.10,"_meta":{"a":1}}"#)),
            (Some(r#"{"_meta":{"b":2,"a":9}}"#), Some(r#"{"_meta":{"b":2,"a":1}}"#)),
            (Some("[1]"), None),
            (Some(r#"{"_meta":[]}"#), None),
        ] {
            let params = params.map(|it| Json::new(it).unwrap());

            let with = with_meta(params.as_ref(), "a".to_owned(), Json::new("1").unwrap());

            assert_eq!(with.as_ref().map(Json::as_str), expected);
        }
    }
}
