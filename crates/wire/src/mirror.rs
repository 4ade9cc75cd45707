//! The parts of a stateless request that are mirrored in its headers, so that intermediaries can route it
//! without reading the body (2026-07-28, Streamable HTTP, "Request Metadata").
//!
//! `Mcp-Name` names the tool, prompt, resource or task. A tool's schema may mark arguments with
//! `x-mcp-header`; each of them is sent as `Mcp-Param-...`. A tool with invalid marks must not be called at
//! all: a server compares headers and body, and a load balancer would route the call wrongly.

mod encode;
mod marks;

use http::{HeaderName, HeaderValue};

use crate::message::Json;

pub use encode::{decode, encode};
pub use marks::Unfit;

/// The arguments of one tool that are mirrored in headers.
///
/// ```
/// use ridethrough_wire::message::Json;
/// use ridethrough_wire::mirror::Mirrors;
///
/// let schema = Json::new(r#"{"type":"object","properties":{
///     "region":{"type":"string","x-mcp-header":"Region"}}}"#)?;
/// let mirrors = Mirrors::of_schema(&schema)?;
/// let headers = mirrors.headers(&Json::new(r#"{"region":"Zürich"}"#)?);
///
/// assert_eq!(headers[0].0, "mcp-param-region");
/// assert_eq!(headers[0].1, "=?base64?WsO8cmljaA==?=");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirrors(Vec<Mirror>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mirror {
    header: HeaderName,
    /// The names that lead to the argument, from the outermost object inwards.
    path: Vec<String>,
}

impl Mirrors {
    /// Reads the marks of a tool's input schema. A tool with an invalid one must be dropped.
    pub fn of_schema(schema: &Json) -> Result<Self, Unfit> {
        marks::read(schema).map(Self)
    }

    /// Whether no argument is mirrored.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names of all headers, whether or not an argument is there.
    pub fn names(&self) -> impl Iterator<Item = &HeaderName> {
        self.0.iter().map(|mirror| &mirror.header)
    }

    /// Returns the headers for these arguments. An argument that is absent or null has none.
    pub fn headers(&self, arguments: &Json) -> Vec<(HeaderName, HeaderValue)> {
        let header = |mirror: &Mirror| {
            let found =
                mirror.path.iter().try_fold(arguments.clone(), |json, key| json.member(key));
            Some((mirror.header.clone(), encode(&text_of(&found?)?)))
        };
        self.0.iter().filter_map(header).collect()
    }
}

/// Returns the value of `Mcp-Name` for a request, if its method has one.
pub fn name(method: &str, params: Option<&Json>) -> Option<HeaderValue> {
    let key = match method {
        "prompts/get" | "tools/call" => "name",
        "resources/read" => "uri",
        "tasks/cancel" | "tasks/get" | "tasks/update" => "taskId",
        _ => return None,
    };
    let name: String = params?.member(key)?.read()?;
    Some(encode(&name))
}

/// Returns a string, a whole number or a boolean as text.
fn text_of(json: &Json) -> Option<String> {
    if let Some(text) = json.read::<String>() {
        return Some(text);
    }
    if let Some(truth) = json.read::<bool>() {
        return Some(truth.to_string());
    }
    json.read::<i64>().map(|number| number.to_string()).or_else(|| {
        // `5.0` and `5e0` are whole numbers too, as far as a double can tell.
        let number = json.read::<f64>().filter(|it| it.fract() == 0.0 && it.abs() <= MOST_EXACT)?;
        Some(format!("{number:.0}"))
    })
}

/// The largest number up to which a double can tell whole numbers apart.
const MOST_EXACT: f64 = 9_007_199_254_740_991.0;

#[cfg(test)]
mod tests;
