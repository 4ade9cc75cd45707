//! Flags of mcp-remote: the file of headers, and those that have no meaning here, which are reported and change nothing.
//! The flags of a login are in `oauth::OAuthFlags`.

use std::path::Path;

use crate::misuse::Misuse;

/// Flags that are read so that they can be reported. None is shown in the help.
#[derive(clap::Args, Default)]
pub(super) struct Foreign {
    #[arg(long, hide = true, num_args = 0..=1)]
    auth_success_url: Option<Option<String>>,
    #[arg(long, hide = true, num_args = 0..=1)]
    body_timeout: Option<Option<String>>,
    #[arg(long, hide = true)]
    disable_cookies: bool,
    #[arg(long, hide = true)]
    enable_proxy: bool,
    #[arg(long, hide = true, num_args = 0..=1)]
    headers_timeout: Option<Option<String>>,
    #[arg(long, hide = true)]
    ipv4: bool,
    #[arg(long, hide = true)]
    keep_alive: bool,
    #[arg(long, hide = true, num_args = 0..=1)]
    ping_interval: Option<Option<String>>,
    #[arg(long, hide = true, num_args = 0..=1)]
    protocol: Option<Option<String>>,
}

impl Foreign {
    /// Returns a note on what each flag would have been for.
    pub(super) fn notes(&self) -> Vec<String> {
        let flags = [
            (
                "auth-success-url",
                self.auth_success_url.is_some(),
                "the page at the end of a login is a text that says so",
            ),
            ("body-timeout", self.body_timeout.is_some(), "a silent stream is looked after anyway"),
            ("disable-cookies", self.disable_cookies, "cookies are kept for one session at most"),
            ("enable-proxy", self.enable_proxy, "the environment's proxy is used anyway"),
            ("headers-timeout", self.headers_timeout.is_some(), "every call has a deadline anyway"),
            ("ipv4", self.ipv4, "addresses of both kinds are tried side by side"),
            ("keep-alive", self.keep_alive, "the connection is looked after anyway"),
            (
                "ping-interval",
                self.ping_interval.is_some(),
                "the connection is looked after anyway",
            ),
            ("protocol", self.protocol.is_some(), "revisions up to 2025-11-25 are spoken"),
        ];
        let there = flags.iter().filter(|(_, is_there, _)| *is_there);
        there.map(|(name, _, why)| format!("`--{name}` changes nothing: {why}")).collect()
    }
}

/// Returns the lines of a file that are headers; `#` begins a comment.
pub(super) fn read_headers(path: &Path) -> Result<Vec<String>, Misuse> {
    let text = std::fs::read_to_string(path).map_err(|error| Misuse {
        what: format!("the header file `{}` cannot be read: {error}", path.display()),
        tried: "it was opened; nothing was sent".to_owned(),
        hint: "name a file with a header on each line, `X-Key: ${VAR}` for example".to_owned(),
    })?;
    Ok(lines(&text))
}

fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    lines.filter(|it| !it.is_empty() && !it.starts_with('#')).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_empty_lines_are_no_headers() {
        assert_eq!(lines("# mine\n\n X-A: 1#2 \r\nX-B: 2"), ["X-A: 1#2", "X-B: 2"]);
    }

    #[test]
    fn a_file_that_is_not_there_is_told_by_its_name() {
        let refused = read_headers(Path::new("no/such/file")).unwrap_err().to_string();

        assert!(refused.contains("`no/such/file` cannot be read"), "{refused}");
    }
}
