//! The settings of all commands that talk to a server: from flags, from the environment, from files.
//!
//! A flag wins over the environment, which wins over an approved `ridethrough.toml` in the working directory,
//! which wins over the one in the user's configuration. Lists add up; of two headers of one name the one from
//! the stronger source wins. Values are never shown: they may be secrets.

mod account;
mod certificates;
mod settings;

use std::path::{Path, PathBuf};
use std::time::Duration;

use ridethrough_config::folders::{FILE, users_file};
use ridethrough_config::settings::project::ProjectFate;
use ridethrough_config::settings::{
    ERAS, EraChoice, Layer, Origin, POLICIES, Policy, environment, own_file, project,
};
use ridethrough_config::values::{self, SaidHint, is_variable, seconds};

use crate::choices::one_of;
use crate::misuse::Misuse;
use crate::safe;
pub(crate) use settings::{Settings, finish};

/// The flags that all commands share.
#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// A header for every request; `${VAR}` is replaced from the environment, which keeps secrets out
    /// of the process list
    #[arg(long = "header", value_name = "NAME: VALUE", help_heading = HEADING)]
    headers: Vec<String>,
    /// Show the token that this environment variable holds
    #[arg(long, value_name = "VAR", help_heading = HEADING)]
    bearer_env: Option<String>,
    /// The account to use, if you have several at this server: the name that `login --profile` was given
    #[arg(long, value_name = "NAME", help_heading = HEADING, hide_short_help = true)]
    profile: Option<String>,
    /// The time for the whole command, waits and repeats included [default: 600 for a tool, 60 for
    /// everything else]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = HEADING)]
    timeout: Option<Duration>,
    /// How hard to try [default: interactive]
    #[arg(long, value_parser = one_of(&POLICIES), help_heading = HEADING, hide_short_help = true)]
    policy: Option<Policy>,
    /// Which era of the protocol to speak [default: auto for a URL, legacy for a program]
    #[arg(long, value_parser = one_of(&ERAS), help_heading = HEADING, hide_short_help = true)]
    era: Option<EraChoice>,
    /// A tool that does no harm if it runs twice (`*` stands for any letters): a call in doubt is sent
    /// again
    #[arg(long, visible_alias = "repeat", value_name = "TOOL", help_heading = HEADING, hide_short_help = true)]
    repeatable: Vec<String>,
    /// Whether a tool only reads, where it does not say so or is wrong: a call in doubt of `get_*=read`
    /// is sent again, of `drop=write` never
    #[arg(long = "hint", value_name = "TOOL=read|write", value_parser = values::hint, help_heading = HEADING, hide_short_help = true)]
    hints: Vec<SaidHint>,
    /// The largest message that is read, such as `64MiB` or `20000000` [default: 16MiB]
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = HEADING, hide_short_help = true)]
    max_message: Option<usize>,
    /// Trust the certificates in this file (PEM) besides those of the system
    #[arg(long, value_name = "FILE", help_heading = HEADING, hide_short_help = true)]
    cacert: Option<PathBuf>,
    /// Do not check the server's certificate, if it is on this machine; another host must be named:
    /// `--insecure=HOST`. An attacker on the network can then read and change everything, tokens too
    #[arg(long, value_name = "HOST", num_args = 0..=1, require_equals = true,
          default_missing_value = "", help_heading = HEADING, hide_short_help = true)]
    insecure: Option<String>,
    /// Allow tokens and headers to go over plain `http://` to another machine
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    pub(crate) allow_http: bool,
    /// Tell faults and what is done about them; -vv tells everything, -vvv the settings too
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = HEADING)]
    verbose: u8,
}

impl Options {
    /// Returns the settings from flags, environment and files together.
    pub(crate) fn settings(&self) -> Result<Settings, Misuse> {
        let (project, note) = match project::say()? {
            ProjectFate::Approved(layer) => (layer, None),
            ProjectFate::Ignored(why) => (
                Layer::default(),
                Some(format!("nothing from {} here, which is not approved: {why}", FILE)),
            ),
            ProjectFate::Nothing => (Layer::default(), None),
        };
        let here = format!("{} here, which is approved", FILE);
        let mut settings = self.gathered(Layer::default(), Some((&here, project)))?;
        settings.unread = note;
        Ok(settings)
    }

    /// Returns the settings of a bridge, with headers from a file that a flag named, which win over the
    /// environment. Hosts start a bridge in any folder, so a file in the working directory is not read.
    pub(crate) fn bridge_settings(&self, headers: Vec<String>) -> Result<Settings, Misuse> {
        let mut settings = self.gathered(Layer { headers, ..Layer::default() }, None)?;
        let is_there = Path::new(FILE).exists();
        let note = format!("nothing from {} here: a bridge does not read it", FILE);
        settings.unread = is_there.then_some(note);
        Ok(settings)
    }

