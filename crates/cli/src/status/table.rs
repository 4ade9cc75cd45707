//! Bridges and gateways as people see them: a line each, and below it whatever is not as it should be. The
//! servers of a gateway have a line each below it.

use ridethrough_bridge::{Breaker, InFlight, Snapshot, State, harmless};
use ridethrough_gateway::{UpstreamState, UpstreamStatus};

use super::ask::StatusSeen;
use super::socket::{GatewayReply, StatusReply};
use crate::out::{Colour, painted};

/// Returns a table, or a sentence that there is nothing to show.
pub(super) fn of(seen: &[StatusSeen], is_colourful: bool) -> String {
    if seen.is_empty() {
        return "no bridge and no gateway is running".to_owned();
    }
    let rows: Vec<Row> = seen.iter().flat_map(rows).collect();
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| &*row.cells[column]).chain([HEADS[column]]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    });
    let heads = line(&HEADS.map(str::to_owned), &widths);
    let mut lines = vec![painted(&heads, Colour::Faint, is_colourful)];
    for row in rows {
        let mut text = line(&row.cells, &widths);
        if let Some(rest) = text.strip_prefix(&row.cells[0]) {
            text = format!("{}{rest}", painted(&row.cells[0], row.colour, is_colourful));
        }
        lines.push(text);
        lines.extend(row.details.iter().map(|it| format!("  {it}")));
    }
    lines.join("\n")
}

/// The row of a bridge, a gateway, or a server of a gateway.
struct Row {
    cells: [String; COLUMNS],
    colour: Colour,
    details: Vec<String>,
}

fn rows(seen: &StatusSeen) -> Vec<Row> {
    match seen {
        StatusSeen::Bridge(told, _) => vec![bridge(told)],
        StatusSeen::Gateway(told, _) => gateway(told),
        StatusSeen::Silent { pid } => vec![Row {
            cells: ["silent", &pid.to_string(), "-", "-", "-", "-", "-"].map(str::to_owned),
            colour: Colour::Red,
            details: vec!["it did not answer within a second".to_owned()],
        }],
    }
}

fn bridge(told: &StatusReply) -> Row {
    let StatusReply { pid, upstream, settings, snapshot: it, .. } = told;
    let (state, colour) = match it.state {
        State::Connecting => ("connecting", Colour::Yellow),
        State::LoginNeeded => ("login needed", Colour::Yellow),
        State::Ready => ("ready", Colour::Green),
        State::Recovering => ("recovering", Colour::Yellow),
        _ => ("unknown", Colour::Yellow),
    };
    let cells = [
        state.to_owned(),
        pid.to_string(),
        it.host.as_deref().map_or_else(nothing, harmless),
        harmless(upstream),
        session(it),
        it.age_ms.map_or_else(nothing, span),
        span(it.up_since_ms),
    ];
    let mut details = details(it);
    // Flags are what its host was configured to start; settings from elsewhere may surprise.
    let elsewhere = settings.iter().filter(|it| it.from != "flags");
    details.extend(elsewhere.map(|it| format!("settings: {}", harmless(&it.to_string()))));
    Row { cells, colour, details }
}

/// Returns the row of a gateway, and one for each of its servers.
fn gateway(told: &GatewayReply) -> Vec<Row> {
    let GatewayReply { pid, gateway, up_since_ms, upstreams, .. } = told;
    let place = format!("gateway at {}", harmless(gateway));
    let dash = nothing;
    let cells =
        ["ready".to_owned(), pid.to_string(), dash(), place, dash(), dash(), span(*up_since_ms)];
    let own = Row { cells, colour: Colour::Green, details: Vec::new() };
    std::iter::once(own).chain(upstreams.iter().map(upstream)).collect()
}

