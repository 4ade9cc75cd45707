//! Runs `tools` and `call` on a schema without a server, for fuzzing.

use ridethrough::Json;

use super::arguments;
use super::schema::{SchemaDocument, check_names};
use super::tools;

/// The result of a rehearsal.
pub struct SchemaRehearsal {
    /// What would be shown of the schema.
    pub shown: String,
    /// The arguments that would be sent, unless the words are refused.
    pub arguments: Option<String>,
    /// Why nothing would be sent.
    pub faults: Vec<String>,
    /// Warnings about arguments that would be sent nevertheless.
    pub warnings: Vec<String>,
}

/// Shows a schema, and gives words its types; `None` if it is not JSON.
pub fn rehearse_schema(schema: &str, words: &[String]) -> Option<SchemaRehearsal> {
    let schema = Json::new(schema.to_owned()).ok()?;
    let document = SchemaDocument::new(&schema);
    let shown = tools::arguments(&document);
    let typed = arguments::read(words).ok()?;
    let built = typed.map_err(|fault| vec![fault]).and_then(|it| it.by(document.schema()));
    let (json, origins) = match built {
        Ok(built) => built,
        Err(faults) => {
            return Some(SchemaRehearsal { shown, arguments: None, faults, warnings: Vec::new() });
        }
    };
    let verdict = check_names(&document, &json, &origins);
    Some(SchemaRehearsal {
        shown,
        arguments: Some(json.as_str().to_owned()),
        faults: verdict.faults,
        warnings: verdict.warnings,
    })
}
