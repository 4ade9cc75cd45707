//! The era that a server was last found to speak, on disk, so that the next process need not ask, and can
//! tell when a stateless server wants sessions again.
//!
//! There is one file for each URL and set of credentials, beside the catalogues. A file that cannot be read,
//! has another form or is dated in the future is ignored.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ridethrough_core::Era;
use serde::{Deserialize, Serialize};

use crate::disk;

/// A file with the last verdict about one server.
#[derive(Clone, Debug)]
pub struct EraMemory {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeptEra {
    era: Word,
    /// The time of the verdict, in seconds since 1970.
    found_at: u64,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Legacy,
    Modern,
}

impl EraMemory {
    /// Opens the file in this folder for this URL and these credentials: names and values of headers, tokens,
    /// everything that may lead to another server.
    pub fn open(folder: &Path, url: &str, credentials: &[(&str, &str)]) -> Self {
        Self { path: folder.join(format!("{}.era.json", disk::name(url, credentials))) }
    }

    /// Returns the last verdict and its age, if it has not expired.
    ///
    /// It is good for a week if the server was stateless, and for an hour if it had sessions: such a server
    /// would go on answering with sessions for as long as it is not asked for its era.
    pub fn recall(&self) -> Option<(Era, Duration)> {
        self.recall_at(SystemTime::now())
    }

    /// Keeps a verdict, with the present time.
    pub fn keep(&self, era: Era) -> io::Result<()> {
        self.keep_at(era, SystemTime::now())
    }

    fn recall_at(&self, now: SystemTime) -> Option<(Era, Duration)> {
        let kept: KeptEra =
            serde_json::from_slice(&disk::read(&self.path, MOST_BYTES).ok()??).ok()?;
        let found = UNIX_EPOCH.checked_add(Duration::from_secs(kept.found_at))?;
        let age = now.duration_since(found).ok()?;
        let (era, lasts) = match kept.era {
            Word::Legacy => (Era::Legacy, Era::LEGACY_LASTS),
            Word::Modern => (Era::Modern, MODERN_LASTS),
        };
        (age < lasts).then_some((era, age))
    }

    fn keep_at(&self, era: Era, now: SystemTime) -> io::Result<()> {
        let era = match era {
            Era::Legacy => Word::Legacy,
            Era::Modern => Word::Modern,
        };
        let found_at = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        disk::write(&self.path, &serde_json::to_vec(&KeptEra { era, found_at })?)
    }
}

/// The most bytes of the file: many times the size of a verdict.
const MOST_BYTES: u64 = 4096;
const MODERN_LASTS: Duration = Duration::from_secs(7 * 24 * 3600);

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::disk::tests::Scratch;

    #[test]
    fn a_verdict_is_there_the_next_time_with_its_age() {
        let (folder, now) = (Scratch::new(), at(1_000_000));
        let memory = EraMemory::open(&folder.0, URL, &[]);
        assert_eq!(memory.recall_at(now), None);

        memory.keep_at(Era::Legacy, now).unwrap();

        let again = EraMemory::open(&folder.0, URL, &[]);
        let age = Duration::from_secs(60);
        assert_eq!(again.recall_at(now + age), Some((Era::Legacy, age)));
    }

    #[test]
    fn a_legacy_verdict_lasts_an_hour_and_a_modern_one_a_week() {
        let (folder, now) = (Scratch::new(), at(1_000_000));
        let memory = EraMemory::open(&folder.0, URL, &[]);
        for (era, hours) in [(Era::Legacy, 1), (Era::Modern, 7 * 24)] {
            memory.keep_at(era, now).unwrap();
            let end = now + Duration::from_secs(hours * 3600);

            let last = end - Duration::from_secs(1);
            assert_eq!(memory.recall_at(last).map(|(era, _)| era), Some(era));
            assert_eq!(memory.recall_at(end), None);
        }
    }

    #[test]
    fn what_is_odd_is_as_good_as_nothing() {
        let (folder, now) = (Scratch::new(), at(1_000_000));
        let memory = EraMemory::open(&folder.0, URL, &[]);
        memory.keep_at(Era::Modern, now).unwrap();
        assert_eq!(memory.recall_at(now - Duration::from_secs(1)), None, "it is from the future");

        for text in [
            "",
            "{\"era\":",
            "[]",
            r#"{"era":"classical","foundAt":1}"#,
            r#"{"era":"modern","foundAt":-1}"#,
            r#"{"era":"modern","foundAt":18446744073709551615}"#,
        ] {
            fs::write(&memory.path, text).unwrap();
            assert_eq!(memory.recall_at(now), None, "{text}");
        }
    }

    #[test]
    fn neither_name_nor_file_tells_the_server_or_the_credentials() {
        let folder = Scratch::new();
        EraMemory::open(&folder.0, URL, &[("k", "s3cret")]).keep(Era::Modern).unwrap();

        let files: Vec<_> = fs::read_dir(&folder.0).unwrap().map(|it| it.unwrap().path()).collect();

        let text = fs::read_to_string(&files[0]).unwrap() + files[0].to_str().unwrap();
        assert!(
            files.len() == 1 && !text.contains("s3cret") && !text.contains("example"),
            "{text}"
        );
        assert_eq!(EraMemory::open(&folder.0, URL, &[("k", "other")]).recall(), None);
    }

    #[test]
    fn only_its_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Scratch::new();
        let memory = EraMemory::open(&folder.0, URL, &[]);

        memory.keep(Era::Modern).unwrap();

        let mode = fs::metadata(&memory.path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
    }

    const URL: &str = "https://example.com/mcp?key=s3cret";

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }
}
