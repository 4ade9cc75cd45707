//! The last good description and lists of an upstream, on disk, for a program that starts while the upstream is
//! down.
//!
//! There is one file for each URL and set of credentials, readable by its owner only. The URL and the
//! credentials are in its name only, as a digest.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use ridethrough_wire::message::{Json, ListKind as Kind};
use serde::{Deserialize, Serialize};

use crate::disk::{self, Unfit};

/// A file with the last good description of one upstream.
#[derive(Debug)]
pub struct Catalogue {
    path: PathBuf,
    kept: KeptLists,
    /// Why the file that was found is not used.
    fault: Option<Unfit>,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct KeptLists {
    /// The result of `initialize`.
    initialize: Option<Json>,
    /// Whole lists, by the method that asks for them.
    lists: BTreeMap<String, Json>,
}

impl Catalogue {
    /// Reads the catalogue in this folder for this URL and these credentials.
    ///
    /// A file that the program cannot have written is ignored, and [`fault`](Self::fault) says why.
    ///
    /// `credentials` is everything that may make the server answer differently: names and values of headers,
    /// tokens.
    pub fn open(folder: &Path, url: &str, credentials: &[(&str, &str)]) -> Self {
        let path = folder.join(format!("{}.json", disk::name(url, credentials)));
        match disk::read(&path, MOST_BYTES).and_then(KeptLists::read) {
            Ok(kept) => Self { path, kept, fault: None },
            Err(fault) => Self { path, kept: KeptLists::default(), fault: Some(fault) },
        }
    }

    /// Returns why the file that was found is ignored, if it is. It is written anew when the server is
    /// reached.
    pub const fn fault(&self) -> Option<&Unfit> {
        self.fault.as_ref()
    }

    pub(crate) const fn initialize(&self) -> Option<&Json> {
        self.kept.initialize.as_ref()
    }

    pub(crate) fn list(&self, kind: Kind) -> Option<&Json> {
        self.kept.lists.get(kind.method())
    }

    /// Keeps a result of `initialize`, without `_meta`, which belongs to one answer.
    pub(crate) fn keep_initialize(&mut self, result: &Json) -> io::Result<()> {
        let lasting = result.members().into_iter().filter(|(name, _)| name != "_meta");
        let lasting = Json::empty_object().with_members(lasting);
        // A result that would be ignored at the next start is not kept.
        if !is_greeting(&lasting) || self.kept.initialize.as_ref() == Some(&lasting) {
            return Ok(());
        }
        self.kept.initialize = Some(lasting);
        self.write()
    }

    /// Keeps a whole list.
    pub(crate) fn keep_list(&mut self, kind: Kind, result: &Json) -> io::Result<()> {
        let method = kind.method();
        if !is_list(method, result) || self.kept.lists.get(method) == Some(result) {
            return Ok(());
        }
        self.kept.lists.insert(method.to_owned(), result.clone());
        self.write()
    }

    fn write(&self) -> io::Result<()> {
        disk::write(&self.path, &serde_json::to_vec(&self.kept)?)
    }
}

impl KeptLists {
    fn read(text: Option<Vec<u8>>) -> Result<Self, Unfit> {
        let Some(text) = text else { return Ok(Self::default()) };
        let kept: Option<Self> = serde_json::from_slice(&text).ok();
        kept.filter(Self::is_fit).ok_or_else(|| Unfit::because("it is not what was kept there"))
    }

    fn is_fit(&self) -> bool {
        self.initialize.as_ref().is_none_or(is_greeting)
            && self.lists.iter().all(|(method, result)| is_list(method, result))
    }
}

fn is_greeting(result: &Json) -> bool {
    let is_well = |name| result.member(name).is_none_or(|it| is_object(&it));
    is_object(result) && is_well("capabilities") && is_well("serverInfo")
}

fn is_list(method: &str, result: &Json) -> bool {
    let kind = Kind::ALL.into_iter().find(|kind| kind.method() == method);
    let elements = kind.and_then(|kind| result.member(kind.key())?.elements());
    elements.is_some_and(|elements| elements.iter().all(is_object))
}

fn is_object(json: &Json) -> bool {
    json.as_str().starts_with('{')
}

/// The most bytes of a file that is read: more than can be kept, which is four lists within their bounds, and
/// one message.
const MOST_BYTES: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::disk::tests::Scratch;

