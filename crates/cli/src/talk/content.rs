//! Content of servers, for a person: text as text, everything else by name or in a file.

use anyhow::Result;
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ridethrough::model::{Content, Media, ResourceContents, ToolResult};

use super::Talk;
use super::files::{Folder, Saved};
use crate::ending::exit::Exit;
use crate::out;
use crate::safe;

/// Returns content in words, each piece on a new line. Bytes are saved if there is a folder for them.
pub(super) fn words(content: &[Content], folder: Option<&Folder>) -> Result<String> {
    let pieces: Result<Vec<String>> = content.iter().map(|piece| piece_of(piece, folder)).collect();
    Ok(lines(&pieces?))
}

/// Returns the contents of a resource, in words.
pub(super) fn contents(contents: &[ResourceContents], folder: Option<&Folder>) -> Result<String> {
    let pieces: Result<Vec<String>> = contents.iter().map(|it| resource(it, folder)).collect();
    Ok(lines(&pieces?))
}

/// Prints the result of a tool, and reports it if the tool failed.
pub(super) fn print(
    talk: &Talk,
    result: &ToolResult,
    folder: Option<&Folder>,
    what: &str,
) -> Result<Exit> {
    let is_bytes: Vec<_> = result.content.iter().map(is_bytes).collect();
    let stdout = talk.stdout_for(folder, &is_bytes);
    let folder = folder.or(stdout.as_ref());
    let words = result_words(result, folder)?;
    talk.print_content(folder, &result.json, |_| words)?;
    if result.is_error {
        talk.terminal.say(&format!("error: the server says that {what} failed"));
        return Ok(Exit::Tool);
    }
    Ok(Exit::Done)
}

/// Returns the content of a result. Structured content repeats it, and is shown only if it is alone.
fn result_words(result: &ToolResult, folder: Option<&Folder>) -> Result<String> {
    match (&result.structured_content, result.content.is_empty()) {
        (Some(json), true) => Ok(format!("{}\n", out::json(&safe::json(json.as_str())))),
        _ => words(&result.content, folder),
    }
}

/// Whether a piece of content is bytes and not text.
pub(super) fn is_bytes(piece: &Content) -> bool {
    match piece {
        Content::Audio(_) | Content::Image(_) => true,
        Content::Resource(contents) => is_blob(contents),
        _ => false,
    }
}

/// Whether the contents of a resource are bytes and not text.
pub(super) const fn is_blob(contents: &ResourceContents) -> bool {
    contents.text.is_none() && contents.blob.is_some()
}

/// Joins the pieces, each ended by a line break.
fn lines(pieces: &[String]) -> String {
    let mut text = String::new();
    for piece in pieces {
        text.push_str(piece);
        if !piece.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

fn piece_of(piece: &Content, folder: Option<&Folder>) -> Result<String> {
    match piece {
        Content::Audio(Media { data, mime_type, .. }) => bytes("audio", data, mime_type, folder),
        Content::Image(Media { data, mime_type, .. }) => bytes("image", data, mime_type, folder),
        Content::Link(link) => {
            let name = safe::line(link.title.as_deref().unwrap_or(&link.name));
            Ok(format!("[resource {}: {name}]", safe::line(&link.uri)))
        }
        Content::Resource(contents) => resource(contents, folder),
        Content::Text(text) => Ok(safe::data(text)),
        Content::Other(json) => Ok(safe::json(json.as_str())),
        // The library may learn new kinds before there are words for them here.
        _ => Ok("[content of a kind that has no words here]".to_owned()),
    }
}

fn resource(contents: &ResourceContents, folder: Option<&Folder>) -> Result<String> {
    let mime_type = contents.mime_type.as_deref().unwrap_or("application/octet-stream");
    match (&contents.text, &contents.blob) {
        (Some(text), _) => Ok(safe::data(text)),
        (None, Some(blob)) => bytes(&contents.uri, blob, mime_type, folder),
        (None, None) => Ok(format!("[{}: empty]", safe::line(&contents.uri))),
    }
}

/// Returns the name of bytes, or the file in which they were saved.
fn bytes(what: &str, data: &str, mime_type: &str, folder: Option<&Folder>) -> Result<String> {
    let (what, kind) = (safe::line(what), safe::line(mime_type));
    let Some(bytes) = decoded(data) else {
        return Ok(format!("[{what}, {kind}: its base64 cannot be read]"));
    };
    let size = bytes.len();
    match folder {
        Some(folder) => {
            let saved = match folder.save(&bytes, mime_type)? {
                Saved::Stdout => "written to stdout".to_owned(),
                Saved::File(path) => format!("saved as {}", path.display()),
            };
            Ok(format!("[{what}, {kind}, {size} bytes: {saved}]"))
        }
        None => Ok(format!("[{what}, {kind}, {size} bytes: `--out DIR` saves it]")),
    }
}

/// Returns the bytes of base64 (RFC 4648), as servers write it: with padding or without, in lines or in one. `None` if
/// the text is not base64.
fn decoded(text: &str) -> Option<Vec<u8>> {
    // Both alphabets are accepted: the standard one, and that of URLs.
    let letters = text.bytes().filter(|it| !it.is_ascii_whitespace()).map(|it| match it {
        b'-' => b'+',
        b'_' => b'/',
        it => it,
    });
    LENIENT.decode(letters.collect::<Vec<_>>()).ok()
}

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[cfg(test)]
mod tests {
    use super::*;

    use serde_json::json;

    #[test]
    fn each_kind_of_content_has_its_words() {
        let content: Vec<Content> = serde_json::from_value(json!([
            {"type": "text", "text": "a\n"},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "audio", "data": "***", "mimeType": "audio/wav\u{7}"},
            {"type": "resource", "resource": {"uri": "a:b", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "a:b", "blob": "aGk="}},
            {"type": "resource_link", "uri": "a:b", "name": "n"},
            {"type": "hologram", "x": 1},
        ]))
        .unwrap();

        let words = words(&content, None).unwrap();

        assert_eq!(
            words.lines().collect::<Vec<_>>(),
            [
                "a",
                "[image, image/png, 2 bytes: `--out DIR` saves it]",
                "[audio, audio/wav\\u{7}: its base64 cannot be read]",
                "inside",
                "[a:b, application/octet-stream, 2 bytes: `--out DIR` saves it]",
                "[resource a:b: n]",
                r#"{"type":"hologram","x":1}"#,
            ]
        );
    }

    #[test]
    fn the_vectors_of_the_standard_are_read_with_and_without_padding() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg", "foob"),
            ("Zm9v\nYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(decoded(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(decoded("+/-_/w==").unwrap(), [0xfb, 0xff, 0xbf, 0xff]);
    }

    #[test]
    fn what_is_no_base64_is_none() {
        for text in ["Z", "Zm9vY", "Zm9*", "Zg==Zg==", "é"] {
            assert_eq!(decoded(text), None, "{text}");
        }
    }
}
