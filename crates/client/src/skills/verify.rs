//! The checks of an entry and of a file, before anything of them is used.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::entry::{Skill, SkillFile, SkillFiles};
use super::error::SkillFault;
use crate::model::ResourceResult;

/// Checks what the entry alone shows, before any file is read.
pub(super) fn check_entry(skill: &Skill) -> Result<(), SkillFault> {
    let files = files(skill)?;
    let folder = folder(&skill.uri);
    let name = folder.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let mut uris = BTreeSet::new();
    let is_digest = |it: &SkillFile| {
        let hex = it.digest.strip_prefix("sha256:").unwrap_or_default();
        hex.len() == 64 && hex.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
    };
    let total = files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.size));
    let rules = [
        (skill.uri.ends_with("/SKILL.md"), "names no `SKILL.md`"),
        (!name.is_empty() && name == skill.name(), "has another name than its folder"),
        (files.len() <= MOST_FILES, "lists more than 512 files"),
        (total <= MOST_BYTES, "lists more than 16 MiB"),
        (files.iter().all(|it| uris.insert(&it.uri)), "lists a file twice"),
        (files.iter().any(|it| it.uri == skill.uri), "does not list its own `SKILL.md`"),
        (files.iter().all(|it| is_within(&it.uri, folder)), "lists a file outside of its folder"),
        (files.iter().all(is_digest), "has a digest that is no SHA-256"),
    ];
    match rules.into_iter().find(|(holds, _)| !holds) {
        Some((_, broken)) => Err(SkillFault::Entry(broken)),
        None => Ok(()),
    }
}

/// Returns the entry of a file in the entry of its skill.
pub(super) fn listed<'a>(skill: &'a Skill, uri: &str) -> Result<&'a SkillFile, SkillFault> {
    files(skill)?.iter().find(|it| it.uri == uri).ok_or(SkillFault::NotListed)
}

/// Returns the bytes of exactly this file.
pub(super) fn bytes_of(result: &ResourceResult, uri: &str) -> Result<Vec<u8>, SkillFault> {
    let [contents] = &*result.contents else { return Err(SkillFault::NotContents) };
    match (&contents.text, &contents.blob) {
        _ if contents.uri != uri => Err(SkillFault::NotContents),
        (Some(text), None) => Ok(text.clone().into_bytes()),
        (None, Some(blob)) => STANDARD.decode(blob).map_err(|_| SkillFault::NotContents),
        _ => Err(SkillFault::NotContents),
    }
}

pub(super) fn check_file(bytes: &[u8], expected: &SkillFile) -> Result<(), SkillFault> {
    let found = bytes.len() as u64;
    if found != expected.size {
        return Err(SkillFault::Size { expected: expected.size, found });
    }
    let digest = Sha256::digest(bytes);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    if expected.digest == format!("sha256:{hex}") { Ok(()) } else { Err(SkillFault::Digest) }
}

/// Returns the folder of a `SKILL.md`, with the slash at its end.
pub(super) fn folder(uri: &str) -> &str {
    uri.strip_suffix("SKILL.md").unwrap_or(uri)
}

fn files(skill: &Skill) -> Result<&[SkillFile], SkillFault> {
    match &skill.files {
        SkillFiles::Dynamic => Err(SkillFault::Dynamic),
        SkillFiles::Listed(files) => Ok(files),
        SkillFiles::Unknown => Err(SkillFault::Entry("does not say which files it has")),
    }
}

/// Whether a URI is below this folder. It must not hold `..`, which a server may read as the folder above.
fn is_within(uri: &str, folder: &str) -> bool {
    let path = uri.strip_prefix(folder).unwrap_or_default();
    !path.is_empty() && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

const MOST_FILES: usize = 512;
const MOST_BYTES: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model;
    use ridethrough_wire::message::Json;

    #[test]
    fn an_entry_must_keep_the_rules_before_anything_is_read() {
        let cases: [(&str, Value); 7] = [
            ("another name", json!({"frontmatter": {"name": "other", "description": "d"}})),
            ("which files", json!({"resources": null})),
            ("which files", json!({"resources": "later"})),
            ("own `SKILL.md`", json!({"resources": [file("skill://a/pdf/x.md", 1)]})),
            ("twice", json!({"resources": [skill_md(), skill_md()]})),
            ("outside", json!({"resources": [skill_md(), file("skill://a/other/x.md", 1)]})),
            ("16 MiB", json!({"resources": [skill_md(), file("skill://a/pdf/x.md", 16 << 20)]})),
        ];
        assert_eq!(check_entry(&entry(&json!({}))), Ok(()));
        for (words, change) in cases {
            let fault = check_entry(&entry(&change)).unwrap_err();

            assert!(fault.to_string().contains(words), "{fault}: {change}");
        }
    }

    #[test]
    fn no_file_leaves_the_folder_by_dots_and_no_digest_is_of_another_kind() {
        let up = json!({"resources": [skill_md(), file("skill://a/pdf/../x.md", 1)]});
        let mut odd = skill_md();
        odd["digest"] = format!("sha256:{}", "A".repeat(64)).into();

        assert!(check_entry(&entry(&up)).is_err());
        assert!(check_entry(&entry(&json!({"resources": [odd]}))).is_err());
        assert_eq!(check_entry(&entry(&json!({"resources": "dynamic"}))), Err(SkillFault::Dynamic));
    }

    fn entry(change: &Value) -> Skill {
        let mut entry = json!({"uri": "skill://a/pdf/SKILL.md", "resources": [skill_md()],
                               "frontmatter": {"name": "pdf", "description": "d"}});
        for (name, value) in change.as_object().unwrap() {
            entry[name] = value.clone();
        }
        model::read(Json::of(&entry).unwrap()).unwrap()
    }

    fn skill_md() -> Value {
        file("skill://a/pdf/SKILL.md", 1)
    }

    fn file(uri: &str, size: u64) -> Value {
        json!({"uri": uri, "size": size, "digest": format!("sha256:{}", "0".repeat(64))})
    }
}
