//! Other bridges to a remote server: reads their arguments, so that ours can take their place.
//!
//! `supergateway --streamableHttp URL` and `mcp-proxy URL`, of Python. Both can also serve a local program,
//! which is not handled here. A flag that is not known here leaves the line alone.

use ridethrough::transport::Endpoint;
use secrecy::ExposeSecret;

use crate::hosts::entry::{Entry, PlacedText};

/// The arguments of another bridge. Numbers are indexes into the list of arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Other {
    pub(crate) name: &'static str,
    pub(crate) url: usize,
    pub(crate) headers: Vec<Header>,
    /// Flags that our bridge does not need.
    pub(crate) dropped: Vec<&'static str>,
    /// Flags for which our bridge has no equivalent.
    pub(crate) refused: Vec<&'static str>,
    /// How many arguments the bridge does not know.
    pub(crate) strays: usize,
}

/// A header in the arguments of another bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// A name and a value, as two arguments.
    Apart(usize, usize),
    /// A token, without its `Bearer`.
    Bearer(usize),
    /// `NAME: VALUE`, as one argument.
    Whole(usize),
}

impl Other {
    /// Reads the arguments of `supergateway` from `own` on; `None` if it serves a local program.
    pub(crate) fn supergateway(args: &[PlacedText], own: usize) -> Option<Self> {
        Self::read("supergateway", args, own, &SUPERGATEWAY)
    }

    /// Reads the arguments of `mcp-proxy` from `own` on; `None` if it serves a local program.
    pub(crate) fn mcp_proxy(args: &[PlacedText], own: usize) -> Option<Self> {
        Self::read("mcp-proxy", args, own, &MCP_PROXY)
    }

    /// Returns a header as `NAME: VALUE`, for our bridge.
    pub(crate) fn header(args: &[PlacedText], header: Header) -> String {
        let text = |at: usize| args[at].text.expose_secret();
        match header {
            Header::Apart(name, value) => format!("{}: {}", text(name), text(value)),
            Header::Bearer(token) => format!("Authorization: Bearer {}", text(token)),
            Header::Whole(header) => text(header).to_owned(),
        }
    }

    /// Returns the variable that holds the token of an `mcp-proxy`, if its entry sets it.
    pub(crate) fn token_of(&self, entry: &Entry) -> Option<&'static str> {
        let is_set = entry.env.iter().any(|(name, _)| name == TOKEN);
        (self.name == "mcp-proxy" && is_set).then_some(TOKEN)
    }

    fn read(
        name: &'static str,
        args: &[PlacedText],
        own: usize,
        known: &[KnownOtherFlag],
    ) -> Option<Self> {
        let mut url = None;
        let mut other = Self {
            name,
            url: 0,
            headers: Vec::new(),
            dropped: Vec::new(),
            refused: Vec::new(),
            strays: 0,
        };
        let mut at = own;
        while let Some(word) = args.get(at).map(|it| it.text.expose_secret()) {
            let flag = known.iter().find(|(name, ..)| *name == word);
            let Some(&(name, values, meaning)) = flag.filter(|it| at + it.1 < args.len()) else {
                if is_url(word) && url.is_none() && name == "mcp-proxy" {
                    url = Some(at)
                } else {
                    other.strays += 1
                }
                at += 1;
                continue;
            };
            match meaning {
                OtherFlagMeaning::Bearer => other.headers.push(Header::Bearer(at + 1)),
                OtherFlagMeaning::Header if values == 2 => {
                    other.headers.push(Header::Apart(at + 1, at + 2))
                }
                OtherFlagMeaning::Header => other.headers.push(Header::Whole(at + 1)),
                OtherFlagMeaning::Needless => other.dropped.push(name),
                OtherFlagMeaning::Refused => other.refused.push(name),
                OtherFlagMeaning::Url => url = Some(at + 1),
            }
            at += 1 + values;
        }
        url.map(|url| Self { url, ..other })
    }
}

fn is_url(word: &str) -> bool {
    Endpoint::parse(word).is_ok() || (word.contains("://") && word.contains("${"))
}

