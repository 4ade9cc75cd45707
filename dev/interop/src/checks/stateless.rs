//! What is new or different in the stateless era: how it is found, what goes in headers, questions in rounds,
//! subscriptions, and streams that cannot be resumed.

use std::time::Duration;

use ridethrough::model::Notification;
use ridethrough::server::{Eras, Version};
use ridethrough::{Client, Era};
use tokio::time::{Instant, sleep};

use super::faults::{TOOL, says_that_it_may_have_run};
use crate::bench::Bench;
use crate::partner::{Partner, Verdict, expect, holds, short, story, words};
use crate::proxy::Order;

/// Checked with the defaults of the client; the other checks pin it to an era.
pub(super) async fn a_client_that_speaks_both_eras_finds_out_what_the_server_speaks(
    bench: Bench,
) -> Verdict {
    let partner = Partner::built(Client::builder(&bench.url()).eras(Eras::Either))?;
    let expected = match bench.newest {
        Era::Legacy => Version::V2025_11_25,
        Era::Modern => Version::V2026_07_28,
    };

    let server = partner.client.connect().await.map_err(story)?;
    partner.call(bench.surface.echo("hello")).await?;
    partner.close().await;

    expect(server.version == expected, || format!("found {}", server.version))
}

pub(super) async fn arguments_that_a_tool_marks_are_in_headers(bench: Bench) -> Verdict {
    let partner = bench.partner()?;
    partner.client.tools().await.map_err(story)?;

    partner.call(bench.surface.route("west", "west")).await?;
    partner.call(bench.surface.route("grün", "=?base64?Z3LDvG4=?=")).await.map(|_| ())
}

pub(super) async fn a_call_that_lacks_its_headers_goes_out_again_with_them(
    bench: Bench,
) -> Verdict {
    // The client has not listed the tools, so it does not know what is marked until the server refuses the
    // call.
    bench.partner()?.call(bench.surface.route("west", "west")).await.map(|_| ())
}

pub(super) async fn a_question_that_nobody_can_answer_ends_the_call(bench: Bench) -> Verdict {
    let client = Client::builder(&bench.url()).eras(Era::Modern).build().map_err(words)?;
    let question = bench.surface.ask_elicitation();

    let began = Instant::now();
    let end = client.call_tool(question.tool, question.arguments).await;

    expect(began.elapsed() < Duration::from_secs(5), || "it took longer than 5 s".to_owned())?;
    match end {
        Ok(result) if result.is_error => Ok(()),
        Ok(result) => Err(format!("it was answered: {}", result.text())),
        Err(_) => Ok(()),
    }
}

pub(super) async fn changed_lists_are_told_to_who_listens(bench: Bench) -> Verdict {
    let partner = bench.partner()?;
    partner.client.connect().await.map_err(story)?;

    hears_a_change(&bench, &partner).await
}

