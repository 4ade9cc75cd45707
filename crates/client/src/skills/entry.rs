//! The entry of a skill, as a server lists it.

use ridethrough_wire::message::Json;
use serde::{Deserialize, Deserializer};

use crate::model::{Listed, Model};

/// The entry of a skill: what it is, and what its files must be.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Skill {
    /// The URI of its `SKILL.md`. It names the skill on its server only.
    pub uri: String,
    /// The front matter of its `SKILL.md`, as an object.
    #[serde(rename = "frontmatter")]
    pub front_matter: Json,
    /// Its files.
    #[serde(rename = "resources", default)]
    pub files: SkillFiles,
    /// The whole entry, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

impl Skill {
    /// Returns the name in its front matter. Two skills may have one name.
    pub fn name(&self) -> String {
        self.text("name")
    }

    /// Returns the description in its front matter.
    pub fn description(&self) -> String {
        self.text("description")
    }

    fn text(&self, member: &str) -> String {
        let member = self.front_matter.member(member);
        member.and_then(|it| it.read()).unwrap_or_default()
    }
}

/// The files of a skill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkillFiles {
    /// Files that are made when they are read, and have no digests. Such a skill is not loaded.
    Dynamic,
    /// All files of the skill.
    Listed(Vec<SkillFile>),
    /// The server does not list the files, or lists them in an unknown form. Such a skill is not loaded.
    #[default]
    Unknown,
}

/// A file of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct SkillFile {
    /// The URI.
    pub uri: String,
    /// The SHA-256 of its bytes: `sha256:` and 64 lowercase hexadecimal digits.
    pub digest: String,
    /// How many bytes it has.
    pub size: u64,
}

/// Reads an unknown form as `Unknown`, because one such entry must not hide the other skills of a list.
impl<'de> Deserialize<'de> for SkillFiles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let said = Json::deserialize(deserializer)?;
        Ok(match said.read::<String>() {
            Some(word) if word == "dynamic" => Self::Dynamic,
            Some(_) => Self::Unknown,
            None => said.read().map_or(Self::Unknown, Self::Listed),
        })
    }
}

impl Listed for Skill {
    const METHOD: &'static str = "skills/list";
    const KEY: &'static str = "skills";
}

impl Model for Skill {
    fn keep(&mut self, json: Json) {
        self.json = json;
    }
}
