//! `requestState` as a client may send it: what was sealed is opened, and nothing else is.

use ridethrough_server::{StateRehearsal, StateSubject};
use ridethrough_wire::message::Json;
use serde_json::Value;

/// Checks that a text is opened only if it was sealed with this key, as it stands, and that it says whose it
/// is and for which call, whatever the order of the params.
///
/// The first line is a text that a client might send as the state, the second the principal; the rest are the
/// params of the call. The first byte says where a sealed state is changed.
pub fn request_state(input: &[u8]) {
    let Some((at, text)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let mut parts = text.splitn(3, '\n');
    let (foreign, principal) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let params = parts.next().and_then(|it| Json::new(it.to_owned()).ok());
    let subject =
        StateSubject { principal, endpoint: "", method: "tools/call", params: params.as_ref() };
    let key = StateRehearsal::new();

    assert_eq!(key.open(foreign, subject), None, "a foreign text is opened: {foreign}");

    let state = key.seal(7, u64::from(*at), subject);
    let opened = key.open(&state, subject).expect("what was sealed is opened");
    assert_eq!((opened.hold, opened.expires), (7, u64::from(*at)));
    assert!(opened.is_callers && opened.is_subjects, "it is of this caller and this call");
    assert_eq!(StateRehearsal::new().open(&state, subject), None, "another key opens it");
    assert_eq!(key.open(&changed(&state, usize::from(*at)), subject), None, "a changed one opens");
    let longer = format!("{state}{foreign}");
    assert_eq!(key.open(&longer, subject).is_some(), foreign.is_empty(), "a longer one opens");
    check_subjects(&key, &state, subject);
}

/// Checks that the state of one call is not that of another.
fn check_subjects(key: &StateRehearsal, state: &str, subject: StateSubject<'_>) {
    let open = |other: StateSubject<'_>| key.open(state, other).expect("it was sealed here");
    let other_principal = format!("{}2", subject.principal);
    assert!(!open(StateSubject { principal: &other_principal, ..subject }).is_callers);
    assert!(!open(StateSubject { endpoint: "x", ..subject }).is_callers);
    assert!(!open(StateSubject { method: "prompts/get", ..subject }).is_subjects);
    let Some(params) = subject.params else { return };
    let Some(Value::Object(members)) = params.read::<Value>() else { return };
    // A member that is there twice is read once by `serde_json`.
    if members.len() != params.members().len() {
        return;
    }
    let rounds = [("requestState", "\"s\""), ("inputResponses", "{}"), ("_meta", "{}")];
    let rounds = rounds.map(|(key, text)| (key.to_owned(), Json::new(text).expect("JSON")));
    let later = params.without(&["requestState", "inputResponses", "_meta"]).with_members(rounds);
    assert!(open(StateSubject { params: Some(&later), ..subject }).is_subjects, "a later round");
    let more = [("another".to_owned(), Json::new("1").expect("JSON"))];
    if !members.contains_key("another") {
        let other = params.with_members(more);
        assert!(
            !open(StateSubject { params: Some(&other), ..subject }).is_subjects,
            "other params"
        );
    }
}

/// Returns the state with another digit at this place.
fn changed(state: &str, at: usize) -> String {
    let mut digits = state.to_owned().into_bytes();
    let at = at % digits.len();
    digits[at] = if digits[at] == b'0' { b'1' } else { b'0' };
    String::from_utf8(digits).expect("digits are text")
}