/// Makes the server send a change until the client gets it: what is sent before the client listens is lost.
async fn hears_a_change(bench: &Bench, partner: &Partner) -> Verdict {
    let (question, changed) = bench.surface.change();
    let began = Instant::now();
    while partner.times_told(|it| *it == changed) == 0 {
        let is_late = began.elapsed() > Duration::from_secs(5);
        expect(!is_late, || "nothing was told within 5 s".to_owned())?;
        partner.call(question.clone()).await?;
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

pub(super) async fn a_cut_subscription_comes_back_and_what_was_missed_is_told(
    bench: Bench,
) -> Verdict {
    let proxy = bench.proxy().await?;
    let partner = bench.partner_of(&proxy.url())?;
    let (watched, _) = bench.surface.listed();
    let is_update =
        |it: &Notification| matches!(it, Notification::ResourceUpdated { uri } if uri == watched);
    partner.client.subscribe(watched).await.map_err(story)?;
    // The acknowledgement is the first event of the next stream, which is opened for the second resource.
    proxy.order(Order::CutOff { request: r#""subscriptions/listen""#, events: 2 });
    partner.client.subscribe(bench.surface.made().0).await.map_err(story)?;
    partner.forget();

    // The stream ends with this notification; what may have been missed is told when it is open again.
    partner.call(bench.surface.change().0).await?;
    partner.hears(is_update).await?;

    expect(proxy.done() == 1, || "the subscription was not cut".to_owned())?;
    partner.forget();
    partner.call(bench.surface.touch()).await?;
    partner.hears(is_update).await
}

pub(super) async fn a_cut_stream_ends_an_unsafe_call_and_repeats_a_safe_one(
    bench: Bench,
) -> Verdict {
    let proxy = bench.proxy().await?;
    let partner = bench.partner_of(&proxy.url())?;
    partner.client.connect().await.map_err(story)?;
    let cut = || proxy.order(Order::CutOff { request: TOOL, events: 1 });
    let (unsafe_key, safe_key) = (bench.key("cut"), bench.key("cut-safe"));

    cut();
    let call = partner.begin(bench.surface.slow(&unsafe_key, 4, 50));
    let unsafe_end = call.on_progress(|_| {}).await;
    cut();
    let call = partner.begin(bench.surface.slow(&safe_key, 4, 50)).idempotent();
    let safe_end = call.on_progress(|_| {}).await;

    expect(proxy.done() == 2, || "the streams were not cut".to_owned())?;
    says_that_it_may_have_run(unsafe_end)?;
    holds(&safe_end.map_err(story)?, &safe_key)?;
    bench.ran_once(&unsafe_key)
}

pub(super) async fn a_question_whose_answer_is_lost_is_asked_once(bench: Bench) -> Verdict {
    let proxy = bench.proxy().await?;
    let partner = bench.partner_of(&proxy.url())?;
    partner.client.connect().await.map_err(story)?;
    proxy.order(Order::Swallow { request: "inputResponses" });

    let call = partner.begin(bench.surface.ask_elicitation()).idempotent();
    let result = call.timeout(Duration::from_secs(10)).await.map_err(story)?;

    expect(proxy.done() == 1, || "no answer was lost".to_owned())?;
    holds(&result, bench.surface.defaults()[0])?;
    expect(partner.forms() == 1, || format!("it was asked {} times", partner.forms()))
}

pub(super) async fn a_call_after_a_restart_is_answered(bench: Bench) -> Verdict {
    let (mut process, mut partner) = bench.own().await?;
    let key = bench.key("restart");
    partner.call(bench.surface.echo("before")).await?;

    process.kill().await.map_err(words)?;
    process.come_back().await.map_err(words)?;

    partner.call(bench.surface.count(&key, 0)).await?;
    let sessions = partner.sessions();
    expect(sessions == 0, || format!("{sessions} sessions were made"))?;
    bench.ran_once(&key)
}

pub(super) async fn a_subscription_comes_back_after_a_restart(bench: Bench) -> Verdict {
    let (mut process, partner) = bench.own().await?;
    let (watched, _) = bench.surface.listed();
    let is_update =
        |it: &Notification| matches!(it, Notification::ResourceUpdated { uri } if uri == watched);
    partner.client.subscribe(watched).await.map_err(story)?;

    process.kill().await.map_err(words)?;
    process.come_back().await.map_err(words)?;

    // Once for what may have been missed, and then for what the server sends.
    for _ in 0..2 {
        let began = Instant::now();
        while partner.times_told(is_update) == 0 {
            let is_late = began.elapsed() > Duration::from_secs(20);
            expect(!is_late, || "nothing was told within 20 s".to_owned())?;
            sleep(Duration::from_millis(50)).await;
        }
        partner.forget();
        partner.call(bench.surface.touch()).await?;
    }
    Ok(())
}

/// Checks that the client follows a server that goes back to the old era and then to the new one again.
pub(super) async fn a_server_that_is_rolled_back_and_rolled_out_again_is_followed(
    bench: Bench,
) -> Verdict {
    let mut process = bench.process().await?;
    let mut partner = Partner::built(Client::builder(&process.url()).eras(Eras::Either))?;
    partner.client.connect().await.map_err(story)?;
    expect(partner.eras() == [Era::Modern], || "it is not found stateless".to_owned())?;

    for era in [Era::Legacy, Era::Modern] {
        let key = bench.key(&format!("as-{era:?}"));
        process.kill().await.map_err(words)?;
        process.come_back_as(era).await.map_err(words)?;
        partner.call(bench.surface.count(&key, 0)).await?;
        let found = partner.eras();
        expect(found == [era], || format!("{era:?} is spoken, found {found:?}"))?;
        bench.ran_once(&key)?;
    }
    Ok(())
}

pub(super) async fn only_calls_are_sent_and_none_names_a_session(bench: Bench) -> Verdict {
    let (proxy, key) = (bench.proxy().await?, &bench.key("only-calls"));
    let partner = bench.partner_of(&proxy.url())?;
    let (watched, _) = bench.surface.listed();

    partner.client.connect().await.map_err(story)?;
    // Where there are no subscriptions, the request is a call like any other.
    let _ = partner.client.subscribe(watched).await;
    partner.call(bench.surface.ask_elicitation()).await?;
    tokio::select! {
        began = bench.notes("began", key) => began?,
        end = partner.begin(bench.surface.wait(key)).into_future() => {
            return Err(format!("it ended before it was cancelled: {end:?}"));
        }
    }
    bench.notes("cancelled", key).await?;
    partner.close().await;

    let is_call = |head: &String| {
        let is_about_a_call = !head.contains("mcp-method: notifications/");
        head.starts_with("post ") && !head.contains("mcp-session-id") && is_about_a_call
    };
    let heads = proxy.heads();
    expect(heads.len() >= 4, || format!("{} requests were seen", heads.len()))?;
    heads.iter().find(|head| !is_call(head)).map_or(Ok(()), |head| Err(short(head)))
}
