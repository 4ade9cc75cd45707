//! Content of servers, for a person: text as text, everything else by name or in a file.

use anyhow::Result;
use ridethrough::model::{Content, Media, ResourceContents};

use super::base64;
use super::files::{Folder, Saved};
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
    let Some(bytes) = base64::decode(data) else {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
}
