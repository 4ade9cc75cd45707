//! The progress of a call.

use std::fmt;

use ridethrough_wire::message::Json;
use serde::Deserialize;

use super::keeps_its_json;

/// The progress of a call. It prints as `3/10 copying`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Progress {
    /// How much is done, in the server's own unit. It only grows.
    pub progress: f64,
    /// How much there is to do, if the server knows.
    #[serde(default)]
    pub total: Option<f64>,
    /// What is being done.
    #[serde(default)]
    pub message: Option<String>,
    /// The whole progress, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.progress)?;
        if let Some(total) = self.total {
            write!(f, "/{total}")?;
        }
        if let Some(message) = &self.message {
            write!(f, " {message}")?;
        }
        Ok(())
    }
}

keeps_its_json!(Progress);
