//! The properties of our parsers that must hold for any input: one function for each fuzz target.
//!
//! A function takes any bytes and panics if a property does not hold, or if the parser panics. `dev/fuzz/`
//! has the programs that call them under a coverage-guided fuzzer, and the inputs that it kept; the test
//! `replay` of this crate calls them with those inputs, without a fuzzer.

mod adapter_script;
mod batch;
mod config_import;
mod envelope;
mod headers;
mod mirror;
mod schema;
mod sse;

pub use adapter_script::adapter_script;
pub use batch::batch;
pub use config_import::config_import;
pub use envelope::envelope;
pub use headers::headers;
pub use mirror::mirror;
pub use schema::schema;
pub use sse::sse;

/// A target: the name of its folder, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 8] = [
    ("adapter_script", adapter_script),
    ("batch", batch),
    ("config_import", config_import),
    ("envelope", envelope),
    ("headers", headers),
    ("mirror", mirror),
    ("schema", schema),
    ("sse", sse),
];
