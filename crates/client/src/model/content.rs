//! The content of results, prompts and messages: text, images, audio and resources.

use ridethrough_wire::message::Json;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Resource, ResourceContents, keeps_its_json, read};

/// One piece of content.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// Audio.
    Audio(Media),
    /// An image.
    Image(Media),
    /// A link to a resource, which can be read from the server.
    Link(Resource),
    /// A resource, embedded.
    Resource(ResourceContents),
    /// Text.
    Text(String),
    /// Content of an unknown kind, as it was sent.
    Other(Json),
}

/// An image or audio.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Media {
    /// The bytes, in base64.
    pub data: String,
    /// The media type, such as `image/png`.
    pub mime_type: String,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Message {
    /// The speaker.
    pub role: Role,
    /// The content. Older revisions allow one piece only.
    #[serde(deserialize_with = "one_or_many")]
    pub content: Vec<Content>,
    /// The whole message, as it was sent.
    #[serde(skip, default = "Json::empty_object")]
    pub json: Json,
}

/// The speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The model.
    Assistant,
    /// The user.
    User,
}

keeps_its_json!(Message);

impl Content {
    /// Returns the text, if it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Reads a piece of content; one that is invalid for its kind is kept as it was sent.
    pub(super) fn from_json(json: Json) -> Self {
        #[derive(Deserialize)]
        struct Embedded {
            resource: Json,
        }

        let [kind, text] = json.pick(["type", "text"]);
        let known = match kind.as_ref().and_then(Json::string).as_deref() {
            Some("audio") => json.read().map(Self::Audio),
            Some("image") => json.read().map(Self::Image),
            Some("resource") => json
                .read()
                .and_then(|Embedded { resource }| read(resource).ok())
                .map(Self::Resource),
            Some("resource_link") => read(json.clone()).ok().map(Self::Link),
            Some("text") => text.and_then(|text| Some(Self::Text(text.string()?.into_owned()))),
            _ => None,
        };
        known.unwrap_or(Self::Other(json))
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Json::deserialize(deserializer).map(Self::from_json)
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum Wire<'a> {
            Audio(&'a Media),
            Image(&'a Media),
            Resource { resource: &'a Json },
            Text { text: &'a str },
        }

        match self {
            Self::Audio(media) => Wire::Audio(media).serialize(serializer),
            Self::Image(media) => Wire::Image(media).serialize(serializer),
            Self::Link(resource) => resource.json.serialize(serializer),
            Self::Other(json) => json.serialize(serializer),
            Self::Resource(contents) => {
                Wire::Resource { resource: &contents.json }.serialize(serializer)
            }
            Self::Text(text) => Wire::Text { text }.serialize(serializer),
        }
    }
}

/// Returns all text in the content, each piece on its own lines.
pub(super) fn text(content: &[Content]) -> String {
    let texts: Vec<&str> = content.iter().filter_map(Content::as_text).collect();
    texts.join("\n")
}

/// Reads messages, each with its own JSON.
pub(super) fn messages<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Message>, D::Error> {
    let messages = Vec::<Json>::deserialize(deserializer)?;
    messages.into_iter().map(|json| read(json).map_err(serde::de::Error::custom)).collect()
}

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Content>, D::Error> {
    let json = Json::deserialize(deserializer)?;
    let pieces = json.elements().unwrap_or_else(|| vec![json]);
    Ok(pieces.into_iter().map(Content::from_json).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_content_is_read_and_what_is_not_known_stays_as_it_was() {
        let known = [
            (r#"{"type":"text","text":"a"}"#, "text"),
            (r#"{"type":"image","data":"aGk=","mimeType":"image/png"}"#, "image"),
            (r#"{"type":"audio","data":"aGk=","mimeType":"audio/wav"}"#, "audio"),
            (r#"{"type":"resource","resource":{"uri":"a:b","text":"t"}}"#, "resource"),
            (r#"{"type":"resource_link","uri":"a:b","name":"n"}"#, "link"),
            (r#"{"type":"hologram","x":1.10}"#, "other"),
            (r#"{"type":"text"}"#, "other"),
            (r#"7"#, "other"),
        ];

        for (text, kind) in known {
            let content: Content = serde_json::from_str(text).unwrap();
            let found = match content {
                Content::Audio(_) => "audio",
                Content::Image(_) => "image",
                Content::Link(_) => "link",
                Content::Resource(_) => "resource",
                Content::Text(_) => "text",
                Content::Other(_) => "other",
            };
            assert_eq!(found, kind, "{text}");
            assert_eq!(serde_json::to_string(&content).unwrap(), text);
        }
    }

    #[test]
    fn a_message_has_one_piece_of_content_or_several() {
        let one = r#"{"role":"user","content":{"type":"text","text":"a"}}"#;
        let two = r#"{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"x"}]}"#;

        let one: Message = serde_json::from_str(one).unwrap();
        let two: Message = serde_json::from_str(two).unwrap();

        assert_eq!((one.role, one.content.len()), (Role::User, 1));
        assert_eq!((two.role, two.content.len()), (Role::Assistant, 2));
    }
}
