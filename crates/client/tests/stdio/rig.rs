//! A child to be started, its diary, and what is left of it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ridethrough::error::CallError;
use ridethrough::event::{Events, Seen};
use ridethrough::{Call, Client, ClientBuilder, Command, Error, Json};
use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};

/// A server and its diary.
pub(crate) struct Rig {
    diary: PathBuf,
    behaviour: Value,
}

impl Rig {
    pub(crate) fn new(behaviour: Value) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("diary-{}-{number}", std::process::id());
        let diary = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        // The file may be left from an earlier process with this number.
        let _ = std::fs::remove_file(&diary);
        Self { diary, behaviour }
    }

    /// Returns the command that starts the server. The shell moves the pipe out of the test harness's way.
    pub(crate) fn command(&self) -> Command {
        self.command_after("")
    }

    /// Returns the command that starts the server after these words of shell.
    pub(crate) fn command_after(&self, words: &str) -> Command {
        Command::new("sh")
            .arg("-c")
            .arg(format!("{words} exec \"$0\" \"$@\" 3>&1 >/dev/null"))
            .arg(std::env::current_exe().unwrap())
            .args(["child::serve", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env("CHILD_DIARY", &self.diary)
            .env("CHILD_BEHAVIOUR", self.behaviour.to_string())
    }

    pub(crate) fn client(&self) -> Client {
        Client::spawn(self.command()).unwrap()
    }

    pub(crate) fn builder(&self) -> ClientBuilder {
        ClientBuilder::spawn(self.command())
    }

    /// Returns how many entries have this beginning.
    pub(crate) fn count(&self, beginning: &str) -> usize {
        self.entries(beginning).len()
    }

    /// Returns the rest of each entry that has this beginning.
    pub(crate) fn entries(&self, beginning: &str) -> Vec<String> {
        let diary = std::fs::read_to_string(&self.diary).unwrap_or_default();
        diary.lines().filter_map(|line| line.strip_prefix(beginning)).map(str::to_owned).collect()
    }

    /// Returns the processes of this name, in the order in which they were started.
    pub(crate) fn pids(&self, name: &str) -> Vec<Pid> {
        let numbers = self.entries(&format!("{name} "));
        numbers.iter().map(|it| Pid::from_raw(it.parse().unwrap()).unwrap()).collect()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // The file is in the build's own directory, where it does no harm if it stays.
        let _ = std::fs::remove_file(&self.diary);
    }
}

pub(crate) fn tool(client: &Client, name: &str, arguments: Value) -> Call {
    client.request("tools/call", json!({ "name": name, "arguments": arguments }))
}

pub(crate) fn value(result: Result<Json, Error>) -> Value {
    serde_json::from_slice(result.unwrap().as_bytes()).unwrap()
}

pub(crate) fn call_error(result: Result<Json, Error>) -> CallError {
    result.unwrap_err().call().expect("no answer of the server's").clone()
}

/// Waits until a condition holds.
pub(crate) async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether nothing is left of a child, not even a zombie.
pub(crate) fn is_buried(pid: Pid) -> bool {
    test_kill_process(pid).is_err()
}

/// Whether a process has ended; this process does not reap a grandchild.
pub(crate) fn has_ended(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let is_zombie = stat.is_ok_and(|stat| stat.rsplit(") ").next().unwrap().starts_with('Z'));
    is_zombie || is_buried(pid)
}

/// Returns the events so far that match.
pub(crate) fn seen(
    events: &mut Events,
    is_so: impl Fn(&ridethrough::event::Event) -> bool,
) -> usize {
    let all = std::iter::from_fn(|| events.try_next());
    all.filter(|seen| matches!(seen, Seen::Event { event, .. } if is_so(event))).count()
}
