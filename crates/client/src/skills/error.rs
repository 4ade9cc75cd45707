//! The errors of skills: why a skill is not loaded, or a file of it not handed over.

use crate::error::Error;

/// Why a skill is not loaded, or a file of it not handed over.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkillError {
    /// The entry or the file breaks a rule. Nothing of the file is handed over.
    #[error("`{uri}` is not used")]
    Fault {
        /// The URI of the skill or of its file.
        uri: String,
        /// What is wrong with it.
        #[source]
        fault: SkillFault,
    },
    /// The server did not hand the file over.
    #[error("a file of the skill could not be read")]
    Read(#[source] Error),
}

/// What is wrong with a skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkillFault {
    /// The digest of the bytes is not the one in the entry.
    #[error("its digest is not the one that the skill's entry has; ask for the entry again")]
    Digest,
    /// The skill has no digests.
    #[error("the skill has no digests (`dynamic`), so that nothing of it can be verified")]
    Dynamic,
    /// The entry breaks a rule of the extension.
    #[error("the skill's entry {0}")]
    Entry(&'static str),
    /// The front matter differs from the entry, so that a person would approve other words than the model
    /// reads.
    #[error("its front matter is not the one that the skill's entry has: `{0}` differs")]
    FrontMatter(String),
    /// The file has no front matter.
    #[error("it has no front matter that can be read as YAML")]
    NoFrontMatter,
    /// The server answered with something other than the contents of this one file.
    #[error("the answer does not hold the contents of this file")]
    NotContents,
    /// The skill does not list the file.
    #[error("the skill's entry does not list it; ask for the entry again")]
    NotListed,
    /// The file is not text.
    #[error("it is no text in UTF-8")]
    NotText,
    /// The number of bytes is not that of the entry.
    #[error("it has {found} bytes, and {expected} in the skill's entry; ask for the entry again")]
    Size {
        /// The size in the entry.
        expected: u64,
        /// The size of what the server handed over.
        found: u64,
    },
}
