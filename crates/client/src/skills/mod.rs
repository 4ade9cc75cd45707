//! The skills of a server: listed, and loaded only if they are what the list says.
//!
//! A skill is a folder of instructions for a model that a server hands out file by file (the extension
//! `io.modelcontextprotocol/skills`). Its entry in the list has the front matter that a person approves, and
//! the size and digest of each file. No file is read before it is needed. A file that differs from its entry
//! is never handed over, and neither is one that the entry does not list.
//!
//! ```no_run
//! # async fn example(client: ridethrough::Client) -> Result<(), Box<dyn std::error::Error>> {
//! for skill in client.skills().await? {
//!     println!("{}: {}", skill.name(), skill.description());
//!     let loaded = client.load_skill(&skill).await?;
//!     println!("{}", loaded.instructions());
//! }
//! # Ok(()) }
//! ```
//!
//! What a server says is untrusted: a digest shows that an entry and a file belong together, not that either
//! is harmless. An application asks a person before it loads a skill, and tells the model where the skill
//! comes from.

mod entry;
mod error;
mod front_matter;
mod verify;

use ridethrough_wire::message::Json;
use serde::Serialize;

pub use entry::{Skill, SkillFile, SkillFiles};
pub use error::{SkillError, SkillFault};

use crate::client::{Call, Client, List};
use crate::model;

impl Client {
    /// Lists the skills of the server. No file of a skill is read.
    ///
    /// A server may list some of its skills or none: [`skill`](Self::skill) finds one by its URI. Ask only a
    /// server that declares the extension `io.modelcontextprotocol/skills`.
    pub fn skills(&self) -> List<Skill> {
        List::new(self.clone())
    }

    /// Asks for the entry of one skill, by the URI of its `SKILL.md`. No file of the skill is read.
    pub fn skill(&self, uri: &str) -> Call<Skill> {
        #[derive(Serialize)]
        struct At<'a> {
            uri: &'a str,
        }

        let params = Json::of(&At { uri }).expect("a string is JSON");
        Call::new(self.clone(), "skills/get".into(), params.into(), |result| {
            let missing = || serde::de::Error::missing_field("skill");
            model::read(result.member("skill").ok_or_else(missing)?)
        })
    }

    /// Reads the `SKILL.md` of a skill, and returns it if its size, digest and front matter are those of the
    /// entry. After an error, ask for the entry again by [`skill`](Self::skill): it may be out of date, and a
    /// person must approve the new one.
    ///
    /// A skill without digests (`dynamic`) is not loaded.
    pub async fn load_skill(&self, skill: &Skill) -> Result<LoadedSkill, SkillError> {
        let of_skill = |fault| SkillError::Fault { uri: skill.uri.clone(), fault };
        verify::check_entry(skill).map_err(of_skill)?;
        let bytes = self.read_skill_file(skill, &skill.uri).await?;
        let text = String::from_utf8(bytes).map_err(|_| of_skill(SkillFault::NotText))?;
        front_matter::compare(&text, &skill.front_matter).map_err(of_skill)?;
        Ok(LoadedSkill { client: self.clone(), skill: skill.clone(), instructions: text })
    }

    async fn read_skill_file(&self, skill: &Skill, uri: &str) -> Result<Vec<u8>, SkillError> {
        let of_file = |fault| SkillError::Fault { uri: uri.to_owned(), fault };
        let expected = verify::listed(skill, uri).map_err(of_file)?;
        // A cached answer may be older than the entry.
        let result = self.read_resource(uri).fresh().await.map_err(SkillError::Read)?;
        let bytes = verify::bytes_of(&result, uri).map_err(of_file)?;
        verify::check_file(&bytes, expected).map_err(of_file)?;
        Ok(bytes)
    }
}

/// A skill whose `SKILL.md` matches its entry. Created by [`Client::load_skill`].
#[derive(Clone, Debug)]
pub struct LoadedSkill {
    client: Client,
    skill: Skill,
    instructions: String,
}

impl LoadedSkill {
    /// Returns the entry that the skill was loaded by.
    pub const fn skill(&self) -> &Skill {
        &self.skill
    }

    /// Returns the whole `SKILL.md`, front matter included.
    pub fn instructions(&self) -> &str {
        &self.instructions
    }

    /// Reads another file of the skill, by its URI or by its path from the folder of `SKILL.md`, and returns
    /// it if it is listed and its size and digest are those of the entry.
    pub async fn read(&self, file: &str) -> Result<Vec<u8>, SkillError> {
        let uri = if file.contains("://") {
            file.to_owned()
        } else {
            format!("{}{file}", verify::folder(&self.skill.uri))
        };
        self.client.read_skill_file(&self.skill, &uri).await
    }
}
