//! Recognises what a command line starts: `npx -y mcp-remote URL ...` in all its spellings, our own bridge,
//! another bridge, or any other program.

use secrecy::ExposeSecret;

use crate::hosts::entry::{Local, PlacedText};
use crate::hosts::other::Other;
use crate::login::LoginFlags;

/// The program that a command line starts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ProgramLine {
    /// Another bridge, in front of a local program.
    Another(&'static str),
    /// `ridethrough gateway`.
    Gateway,
    /// `mcp-remote`, with its arguments.
    McpRemote(Request),
    /// `mcp-remote`, started in a way that is not understood here.
    Obscure,
    /// Another bridge to a remote server.
    Other(Other),
    /// `ridethrough bridge`.
    Ours(Request),
    /// Any other program.
    Program,
}

/// The arguments of a bridge. Numbers are indexes into the list of arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The index of the bridge's first own argument; those before it start the bridge.
    pub(crate) own: usize,
    pub(crate) url: Option<usize>,
    /// The port on which `mcp-remote` waits for a browser.
    pub(crate) port: Option<usize>,
    pub(crate) flags: Vec<Flag>,
    /// Arguments that the bridge does not know.
    pub(crate) strays: Vec<usize>,
}

/// One flag of a bridge.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Flag {
    pub(crate) at: usize,
    pub(crate) name: &'static str,
    /// The index of its value, if it has one.
    pub(crate) value: Option<usize>,
    pub(crate) meaning: FlagMeaning,
}

/// What a flag of `mcp-remote` means to our bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlagMeaning {
    /// Our bridge has no equivalent.
    Missing,
    /// Our bridge does so without the flag.
    Needless,
    /// Our bridge has an equal flag, and it belongs to a login.
    OAuth,
    /// Our bridge has an equal flag.
    Same,
}

impl ProgramLine {
    pub(crate) fn read(local: &Local) -> Self {
        let words: Vec<&str> = std::iter::once(&local.command)
            .chain(&local.args)
            .map(|word: &PlacedText| word.text.expose_secret())
            .collect();
        let start = usize::from(program(words[0]) == "cmd" && is_slash_c(words.get(1))) * 2;
        let package = words.get(start..).and_then(launched).map(|skipped| start + skipped);
        let named = package.and_then(|at| words.get(at)).copied().unwrap_or_default();
        match (package, bare_name(named)) {
            // `words` begin with the command, `args` after it.
            (Some(at), "mcp-remote") => Self::McpRemote(Request::read(&local.args, at, &[])),
            (Some(at), "supergateway") => Other::supergateway(&local.args, at)
                .map_or(Self::Another("supergateway"), Self::Other),
            // The npm package of this name has other flags, and no remote servers.
            (Some(at), "mcp-proxy") if !is_npm(&words[start..]) => {
                Other::mcp_proxy(&local.args, at).map_or(Self::Another("mcp-proxy"), Self::Other)
            }
            (_, "mcp-proxy") => Self::Another("mcp-proxy"),
            _ if is_ours(words[0]) && words.get(1) == Some(&"bridge") => {
                Self::Ours(Request::read(&local.args, 1, &OURS))
            }
            _ if is_ours(words[0]) && words.get(1) == Some(&"gateway") => Self::Gateway,
            _ if words.iter().any(|word| word.contains("mcp-remote")) => Self::Obscure,
            _ => Self::Program,
        }
    }
}

impl Request {
    /// Reads the flags of `mcp-remote`, and those in `more`.
    fn read(args: &[PlacedText], own: usize, more: &[KnownFlag]) -> Self {
        let mut request =
            Self { own, url: None, port: None, flags: Vec::new(), strays: Vec::new() };
        let text = |at: usize| args.get(at).map(|word| word.text.expose_secret());
        let mut at = own;
        while let Some(word) = text(at) {
            let known = FLAGS.iter().chain(more).find(|(name, ..)| *name == word).copied();
            let known = known.or_else(|| {
                let (name, takes_value) = LoginFlags::find(word, !more.is_empty())?;
                let takes = if takes_value { Takes::Value } else { Takes::Nothing };
                Some((name, takes, FlagMeaning::OAuth))
            });
            let value = at + 1;
            if let Some((name, Takes::Value, meaning)) = known.filter(|_| value < args.len()) {
                request.flags.push(Flag { at, name, value: Some(value), meaning });
                at = value;
            } else if let Some((name, Takes::Nothing, meaning)) = known {
                request.flags.push(Flag { at, name, value: None, meaning });
            } else if request.url.is_none() && !word.starts_with('-') {
                request.url = Some(at);
            } else if request.port.is_none() && word.parse::<u16>().is_ok() {
                request.port = Some(at);
            } else {
                request.strays.push(at);
            }
            at += 1;
        }
        request
    }
}

