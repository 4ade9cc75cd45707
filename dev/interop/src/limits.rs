//! The known limits of servers. A limit is checked like everything else: if the server can do it after all,
//! the run fails until the limit is removed.

/// Checks that some servers do not pass, and why that is not our client's fault.
pub(crate) struct Limit {
    pub(crate) reason: &'static str,
    /// Whether the checks are run nevertheless: their result is not left to chance, and there is a server to ask.
    pub(crate) is_asked: bool,
    servers: &'static [&'static str],
    checks: &'static [&'static str],
}

type Names = &'static [&'static str];

/// Returns the reason why this server need not pass this check.
pub(crate) fn limit(server: &str, check: &str) -> Option<&'static Limit> {
    LIMITS.iter().find(|it| it.servers.contains(&server) && it.checks.contains(&check))
}

const fn always(servers: Names, checks: Names, reason: &'static str) -> Limit {
    Limit { reason, is_asked: true, servers, checks }
}

/// Returns the limit of servers that cannot be started in this way, so that the checks would only wait in vain, or
/// whose result is left to chance.
const fn unasked(servers: Names, checks: Names, reason: &'static str) -> Limit {
    Limit { reason, is_asked: false, servers, checks }
}

/// Why a server without a host of its SDK is not asked for one.
pub(crate) const NO_HOST: &str = "there is no host of this SDK";
/// Why a server of an older SDK is not asked about the stateless era.
pub(crate) const NOT_STATELESS: &str = "it does not speak 2026-07-28";
const EVENTS: &str = "its event store answers a resume with the id of an event where the SDK wants that of the stream, so a \
     resumed stream brings what was stored and then nothing; comments keep it open until the deadline";
const FORGETS: &str = "without an event store it forgets the answer of a call that ended while nobody was connected; \
     resuming then brings empty streams, until the deadline of the call";
const NO_LEDGER: &str = "its tools write nothing down, so nobody can tell how often one ran";

/// Checks that servers lack together.
const HTTP_SSE: Names = &[
    "over_http_sse_every_method_is_answered",
    "over_http_sse_questions_and_progress_find_their_way",
    "over_http_sse_ten_calls_under_kill_9_end_once_and_no_unsafe_one_runs_twice",
];
const JSON_MODE: Names = &[
    "in_json_mode_a_session_that_a_restart_lost_is_renewed_once",
    "in_json_mode_a_session_that_was_deleted_is_renewed_once",
    "in_json_mode_a_session_that_is_deleted_in_mid_call_leaves_one_run",
];
const SDK_ANSWERS: Names = &[
    "where_the_sdk_answers_a_session_that_a_restart_lost_is_renewed_once",
    "where_the_sdk_answers_a_session_that_was_deleted_is_renewed_once",
];
const TASKS: Names = &[
    "without_sessions_a_call_that_becomes_a_task_is_followed_to_its_end",
    "without_sessions_a_task_that_asks_is_answered",
    "without_sessions_a_task_is_followed_by_another_client_through_lost_answers",
    "without_sessions_a_task_that_is_cancelled_is_cancelled_in_the_server",
];