    #[test]
    fn what_was_kept_is_there_the_next_time_byte_for_byte() {
        let folder = Scratch::new();
        let initialize = json(r#"{"serverInfo":{"n":1.10},"_meta":{"s":1},"capabilities":{}}"#);
        let tools = json(r#"{"tools":[{"name":"a","n":1e2}]}"#);

        let mut catalogue = Catalogue::open(&folder.0, URL, &[]);
        catalogue.keep_initialize(&initialize).unwrap();
        catalogue.keep_list(Kind::Tools, &tools).unwrap();

        let again = Catalogue::open(&folder.0, URL, &[]);
        let lasting = json(r#"{"serverInfo":{"n":1.10},"capabilities":{}}"#);
        assert_eq!(again.initialize(), Some(&lasting));
        assert_eq!(again.list(Kind::Tools), Some(&tools));
        assert_eq!(again.list(Kind::Prompts), None);
    }

    #[test]
    fn other_credentials_have_another_catalogue_and_no_file_tells_them() {
        let folder = Scratch::new();
        let sets: [&[(&str, &str)]; 4] =
            [&[], &[("k", "s3cret")], &[("ks", "3cret")], &[("k", "s3cret"), ("", "")]];
        for credentials in sets {
            let mut catalogue = Catalogue::open(&folder.0, URL, credentials);
            assert_eq!(catalogue.initialize(), None);
            catalogue.keep_initialize(&json("{}")).unwrap();
        }

        let files: Vec<_> = fs::read_dir(&folder.0).unwrap().map(|it| it.unwrap().path()).collect();

        assert_eq!(files.len(), sets.len());
        for file in files {
            let text = fs::read_to_string(&file).unwrap() + file.to_str().unwrap();
            assert!(!text.contains("3cret") && !text.contains("example"), "{text}");
        }
    }

    #[test]
    fn only_its_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Scratch::new();
        let mut catalogue = Catalogue::open(&folder.0, URL, &[]);

        catalogue.keep_initialize(&json("{}")).unwrap();

        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&catalogue.path), mode(&folder.0)), (0o600, 0o700));
    }

    #[test]
    fn a_file_that_is_no_catalogue_is_as_good_as_none() {
        let folder = Scratch::new();
        let mut catalogue = Catalogue::open(&folder.0, URL, &[]);
        catalogue.keep_initialize(&json("{}")).unwrap();

        for text in [
            "",
            "{\"initialize\":",
            r#"{"initialize":[1]}"#,
            r#"{"initialize":{"capabilities":"all"}}"#,
            r#"{"lists":{"tools/list":{"tools":"all"}}}"#,
            r#"{"lists":{"tools/list":{"tools":["all"]}}}"#,
            r#"{"lists":{"tools/call":{"tools":[]}}}"#,
        ] {
            fs::write(&catalogue.path, text).unwrap();

            let opened = Catalogue::open(&folder.0, URL, &[]);

            assert_eq!(opened.kept, KeptLists::default(), "{text}");
            let told = opened.fault().unwrap().to_string();
            assert_eq!(told, "it is not what was kept there", "{text}");
        }
    }

    /// Such a list would be ignored at the next start, with a message to the user.
    #[test]
    fn a_list_that_makes_no_sense_is_not_kept() {
        let folder = Scratch::new();
        let mut catalogue = Catalogue::open(&folder.0, URL, &[]);
        catalogue.keep_initialize(&json("{}")).unwrap();

        catalogue.keep_list(Kind::Tools, &json(r#"{"tools":[1]}"#)).unwrap();

        let again = Catalogue::open(&folder.0, URL, &[]);
        assert_eq!((again.list(Kind::Tools), again.fault().is_none()), (None, true));
    }

    #[test]
    fn a_file_that_is_larger_than_any_of_ours_is_not_read() {
        let folder = Scratch::new();
        let mut catalogue = Catalogue::open(&folder.0, URL, &[]);
        catalogue.keep_initialize(&json("{}")).unwrap();

        // Spaces behind a value are valid JSON.
        let text = fs::read_to_string(&catalogue.path).unwrap();
        let padding = usize::try_from(MOST_BYTES).unwrap();
        fs::write(&catalogue.path, text + &" ".repeat(padding)).unwrap();

        assert_eq!(Catalogue::open(&folder.0, URL, &[]).kept, KeptLists::default());
    }

    const URL: &str = "https://example.com/mcp?key=s3cret";

    fn json(text: &'static str) -> Json {
        Json::new(text).unwrap()
    }
}
