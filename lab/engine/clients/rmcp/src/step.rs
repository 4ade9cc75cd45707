//! What the lab asks a client to do.

use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
pub enum Step {
    Call {
        tool: String,
        #[serde(default)]
        args: Map<String, Value>,
        timeout_s: Option<f64>,
        concurrency: Option<usize>,
        cancel_after_s: Option<f64>,
    },
    Close {},
    Initialize {
        bearer: Option<String>,
    },
    Request {
        method: String,
        params: Option<Value>,
        timeout_s: Option<f64>,
    },
    Sleep {
        s: f64,
    },
}
