//! Markup that quoted text cannot break.
//!
//! A page shows what clients and servers said, which may be anything. Only words of the program's own source
//! are markup; everything else is text, which is escaped, and freed of the characters that XML forbids or
//! that reverse other text. Every element that is opened is closed.

use std::fmt::{self, Display, Write};

/// A piece of HTML, SVG or XML.
#[derive(Debug, Default)]
pub struct Markup(String);

/// Names and values; the values are escaped.
pub type Attributes<'a> = &'a [(&'static str, &'a dyn Display)];

impl Markup {
    /// Adds markup from the program's source.
    pub fn source(&mut self, source: &'static str) -> &mut Self {
        self.0.push_str(source);
        self
    }

    /// Adds an element with what `content` writes into it.
    pub fn element(
        &mut self,
        name: &'static str,
        attributes: Attributes<'_>,
        content: impl FnOnce(&mut Self),
    ) -> &mut Self {
        self.start(name, attributes).source(">");
        content(self);
        self.source("</").source(name).source(">")
    }

    /// Adds an element that contains only text.
    pub fn words(
        &mut self,
        name: &'static str,
        attributes: Attributes<'_>,
        text: impl Display,
    ) -> &mut Self {
        self.element(name, attributes, |it| {
            it.text(text);
        })
    }

    /// Adds an element without contents.
    pub fn void(&mut self, name: &'static str, attributes: Attributes<'_>) -> &mut Self {
        self.start(name, attributes).source("/>")
    }

    /// Adds text.
    pub fn text(&mut self, text: impl Display) -> &mut Self {
        let mut escaped = Escaped { into: &mut self.0, is_attribute: false };
        // Writing into a string cannot fail; a `Display` that does leaves its text shorter.
        let _ = write!(escaped, "{text}");
        self
    }

    /// Adds text in which a part between backticks is code.
    pub fn prose(&mut self, text: &str) {
        for (place, part) in text.split('`').enumerate() {
            if place % 2 == 1 {
                self.words("code", &[], part);
            } else {
                self.text(part);
            }
        }
    }

    /// Returns the finished markup.
    pub fn into_string(self) -> String {
        self.0
    }

    fn start(&mut self, name: &'static str, attributes: Attributes<'_>) -> &mut Self {
        self.source("<").source(name);
        for (name, value) in attributes {
            self.source(" ").source(name).source("=\"");
            let mut escaped = Escaped { into: &mut self.0, is_attribute: true };
            // Writing into a string cannot fail; a `Display` that does leaves its text shorter.
            let _ = write!(escaped, "{value}");
            self.source("\"");
        }
        self
    }
}

struct Escaped<'a> {
    into: &'a mut String,
    is_attribute: bool,
}

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars().filter(|it| !is_forbidden(*it)) {
            match letter {
                '&' => self.into.push_str("&amp;"),
                '<' => self.into.push_str("&lt;"),
                '>' => self.into.push_str("&gt;"),
                '"' if self.is_attribute => self.into.push_str("&quot;"),
                '\'' if self.is_attribute => self.into.push_str("&#39;"),
                // An XML reader would otherwise turn them into spaces.
                '\n' if self.is_attribute => self.into.push_str("&#10;"),
                '\t' if self.is_attribute => self.into.push_str("&#9;"),
                letter => self.into.push(letter),
            }
        }
        Ok(())
    }
}

/// Whether a character is left out of pages: control characters, non-characters, and those that reverse text.
fn is_forbidden(letter: char) -> bool {
    let is_control = letter.is_control() && !matches!(letter, '\n' | '\t');
    let is_none = matches!(letter, '\u{fffe}' | '\u{ffff}');
    let is_reversing = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{061c}'
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    is_control || is_none || is_reversing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        let mut markup = Markup::default();

        markup.words("p", &[("title", &"\"><script>'\n")], "</p><script>&amp;");

        let expected = "<p title=\"&quot;&gt;&lt;script&gt;&#39;&#10;\">\
            &lt;/p&gt;&lt;script&gt;&amp;amp;</p>";
        assert_eq!(markup.into_string(), expected);
    }

    #[test]
    fn what_xml_forbids_and_what_reverses_text_is_left_out() {
        let mut markup = Markup::default();

        markup.text("a\u{0}\u{8}\u{1b}b\r\n\u{fffe}\u{202e}c\u{85}\td");

        assert_eq!(markup.into_string(), "ab\nc\td");
    }
}
