//! The flags of mcp-remote that have no meaning here: those of its login are refused, because without
//! it the server would be; the others are told and change nothing.

use crate::misuse::Misuse;

/// Flags that are read so that they can be spoken of. None is shown in the help.
#[derive(clap::Args, Default)]
pub(super) struct Foreign {
    #[arg(long, hide = true, num_args = 0..=1)]
    auth_timeout: Option<Option<String>>,
    #[arg(long, hide = true)]
    authorize_param: Vec<String>,
    #[arg(long, hide = true, num_args = 0..=1)]
    callback_path: Option<Option<String>>,
    #[arg(long, hide = true)]
    client_credentials: bool,
    #[arg(long, hide = true, num_args = 0..=1)]
    client_metadata_url: Option<Option<String>>,
    #[arg(long, hide = true)]
    device_code: bool,
    #[arg(long, hide = true)]
    disable_resource_parameter: bool,
    #[arg(long, hide = true, num_args = 0..=1)]
    host: Option<Option<String>>,
    #[arg(long, hide = true, num_args = 0..=1)]
    resource: Option<Option<String>>,
    #[arg(long, hide = true, num_args = 0..=1)]
    static_oauth_client_info: Option<Option<String>>,
    #[arg(long, hide = true, num_args = 0..=1)]
    static_oauth_client_metadata: Option<Option<String>>,
    #[arg(long, hide = true, num_args = 0..=1)]
    token_endpoint: Option<Option<String>>,
    #[arg(long, hide = true)]
    use_id_token: bool,

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
    /// Refuses what belongs to a login.
    pub(super) fn check(&self) -> Result<(), Misuse> {
        let flags = [
            ("auth-timeout", self.auth_timeout.is_some()),
            ("authorize-param", !self.authorize_param.is_empty()),
            ("callback-path", self.callback_path.is_some()),
            ("client-credentials", self.client_credentials),
            ("client-metadata-url", self.client_metadata_url.is_some()),
            ("device-code", self.device_code),
            ("disable-resource-parameter", self.disable_resource_parameter),
            ("host", self.host.is_some()),
            ("resource", self.resource.is_some()),
            ("static-oauth-client-info", self.static_oauth_client_info.is_some()),
            ("static-oauth-client-metadata", self.static_oauth_client_metadata.is_some()),
            ("token-endpoint", self.token_endpoint.is_some()),
            ("use-id-token", self.use_id_token),
        ];
        let Some((name, _)) = flags.iter().find(|(_, is_there)| *is_there) else { return Ok(()) };
        Err(Misuse {
            what: format!("`--{name}` belongs to OAuth, which this bridge cannot do yet"),
            tried: "nothing was sent".to_owned(),
            hint: "show a token of your own with `--bearer-env VAR`, or stay with mcp-remote for this \
                   server"
                .to_owned(),
        })
    }

    /// What each of the others would have been for.
    pub(super) fn notes(&self) -> Vec<String> {
        let flags = [
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
