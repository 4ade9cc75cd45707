//! G9: the config is edited under load, and no call on a server that the edit does not touch fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::rig::{ERAS, Home};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_on_an_untouched_server_fails_while_the_config_is_edited() {
    let home = Home::new();
    home.configure(&[("a", ""), ("b", "")]);
    let mut gateway = home.start("127.0.0.1:0").await;
    let (is_over, answered) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let mut callers = Vec::new();
    for era in ERAS.into_iter().cycle().take(6) {
        let (client, is_over) = (gateway.client(era), is_over.clone());
        let answered = answered.clone();
        callers.push(tokio::spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                let result = client.call_tool("a_echo", ()).await.map_err(|it| it.report())?;
                assert_eq!(result.text(), "hello of a");
                answered.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<_, String>(())
        }));
    }

    // Servers come, go, are changed and change places; `a` stays what it is.
    let edits: [&[(&str, &str)]; 4] = [
        &[("a", ""), ("c", "")],
        &[("c", ""), ("a", "")],
        &[("a", "")],
        &[("b", "changed"), ("a", ""), ("d", "")],
    ];
    for edit in edits.into_iter().cycle().take(20) {
        let before = answered.load(Ordering::Relaxed);
        home.configure(edit);
        gateway.reload().await;
        crate::rig::eventually("calls go on", || {
            answered.load(Ordering::Relaxed) > before + 12
                || callers.iter().any(tokio::task::JoinHandle::is_finished)
        })
        .await;
    }
    is_over.store(true, Ordering::Relaxed);

    for caller in callers {
        caller.await.unwrap().unwrap();
    }
}
