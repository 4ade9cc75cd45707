//! A search for every secret that crossed a wire, in everything that a person or a program can read.
//!
//! The secrets are taken from what the servers were sent, so that a verifier or a header that the client made
//! up itself is looked for, too. The servers repeat what they are sent in every refusal.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use ridethrough::event::Events;
use ridethrough_oauth::person::{LoginPrompt, from_fn};
use ridethrough_oauth::store::FileStore;
use ridethrough_oauth::{ClientKey, KeepClient, OAuth, Secret};
use serde_json::json;

use crate::secrets::Canary;
use crate::support::{Answer, Folder, Iss, World, builder, call, client, consent};

#[tokio::test]
async fn no_secret_that_crossed_a_wire_is_in_anything_that_can_be_read() {
    let seen = Output::default();
    let _guard = tracing::subscriber::set_default(Canary(seen.0.clone()));
    let (world, folder) = (World::start().await, Folder::new());
    let oauth = || OAuth::new("test app").store(FileStore::at(folder.path()));

    log_in_refresh_and_fail(&world, oauth(), &seen).await;
    log_in_in_vain(&world, oauth(), &seen).await;
    log_in_without_a_browser(&world, &folder, &seen).await;
    log_out(&world, oauth(), &seen).await;
    let names = std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name());
    seen.read(&names.collect::<Vec<_>>());
    seen.read(&std::env::args().collect::<Vec<_>>());

    let (secrets, text) = (secrets(&world), seen.text());
    assert!(secrets.len() > 40, "there was little to find: {secrets:?}");
    for word in ["refreshing", "logged in", "The login has arrived", "SessionReady"] {
        assert!(text.contains(word), "`{word}` was not looked at");
    }
    for secret in &secrets {
        let found = text.find(secret).map(|at| &text[at.saturating_sub(200)..at + secret.len()]);
        assert_eq!(found, None, "a secret can be read");
    }
}

async fn log_in_refresh_and_fail(world: &World, oauth: OAuth, seen: &Output) {
    let by_hand = Secret::new("c4nary-secret-by-hand");
    world.state().clients.insert("by-hand".to_owned(), "one");
    let oauth = oauth.client_id("by-hand").client_secret(by_hand);
    seen.read(&oauth);
    let mut clients = Vec::new();
    for number in 0..REFUSALS.len() {
        let oauth = oauth.clone().profile(format!("{number}"));
        call(&client(world, oauth.clone().person(seen.person()))).await.unwrap();
        let client = client(world, oauth);
        clients.push((client.events(), client));
    }
    world.end_access_tokens();
    let refusals = REFUSALS.map(|(status, error)| repeating(status, error));
    world.state().refresh_answers.extend(refusals.into_iter().chain([Answer::dropped()]));
    // The calls are made at once, because some of them wait before they ask again.
    let calls: Vec<_> = clients.iter().map(|(_, client)| client.clone()).collect();
    let calls = calls.into_iter().map(|client| tokio::spawn(async move { call(&client).await }));
    for called in calls.collect::<Vec<_>>() {
        seen.read_error(called.await.unwrap());
    }
    world.state().refuses_all_tokens = true;
    for (events, client) in &mut clients {
        seen.read_error(call(client).await);
        seen.read_events(events);
        seen.read(client);
    }
    world.state().refuses_all_tokens = false;
}

async fn log_in_in_vain(world: &World, oauth: OAuth, seen: &Output) {
    for iss in [Iss::Wrong, Iss::Missing] {
        world.state().iss = iss;
        world.state().denies_login = iss == Iss::Missing;
        let oauth = oauth.clone().profile(format!("{iss:?}")).person(seen.person());
        let account = oauth.clock(world.clock.read()).account(&builder(world)).unwrap();
        let error = account.log_in().await.unwrap_err();
        seen.read(&(error.to_string(), &error, &account, account.status().await));
    }
    world.state().denies_login = false;
}

async fn log_in_without_a_browser(world: &World, folder: &Folder, seen: &Output) {
    let store = || FileStore::at(folder.path());
    let device = OAuth::new("test app").profile("device").device().store(store());
    let device = client(world, device.person(seen.person()));
    call(&device).await.unwrap();
    let key = ClientKey::Secret(Secret::new("c4nary-secret-of-a-job"));
    let job = OAuth::client_credentials("job", key).profile("job").store(store());
    seen.read(&job);
    call(&client(world, job)).await.unwrap();
}

async fn log_out(world: &World, oauth: OAuth, seen: &Output) {
    let oauth = oauth.person(seen.person()).clock(world.clock.read());
    let account = oauth.profile("out").account(&builder(world)).unwrap();
    let status = account.log_in().await.unwrap();
    seen.read(&(status.to_string(), status));
    seen.read(&account.log_out(KeepClient::No).await);
    seen.read(&account.status().await);
}

/// Returns a refusal that repeats the refresh token and the header of the client.
fn repeating(status: u16, error: &str) -> Answer {
    let words = format!("no {{refresh_token}}, {BASIC}");
    Answer::json(status, json!({"error": error, "error_description": words}))
}

/// Returns every secret that the servers were sent, or issued.
fn secrets(world: &World) -> BTreeSet<String> {
    let state = world.state();
    let mut secrets: BTreeSet<String> = state.access.keys().cloned().collect();
    secrets.extend(state.refresh.keys().cloned());
    for logged in &state.log {
        let forms = logged.request.form();
        let sent = SECRET.iter().filter_map(|name| forms.get(*name).cloned());
        secrets.extend(sent);
        let header = logged.request.headers.get("authorization");
        secrets.extend(header.and_then(|it| it.split(' ').nth(1)).map(str::to_owned));
        secrets.extend(logged.request.query.get("state").cloned());
    }
    secrets.extend(state.codes.keys().cloned());
    secrets
}

/// Everything that a person or a program can read.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<String>>);

impl Output {
    fn read(&self, what: &dyn std::fmt::Debug) {
        *self.0.lock().unwrap() += &format!("{what:?}\n");
    }

    fn read_error(&self, called: Result<String, ridethrough::Error>) {
        if let Err(error) = called {
            self.read(&(error.to_string(), error.report(), &error));
        }
    }

    fn read_events(&self, events: &mut Events) {
        while let Some(event) = events.try_next() {
            self.read(&event);
        }
    }

    /// Returns a person who consents, and first opens URLs that others sent. The person may see the login's
    /// own URL.
    fn person(&self) -> impl ridethrough_oauth::person::Person + use<> {
        let output = self.clone();
        from_fn(move |prompt: &LoginPrompt| {
            output.read(prompt);
            if prompt.user_code.is_some() {
                return;
            }
            let (output, url) = (output.clone(), prompt.url.clone());
            tokio::spawn(async move {
                let page = consent(&url).await;
                output.read(&(page.status, &page.headers, &page.body));
            });
        })
    }

    fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

const REFUSALS: [(u16, &str); 6] = [
    (200, "bad_refresh_token"),
    (400, "invalid_grant"),
    (400, "invalid_request"),
    (401, "invalid_client"),
    (500, "server_error"),
    (503, "temporarily_unavailable"),
];
/// The parameters of a form that are secrets.
const SECRET: [&str; 8] = [
    "assertion",
    "client_secret",
    "code",
    "code_verifier",
    "device_code",
    "refresh_token",
    "subject_token",
    "token",
];
/// The header of the client that was registered by hand.
const BASIC: &str = "YnktaGFuZDpjNG5hcnktc2VjcmV0LWJ5LWhhbmQ=";
