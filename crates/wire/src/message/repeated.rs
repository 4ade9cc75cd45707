//! Keys that occur twice in one object, as any reader might understand them.
//!
//! JSON leaves open which of two equal keys counts. A program that decides by one of them and passes the text
//! on to a reader that takes the other has decided nothing.

use super::Json;
use super::json::name_of;
use super::scan;

impl Json {
    /// Whether one of these keys occurs twice in this object. Readers that ignore case, as those in Go do,
    /// take `Name` for `name`, so that counts as equal. At most 64 keys are looked for.
    ///
    /// ```
    /// use ridethrough_wire::message::Json;
    ///
    /// let object = Json::new(r#"{"name":"a","Name":"b","n":{"n":1}}"#).unwrap();
    /// assert!(object.repeats(&["name"]));
    /// assert!(!object.repeats(&["n"]));
    /// ```
    pub fn repeats(&self, keys: &[&str]) -> bool {
        let (mut seen, mut is_twice) = (0_u64, false);
        let note = |member| {
            let name = name_of(self.as_bytes(), &member);
            if let Some(place) = keys.iter().take(64).position(|key| is_taken_for(&name, key)) {
                is_twice |= seen & 1 << place != 0;
                seen |= 1 << place;
            }
        };
        scan::members(self.as_bytes(), note).is_some() && is_twice
    }
}

/// Whether a lenient reader takes this name for the key, which is ASCII.
fn is_taken_for(name: &[u8], key: &str) -> bool {
    if name.is_ascii() {
        return name.eq_ignore_ascii_case(key.as_bytes());
    }
    // Two letters beyond ASCII are an `s` and a `k` for readers that fold case as Unicode does.
    let Ok(name) = std::str::from_utf8(name) else { return false };
    let folded = name.chars().map(|letter| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        letter => letter.to_ascii_lowercase(),
    });
    folded.eq(key.chars().map(|letter| letter.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_repeated_however_it_is_spelt() {
        for (text, is_twice) in [
            (r#"{"name":1,"name":2}"#, true),
            (r#"{"name":1,"n\u0061me":2}"#, true),
            (r#"{"NAME":1,"name":2}"#, true),
            (r#"{"params":1,"param\u017f":2}"#, true),
            ("{\"params\":1,\"param\u{17f}\":2}", true),
            (r#"{"name":1,"params":2}"#, false),
            (r#"{"name":{"name":1}}"#, false),
            (r#"{"other":1,"other":2}"#, false),
            (r#"["name","name"]"#, false),
        ] {
            let json = Json::new(text.to_owned()).unwrap();

            assert_eq!(json.repeats(&["name", "params"]), is_twice, "{text}");
        }
    }
}
