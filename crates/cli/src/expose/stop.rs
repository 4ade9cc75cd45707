//! The request to stop `expose`: by a signal.
//!
//! ```text
//!   Running ──signal──▶ Stopping ──sessions are ended──▶ exit
//!                          └──another signal, or too long──▶ exit at once; the supervisors end the servers
//! ```
//! A thread of its own waits for signals, with a runtime of its own: whatever the other threads are doing, a
//! signal is noticed and the process ends.
//!
//! Unlike other commands, `expose` does not catch SIGHUP, because catching it undoes `nohup`. Where SIGHUP is
//! not ignored it ends the process at once, and the supervisors end the servers.

use std::io;
use std::time::Duration;

use futures_util::future::select_all;
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::timeout;

use super::voice::Voice;

/// A request to stop `expose`, if there is one.
pub(crate) struct ExposeStop {
    /// The exit code, once there is a request.
    asked: watch::Receiver<Option<u8>>,
}

impl ExposeStop {
    /// Waits for signals from here on. After the first, the process has `longest` to end by itself.
    pub(crate) fn listen(voice: Voice, longest: Duration) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let (tell, asked) = watch::channel(None);
        let entered = runtime.enter();
        let mut signals = Signals::new();
        drop(entered);
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            runtime.block_on(async {
                let code = signals.next().await;
                // The receiver may have ended by itself.
                let _ = tell.send(Some(code));
                let _ = timeout(longest, signals.next()).await;
                voice.tell("stopped: what is left of the sessions is being killed");
                voice.finish();
                std::process::exit(code.into());
            });
        })?;
        Ok(Self { asked })
    }

    /// Waits for a request to stop, and returns the exit code that shells give to the signal.
    pub(crate) async fn asked(&mut self) -> u8 {
        match self.asked.wait_for(Option::is_some).await.map(|code| *code) {
            Ok(Some(code)) => code,
            // The sender is gone, so no request can come.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }
}

/// The signals that ask to stop. No signal is missed between two waits.
struct Signals(Vec<(Signal, u8)>);

impl Signals {
    fn new() -> Self {
        let kinds = [SignalKind::interrupt(), SignalKind::quit(), SignalKind::terminate()];
        let heard = kinds.into_iter().filter_map(|kind| {
            let code = u8::try_from(128 + kind.as_raw_value()).unwrap_or(u8::MAX);
            // A signal that cannot be caught has its default effect.
            Some((signal(kind).ok()?, code))
        });
        Self(heard.collect())
    }

    async fn next(&mut self) -> u8 {
        let next = self.0.iter_mut().map(|(signal, code)| {
            Box::pin(async {
                signal.recv().await;
                *code
            })
        });
        let next: Vec<_> = next.collect();
        if next.is_empty() { std::future::pending().await } else { select_all(next).await.0 }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::time::Instant;

    use rustix::process::{Pid, kill_process};

    use super::*;

    #[test]
    fn a_second_signal_ends_a_process_all_of_whose_threads_are_busy() {
        let mut busy = start(Duration::from_secs(600));
        let began = Instant::now();

        // Two signals that arrive together count as one.
        let status = loop {
            kill(&busy);
            std::thread::sleep(Duration::from_millis(50));
            if let Some(status) = busy.try_wait().unwrap() {
                break status;
            }
            assert!(began.elapsed() < Duration::from_secs(50), "it does not end");
        };

        assert_eq!(status.code(), Some(143));
    }

    #[test]
    fn one_signal_ends_it_when_its_time_is_over() {
        let longest = Duration::from_secs(1);
        let mut busy = start(longest);
        let began = Instant::now();

        kill(&busy);

        assert_eq!(busy.wait().unwrap().code(), Some(143));
        assert!(began.elapsed() >= longest, "{:?}", began.elapsed());
    }

    #[test]
    #[ignore = "this is the process that the other tests start"]
    fn busy() {
        let Ok(longest) = std::env::var(LONGEST) else { return };
        let longest = Duration::from_millis(longest.parse().unwrap());
        let workers = runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        for _ in 0..2 {
            // This task never yields its thread.
            workers.spawn(async { std::thread::sleep(Duration::from_secs(1000)) });
        }
        let mut stop = ExposeStop::listen(Voice::new().unwrap(), longest).unwrap();
        println!("\nready");

        workers.block_on(async {
            stop.asked().await;
            std::thread::sleep(Duration::from_secs(1000));
        });
    }

    fn start(longest: Duration) -> Child {
        let name = concat!(module_path!(), "::busy");
        let (_, name) = name.split_once("::").unwrap();
        let mut busy = Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env(LONGEST, longest.as_millis().to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(busy.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "ready"), "it has not started");
        busy
    }

    fn kill(process: &Child) {
        kill_process(Pid::from_child(process), rustix::process::Signal::TERM).unwrap();
    }

    const LONGEST: &str = "STOP_LONGEST_MILLIS";
}
