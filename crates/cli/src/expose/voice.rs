//! Lines for people, on stderr. A thread of its own writes them: a stopped terminal, or a pipe that is not
//! read, must not hold up a session. Lines that do not fit in the queue are dropped and counted.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use ridethrough_bridge::harmless;

/// Writes lines to stderr. Clones share one queue.
#[derive(Clone)]
pub(crate) struct Voice {
    lines: SyncSender<VoiceState>,
    lost: Arc<AtomicUsize>,
}

enum VoiceState {
    Line(String),
    /// The sender waits until everything before this is written.
    Pause(SyncSender<()>),
}

impl Voice {
    /// Starts the thread that writes to stderr.
    pub(crate) fn new() -> io::Result<Self> {
        Self::on(io::stderr())
    }

    fn on(out: impl Write + Send + 'static) -> io::Result<Self> {
        let (lines, told) = sync_channel(MOST_LINES);
        let lost = Arc::<AtomicUsize>::default();
        let counted = lost.clone();
        thread::Builder::new()
            .name("voice".to_owned())
            .spawn(move || write(out, &told, &counted))?;
        Ok(Self { lines, lost })
    }

    /// Queues a line.
    pub(crate) fn tell(&self, line: &str) {
        if self.lines.try_send(VoiceState::Line(harmless(line))).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything is written, but not for long.
    pub(crate) fn finish(&self) {
        let (done, all_told) = sync_channel(1);
        // If the queue is full the reader is stuck, and waiting is of no use.
        if self.lines.try_send(VoiceState::Pause(done)).is_ok() {
            let _ = all_told.recv_timeout(LONGEST);
        }
    }
}

fn write(mut out: impl Write, told: &Receiver<VoiceState>, lost: &AtomicUsize) {
    for said in told {
        let lost = lost.swap(0, Ordering::Relaxed);
        // A closed stderr is not an error.
        let _ = match said {
            VoiceState::Line(line) if lost > 0 => writeln!(out, "({lost} lines were lost)\n{line}"),
            VoiceState::Line(line) => writeln!(out, "{line}"),
            VoiceState::Pause(done) => done.send(()).map_err(io::Error::other),
        };
    }
}

const MOST_LINES: usize = 1000;
const LONGEST: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn lines_are_told_in_order_and_finished_waits_for_them() {
        let heard = Arc::<Mutex<Vec<u8>>>::default();
        let voice = Voice::on(Ear { heard: heard.clone(), stuck: None }).unwrap();

        voice.tell("one \u{1b}[31m");
        voice.tell("two");
        voice.finish();

        let heard = String::from_utf8(heard.lock().unwrap().clone()).unwrap();
        assert_eq!(heard, "one \u{fffd}[31m\ntwo\n");
    }

    #[test]
    fn nobody_waits_for_who_does_not_read_and_what_is_lost_is_counted() {
        let heard = Arc::<Mutex<Vec<u8>>>::default();
        let (open, stuck) = channel();
        let voice = Voice::on(Ear { heard: heard.clone(), stuck: Some(stuck) }).unwrap();

        for number in 0..2 * MOST_LINES {
            voice.tell(&number.to_string());
        }
        drop(open);
        // Once all lines that fitted are written there is room again.
        let told = || heard.lock().unwrap().iter().filter(|byte| **byte == b'\n').count();
        while told() < MOST_LINES {
            thread::yield_now();
        }
        voice.tell("last");
        voice.finish();

        let heard = String::from_utf8(heard.lock().unwrap().clone()).unwrap();
        assert!(heard.contains(" lines were lost)\n") && heard.ends_with("last\n"), "{heard}");
    }

    /// Keeps what is written, once it is not stuck any more.
    struct Ear {
        heard: Arc<Mutex<Vec<u8>>>,
        stuck: Option<Receiver<()>>,
    }

    impl Write for Ear {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            if let Some(stuck) = self.stuck.take() {
                let _ = stuck.recv();
            }
            self.heard.lock().unwrap().extend_from_slice(text);
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
