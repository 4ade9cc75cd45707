//! Calls while the authorization server fails.

use std::time::Duration;

use ridethrough::Client;
use ridethrough_oauth::store::MemoryStore;
use ridethrough_oauth::{ClientBuilderExt, OAuth, Timestamp};
use tokio::time::Instant;

use crate::support::{Answer, World, builder, call, robot};

#[tokio::test]
async fn a_call_whose_token_has_ended_outlasts_20_s_of_trouble() {
    let (world, client) = logged_in().await;
    tokio::time::pause();
    ended_while_away(&world, 5).await;
    let began = Instant::now();

    let called = call(&client).await;

    assert_eq!(called.unwrap(), "hello");
    let waited = began.elapsed();
    assert!((secs(16)..secs(24)).contains(&waited), "{waited:?}");
    assert_eq!(world.count("one", "/authorize"), 1);
}

#[tokio::test]
async fn a_call_whose_token_has_ended_waits_for_half_a_minute_and_says_why_it_ends() {
    let (world, client) = logged_in().await;
    tokio::time::pause();
    ended_while_away(&world, 100).await;
    let began = Instant::now();

    let error = call(&client).await.unwrap_err();

    assert!(error.to_string().contains("the authorization server is in trouble"), "{error}");
    let waited = began.elapsed();
    assert!((secs(20)..secs(30)).contains(&waited), "{waited:?}");
    assert!(world.token_forms("refresh_token").len() <= 8, "it is hammered");
}

#[tokio::test]
async fn a_token_that_is_still_good_is_used_while_it_cannot_be_renewed() {
    let (world, client) = logged_in().await;
    tokio::time::pause();
    away_for(&world, 100);
    // The token lives for an hour, and is due before that.
    tokio::time::advance(secs(3600 - 20)).await;
    let began = Instant::now();

    for _ in 0..3 {
        assert_eq!(call(&client).await.unwrap(), "hello");
    }

    assert!(began.elapsed() < secs(2), "{:?}", began.elapsed());
    assert!(!world.token_forms("refresh_token").is_empty(), "it was not due");
}

/// Returns a client that has logged in, on a clock that follows that of the runtime.
async fn logged_in() -> (World, Client) {
    let world = World::start().await;
    let (began, start) = (Instant::now(), world.clock.read()());
    let clock = move || -> Timestamp { start + began.elapsed() };
    let oauth = OAuth::new("test app").store(MemoryStore::default()).person(robot()).clock(clock);
    let client = builder(&world).oauth(oauth).unwrap().build().unwrap();
    call(&client).await.unwrap();
    (world, client)
}

/// Ends a token that is some time old, while the authorization server fails.
async fn ended_while_away(world: &World, refreshes: usize) {
    tokio::time::advance(secs(600)).await;
    away_for(world, refreshes);
    world.end_access_tokens();
}

/// Makes the authorization server refuse so many refreshes because of its own trouble.
fn away_for(world: &World, refreshes: usize) {
    let trouble = Answer::new(503, "trouble");
    world.state().refresh_answers.extend(std::iter::repeat_n(trouble, refreshes));
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
