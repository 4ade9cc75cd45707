//! How to start a local server: program, arguments, environment, directory.
//!
//! It is a type of its own, because a server is started again after it died, and because arguments and
//! environment often hold secrets: nothing here prints either.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;

/// The command that starts a local server, and starts it again after it died.
///
/// ```
/// use ridethrough_transport::Command;
///
/// let server = Command::new("npx")
///     .arg("-y")
///     .arg("@modelcontextprotocol/server-everything")
///     .env("LOG_LEVEL", "debug");
/// assert_eq!(format!("{server:?}"), "Command { program: \"npx\", .. }");
/// ```
#[derive(Clone)]
#[must_use]
pub struct Command {
    program: OsString,
    arguments: Vec<OsString>,
    /// The variables in the order given; `None` removes one.
    environment: Vec<(OsString, Option<OsString>)>,
    is_environment_empty: bool,
    directory: Option<PathBuf>,
    stderr: Stderr,
    /// Where stderr goes instead.
    stderr_file: Option<Arc<File>>,
    on_stray_line: Option<OnStrayLine>,
}

/// The hook for lines that a server prints besides messages.
pub(crate) type OnStrayLine = Arc<dyn Fn(&str) + Send + Sync>;

/// What happens to the stderr of a local server.
///
/// Quoted lines also go to `tracing`, at level debug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stderr {
    /// It goes to the client's own stderr, and no error quotes it.
    Inherited,
    /// The last 20 lines, 4 KiB at most, are part of the error when the server dies, to show why it did.
    #[default]
    Quoted,
    /// It is discarded, and no error quotes it: for servers that write secrets there.
    Withheld,
}

impl Command {
    /// Creates a command for this program: a path, or a name to be looked up in `PATH`.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            is_environment_empty: false,
            directory: None,
            stderr: Stderr::default(),
            stderr_file: None,
            on_stray_line: None,
        }
    }

    /// Adds an argument. No shell reads it.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|each| each.as_ref().to_owned()));
        self
    }

    /// Sets a variable of the server's environment, which is otherwise the client's.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let value = Some(value.as_ref().to_owned());
        self.environment.push((name.as_ref().to_owned(), value));
        self
    }

    /// Removes a variable from the server's environment.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), None));
        self
    }

    /// Passes nothing of the client's environment on, only the variables set here, before or after this.
    pub const fn env_clear(mut self) -> Self {
        self.is_environment_empty = true;
        self
    }

    /// Sets the server's working directory.
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Sets what happens to the server's stderr; by default, errors quote it.
    pub fn stderr(mut self, stderr: Stderr) -> Self {
        self.stderr = stderr;
        self.stderr_file = None;
        self
    }

    /// Writes the server's stderr to this file, each time that the server is started. No error quotes it.
    pub fn stderr_to(mut self, file: File) -> Self {
        self.stderr = Stderr::Withheld;
        self.stderr_file = Some(Arc::new(file));
        self
    }

    /// Calls `tell` with the first line on the server's stdout that is no message, once for each start. A
    /// server that prints a greeting there often speaks no MCP on its pipes at all, and never answers. At
    /// most 200 bytes of the line are passed, without control characters. `tell` must not block.
    pub fn on_stray_line(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_stray_line = Some(Arc::new(tell));
        self
    }

    /// Returns the hook for such a line.
    pub(crate) fn stray_line_hook(&self) -> Option<OnStrayLine> {
        self.on_stray_line.clone()
    }

    /// Returns the program's name fit to be shown: without the directories before it.
    pub fn shown(&self) -> String {
        let name = Path::new(&self.program).file_name().unwrap_or(&self.program);
        name.to_string_lossy().into_owned()
    }

    /// Whether the program is looked up in `PATH`, so that "not found" can only mean the program. With a
    /// working directory set, it could also mean the directory.
    pub(crate) fn is_looked_up(&self) -> bool {
        Path::new(&self.program).components().count() == 1 && self.directory.is_none()
    }

    /// Whether no program is named.
    pub fn is_empty(&self) -> bool {
        self.program.is_empty()
    }

    /// Returns the command of the standard library, with pipes.
    pub(crate) fn to_std(&self) -> process::Command {
        let mut command = process::Command::new(&self.program);
        command
            .args(&self.arguments)
            .stdin(process::Stdio::piped())
            .stdout(process::Stdio::piped());
        let file = self.stderr_file.as_ref().and_then(|file| file.try_clone().ok());
        command.stderr(match self.stderr {
            Stderr::Inherited => process::Stdio::inherit(),
            Stderr::Quoted => process::Stdio::piped(),
            Stderr::Withheld => file.map_or_else(process::Stdio::null, Into::into),
        });
        if self.is_environment_empty {
            command.env_clear();
        }
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }
}

impl fmt::Debug for Command {
    /// Arguments and environment may be secrets, so neither is printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command").field("program", &self.shown()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_arguments_and_environment_is_printed() {
        let command =
            Command::new("/opt/acme/server").arg("--key=s3cret").env("TOKEN", "s3cret").env_clear();

        assert_eq!(format!("{command:?}"), "Command { program: \"server\", .. }");
    }

    #[test]
    fn an_environment_of_its_own_keeps_what_was_set_before() {
        let command = Command::new("x").env("KEPT", "1").env("GONE", "1").env_remove("GONE");

        let told = command.env_clear().to_std();

        let variables: Vec<_> = told.get_envs().collect();
        assert_eq!(variables, [(OsStr::new("KEPT"), Some(OsStr::new("1")))]);
    }
}