/// Whether this word names our own program.
pub fn is_ours(word: &str) -> bool {
    program(word).starts_with("ridethrough")
}

/// Returns how many words come before the package that a line starts.
fn launched(words: &[&str]) -> Option<usize> {
    let second = words.get(1).copied().unwrap_or_default();
    let skipped = match (program(words.first()?).as_str(), second) {
        ("npx" | "bunx" | "pnpx" | "uvx", _) => 1,
        ("npm", "exec" | "x") | ("pnpm" | "yarn", "dlx") | ("bun", "x") | ("pipx", "run") => 2,
        ("uv", "tool") if words.get(2) == Some(&"run") => 3,
        ("mcp-remote" | "mcp-proxy" | "supergateway", _) => return Some(0),
        _ => return None,
    };
    let mut at = skipped;
    while let Some(word) = words.get(at) {
        at += match *word {
            word if HARMLESS.contains(&word) => 1,
            // The package that holds the program.
            "-p" | "--package" | "--from" => 2,
            word if word.starts_with("--package=") || word.starts_with("--from=") => 1,
            _ => break,
        };
    }
    Some(at)
}

/// Whether the words start an npm package.
fn is_npm(words: &[&str]) -> bool {
    let runner = words.first().map(|word| program(word)).unwrap_or_default();
    ["npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "bun"].contains(&runner.as_str())
}

/// Returns the name of a program without its folder and without the extensions of Windows.
fn program(word: &str) -> String {
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let endings = [".cmd", ".exe", ".ps1"];
    let bare = endings.iter().find_map(|ending| name.strip_suffix(ending));
    bare.unwrap_or(&name).to_owned()
}

/// Returns the name of a package without its version, or that of a program without its folder.
fn bare_name(word: &str) -> &str {
    if word.starts_with('@') {
        // A scoped package is another package, whatever its last name is.
        return word;
    }
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.split('@').next().unwrap_or_default();
    name.strip_suffix(".cmd").or(name.strip_suffix(".exe")).unwrap_or(name)
}

fn is_slash_c(word: Option<&&str>) -> bool {
    word.is_some_and(|word| word.eq_ignore_ascii_case("/c"))
}

/// Options of package runners that do not change which program is run.
const HARMLESS: [&str; 7] =
    ["-y", "--yes", "-q", "--quiet", "--prefer-offline", "--prefer-online", "--"];

#[derive(Clone, Copy)]
enum Takes {
    Nothing,
    Value,
}

/// The name of a flag, whether it takes a value, and what it means.
type KnownFlag = (&'static str, Takes, FlagMeaning);

/// Flags that only our own bridge has, beside those of a login.
const OURS: [KnownFlag; 10] = [
    ("--hint", Takes::Value, FlagMeaning::Same),
    ("--max-message", Takes::Value, FlagMeaning::Same),
    ("--no-catalogue", Takes::Nothing, FlagMeaning::Same),
    ("--policy", Takes::Value, FlagMeaning::Same),
    ("--profile", Takes::Value, FlagMeaning::Same),
    ("--repeat", Takes::Value, FlagMeaning::Same),
    ("--repeatable", Takes::Value, FlagMeaning::Same),
    ("--timeout", Takes::Value, FlagMeaning::Same),
    ("--verbose", Takes::Nothing, FlagMeaning::Same),
    ("-v", Takes::Nothing, FlagMeaning::Same),
];

/// The flags of mcp-remote 0.15, and ours, beside those of a login. An unknown flag is a stray argument, and the line is left alone.
const FLAGS: [KnownFlag; 17] = [
    ("--allow-http", Takes::Nothing, FlagMeaning::Same),
    ("--bearer-env", Takes::Value, FlagMeaning::Same),
    ("--body-timeout", Takes::Value, FlagMeaning::Needless),
    ("--connect-timeout", Takes::Value, FlagMeaning::Same),
    ("--debug", Takes::Nothing, FlagMeaning::Same),
    ("--disable-cookies", Takes::Nothing, FlagMeaning::Needless),
    ("--enable-proxy", Takes::Nothing, FlagMeaning::Needless),
    ("--header", Takes::Value, FlagMeaning::Same),
    ("--header-file", Takes::Value, FlagMeaning::Same),
    ("--headers-timeout", Takes::Value, FlagMeaning::Needless),
    ("--ignore-tool", Takes::Value, FlagMeaning::Same),
    ("--ipv4", Takes::Nothing, FlagMeaning::Needless),
    ("--keep-alive", Takes::Nothing, FlagMeaning::Needless),
    ("--ping-interval", Takes::Value, FlagMeaning::Needless),
    ("--protocol", Takes::Value, FlagMeaning::Missing),
    ("--silent", Takes::Nothing, FlagMeaning::Same),
    ("--transport", Takes::Value, FlagMeaning::Same),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_mcp_remote_is_recognised() {
        let lines = [
            ("npx mcp-remote URL", 1),
            ("npx -y mcp-remote@latest URL", 2),
            ("/opt/node/bin/npx --yes --quiet mcp-remote@0.1.16 URL", 3),
            (r"C:\node\npx.cmd -y mcp-remote URL", 2),
            ("cmd /c npx -y mcp-remote URL", 4),
            ("CMD.EXE /C npx mcp-remote URL", 3),
            ("bunx mcp-remote URL", 1),
            ("bun x mcp-remote URL", 2),
            ("pnpm dlx mcp-remote URL", 2),
            ("npm exec -- mcp-remote URL", 3),
            ("/usr/local/bin/mcp-remote URL", 0),
            ("npx -p mcp-remote mcp-remote URL", 3),
            ("npx -y -p mcp-remote@latest mcp-remote URL", 4),
            ("npx --package=mcp-remote -- mcp-remote URL", 3),
        ];
        for (line, own) in lines {
            let ProgramLine::McpRemote(request) = read(line) else { panic!("{line}") };

            assert_eq!((request.own, request.url), (own, Some(own)), "{line}");
        }
    }

    #[test]
    fn flags_that_only_our_bridge_has_are_known_for_our_bridge_only() {
        let ProgramLine::Ours(ours) = read("ridethrough bridge --timeout 5 --policy never -v URL")
        else {
            panic!("it is ours")
        };
        let ProgramLine::McpRemote(theirs) = read("npx mcp-remote URL --timeout 5") else {
            panic!("it is theirs")
        };

        assert_eq!((ours.url, ours.strays.len()), (Some(6), 0));
        assert_eq!(theirs.strays, [2]);
    }

    #[test]
    fn what_is_not_taken_apart_is_not_guessed_at() {
        let cases = [
            ("npx -p mcp-remote@latest mcp-remote-client URL", ProgramLine::Obscure),
            ("node /lib/mcp-remote/dist/proxy.js URL", ProgramLine::Obscure),
            ("npx @fork/mcp-remote URL", ProgramLine::Obscure),
            ("npx -y supergateway --stdio uvx --port 8000", ProgramLine::Another("supergateway")),
            ("uvx mcp-proxy --port 8000 uvx mcp-server-git", ProgramLine::Another("mcp-proxy")),
            ("npx mcp-proxy https://a.example/", ProgramLine::Another("mcp-proxy")),
            ("npx -y @modelcontextprotocol/server-everything", ProgramLine::Program),
            ("npx", ProgramLine::Program),
            ("ridethrough call URL", ProgramLine::Program),
            ("/opt/ridethrough gateway --stdio", ProgramLine::Gateway),
        ];
        for (line, expected) in cases {
            assert_eq!(read(line), expected, "{line}");
        }
    }

    #[test]
    fn other_bridges_are_read_however_they_are_started() {
        for (line, name) in [
            ("npx -y supergateway --streamableHttp https://a.example/mcp", "supergateway"),
            ("npx -y supergateway --sse https://a.example/sse", "supergateway"),
            ("uvx mcp-proxy https://a.example/sse", "mcp-proxy"),
            ("uv tool run mcp-proxy https://a.example/sse", "mcp-proxy"),
            ("uvx --from mcp-proxy mcp-proxy https://a.example/sse", "mcp-proxy"),
            ("/usr/bin/mcp-proxy --debug https://a.example/sse", "mcp-proxy"),
        ] {
            let ProgramLine::Other(other) = read(line) else { panic!("{line}: {:?}", read(line)) };

            assert_eq!((other.name, other.strays), (name, 0), "{line}");
        }
    }

    #[test]
    fn flags_ports_and_strays_are_told_apart() {
        let line = "npx mcp-remote URL 9696 --header A:b --debug --host h --new-flag x --header";

        let ProgramLine::McpRemote(request) = read(line) else { panic!("{line}") };

        assert_eq!((request.url, request.port), (Some(1), Some(2)));
        let flags: Vec<_> = request.flags.iter().map(|it| (it.name, it.value)).collect();
        assert_eq!(flags, [("--header", Some(4)), ("--debug", None), ("--host", Some(7))]);
        assert_eq!(request.strays, [8, 9, 10]);
    }

    #[test]
    fn our_own_bridge_is_known_by_any_path() {
        for line in
            ["ridethrough bridge URL --header A:b", "/opt/bin/ridethrough bridge URL --header A:b"]
        {
            let ProgramLine::Ours(request) = read(line) else { panic!("{line}") };

            assert_eq!((request.url, request.flags.len()), (Some(1), 1));
        }
    }

    fn read(line: &str) -> ProgramLine {
        let word = |text: &str| PlacedText { text: text.into(), span: 0..0 };
        let mut words = line.split(' ').map(word);
        let command = words.next().unwrap();
        ProgramLine::read(&Local { command, args: words.collect(), args_span: None, cwd: None })
    }
}
