//! Checks whether arguments fit a schema, by a library that knows all of JSON Schema.
//!
//! Nothing is fetched, whatever a schema refers to, and patterns are matched in a time that grows with the
//! text alone. What cannot be checked is left to the server, which decides in any case.

use jsonschema::{PatternOptions, Validator};
use ridethrough::Json;
use serde_json::Value;

use super::plan::CheckedSchema;
use super::{SchemaDocument, faults, unknown};
use crate::talk::arguments::Origins;

/// The result of checking arguments.
#[derive(Default)]
pub(in crate::talk) struct ArgumentVerdict {
    /// Everything that is wrong, each with its place.
    pub(in crate::talk) faults: Vec<String>,
    /// Unknown names that are similar to a known one: the schema allows them, and they are most often
    /// misspelt.
    pub(in crate::talk) misspelt: Vec<String>,
    /// Warnings about arguments that may be sent nevertheless.
    pub(in crate::talk) warnings: Vec<String>,
}

/// Checks arguments against the schema of their tool.
pub(in crate::talk) fn check(
    schema: &Json,
    arguments: &Json,
    origins: &Origins,
) -> ArgumentVerdict {
    let document = SchemaDocument::new(schema);
    let Some(value) = arguments.read::<Value>() else {
        return unchecked("the arguments are too deep to be checked");
    };
    let verdict = match validator(schema) {
        Err(why) => {
            unchecked(&format!("the tool's schema {why}: the arguments are not checked by it"))
        }
        Ok(validator) if validator.is_valid(&value) => ArgumentVerdict::default(),
        Ok(validator) => {
            let faults = faults::FaultWords::new(&document, &value, origins)
                .tell(validator.iter_errors(&value));
            ArgumentVerdict { faults, ..ArgumentVerdict::default() }
        }
    };
    // A schema that was not looked at says nothing about names.
    if document.is_too_large() {
        return verdict;
    }
    let unknown = unknown::names(document.schema(), &value, origins, &verdict.faults);
    ArgumentVerdict {
        misspelt: unknown.misspelt,
        warnings: verdict.warnings.into_iter().chain(unknown.others).collect(),
        ..verdict
    }
}

fn unchecked(why: &str) -> ArgumentVerdict {
    ArgumentVerdict { warnings: vec![why.to_owned()], ..ArgumentVerdict::default() }
}

/// Prepares a schema. Only patterns that the library cannot read are left out.
fn validator(schema: &Json) -> Result<Validator, String> {
    let mut plan = CheckedSchema::new(schema)?;
    let patterns =
        PatternOptions::regex().size_limit(LARGEST_PATTERN).dfa_size_limit(LARGEST_PATTERN);
    let options = jsonschema::options()
        .with_draft(plan.draft)
        .should_validate_formats(true)
        .with_pattern_options(patterns);
    for _ in 0..MOST_UNREADABLE {
        let error = match options.build(&plan.schema) {
            Ok(validator) => return Ok(validator),
            Err(error) => error,
        };
        let places = [error.schema_path().as_str(), error.instance_path().as_str()];
        if !places.into_iter().any(|it| plan.without_pattern(it)) {
            let what: String = error.to_string().chars().take(LONGEST).collect();
            return Err(format!("cannot be used ({what})"));
        }
    }
    Err("has patterns that cannot be read".to_owned())
}

const LARGEST_PATTERN: usize = 1 << 18;
const MOST_UNREADABLE: usize = 16;
const LONGEST: usize = 120;
