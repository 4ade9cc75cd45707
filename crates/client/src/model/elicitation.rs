//! Requests of a server to a person: to fill in a form, or to visit a URL.

use std::collections::BTreeSet;

use ridethrough_wire::message::Json;
use serde::{Deserialize, Serialize};

use super::{absent_if_null, keeps_its_json};

/// A form for a person to fill in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FormRequest {
    /// The message for the person.
    pub message: String,
    /// The JSON Schema of the form: an object with simple properties.
    #[serde(default = "Json::empty_object")]
    pub requested_schema: Json,
    /// The whole request, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

/// A URL for a person to visit. Show it in full and ask before it is opened: it may lead anywhere.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UrlRequest {
    /// The message for the person.
    pub message: String,
    /// The URL.
    pub url: String,
    /// The id of the request, by which its completion is reported.
    #[serde(default, deserialize_with = "absent_if_null")]
    pub elicitation_id: String,
    /// The whole request, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

/// What the person did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elicited {
    /// They agreed. For a form, the content is an object with the values they filled in; missing properties
    /// get the default of the schema, if there is one.
    Accepted(Json),
    /// They dismissed it without a choice.
    Cancelled,
    /// They declined.
    Declined,
}

impl Elicited {
    /// Returns an acceptance of a URL, or of a form with all its defaults.
    pub const fn accepted() -> Self {
        Self::Accepted(Json::empty_object())
    }

    /// Returns an acceptance of a form with these values, an object.
    pub fn filled_in(content: impl Into<Json>) -> Self {
        Self::Accepted(content.into())
    }

    /// Returns the result to send, with the defaults of a form's schema filled in.
    pub(crate) fn into_result(self, form: Option<&FormRequest>) -> Json {
        #[derive(Serialize)]
        struct Result<'a> {
            action: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            content: Option<Json>,
        }

        let (action, content) = match self {
            Self::Accepted(given) => ("accept", form.map(|form| form.filled_in(&given))),
            Self::Cancelled => ("cancel", None),
            Self::Declined => ("decline", None),
        };
        Json::of(&Result { action, content }).expect("made of JSON")
    }
}

impl FormRequest {
    /// Returns the given values, and the schema's defaults for the others.
    fn filled_in(&self, given: &Json) -> Json {
        let filled: BTreeSet<String> = given.members().into_iter().map(|(key, _)| key).collect();
        let properties = self.requested_schema.member("properties");
        let mut defaults = Vec::<(String, Json)>::new();
        for (key, property) in properties.iter().flat_map(Json::members) {
            // If a property occurs twice, the last one counts, as everywhere.
            defaults.retain(|(earlier, _)| *earlier != key);
            let default = property.member("default").filter(|it| it.as_str() != "null");
            if let Some(default) = default
                && !filled.contains(&key)
            {
                defaults.push((key, default));
            }
        }
        given.with_members(defaults)
    }
}

keeps_its_json!(FormRequest, UrlRequest);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::read;

    const SCHEMA: &str = r#"{"message":"who?","requestedSchema":{"type":"object","properties":{
        "name":{"type":"string","default":"Ann"},"age":{"type":"number","default":1.10},
        "note":{"type":"string"},"sure":{"type":"boolean","default":false}}}}"#;

    #[test]
    fn a_form_accepted_as_proposed_has_every_default_as_it_was_written() {
        let result = Elicited::accepted().into_result(Some(&form()));

        assert_eq!(
            result.as_str(),
            r#"{"action":"accept","content":{"name":"Ann","age":1.10,"sure":false}}"#
        );
    }

    #[test]
    fn what_a_person_filled_in_is_never_replaced_by_a_default() {
        let given = Json::new(r#"{"sure":true, "name":null,"more":[1]}"#).unwrap();

        let result = Elicited::Accepted(given).into_result(Some(&form()));

        assert_eq!(
            result.as_str(),
            r#"{"action":"accept","content":{"sure":true, "name":null,"more":[1],"age":1.10}}"#
        );
    }

    #[test]
    fn only_a_form_that_was_accepted_has_content() {
        for (elicited, form, expected) in [
            (Elicited::accepted(), None, r#"{"action":"accept"}"#),
            (Elicited::Declined, Some(form()), r#"{"action":"decline"}"#),
            (Elicited::Cancelled, Some(form()), r#"{"action":"cancel"}"#),
        ] {
            assert_eq!(elicited.into_result(form.as_ref()).as_str(), expected);
        }
    }

    #[test]
    fn a_default_that_is_null_says_nothing() {
        let form = r#"{"message":"who?","requestedSchema":{"properties":{
            "name":{"type":"string","default":null},"age":{"type":"integer","default":7}}}}"#;
        let form: FormRequest = read(Json::new(form).unwrap()).unwrap();

        let result = Elicited::accepted().into_result(Some(&form));

        assert_eq!(result.as_str(), r#"{"action":"accept","content":{"age":7}}"#);
    }

    #[test]
    fn a_property_that_the_schema_names_twice_is_filled_in_once() {
        let form = r#"{"message":"who?","requestedSchema":{"properties":{
            "age":{"default":6},"age":{"default":7}}}}"#;
        let form: FormRequest = read(Json::new(form).unwrap()).unwrap();

        let result = Elicited::accepted().into_result(Some(&form));

        assert_eq!(result.as_str(), r#"{"action":"accept","content":{"age":7}}"#);
    }

    fn form() -> FormRequest {
        read(Json::new(SCHEMA).unwrap()).unwrap()
    }
}
