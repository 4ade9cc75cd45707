//! No output shows a secret: every secret of the test's servers contains a canary.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};

use ridethrough_oauth::store::{FileStore, GrantStore};
use ridethrough_oauth::{ClientBuilderExt, OAuth, Secret};
use ridethrough_oauth_core::HttpUrl;
use ridethrough_oauth_core::store::AccountKey;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::support::{Answer, Folder, World, builder, call, robot};

#[tokio::test]
async fn no_secret_is_in_a_record_a_debug_text_or_an_error() {
    let written = Arc::new(Mutex::new(String::new()));
    let _guard = tracing::subscriber::set_default(Canary(written.clone()));
    let (world, folder) = (World::start().await, Folder::new());
    let store = FileStore::at(folder.path());
    let oauth = OAuth::new("test app").client_secret(Secret::new("c4nary-own"));
    let oauth = oauth.store(store.clone()).person(robot()).clock(world.clock.read());
    let mut shown = format!("{oauth:?}");
    let account = oauth.clone().account(&builder(&world)).unwrap();
    let client = builder(&world).oauth(oauth).unwrap().build().unwrap();

    call(&client).await.unwrap();
    world.end_access_tokens();
    call(&client).await.unwrap();
    world.end_access_tokens();
    world.state().denies_login = true;
    let refused = Answer::json(400, json!({"error": "invalid_grant"}));
    world.state().refresh_answers.push_back(refused);
    let error = call(&client).await.unwrap_err();
    let key = AccountKey::new(&HttpUrl::parse(&world.mcp_url()).unwrap(), "");
    let record = store.load(&key).await.unwrap();
    shown += &format!("{account:?} {error} {error:?} {record:?}");
    shown += &written.lock().unwrap();

    // The id of a client is no secret.
    let shown = shown.replace("c4nary-client", "client");
    assert!(record.unwrap().write().expose().contains("c4nary"), "there was nothing to find");
    assert!(shown.contains("refreshing"), "nothing was recorded: {shown}");
    let found = shown.find("c4nary").map(|at| &shown[at.saturating_sub(100)..at + 20]);
    assert_eq!(found, None);
}

/// Records every log record.
pub(crate) struct Canary(pub(crate) Arc<Mutex<String>>);

impl Subscriber for Canary {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut Text(&mut self.0.lock().unwrap()));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Text(&mut self.0.lock().unwrap()));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Text(&mut self.0.lock().unwrap()));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Text<'a>(&'a mut String);

impl Visit for Text<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        writeln!(self.0, "{field}={value:?}").unwrap();
    }
}