fn upstream(it: &UpstreamStatus) -> Row {
    let (state, colour) = match it.state {
        UpstreamState::Connecting => ("connecting", Colour::Yellow),
        UpstreamState::Idle => ("idle", Colour::Faint),
        UpstreamState::Ready => ("ready", Colour::Green),
        UpstreamState::Recovering => ("recovering", Colour::Yellow),
        _ => ("unknown", Colour::Yellow),
    };
    let session = match (it.era.as_deref(), &it.revision) {
        (Some("modern"), Some(revision)) => format!("none ({})", harmless(revision)),
        (_, Some(revision)) => format!("{} ({})", it.links, harmless(revision)),
        _ => nothing(),
    };
    let cells = [
        state.to_owned(),
        nothing(),
        nothing(),
        format!("  {}", harmless(&it.name)),
        session,
        it.session_age_ms.map_or_else(nothing, span),
        nothing(),
    ];
    let mut details = Vec::new();
    for (count, what) in [
        (it.in_flight, "in flight"),
        (it.queued, "waiting for a place"),
        (it.asking, "waiting for a person"),
        (it.waiting, "waiting for the server"),
    ] {
        if count > 0 {
            details.push(format!("{count} {what}"));
        }
    }
    // A failure that is over is not told of a server that is well.
    let is_ill = !matches!(it.state, UpstreamState::Idle | UpstreamState::Ready);
    if let (Some(message), Some(ago)) =
        (it.last_error.as_ref().filter(|_| is_ill), it.last_error_ago_ms)
    {
        details.push(format!("last error {} ago: {}", span(ago), harmless(message)));
    }
    details.extend(it.next_attempt_ms.map(|it| format!("next attempt in {}", span(it))));
    if it.is_breaker_open {
        details.push("breaker open: new calls are refused".to_owned());
    }
    Row { cells, colour, details }
}

fn session(it: &Snapshot) -> String {
    match (it.generation, &it.revision) {
        // The modern era has no sessions.
        (_, Some(revision)) if it.era == "modern" => format!("none ({})", harmless(revision)),
        (Some(number), Some(revision)) => format!("{number} ({})", harmless(revision)),
        _ => nothing(),
    }
}

fn nothing() -> String {
    "-".to_owned()
}

/// Returns what is under way, and what is wrong.
fn details(it: &Snapshot) -> Vec<String> {
    let login = it
        .login
        .iter()
        .map(|it| format!("{}; run `{}`", harmless(&it.reason), harmless(&it.command)));
    let mut details: Vec<_> = login.collect();
    details.extend(in_flight(it));
    if it.waiting > 0 {
        details.push(format!("{} waiting for the server", it.waiting));
    }
    if let Some(error) = &it.last_error {
        details.push(format!(
            "last error {} ago: {}",
            span(error.ago_ms),
            harmless(&error.message)
        ));
    }
    if let Some(next) = it.next_attempt_ms {
        details.push(format!("next attempt in {}", span(next)));
    }
    match it.breaker {
        Breaker::Closed => {}
        Breaker::Probing => details.push("breaker open: asking whether the server is back".into()),
        _ => details.push("breaker open: new calls are refused".into()),
    }
    if it.recoveries > 0 {
        let times = if it.recoveries == 1 { "once" } else { &format!("{} times", it.recoveries) };
        details.push(format!("recovered {times}, {} in all", span(it.lost_ms)));
    }
    details
}

/// Returns the requests of the host, the oldest first.
fn in_flight(it: &Snapshot) -> Vec<String> {
    let mut calls: Vec<_> = it.in_flight.iter().take(MOST_CALLS).map(call).collect();
    let more = it.in_flight_count.saturating_sub(calls.len());
    if more > 0 {
        calls.push(format!("and {more} more in flight"));
    }
    calls
}

fn call(it: &InFlight) -> String {
    let tool = it.tool.as_deref().map(|tool| format!(" `{}`", harmless(tool))).unwrap_or_default();
    format!("in flight for {}: {}{tool}", span(it.elapsed_ms), harmless(&it.method))
}

