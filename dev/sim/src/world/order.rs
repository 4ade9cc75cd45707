//! What a call asks for, and the exact bytes that must come back.

use ridethrough_lab::Ask;
use serde_json::Value;

/// One call of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// Its number in this world.
    pub(crate) call: u64,
    /// How long its arguments are, in bytes.
    pub(crate) asks: usize,
    /// How long the answer must be, in bytes.
    pub(crate) wants: usize,
    /// Whether a second run does no harm.
    pub(crate) is_safe: bool,
}

impl Order {
    /// Returns the parameters of `tools/call`.
    pub(crate) fn params(self) -> String {
        self.params_of(self.tool(), "")
    }

    /// Returns the parameters of `tools/call` under another name, and with more arguments, each followed by a
    /// comma.
    pub(crate) fn params_of(self, tool: &str, more: &str) -> String {
        let Self { call, wants, .. } = self;
        let pad = filling(call, self.asks);
        format!(
            r#"{{"name":"{tool}","arguments":{{{more}"call":{call},"wants":{wants},"pad":"{pad}"}}}}"#
        )
    }

    pub(crate) const fn tool(self) -> &'static str {
        if self.is_safe { SAFE_TOOL } else { "write" }
    }

    /// Returns its result, of which no byte may change on the way.
    pub(crate) fn result(self) -> String {
        let Self { call, wants, .. } = self;
        let text = filling(call, wants);
        format!(
            r#"{{"resultType":"complete","call":{call},"exact":1.10,"content":[{{"type":"text", "text":"{text}"}}]}}"#
        )
    }

    /// Returns the JSON-RPC response with its result.
    pub(crate) fn response(self, id: &Value) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, self.result())
    }

    /// Returns the order that a request carries.
    pub(crate) fn of(ask: &Ask) -> Option<Self> {
        let arguments = ask.arguments();
        let number = |name: &str| arguments[name].as_u64();
        let (call, wants) = (number("call")?, usize::try_from(number("wants")?).ok()?);
        let asks = arguments["pad"].as_str()?.len();
        Some(Self { call, asks, wants, is_safe: ask.params()["name"] == SAFE_TOOL })
    }
}

/// Returns a text of this length that belongs to this call only.
fn filling(call: u64, length: usize) -> String {
    let word = format!("{call} ");
    let mut text = word.repeat(length.div_ceil(word.len()));
    text.truncate(length);
    text
}

/// The tool that may run twice.
pub(crate) const SAFE_TOOL: &str = "read";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_and_answered_is_json_of_the_length_that_was_ordered() {
        let order = Order { call: 12, asks: 40, wants: 30, is_safe: true };

        let params: Value = serde_json::from_str(&order.params()).unwrap();
        let result: Value = serde_json::from_str(&order.result()).unwrap();

        assert_eq!(params["arguments"]["pad"].as_str().unwrap().len(), 40);
        assert_eq!(result["content"][0]["text"].as_str().unwrap().len(), 30);
        assert_ne!(order.result(), Order { call: 13, ..order }.result());
    }
}