#[derive(Clone, Copy)]
enum OtherFlagMeaning {
    Bearer,
    Header,
    Needless,
    Refused,
    Url,
}

/// The variable in which `mcp-proxy` looks for a token.
const TOKEN: &str = "API_ACCESS_TOKEN";

/// The name of a flag, how many values follow it, and what it means.
type KnownOtherFlag = (&'static str, usize, OtherFlagMeaning);

/// Flags of supergateway 4 that belong to a remote server.
const SUPERGATEWAY: [KnownOtherFlag; 8] = [
    ("--header", 1, OtherFlagMeaning::Header),
    ("--logLevel", 1, OtherFlagMeaning::Needless),
    ("--oauth2Bearer", 1, OtherFlagMeaning::Bearer),
    ("--outputTransport", 1, OtherFlagMeaning::Needless),
    ("--protocolVersion", 1, OtherFlagMeaning::Needless),
    ("--sse", 1, OtherFlagMeaning::Url),
    ("--stdio", 1, OtherFlagMeaning::Refused),
    ("--streamableHttp", 1, OtherFlagMeaning::Url),
];

/// Flags of mcp-proxy 0.13 that belong to a remote server.
const MCP_PROXY: [KnownOtherFlag; 11] = [
    ("--client-id", 1, OtherFlagMeaning::Refused),
    ("--client-secret", 1, OtherFlagMeaning::Refused),
    ("--debug", 0, OtherFlagMeaning::Needless),
    ("--headers", 2, OtherFlagMeaning::Header),
    ("--log-level", 1, OtherFlagMeaning::Needless),
    ("--no-debug", 0, OtherFlagMeaning::Needless),
    ("--no-verify-ssl", 0, OtherFlagMeaning::Refused),
    ("--token-url", 1, OtherFlagMeaning::Refused),
    ("--transport", 1, OtherFlagMeaning::Needless),
    ("--verify-ssl", 1, OtherFlagMeaning::Refused),
    ("-H", 2, OtherFlagMeaning::Header),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supergateway_is_read_with_its_headers_and_token() {
        let line = "-y supergateway --streamableHttp https://a.example/mcp --header X-A:b \
                    --oauth2Bearer t0k --logLevel none";
        let args = words(line);

        let other = Other::supergateway(&args, 2).unwrap();

        assert_eq!((other.url, other.strays, &*other.dropped), (3, 0, &["--logLevel"][..]));
        let headers: Vec<_> = other.headers.iter().map(|it| Other::header(&args, *it)).collect();
        assert_eq!(headers, ["X-A:b", "Authorization: Bearer t0k"]);
    }

    #[test]
    fn mcp_proxy_is_read_with_headers_in_two_words() {
        let args = words("--headers X-A b -H X-C d --transport streamablehttp https://a.example/");

        let other = Other::mcp_proxy(&args, 0).unwrap();

        assert_eq!((other.url, other.strays), (8, 0));
        let headers: Vec<_> = other.headers.iter().map(|it| Other::header(&args, *it)).collect();
        assert_eq!(headers, ["X-A: b", "X-C: d"]);
    }

    #[test]
    fn what_serves_a_local_program_or_is_not_known_is_told_apart() {
        assert_eq!(Other::supergateway(&words("--port 8000"), 0), None);
        assert_eq!(Other::mcp_proxy(&words("--port 8000 uvx mcp-server-git"), 0), None);
        let odd = Other::mcp_proxy(&words("https://a.example/ --new-flag x"), 0).unwrap();
        assert_eq!(odd.strays, 2);
        let unsafe_one = Other::mcp_proxy(&words("--no-verify-ssl https://a.example/"), 0).unwrap();
        assert_eq!(unsafe_one.refused, ["--no-verify-ssl"]);
    }

    fn words(line: &str) -> Vec<PlacedText> {
        let word = |text: &str| PlacedText { text: text.into(), span: 0..0 };
        line.split_whitespace().map(word).collect()
    }
}
