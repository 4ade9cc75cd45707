//! Completion of arguments, also of templates that no list has.

use ridethrough::model::Reference;
use ridethrough::{Client, Era, Error};

use crate::rig::{Behind, ERAS, WayState, names, rig_of};

#[tokio::test(start_paused = true)]
async fn a_template_that_no_list_has_is_completed_by_the_only_server_that_completes() {
    let (a, b) = (Behind::new("a", &["x"]), Behind::new("b", &["y"]));
    b.server.with_completions();
    let rig = rig_of(&[&a, &b]);
    for era in ERAS {
        let client = rig.client(era);
        names(&client).await;

        let said = completed(&client, "db://{table}").await.unwrap();

        assert_eq!(said, "b \"db://{table}\"", "{era:?}");
        assert_eq!(a.server.heard("completion/complete").len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_sick_server_that_completes_nothing_holds_no_completion_up() {
    let (a, b) = (Behind::new("a", &["x"]), Behind::new("b", &["y"]));
    b.server.with_completions();
    let rig = rig_of(&[&a, &b]);
    let client = rig.client(Era::Legacy);
    names(&client).await;
    a.way.set(WayState::Refuses);
    a.way.cut();

    let said = completed(&client, "db://{table}").await.unwrap();

    assert_eq!(said, "b \"db://{table}\"");
}

#[tokio::test(start_paused = true)]
async fn a_template_that_may_be_of_several_servers_is_refused_with_their_names() {
    let (a, b) = (Behind::new("a", &["x"]), Behind::new("b", &["y"]));
    a.server.with_completions();
    b.server.with_completions();
    let rig = rig_of(&[&a, &b]);
    let client = rig.client(Era::Legacy);
    names(&client).await;

    let said = refusal(&client).await;

    assert!(said.contains("`a`, `b` complete arguments") && said.contains("/mcp/NAME"), "{said}");
    assert_eq!(b.server.heard("completion/complete").len(), 0);
    let alone = rig.builder(Era::Legacy, "/mcp/b").build().unwrap();
    assert_eq!(completed(&alone, "db://{table}").await.unwrap(), "b \"db://{table}\"");
}

#[tokio::test(start_paused = true)]
async fn a_template_is_refused_plainly_where_no_server_completes_and_where_one_is_not_there() {
    let (a, b) = (Behind::new("a", &["x"]), Behind::new("b", &["y"]));
    let rig = rig_of(&[&a, &b]);
    let client = rig.client(Era::Legacy);
    names(&client).await;
    assert!(refusal(&client).await.contains("no server here completes arguments"));

    let (a, b) = (Behind::new("a", &["x"]), Behind::new("b", &["y"]));
    a.server.with_completions();
    b.way.set(WayState::Refuses);
    let rig = rig_of(&[&a, &b]);
    let client = rig.client(Era::Legacy);
    names(&client).await;

    let said = refusal(&client).await;

    assert!(said.contains("`b` could not be asked"), "{said}");
    assert_eq!(a.server.heard("completion/complete").len(), 0, "it may be of the other");
}

async fn completed(client: &Client, uri: &str) -> Result<String, Error> {
    let reference = Reference::resource(uri);
    let completion = client.complete(&reference, "table", "").await?;
    Ok(completion.values.concat())
}

async fn refusal(client: &Client) -> String {
    let error = completed(client, "db://{table}").await.unwrap_err();
    let Error::Server(error) = error else { panic!("{error}") };
    assert_eq!(error.rpc.code, -32602);
    error.rpc.message
}
