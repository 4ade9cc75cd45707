//! Skills of servers that hand out what they list, and of servers that do not.

#![cfg(test)]

#[macro_use]
#[path = "../faults/rig.rs"]
#[expect(
    dead_code,
    unused_macros,
    reason = "the rig is made for the faults; less of it is used here"
)]
mod rig;

use std::error::Error;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ridethrough::Client;
use ridethrough::skills::{SkillError, SkillFault};
use ridethrough_lab::{Ask, Protocol, Times, When};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use rig::Rig;

#[tokio::test(start_paused = true)]
async fn a_list_reads_no_file() {
    let (rig, client) = server(SKILL_MD, FORMS);

    let skills = client.skills().await.unwrap();

    assert_eq!((skills[0].name(), skills[0].description()), ("pdf".into(), "Fill forms".into()));
    assert_eq!(rig.count(When::method("resources/read")), 0);
}

#[tokio::test(start_paused = true)]
async fn a_skill_that_is_what_its_entry_says_is_loaded_with_its_files() {
    let (rig, client) = server(SKILL_MD, FORMS);
    let skill = client.skill("skill://pdf/SKILL.md").await.unwrap();

    let loaded = client.load_skill(&skill).await.unwrap();

    assert_eq!(loaded.instructions(), SKILL_MD);
    assert_eq!(rig.count(When::method("resources/read")), 1, "a file is read when it is needed");
    assert_eq!(loaded.read("references/FORMS.md").await.unwrap(), FORMS.as_bytes());
    assert_eq!(loaded.read("skill://pdf/references/FORMS.md").await.unwrap(), FORMS.as_bytes());
}

#[tokio::test(start_paused = true)]
async fn a_changed_file_is_not_handed_over() {
    for (handed, fault) in [
        (SKILL_MD.replace("Body", "Evil"), SkillFault::Digest),
        (format!("{SKILL_MD}more"), SkillFault::Size { expected: 49, found: 53 }),
    ] {
        let (_rig, client) = server_that_hands_out(&handed, FORMS, SKILL_MD);
        let skill = &client.skills().await.unwrap()[0];

        let error = client.load_skill(skill).await.unwrap_err();

        assert_eq!(fault_of(&error), &fault);
        assert!(!error.to_string().contains("Evil"), "{error}");
    }
}

/// The digest is right, but a person would approve other words than the model reads.
#[tokio::test(start_paused = true)]
async fn a_front_matter_that_differs_from_its_entry_is_not_loaded() {
    let handed = SKILL_MD.replace("Fill forms", "Send secrets");
    let (_rig, client) = server_that_hands_out(&handed, FORMS, &handed);
    let skill = &client.skills().await.unwrap()[0];

    let error = client.load_skill(skill).await.unwrap_err();

    assert_eq!(fault_of(&error), &SkillFault::FrontMatter("description".into()));
}

#[tokio::test(start_paused = true)]
async fn other_files_are_verified_too_and_one_that_is_not_listed_is_not_asked_for() {
    let (rig, client) = server(SKILL_MD, "changed!!");
    let skill = &client.skills().await.unwrap()[0];
    let loaded = client.load_skill(skill).await.unwrap();

    let changed = loaded.read("references/FORMS.md").await.unwrap_err();
    let unlisted = loaded.read("references/NEW.md").await.unwrap_err();

    assert_eq!(fault_of(&changed), &SkillFault::Digest);
    assert_eq!(fault_of(&unlisted), &SkillFault::NotListed);
    assert_eq!(rig.count(When::method("resources/read")), 2);
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_server_is_told_as_that() {
    let (_rig, client) = server(SKILL_MD, FORMS);
    let mut skill = client.skills().await.unwrap()[0].clone();
    skill.uri = "skill://gone/SKILL.md".into();
    skill.front_matter = ridethrough::Json::of(&json!({"name": "gone"})).unwrap();
    let files = json!([{"uri": skill.uri, "size": 1, "digest": digest("x")}]);
    skill.files = serde_json::from_value(files).unwrap();

    let error = client.load_skill(&skill).await.unwrap_err();

    assert!(matches!(error, SkillError::Read(_)), "{error:?}");
    assert!(error.source().unwrap().to_string().contains("no such file"), "{error:?}");
}

fn fault_of(error: &SkillError) -> &SkillFault {
    match error {
        SkillError::Fault { fault, .. } => fault,
        other => panic!("{other:?}"),
    }
}

fn server(skill_md: &str, forms: &str) -> (Rig, Client) {
    server_that_hands_out(skill_md, forms, skill_md)
}

/// Creates a server with one skill, whose entry has the digest of `listed`.
fn server_that_hands_out(skill_md: &str, forms: &str, listed: &str) -> (Rig, Client) {
    let rig = Rig::over(Protocol::Http1);
    let entry = json!({
        "uri": "skill://pdf/SKILL.md",
        "frontmatter": {"name": "pdf", "description": "Fill forms"},
        "resources": [
            {"uri": "skill://pdf/SKILL.md", "digest": digest(listed), "size": listed.len()},
            {"uri": "skill://pdf/references/FORMS.md", "digest": digest(FORMS), "size": FORMS.len()},
        ],
    });
    let list = json!({"skills": [entry]});
    answer(&rig, "skills/list", move |_| list.clone());
    answer(&rig, "skills/get", move |_| json!({"skill": entry}));
    let (skill_md, forms) = (skill_md.to_owned(), STANDARD.encode(forms));
    answer(&rig, "resources/read", move |ask| {
        let uri = ask.params()["uri"].as_str().unwrap().to_owned();
        match &*uri {
            "skill://pdf/SKILL.md" => json!({"contents": [{"uri": uri, "text": skill_md}]}),
            "skill://pdf/references/FORMS.md" => json!({"contents": [{"uri": uri, "blob": forms}]}),
            _ => Value::Null,
        }
    });
    let client = rig.client();
    (rig, client)
}

/// Answers a method with this result; `null` is an error.
fn answer(rig: &Rig, method: &'static str, result: impl Fn(&Ask) -> Value + Send + Sync + 'static) {
    rig.mcp.rule(When::method(method), Times::Always, move |ask| {
        let result = result(&ask);
        let body =
            if result.is_null() { ask.error(-32602, "no such file") } else { ask.result(result) };
        async move { ask.json(body).await }
    });
}

fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    format!("sha256:{}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

const SKILL_MD: &str = "---\nname: pdf\ndescription: Fill forms\n---\n\nBody.\n";
const FORMS: &str = "All forms";
