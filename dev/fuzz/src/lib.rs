//! What must hold whatever our parsers are given: one function for each target of the fuzzer.
//!
//! A function takes any bytes and panics if a promise is broken; that a parser itself never panics is
//! the least of them. `dev/fuzz/` has the programs that call them with coverage as a guide, and the inputs
//! that were found on the way; the test `replay` of this crate calls them with those inputs, without a
//! fuzzer.

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

/// A target by the name of its folder, and what it does with an input.
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