pub(crate) const LIMITS: &[Limit] = &[
    always(
        &["fastmcp", "python"],
        &["a_client_whose_id_is_a_url_logs_in_by_a_browser"],
        "its authorization server reads no documents of clients",
    ),
    always(
        &["fastmcp", "python"],
        &["a_person_logs_in_on_another_device"],
        "its authorization server has no login on another device",
    ),
    unasked(&["fastmcp"], HTTP_SSE, "its HTTP+SSE is that of the Python SDK, which is asked"),
    unasked(&["typescript-split", "rmcp"], HTTP_SSE, "its SDK has no server for HTTP+SSE"),
    always(
        &["everything"],
        &[
            "over_http_sse_ten_calls_under_kill_9_end_once_and_no_unsafe_one_runs_twice",
            "over_stdio_ten_calls_under_kill_9_end_once_and_no_unsafe_one_runs_twice",
            "ten_calls_under_kill_9_end_once_and_no_unsafe_one_runs_twice",
        ],
        NO_LEDGER,
    ),
    always(&["everything"], &["a_list_comes_in_pages"], "it gives all its tools on one page"),
    unasked(
        &["everything"],
        &["log_messages_below_the_level_stay_away"],
        "it sends messages of a random level, one every 5 s",
    ),
    always(
        &["everything"],
        &["a_cancelled_call_is_cancelled_in_the_server"],
        "none of its tools tells that it was cancelled",
    ),
    always(
        &["everything"],
        &[
            "a_cut_stream_is_resumed_and_the_tool_runs_once",
            "a_cut_stream_of_an_older_revision_is_resumed_and_the_tool_runs_once",
            "a_stream_that_is_cut_three_times_is_resumed_each_time",
            "a_cut_standing_stream_comes_back",
        ],
        EVENTS,
    ),
    unasked(
        &["everything"],
        &[
            "an_answer_that_came_while_the_stream_was_cut_is_found_by_resuming",
            "a_question_on_a_cut_stream_is_asked_once_and_answered",
        ],
        EVENTS,
    ),
    always(
        &["everything"],
        &["a_stream_that_the_server_closes_is_resumed_and_the_tool_runs_once"],
        "none of its tools closes its stream",
    ),
    unasked(&["rmcp"], JSON_MODE, "its JSON mode is for requests without a session"),
    unasked(&["everything"], JSON_MODE, "it is a published program, and has no JSON mode"),
    unasked(
        &["typescript", "typescript-split", "everything"],
        &["a_session_that_expired_is_renewed_once"],
        "its SDK lets no session expire",
    ),
    unasked(
        &["python", "python-1", "fastmcp", "rmcp", "go-recorded"],
        SDK_ANSWERS,
        "its SDK answers for unknown sessions in any program, so in the rows above",
    ),
    unasked(
        &["everything"],
        SDK_ANSWERS,
        "it is a published program, and answers for unknown sessions itself",
    ),
    unasked(&["everything"], &["a_session_that_is_deleted_in_mid_call_leaves_one_run"], NO_LEDGER),
    always(
        &["fastmcp"],
        &["an_update_of_a_subscribed_resource_is_told", "nothing_is_told_after_unsubscribing"],
        "FastMCP has no `resources/subscribe`, and its capabilities say so",
    ),
    unasked(
        &["fastmcp", "python"],
        &["without_sessions_a_server_that_is_rolled_back_and_rolled_out_again_is_followed"],
        "it speaks both eras on one endpoint, and nothing turns the new one off",
    ),
    always(
        &["fastmcp"],
        &[
            "without_sessions_changed_lists_are_told_to_who_listens",
            "without_sessions_an_update_of_a_subscribed_resource_is_told",
            "without_sessions_nothing_is_told_after_unsubscribing",
            "without_sessions_a_subscription_comes_back_after_a_restart",
            "without_sessions_a_cut_subscription_comes_back_and_what_was_missed_is_told",
        ],
        "FastMCP has no `subscriptions/listen`, and its capabilities say so",
    ),
    always(
        &["rmcp"],
        &["an_answer_that_came_while_the_stream_was_cut_is_found_by_resuming"],
        FORGETS,
    ),
    unasked(&["rmcp"], &["a_question_on_a_cut_stream_is_asked_once_and_answered"], FORGETS),
    always(
        &["rmcp"],
        &["a_stream_that_the_server_closes_is_resumed_and_the_tool_runs_once"],
        "a tool is not told which stream is its own, so it cannot close it",
    ),
    always(
        &["typescript-split"],
        &["without_sessions_a_call_that_lacks_its_headers_goes_out_again_with_them"],
        "its low-level `Server`, which this program uses, does not look at `Mcp-Param-*`, so nothing is refused",
    ),
    always(
        &["fastmcp", "python", "typescript-split"],
        TASKS,
        "it has no tasks, or only as an extra that is not installed here",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authorization;
    use crate::catalog::SERVERS;
    use crate::checks::CHECKS;

    #[test]
    fn every_limit_names_a_server_and_a_check_that_exist() {
        for Limit { servers, checks, .. } in LIMITS {
            for server in *servers {
                assert!(SERVERS.iter().any(|it| it.name == *server), "no server {server}");
            }
            for check in *checks {
                let is_check = CHECKS.iter().any(|it| it.name() == *check);
                assert!(is_check || authorization::is_check(check), "no check {check}");
            }
        }
    }
}
