//! The readers of an error's words: each is told what they can act on.

/// The reader of an error's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Audience {
    /// A person at our command line, who has flags.
    CommandLine,
    /// Who writes a program with the library, and has its methods.
    #[default]
    Program,
}