fn line(cells: &[String; COLUMNS], widths: &[usize; COLUMNS]) -> String {
    let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
    padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

/// Returns a time in the two largest units that it has.
fn span(millis: u64) -> String {
    let seconds = millis / 1000;
    let of = |large: u64, unit: &str, small: u64, less: &str| match small {
        0 => format!("{large} {unit}"),
        small => format!("{large} {unit} {small} {less}"),
    };
    match seconds {
        0 => format!("{millis} ms"),
        1..60 => format!("{seconds} s"),
        60..3600 => of(seconds / 60, "min", seconds % 60, "s"),
        3600..86_400 => of(seconds / 3600, "h", seconds % 3600 / 60, "min"),
        _ => of(seconds / 86_400, "d", seconds % 86_400 / 3600, "h"),
    }
}

const COLUMNS: usize = 7;
const HEADS: [&str; COLUMNS] = ["STATE", "PID", "HOST", "UPSTREAM", "SESSION", "AGE", "UP"];
const MOST_CALLS: usize = 10;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn nothing_is_said_plainly() {
        assert_eq!(of(&[], false), "no bridge and no gateway is running");
    }

    #[test]
    fn bridges_stand_in_columns_with_what_is_wrong_below() {
        let well = json!({
            "pid": 7, "upstream": "https://a.example/mcp", "host": "cursor", "state": "ready",
            "generation": 1, "revision": "2025-06-18", "ageMs": 61_000, "upSinceMs": 7_260_000,
        });
        let ill = json!({
            "pid": 4711, "upstream": "https://longer.example/mcp", "state": "recovering",
            "upSinceMs": 900, "breaker": "open", "nextAttemptMs": 1500, "waiting": 2,
            "lastError": {"message": "connection \u{1b}refused", "agoMs": 4000},
            "inFlight": [{"method": "tools/call", "tool": "search", "elapsedMs": 3200}],
            "inFlightCount": 3, "recoveries": 2, "lostMs": 12_000,
        });

        let stateless = json!({
            "pid": 8, "upstream": "https://b.example/mcp", "host": "zed", "state": "ready",
            "era": "modern", "generation": 1, "revision": "2026-07-28", "upSinceMs": 1000,
        });

        let locked = json!({
            "pid": 9, "upstream": "https://c.example/mcp", "state": "loginNeeded", "upSinceMs": 1000,
            "login": {"reason": "nobody has logged in yet", "command": "ridethrough login c"},
        });

        let seen = [
            told(well),
            told(stateless),
            told(ill),
            told(locked),
            StatusSeen::Silent { pid: 5000 },
        ];
        let table = of(&seen, false);

        assert_eq!(
            table,
            "\
STATE         PID   HOST    UPSTREAM                    SESSION            AGE        UP
ready         7     cursor  https://a.example/mcp       1 (2025-06-18)     1 min 1 s  2 h 1 min
ready         8     zed     https://b.example/mcp       none (2026-07-28)  -          1 s
recovering    4711  -       https://longer.example/mcp  -                  -          900 ms
  in flight for 3 s: tools/call `search`
  and 2 more in flight
  2 waiting for the server
  last error 4 s ago: connection \u{fffd}refused
  next attempt in 1 s
  breaker open: new calls are refused
  recovered 2 times, 12 s in all
login needed  9     -       https://c.example/mcp       -                  -          1 s
  nobody has logged in yet; run `ridethrough login c`
silent        5000  -       -                           -                  -          -
  it did not answer within a second"
        );
    }

    #[test]
    fn the_servers_of_a_gateway_stand_below_it() {
        let told = json!({
            "pid": 7, "gateway": "http://127.0.0.1:8809/mcp", "upSinceMs": 61_000, "upstreams": [
                {"name": "files", "state": "ready", "era": "legacy", "revision": "2025-11-25",
                 "links": 2, "sessionAgeMs": 5000, "inFlight": 3, "lastError": "old", "lastErrorAgoMs": 1},
                {"name": "is\u{1b}sues", "state": "recovering", "era": "modern", "revision": "2026-07-28",
                 "nextAttemptMs": 1500, "lastError": "connection refused", "lastErrorAgoMs": 4000,
                 "isBreakerOpen": true, "waiting": 1, "queued": 2},
                {"name": "rest", "state": "idle", "novelty": 1},
            ],
        });
        let seen =
            [StatusSeen::Gateway(Box::new(serde_json::from_value(told.clone()).unwrap()), told)];

        assert_eq!(
            of(&seen, false),
            "STATE       PID  HOST  UPSTREAM                              SESSION            AGE  UP
ready       7    -     gateway at http://127.0.0.1:8809/mcp  -                  -    1 min 1 s
ready       -    -       files                               2 (2025-11-25)     5 s  -
  3 in flight
recovering  -    -       is\u{fffd}sues                             none (2026-07-28)  -    -
  2 waiting for a place
  1 waiting for the server
  last error 4 s ago: connection refused
  next attempt in 1 s
  breaker open: new calls are refused
idle        -    -       rest                                -                  -    -"
        );
    }

    #[test]
    fn colour_changes_nothing_but_the_colour() {
        let seen = [told(json!({"pid": 7, "state": "ready"}))];

        let plain = of(&seen, true).replace("\x1b[32m", "").replace("\x1b[2m", "");

        assert_eq!(plain.replace("\x1b[0m", ""), of(&seen, false));
        assert!(of(&seen, true).contains("\x1b[32mready\x1b[0m"));
    }

    #[test]
    fn times_have_the_units_that_people_use() {
        let spans = [900, 59_999, 60_000, 3_599_000, 3_600_000, 90_000_000].map(span);

        assert_eq!(spans, ["900 ms", "59 s", "1 min", "59 min 59 s", "1 h", "1 d 1 h"]);
    }

    fn told(value: Value) -> StatusSeen {
        StatusSeen::Bridge(Box::new(serde_json::from_value(value.clone()).unwrap()), value)
    }
}
