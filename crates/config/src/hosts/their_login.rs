//! Whether `mcp-remote` is logged in: then no new login is needed.

use std::env;
use std::path::{Path, PathBuf};

use ridethrough_oauth_core::mcp_remote::RemoteArguments;
use secrecy::ExposeSecret;

use crate::hosts::entry::Local;
use crate::hosts::line::Request;
use crate::login::TheirArguments;

/// Whether the store of `mcp-remote` has tokens for these arguments. The tokens are not read.
pub(crate) fn is_stored(local: &Local, request: &Request) -> bool {
    let named = env::var_os("MCP_REMOTE_CONFIG_DIR").filter(|it| !it.is_empty());
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".mcp-auth"));
    let folder = named.map(PathBuf::from).or_else(home);
    let file = arguments(local, request).map(|it| it.0.tokens_file());
    folder.zip(file).is_some_and(|(folder, file)| folder.join("mcp-remote-v1").join(file).is_file())
}

/// Returns the arguments on which the names of its files depend, before variables are filled in.
pub(crate) fn arguments(local: &Local, request: &Request) -> Option<TheirArguments> {
    let text = |at: usize| local.args[at].text.expose_secret();
    let values = |name: &'static str| {
        let flags = request.flags.iter().filter(move |flag| flag.name == name);
        flags.filter_map(|flag| flag.value).map(text)
    };
    let pairs = |name: &'static str, mark: char| {
        let pairs = values(name).filter_map(move |it| it.split_once(mark));
        pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
    };
    let last = |name: &'static str| values(name).next_back().map(str::to_owned);
    Some(TheirArguments(RemoteArguments {
        url: text(request.url?).to_owned(),
        resource: last("--resource").filter(|it| !it.is_empty()),
        authorize_parameters: pairs("--authorize-param", '='),
        headers: pairs("--header", ':'),
        client_metadata_url: last("--client-metadata-url"),
        token_endpoint: last("--token-endpoint"),
    }))
}
