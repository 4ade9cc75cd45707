//! Old results in place of failures: only where the caller wants them, and always reported.

use ridethrough::Client;
use ridethrough::call::Source;
use ridethrough::error::Kind;
use ridethrough::event::{Event, Events, Seen};
use ridethrough::policy::Cache;
use tokio::time::sleep;

use crate::rig::{Asked, Said, Server, Tokens, down, minute, secs};
use crate::written::Written;

#[tokio::test(start_paused = true)]
async fn an_old_result_is_given_if_there_is_no_new_one_and_that_is_told() {
    let (server, client) = fails_later(|_| down());
    let mut events = client.events();
    let first = client.tools().await.unwrap();
    sleep(secs(100)).await;

    let old = client.tools().sourced().await.unwrap();

    assert_eq!(old.value, first);
    let Source::Stale { age, error } = &old.source else { panic!("{:?}", old.source) };
    assert!(*age >= secs(100) && old.source.is_stale());
    assert_eq!(error.kind(), Some(Kind::Unreachable));
    let told = stale(&mut events);
    assert_eq!(told, [("tools/list".to_owned(), Some(Kind::Unreachable))]);
    assert!(server.count("tools/list") > 1);
}

#[tokio::test(start_paused = true)]
async fn without_being_asked_for_nothing_old_is_given() {
    let server = later(|_| down());
    let client = server.client();
    client.tools().await.unwrap();
    sleep(secs(100)).await;

    let error = client.tools().await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::Unreachable));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_given_that_is_older_than_was_allowed() {
    let (_server, client) = fails_later(|_| down());
    client.tools().await.unwrap();
    sleep(secs(60 + 300)).await;

    client.tools().await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_wants_it_fresh_is_given_nothing_old() {
    let (_server, client) = fails_later(|_| down());
    client.tools().await.unwrap();
    sleep(secs(100)).await;

    client.tools().fresh().await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_call_with_headers_of_its_own_is_given_nothing_old() {
    let (_server, client) = fails_later(|_| down());
    client.tools().await.unwrap();
    sleep(secs(100)).await;

    client.tools().header("x-tenant", "blue").await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_is_no_better_than_one_that_is_not_there() {
    for (said, kind) in [
        (Said::Error as fn(i64) -> Said, None),
        (|_| Said::Status(500), Some(Kind::Rejected { status: 500 })),
    ] {
        let (_server, client) = fails_later(move |_| said(-32603));
        let mut events = client.events();
        client.tools().await.unwrap();
        sleep(secs(100)).await;

        let old = client.tools().sourced().await.unwrap();

        assert!(old.source.is_stale());
        assert_eq!(stale(&mut events), [("tools/list".to_owned(), kind)]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_no_is_not_overruled_and_what_it_said_before_is_forgotten() {
    for said in [|| Said::Error(-32602), || Said::Error(-32002)] {
        let (server, client) = fails_later(move |asked| match asked.before {
            1 => said(),
            _ => down(),
        });
        client.read_resource("a:b").await.unwrap();
        sleep(secs(100)).await;

        let error = client.read_resource("a:b").await.unwrap_err();
        assert!(error.server().is_some(), "{error}");
        let error = client.read_resource("a:b").await.unwrap_err();

        assert_eq!(error.kind(), Some(Kind::Unreachable));
        assert!(server.count("resources/read") > 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_no_by_its_status_alone_is_not_overruled_either() {
    for status in [401, 403, 404, 410] {
        let (server, client) = fails_later(move |asked| match asked.before {
            1 => Said::Status(status),
            _ => down(),
        });
        client.read_resource("a:b").await.unwrap();
        client.read_resource("a:b").fresh().await.unwrap_err();
        assert_eq!(server.count("resources/read"), 2);

        // The minute is not over: a kept result would still be fresh.
        let error = client.read_resource("a:b").await.unwrap_err();

        assert_eq!(error.kind(), Some(Kind::Unreachable), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_not_now_has_not_taken_back_what_it_said() {
    for status in [408, 425, 429] {
        let (_server, client) = fails_later(move |_| Said::Status(status));
        client.read_resource("a:b").await.unwrap();
        client.read_resource("a:b").fresh().await.unwrap_err();

        let kept = client.read_resource("a:b").sourced().await.unwrap();

        assert!(matches!(kept.source, Source::Kept { .. }), "{status}: {:?}", kept.source);
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_is_not_let_in_any_more_is_given_nothing_old() {
    let server = later(|_| Said::Status(401));
    let client = server
        .builder()
        .cache(Cache::new().stale_if_error(secs(300)))
        .credentials(Tokens::new(&["one"]))
        .build()
        .unwrap();
    client.tools().await.unwrap();
    sleep(secs(100)).await;

    let error = client.tools().await.unwrap_err();

    assert_eq!(error.kind(), Some(Kind::Unauthorized));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_back_is_asked_again() {
    let (_server, client) = fails_later(|asked| match asked.before {
        1 => Said::Status(501),
        _ => Said::Result(minute(asked)),
    });
    client.tools().await.unwrap();
    sleep(secs(100)).await;
    assert!(client.tools().sourced().await.unwrap().source.is_stale());

    let tools = client.tools().sourced().await.unwrap();

    assert!(matches!(tools.source, Source::Server), "{:?}", tools.source);
    assert_eq!(tools.value[0].name, "tool-2");
}

#[test]
fn an_old_result_that_is_given_stands_in_the_log() {
    let written = Written::default();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().unwrap();

    tracing::subscriber::with_default(written.clone(), || {
        runtime.block_on(async {
            let (_server, client) = fails_later(|_| down());
            client.read_resource("a:s3cret").await.unwrap();
            sleep(secs(100)).await;
            client.read_resource("a:s3cret").await.unwrap();
        });
    });

    let written = written.text();
    assert!(written.contains("an old result was given"), "{written}");
    assert!(!written.contains("s3cret"));
}

/// Returns a server whose first answer may be kept for a minute, and that then does this.
fn later(then: impl Fn(&Asked) -> Said + Send + Sync + 'static) -> Server {
    Server::new(move |asked| match asked.before {
        0 => Said::Result(minute(asked)),
        _ => then(asked),
    })
}

/// Returns a server like that of `later`, with a client that accepts results up to 5 minutes too old.
fn fails_later(then: impl Fn(&Asked) -> Said + Send + Sync + 'static) -> (Server, Client) {
    let server = later(then);
    let cache = Cache::new().stale_if_error(secs(300));
    let client = server.builder().cache(cache).build().unwrap();
    (server, client)
}

fn stale(events: &mut Events) -> Vec<(String, Option<Kind>)> {
    let seen = std::iter::from_fn(|| events.try_next());
    let told = seen.filter_map(|seen| match seen {
        Seen::Event { event: Event::StaleServed { call, kind, .. }, .. } => {
            Some((call.method.to_string(), kind))
        }
        _ => None,
    });
    told.collect()
}
