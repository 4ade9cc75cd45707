//! Calls that a server answers with a task: the extension for tasks.

use ridethrough::task::Begun;

use crate::bench::Bench;
use crate::partner::{Verdict, expect, holds, story};
use crate::proxy::Order;

pub(super) async fn a_call_that_becomes_a_task_is_followed_to_its_end(bench: Bench) -> Verdict {
    let key = bench.key("task");

    let partner = bench.follower_of(&bench.url())?;
    let begun = partner.begin(bench.surface.later(&key, 300, false)).as_task().await;
    let Begun::Task(task) = begun.map_err(story)? else {
        return Err("it made no task of it".to_owned());
    };

    holds(&task.result().await.map_err(story)?, &key)?;
    bench.ran_once(&key)
}

pub(super) async fn a_task_that_asks_is_answered(bench: Bench) -> Verdict {
    let partner = bench.follower_of(&bench.url())?;

    partner.call(bench.surface.later(&bench.key("task-asks"), 0, true)).await?;

    expect(partner.forms() == 1, || format!("it was asked {} times", partner.forms()))
}

pub(super) async fn a_task_is_followed_by_another_client_through_lost_answers(
    bench: Bench,
) -> Verdict {
    let (proxy, key) = (bench.proxy().await?, bench.key("task-lost"));
    let (first, second) = (bench.follower_of(&bench.url())?, bench.follower_of(&proxy.url())?);

    let question = bench.surface.later(&key, 500, false);
    let begun = first.begin(question).as_task().await.map_err(story)?;
    let Begun::Task(task) = begun else { return Err("it made no task of it".to_owned()) };
    let id = task.id().clone();
    first.close().await;
    for _ in 0..2 {
        proxy.order(Order::Swallow { request: r#""tasks/get""# });
    }
    let result = second.client.task(id).result().await.map_err(story)?;

    expect(proxy.done() == 2, || "no answer was lost".to_owned())?;
    holds(&result, &key)?;
    bench.ran_once(&key)
}

pub(super) async fn a_task_that_is_cancelled_is_cancelled_in_the_server(bench: Bench) -> Verdict {
    let key = bench.key("task-cancelled");
    let partner = bench.follower_of(&bench.url())?;

    let question = bench.surface.later(&key, 20_000, false);
    let begun = partner.begin(question).as_task().await.map_err(story)?;
    let Begun::Task(task) = begun else { return Err("it made no task of it".to_owned()) };
    task.cancel().await.map_err(story)?;

    bench.notes("cancelled", &key).await?;
    let end = task.result().await;
    expect(end.is_err(), || "it has a result".to_owned())
}
