//! Every method that a client calls, and the revisions it can call them in.

use ridethrough::Client;
use ridethrough::model::{LogLevel, Notification, Reference};
use ridethrough::server::Version;

use crate::bench::Bench;
use crate::partner::{Partner, Verdict, expect, story};

pub(super) async fn revision_2025_03_26_is_agreed_on_and_spoken(bench: Bench) -> Verdict {
    revision(bench, Version::V2025_03_26).await
}

pub(super) async fn revision_2025_06_18_is_agreed_on_and_spoken(bench: Bench) -> Verdict {
    revision(bench, Version::V2025_06_18).await
}

pub(super) async fn revision_2025_11_25_is_agreed_on_and_spoken(bench: Bench) -> Verdict {
    revision(bench, Version::V2025_11_25).await
}

async fn revision(bench: Bench, version: Version) -> Verdict {
    let partner = Partner::built(Client::builder(&bench.url()).revision(version))?;

    let server = partner.client.connect().await.map_err(story)?;
    partner.call(bench.surface.echo("hello")).await?;
    partner.close().await;

    expect(server.version == version, || format!("agreed on {}", server.version))
}

pub(super) async fn a_ping_is_answered(bench: Bench) -> Verdict {
    bench.partner()?.client.ping().await.map_err(story)
}

pub(super) async fn the_tools_are_listed(bench: Bench) -> Verdict {
    let tools = bench.partner()?.client.tools().await.map_err(story)?;

    for name in bench.surface.tools() {
        expect(tools.iter().any(|tool| tool.name == *name), || format!("no tool `{name}`"))?;
    }
    let echo = tools.iter().find(|tool| tool.name == "echo");
    let hint = echo.and_then(|tool| tool.annotations.read_only_hint);
    expect(hint == Some(true), || "`echo` does not say that it only reads".to_owned())
}

pub(super) async fn a_list_comes_in_pages(bench: Bench) -> Verdict {
    let client = bench.partner()?.client;

    let first = client.tools().page(None).await.map_err(story)?;
    let cursor = first.next_cursor.ok_or("all tools came in one page")?;
    let second = client.tools().page(Some(&cursor)).await.map_err(story)?;

    let is_new = first.items.iter().all(|tool| second.items.iter().all(|it| it.name != tool.name));
    expect(is_new && !second.items.is_empty(), || "the second page is not a new one".to_owned())
}

pub(super) async fn tools_answer(bench: Bench) -> Verdict {
    let partner = bench.partner()?;

    partner.call(bench.surface.echo("hello")).await?;
    partner.call(bench.surface.add(19, 23)).await?;
    Ok(())
}

pub(super) async fn a_tool_that_fails_says_so_in_its_result(bench: Bench) -> Verdict {
    let question = bench.surface.fail();
    let answer = question.answer.clone();

    let result = bench.partner()?.begin(question).await.map_err(story)?;

    expect(result.is_error && result.text().contains(&answer), || result.text())
}

pub(super) async fn an_unknown_tool_is_answered_with_an_error(bench: Bench) -> Verdict {
    // The specification wants a JSON-RPC error; some SDKs answer with a result that says so.
    match bench.partner()?.client.call_tool("no-such-tool", ()).await {
        Ok(result) => expect(result.is_error, || result.text()),
        Err(error) => expect(error.server().is_some(), || story(error)),
    }
}

pub(super) async fn a_mebibyte_comes_back_as_it_was_sent(bench: Bench) -> Verdict {
    let text = "0123456789abcdef".repeat(65536);

    bench.partner()?.call(bench.surface.echo(&text)).await.map(|_| ())
}

pub(super) async fn text_of_every_kind_comes_back_as_it_was_sent(bench: Bench) -> Verdict {
    let text = "é ß 漢字 🦀 \u{1F468}\u{200D}\u{1F469} \u{2028}\u{2029}\r\n\t\"\\ data: x\n\nid: 9\u{FEFF}";

    bench.partner()?.call(bench.surface.echo(text)).await.map(|_| ())
}

pub(super) async fn a_listed_resource_is_read(bench: Bench) -> Verdict {
    let client = bench.partner()?.client;
    let (uri, text) = bench.surface.listed();

    let resources = client.resources().await.map_err(story)?;

    expect(resources.iter().any(|it| it.uri == uri), || format!("`{uri}` is not listed"))?;
    says(&client, uri, text).await
}

