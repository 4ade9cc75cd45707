//! The properties of our parsers that must hold for any input: one function for each fuzz target.
//!
//! A function takes any bytes and panics if a property does not hold, or if the parser panics. `dev/fuzz/`
//! has the programs that call them under a coverage-guided fuzzer, and the inputs that it kept; the test
//! `replay` of this crate calls them with those inputs, without a fuzzer.

mod adapter_script;
mod batch;
mod callback;
mod challenges;
mod config_import;
mod envelope;
mod gateway_config;
mod headers;
mod metadata;
mod mirror;
mod names;
mod request_state;
mod rfc9110;
mod schema;
mod sse;
mod token_answer;

pub use adapter_script::adapter_script;
pub use batch::batch;
pub use callback::callback;
pub use challenges::challenges;
pub use config_import::config_import;
pub use envelope::envelope;
pub use gateway_config::gateway_config;
pub use headers::headers;
pub use metadata::metadata;
pub use mirror::mirror;
pub use names::names;
pub use request_state::request_state;
pub use schema::schema;
pub use sse::sse;
pub use token_answer::token_answer;

/// A target: the name of its folder, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 15] = [
    ("adapter_script", adapter_script),
    ("batch", batch),
    ("callback", callback),
    ("challenges", challenges),
    ("config_import", config_import),
    ("envelope", envelope),
    ("gateway_config", gateway_config),
    ("headers", headers),
    ("metadata", metadata),
    ("mirror", mirror),
    ("names", names),
    ("request_state", request_state),
    ("schema", schema),
    ("sse", sse),
    ("token_answer", token_answer),
];
