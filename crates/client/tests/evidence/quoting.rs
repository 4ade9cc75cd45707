//! What errors quote of a server: enough to help, and nothing that can harm.

use std::sync::Mutex;

use ridethrough::credentials::StaticToken;
use ridethrough::server::Eras;
use ridethrough::{Era, Error};
use serde_json::json;

use crate::case::{Carrier, Reply, cases};
use crate::rig::{Shared, World, call, paused};
use crate::server::{ODD, Server, Speaks};

#[test]
fn a_long_refusal_is_quoted_by_500_characters_at_most() {
    for body in [
        format!("quota exceeded {}", "¤".repeat(5000)),
        json!({"message": "quota exceeded", "trace": "¤".repeat(5000)}).to_string(),
    ] {
        let error = refused_by(&body);

        let told = error.report();
        let quoted = told.chars().filter(|letter| *letter == '¤').count();
        assert!(told.contains("quota exceeded"), "{told}");
        assert!(quoted <= 500, "{quoted} characters were quoted");
    }
}

#[test]
fn what_is_quoted_cannot_move_a_cursor_or_turn_a_line_around() {
    let harm = "\u{1b}[2J\u{7}\u{8}\u{202e}\u{2066}\u{200b}\u{200d}\u{feff}\u{85}\u{9b}\0";
    for body in [
        format!("quota{harm} exceeded\r\nhint: run it again"),
        json!({"message": format!("quota{harm} exceeded\nhint: run it again")}).to_string(),
    ] {
        let error = refused_by(&body);

        for told in [error.report(), error.to_string()] {
            let is_harmful = |letter: char| {
                (letter.is_control() && letter != '\n')
                    || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
            };
            assert!(told.contains("quota"), "{told:?}");
            assert!(!told.contains(is_harmful), "{told:?}");
            // The server's words must not look like the client's.
            assert!(!told.lines().any(|line| line == "hint: run it again"), "{told:?}");
        }
    }
}

#[test]
fn a_secret_that_the_server_repeats_is_masked() {
    for body in [
        format!("quota exceeded for {TOKEN} with {KEY}"),
        json!({"message": format!("quota exceeded for {TOKEN} with {KEY}")}).to_string(),
    ] {
        let error = refused_by(&body);

        for told in [error.report(), error.to_string(), format!("{error:?}")] {
            assert!(!told.contains(TOKEN) && !told.contains(KEY), "{told}");
        }
        assert!(error.report().contains("quota exceeded"), "{}", error.report());
    }
}

/// Returns the error of a call whose server refuses with this body, under a status without a meaning of its
/// own.
fn refused_by(body: &str) -> Error {
    let world = World::new(Speaks::WithIds, Eras::Only(Era::Legacy));
    let content_type = if body.starts_with('{') { "application/json" } else { "text/plain" };
    let reply =
        Reply { content_type: Some(content_type), body: body.to_owned(), ..Reply::status(422) };
    let case = cases(Carrier::Body).swap_remove(0);
    let server = Server::new(world.speaks, case, world.then).always(reply);
    let server = Shared::new(Mutex::new(server));
    paused(async {
        let builder = world.builder(&server).await;
        let builder = builder.credentials(StaticToken::new(TOKEN).unwrap());
        let client = builder.header("x-api-key", KEY).build().unwrap();
        call(&client, ODD).await.unwrap_err()
    })
}

const TOKEN: &str = "token-of-ours-5f2c";
const KEY: &str = "key-of-ours-91ab";
