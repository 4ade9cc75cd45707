//! A person at a terminal, who sees what the binary writes to it and types lines.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tokio::process::Child;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::rig::Rig;

/// The binary with a terminal for stdin and stderr; its stdout is separate.
pub(crate) struct Person {
    child: Child,
    terminal: File,
    chunks: mpsc::UnboundedReceiver<Vec<u8>>,
    /// Everything that was shown on the terminal.
    pub(crate) seen: String,
    /// How much of it was waited for.
    looked_at: usize,
}

impl Person {
    pub(crate) fn at(rig: &Rig, words: &[&str]) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let side = OpenOptions::new().read(true).write(true).open(name).unwrap();
        let mut command = rig.command(words);
        command.env("TERM", "dumb").stdout(Stdio::piped());
        command.stdin(Stdio::from(side.try_clone().unwrap())).stderr(Stdio::from(side));
        let child = command.spawn().unwrap();
        let terminal = File::from(terminal);
        let mut reading = terminal.try_clone().unwrap();
        let (seen, chunks) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Linux ends a terminal that no process writes to any more with an error.
            while let Ok(read @ 1..) = reading.read(&mut buffer) {
                let _ = seen.send(buffer[..read].to_vec());
            }
        });
        Self { child, terminal, chunks, seen: String::new(), looked_at: 0 }
    }

    /// Waits until this text is shown, after the text that was waited for before.
    pub(crate) async fn sees(&mut self, text: &str) {
        loop {
            if let Some(place) = self.seen[self.looked_at..].find(text) {
                self.looked_at += place + text.len();
                return;
            }
            let chunk = timeout(Duration::from_secs(40), self.chunks.recv()).await;
            match chunk.unwrap_or_else(|_| panic!("not seen: {text:?} in {:?}", self.seen)) {
                Some(chunk) => self.seen += &String::from_utf8_lossy(&chunk),
                None => panic!("ended before {text:?}: {:?}", self.seen),
            }
        }
    }

    pub(crate) fn types(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).unwrap();
    }

    /// Waits for a prompt, and types a line after it.
    pub(crate) async fn answers(&mut self, prompt: &str, line: &str) {
        self.sees(prompt).await;
        self.types(&format!("{line}\n"));
    }

    /// Does what the terminal that controls the process does on Ctrl-C.
    pub(crate) fn interrupts(&self) {
        let pid = i32::try_from(self.child.id().unwrap()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), Signal::INT).unwrap();
    }

    /// Waits for the end; returns the exit code, stdout, and the text on the terminal.
    pub(crate) async fn leaves(mut self) -> (Option<i32>, String, String) {
        let output = timeout(Duration::from_secs(50), self.child.wait_with_output()).await;
        let output = output.expect("it ends by itself").unwrap();
        while let Some(chunk) = self.chunks.recv().await {
            self.seen += &String::from_utf8_lossy(&chunk);
        }
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), self.seen)
    }
}
