//! The flags of mcp-remote that have no meaning here: they are reported and change nothing. The flags of a login are in
//! `oauth::OAuthFlags`.

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
