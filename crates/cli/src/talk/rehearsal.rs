//! What `tools` and `call` would make of a schema, without a server: for checks that feed us anything.

use ridethrough::Json;

use super::arguments;
use super::schema::{SchemaDocument, check};
use super::tools;

/// What came of it.
pub struct SchemaRehearsal {
    /// What would be shown of the schema.
    pub shown: String,
    /// What would be sent, unless the words are refused.
    pub arguments: Option<String>,
    /// Why nothing would be sent.
    pub faults: Vec<String>,
    /// What a person would be told though it would be sent.
    pub warnings: Vec<String>,
}

/// Shows a schema and holds words against it; `None` if it is no JSON.
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
    let verdict = check(&schema, &json, &origins);
    Some(SchemaRehearsal {
        shown,
        arguments: Some(json.as_str().to_owned()),
        faults: verdict.faults,
        warnings: verdict.warnings,
    })
}
