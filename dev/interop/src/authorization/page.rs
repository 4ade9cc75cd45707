//! The part of a web page that a person who logs in uses: its forms.

/// A form, filled in as a person does who consents to everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Form {
    /// Where it is sent; empty means the page itself.
    pub(super) action: String,
    pub(super) fields: Vec<(String, String)>,
}

impl Form {
    /// Returns the form as it is sent.
    pub(super) fn encoded(&self) -> String {
        let pair = |(name, value): &(String, String)| format!("{}={}", encode(name), encode(value));
        self.fields.iter().map(pair).collect::<Vec<_>>().join("&")
    }
}

/// Returns the form of a page that continues the login; `None` if there is none.
pub(super) fn next_form(page: &str, user_code: Option<&str>) -> Option<Form> {
    let forms = page.split("<form").skip(1).filter_map(|rest| rest.split("</form>").next());
    forms.map(|form| read(form, user_code)).find(|form| !form.action.contains("abort"))
}

fn read(form: &str, user_code: Option<&str>) -> Form {
    let head = form.split('>').next().unwrap_or_default();
    let action = attribute(head, "action").unwrap_or_default();
    let inputs = form.split("<input").skip(1).filter_map(|tag| field(tag, user_code));
    // Of several buttons the first one continues the login.
    let button = form.split("<button").skip(1).find_map(|tag| {
        let tag = tag.split('>').next()?;
        Some((attribute(tag, "name")?, attribute(tag, "value")?))
    });
    Form { action, fields: inputs.chain(button).collect() }
}

fn field(tag: &str, user_code: Option<&str>) -> Option<(String, String)> {
    let tag = tag.split('>').next()?;
    let name = attribute(tag, "name")?;
    let given = attribute(tag, "value").unwrap_or_default();
    let value = match name.as_str() {
        _ if !given.is_empty() => given,
        "login" | "password" | "username" => PERSON.to_owned(),
        "user_code" => user_code.unwrap_or_default().to_owned(),
        _ => given,
    };
    Some((name, value))
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let marks = [format!(" {name}=\""), format!("\n{name}=\"")];
    let (_, rest) = marks.iter().find_map(|mark| tag.split_once(mark.as_str()))?;
    let value = rest.split('"').next()?;
    Some(value.replace("&amp;", "&").replace("&#39;", "'").replace("&quot;", "\""))
}

/// Returns the words of a page, for the report of a login that stopped there.
pub(super) fn words(page: &str) -> String {
    let body = page.split("<body").last().unwrap_or_default();
    let texts = body.split('<').filter_map(|tag| tag.split_once('>')).map(|(_, text)| text.trim());
    let texts: Vec<_> = texts.filter(|text| !text.is_empty()).collect();
    if texts.is_empty() { page.to_owned() } else { texts.join(" ") }
}

fn encode(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encoded = |byte: u8| {
        if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(encoded).collect()
}

/// The name of the person, and the password.
const PERSON: &str = "admin";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_filled_in_with_what_a_person_types() {
        let page = r#"<form autocomplete="off" action="/interaction/x&amp;y" method="post">
            <input type="hidden" name="prompt" value="login"/>
            <input required type="text" name="login" placeholder="any"> <input name="password">
            <button type="submit" class="login">Sign-in</button></form>"#;

        let form = next_form(page, None).unwrap();

        assert_eq!(form.action, "/interaction/x&y");
        assert_eq!(form.encoded(), "prompt=login&login=admin&password=admin");
    }

    #[test]
    fn a_form_that_ends_the_login_is_not_sent() {
        let page = r#"<form action="/a/abort"></form><form method="POST">
            <input name="user_code"><button name="action" value="authorize">
            <button name="action" value="deny"></form>"#;

        let form = next_form(page, Some("AB-C")).unwrap();

        assert_eq!(form.encoded(), "user_code=AB-C&action=authorize");
        assert_eq!(next_form("<p>done</p>", None), None);
    }

    #[test]
    fn the_words_of_a_page_are_those_that_a_person_reads() {
        assert_eq!(words("<html><body class=a><h1>No</h1> <p>not <b>you</b></body>"), "No not you");
    }
}