pub(super) async fn a_resource_of_a_template_is_read(bench: Bench) -> Verdict {
    let client = bench.partner()?.client;
    let (template, (uri, text)) = (bench.surface.template(), bench.surface.made());

    let templates = client.resource_templates().await.map_err(story)?;

    let is_listed = templates.iter().any(|it| it.uri_template == template);
    expect(is_listed, || format!("no template `{template}`"))?;
    says(&client, uri, text).await
}

async fn says(client: &Client, uri: &str, text: &str) -> Verdict {
    let read = client.read_resource(uri).await.map_err(story)?;
    let said = read.contents.first().and_then(|it| it.text.as_deref()).unwrap_or_default();
    expect(said.contains(text), || format!("`{uri}` says `{said}`"))
}

pub(super) async fn an_update_of_a_subscribed_resource_is_told(bench: Bench) -> Verdict {
    let partner = bench.partner()?;
    let (subscribed, _) = bench.surface.listed();

    partner.client.subscribe(subscribed).await.map_err(story)?;
    partner.call(bench.surface.touch()).await?;
    let is_update = |it: &Notification| matches!(it, Notification::ResourceUpdated { uri } if uri == subscribed);
    let heard = partner.hears(is_update).await;

    partner.close().await;
    heard
}

pub(super) async fn nothing_is_told_after_unsubscribing(bench: Bench) -> Verdict {
    let partner = bench.partner()?;
    let (uri, _) = bench.surface.listed();
    partner.client.subscribe(uri).await.map_err(story)?;

    partner.client.unsubscribe(uri).await.map_err(story)?;
    partner.call(bench.surface.touch()).await?;
    // A notification that comes after it on this stream shows that nothing came before it.
    let (change, changed) = bench.surface.change();
    partner.call(change).await?;
    partner.hears(|it| *it == changed).await?;

    let told = partner.times_told(|it| matches!(it, Notification::ResourceUpdated { .. }));
    partner.close().await;
    expect(told == 0, || format!("told {told} updates"))
}

pub(super) async fn a_prompt_is_listed_and_filled_in(bench: Bench) -> Verdict {
    let client = bench.partner()?.client;
    let (name, arguments, text) = bench.surface.prompt();

    let prompts = client.prompts().await.map_err(story)?;
    let prompt = client.get_prompt(name, arguments).await.map_err(story)?;

    let listed = prompts.iter().find(|it| it.name == name);
    let has_arguments = listed.is_some_and(|it| it.arguments.iter().any(|it| it.required));
    expect(has_arguments, || format!("`{name}` is not listed with its arguments"))?;
    let said = prompt.messages.first().and_then(|it| it.content.first()?.as_text());
    expect(said.is_some_and(|said| said.contains(text)), || format!("it says {said:?}"))
}

pub(super) async fn an_argument_is_completed(bench: Bench) -> Verdict {
    let (prompt, argument, typed, values) = bench.surface.complete();
    let client = bench.partner()?.client;

    let completion = client.complete(&Reference::prompt(prompt), argument, typed).await;

    let found = completion.map_err(story)?.values;
    expect(found == values, || format!("got {found:?}"))
}

pub(super) async fn log_messages_arrive(bench: Bench) -> Verdict {
    let partner = bench.partner()?;

    partner.client.set_log_level(LogLevel::Debug).await.map_err(story)?;
    partner.call(bench.surface.log()).await?;
    let heard = partner.hears(|it| matches!(it, Notification::Log(_))).await;

    partner.close().await;
    heard
}

pub(super) async fn log_messages_below_the_level_stay_away(bench: Bench) -> Verdict {
    let partner = bench.partner()?;

    partner.client.set_log_level(LogLevel::Error).await.map_err(story)?;
    partner.call(bench.surface.log()).await?;
    let is_error =
        |it: &Notification| matches!(it, Notification::Log(log) if log.level == LogLevel::Error);
    partner.hears(is_error).await?;

    let told = partner.times_told(|it| matches!(it, Notification::Log(_)));
    partner.close().await;
    expect(told == 1, || format!("{told} messages came"))
}