    fn gathered(
        &self,
        header_file: Layer,
        project: Option<(&str, Layer)>,
    ) -> Result<Settings, Misuse> {
        let mut places = vec![
            ("flags".to_owned(), self.layer()),
            ("`--header-file`".to_owned(), header_file),
            ("the environment".to_owned(), environment::read(std::env::vars_os())?),
        ];
        places.extend(project.map(|(from, layer)| (from.to_owned(), layer)));
        if let Some(path) = users_file() {
            places.push((path.to_string_lossy().into_owned(), own_file::read(&path)?));
        }
        let mut sources: Vec<_> =
            places.iter().filter_map(|(from, layer)| Origin::of(from, layer)).collect();
        // The person who typed `-v` needs no report of it.
        if self.verbose > 0
            && let Some(flags) = sources.first_mut()
        {
            flags.settings.retain(|it| it != "verbose");
        }
        sources.retain(|it| !it.settings.is_empty());
        let layers = places.into_iter().map(|(_, layer)| layer);
        let said = layers.reduce(Layer::over).unwrap_or_default();
        let mut settings = Settings::check(said, |name| std::env::var(name).ok())?;
        (settings.sources, settings.allows_http) = (sources, self.allow_http);
        settings.leave_unchecked(self.insecure.as_deref());
        Ok(settings)
    }

    /// Returns the flags that another command needs to reach this server, as they can be typed again. A value
    /// that may be a secret is `...`.
    pub(crate) fn typed(&self) -> String {
        let mut words = Vec::new();
        for text in &self.headers {
            // A value that consists of a variable alone is not secret.
            let (name, value) = text.split_once(':').unwrap_or((text, ""));
            let value = value.trim();
            let variable = value.strip_prefix("${").and_then(|it| it.strip_suffix('}'));
            let is_shown = variable.is_some_and(is_variable);
            let value = if is_shown { value } else { "..." };
            words.extend(["--header".to_owned(), safe::quoted(&format!("{name}: {value}"))]);
        }
        for (name, value) in [
            ("--bearer-env", self.bearer_env.clone()),
            ("--profile", self.profile.clone()),
            ("--era", self.era.map(|era| values::word(&ERAS, era).to_owned())),
            ("--cacert", self.cacert.as_ref().map(|it| it.to_string_lossy().into_owned())),
        ] {
            words.extend(value.iter().flat_map(|it| [name.to_owned(), safe::quoted(it)]));
        }
        match self.insecure.as_deref() {
            Some("") => words.push("--insecure".to_owned()),
            Some(host) => words.push(format!("--insecure={}", safe::quoted(host))),
            None => {}
        }
        if self.allow_http {
            words.push("--allow-http".to_owned());
        }
        words.join(" ")
    }

    fn layer(&self) -> Layer {
        Layer {
            headers: self.headers.clone(),
            bearer_env: self.bearer_env.clone(),
            profile: self.profile.clone(),
            timeout: self.timeout,
            policy: self.policy,
            era: self.era,
            repeatable: self.repeatable.clone(),
            hints: self.hints.clone(),
            max_message: self.max_message,
            cacert: self.cacert.clone(),
            verbose: (self.verbose > 0).then_some(self.verbose),
        }
    }
}

/// The heading of these flags in the help of every command.
const HEADING: &str = "Connection";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_of_a_hint_can_be_pasted_and_hold_no_secret() {
        let options = Options {
            headers: vec!["X-Key: ${KEY}".into(), "X-Other: s3cret".into()],
            bearer_env: Some("TOKEN".into()),
            era: Some(EraChoice::Legacy),
            insecure: Some(String::new()),
            ..Options::default()
        };

        assert_eq!(
            options.typed(),
            "--header 'X-Key: ${KEY}' --header 'X-Other: ...' --bearer-env TOKEN --era legacy --insecure"
        );
    }

    /// Checks a promise of `--help` and docs/reference/errors.md about a server that takes the connection and never
    /// answers.
    #[tokio::test(start_paused = true)]
    async fn a_silent_server_is_waited_for_no_longer_than_half_a_minute() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", silent.local_addr().unwrap());
        for era in [EraChoice::Auto, EraChoice::Legacy] {
            let builder = ridethrough::Client::builder(&url).eras(era.eras());
            let client = builder.retry_policy(Policy::Interactive.recovery()).build().unwrap();
            let began = tokio::time::Instant::now();

            let ended = client.tools().await;

            assert!(ended.is_err());
            assert!(began.elapsed() <= Duration::from_secs(31), "{era:?}: {:?}", began.elapsed());
        }
    }
}
