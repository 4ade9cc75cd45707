//! A host that has started its server, and speaks lines.

use std::io::ErrorKind;

use anyhow::Result;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::ChildStdin;
use tokio::sync::mpsc;

use super::{Door, Opening, Program};

/// A host on the pipes of a program.
pub(crate) struct LineHost {
    program: Program,
    /// `None` after the host closed its end, or the program its own.
    input: Option<ChildStdin>,
}

impl LineHost {
    pub(crate) fn open(
        door: Door,
        opening: &Opening<'_>,
        say: mpsc::UnboundedSender<String>,
    ) -> Result<Self> {
        let mut program = Program::start(door, opening)?;
        let (input, output) = program.pipes()?;
        tokio::spawn(async move {
            let mut lines = BufReader::new(output).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if say.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { program, input: Some(input) })
    }

    pub(crate) async fn write(&mut self, line: &[u8], end: &[u8]) -> Result<()> {
        let Some(input) = &mut self.input else { return Ok(()) };
        let written = async {
            input.write_all(line).await?;
            input.write_all(end).await?;
            input.flush().await
        };
        match written.await {
            // A program that reads no more says so by its end.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.input = None;
                Ok(())
            }
            written => Ok(written?),
        }
    }

    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    pub(crate) const fn is_open(&self) -> bool {
        self.input.is_some()
    }

    pub(crate) async fn end(mut self) -> Result<()> {
        self.close();
        self.program.kill().await
    }
}
