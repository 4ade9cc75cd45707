//! The known limits of servers. A limit is checked like everything else: if the server can do it after all,
//! the run fails until the limit is removed.

/// A check that a server does not pass, and why that is not our client's fault.
pub(crate) struct Limit {
    pub(crate) server: &'static str,
    pub(crate) check: &'static str,
    pub(crate) reason: &'static str,
    /// Whether the check is run nevertheless: its result is not left to chance, and there is a server to ask.
    pub(crate) is_asked: bool,
}

/// Returns the reason why this server need not pass this check.
pub(crate) fn limit(server: &str, check: &str) -> Option<&'static Limit> {
    LIMITS.iter().find(|limit| limit.server == server && limit.check == check)
}

const fn always(server: &'static str, check: &'static str, reason: &'static str) -> Limit {
    Limit { server, check, reason, is_asked: true }
}

/// Returns the limit of a server that cannot be started in this way, so that the check would only wait in
/// vain.
const fn absent(server: &'static str, check: &'static str, reason: &'static str) -> Limit {
    Limit { server, check, reason, is_asked: false }
}

const fn by_chance(server: &'static str, check: &'static str, reason: &'static str) -> Limit {
    Limit { server, check, reason, is_asked: false }
}

const EVENTS: &str = "its event store answers a resume with the id of an event where the SDK wants that of the stream, so a \
     resumed stream brings what was stored and then nothing; comments keep it open until the deadline";
const FORGETS: &str = "without an event store it forgets the answer of a call that ended while nobody was connected; \
     resuming then brings empty streams, until the deadline of the call";
/// Why a server without a host of its SDK is not asked for one.
pub(crate) const NO_HOST: &str = "there is no host of this SDK";
const NO_HTTP_SSE: &str = "its SDK has no server for HTTP+SSE";
/// Why a server of an older SDK is not asked about the stateless era.
pub(crate) const NOT_STATELESS: &str = "it does not speak 2026-07-28";
const JSON_WITHOUT_SESSIONS: &str = "its JSON mode is for requests without a session";
const NO_EXPIRY: &str = "its SDK lets no session expire";
const NO_LEDGER: &str = "its tools write nothing down, so nobody can tell how often one ran";
const NO_LISTENING: &str = "FastMCP has no `subscriptions/listen`, and its capabilities say so";
const NO_JSON: &str = "it is a published program, and has no JSON mode";
const NO_ROLLBACK: &str = "it speaks both eras on one endpoint, and nothing turns the new one off";
const NO_TASKS: &str = "it has no tasks, or only as an extra that is not installed here";
const NO_SUBSCRIPTIONS: &str = "FastMCP has no `resources/subscribe`, and its capabilities say so";

const SDK_ANSWERS: &str =
    "its SDK answers for unknown sessions in any program, so in the rows above";
const NO_CHOICE: &str = "it is a published program, and answers for unknown sessions itself";

const NO_DEVICE: &str = "its authorization server has no login on another device";
const NO_URL_AS_ID: &str = "its authorization server reads no documents of clients";

pub(crate) const LIMITS: &[Limit] = &[
    always("fastmcp", "a_client_whose_id_is_a_url_logs_in_by_a_browser", NO_URL_AS_ID),
    always("fastmcp", "a_person_logs_in_on_another_device", NO_DEVICE),
    always("python", "a_client_whose_id_is_a_url_logs_in_by_a_browser", NO_URL_AS_ID),
    always("python", "a_person_logs_in_on_another_device", NO_DEVICE),
    absent(
        "fastmcp",
        "over_http_sse_every_method_is_answered",
        "its HTTP+SSE is that of the Python SDK, which is asked",
    ),
    absent(
        "fastmcp",
        "over_http_sse_questions_and_progress_find_their_way",
        "its HTTP+SSE is that of the Python SDK, which is asked",
    ),
    absent(
        "fastmcp",
        "over_http_sse_ten_calls_under_kill_9_end_once_and_no_unsafe_one_runs_twice",
        "its HTTP+SSE is that of the Python SDK, which is asked",
    ),
    absent("typescript-split", "over_http_sse_every_method_is_answered", NO_HTTP_SSE),
    absent("typescript-split", "over_http_sse_questions_and_progress_find_their_way", NO_HTTP_SSE),
    absent(
        "typescript-split",
        "over_http_sse_ten_calls_under_kill_9_end_once_and_no_unsafe_one_runs_twice",
        NO_HTTP_SSE,
    ),
    absent("rmcp", "over_http_sse_every_method_is_answered", NO_HTTP_SSE),
    absent("rmcp", "over_http_sse_questions_and_progress_find_their_way", NO_HTTP_SSE),
    absent(
        "rmcp",
        "over_http_sse_ten_calls_under_kill_9_end_once_and_no_unsafe_one_runs_twice",
        NO_HTTP_SSE,
    ),
    always(
        "everything",
        "over_http_sse_ten_calls_under_kill_9_end_once_and_no_unsafe_one_runs_twice",
        NO_LEDGER,
    ),
    always("everything", "a_list_comes_in_pages", "it gives all its tools on one page"),
    by_chance(
        "everything",
        "log_messages_below_the_level_stay_away",
        "it sends messages of a random level, one every 5 s",
    ),
    always(
        "everything",
        "a_cancelled_call_is_cancelled_in_the_server",
        "none of its tools tells that it was cancelled",
    ),
    always("everything", "a_cut_stream_is_resumed_and_the_tool_runs_once", EVENTS),
    always(
        "everything",
        "a_cut_stream_of_an_older_revision_is_resumed_and_the_tool_runs_once",
        EVENTS,
    ),
    always("everything", "a_stream_that_is_cut_three_times_is_resumed_each_time", EVENTS),
    by_chance(
        "everything",
        "an_answer_that_came_while_the_stream_was_cut_is_found_by_resuming",
        EVENTS,
    ),
    by_chance("everything", "a_question_on_a_cut_stream_is_asked_once_and_answered", EVENTS),
    always("everything", "a_cut_standing_stream_comes_back", EVENTS),
    always(
        "everything",
        "a_stream_that_the_server_closes_is_resumed_and_the_tool_runs_once",
        "none of its tools closes its stream",
    ),
    always("everything", "ten_calls_under_kill_9_end_once_and_no_unsafe_one_runs_twice", NO_LEDGER),
    always(
        "everything",
        "over_stdio_ten_calls_under_kill_9_end_once_and_no_unsafe_one_runs_twice",
        NO_LEDGER,
    ),
    absent(
        "rmcp",
        "in_json_mode_a_session_that_a_restart_lost_is_renewed_once",
        JSON_WITHOUT_SESSIONS,
    ),
    absent(
        "rmcp",
        "in_json_mode_a_session_that_was_deleted_is_renewed_once",
        JSON_WITHOUT_SESSIONS,
    ),
    absent(
        "rmcp",
        "in_json_mode_a_session_that_is_deleted_in_mid_call_leaves_one_run",
        JSON_WITHOUT_SESSIONS,
    ),
    absent("everything", "in_json_mode_a_session_that_a_restart_lost_is_renewed_once", NO_JSON),
    absent("everything", "in_json_mode_a_session_that_was_deleted_is_renewed_once", NO_JSON),
    absent(
        "everything",
        "in_json_mode_a_session_that_is_deleted_in_mid_call_leaves_one_run",
        NO_JSON,
    ),
    absent("typescript", "a_session_that_expired_is_renewed_once", NO_EXPIRY),
    absent("typescript-split", "a_session_that_expired_is_renewed_once", NO_EXPIRY),
    absent("everything", "a_session_that_expired_is_renewed_once", NO_EXPIRY),
    absent(
        "python",
        "where_the_sdk_answers_a_session_that_a_restart_lost_is_renewed_once",
        SDK_ANSWERS,
    ),
    absent(
        "python",
        "where_the_sdk_answers_a_session_that_was_deleted_is_renewed_once",
        SDK_ANSWERS,
    ),
    absent(
        "python-1",
        "where_the_sdk_answers_a_session_that_a_restart_lost_is_renewed_once",
        SDK_ANSWERS,
    ),
    absent(
        "python-1",
        "where_the_sdk_answers_a_session_that_was_deleted_is_renewed_once",
        SDK_ANSWERS,
    ),
    absent(
        "fastmcp",
        "where_the_sdk_answers_a_session_that_a_restart_lost_is_renewed_once",
        SDK_ANSWERS,
    ),
    absent(
        "fastmcp",
        "where_the_sdk_answers_a_session_that_was_deleted_is_renewed_once",
        SDK_ANSWERS,
    ),
    absent(
        "rmcp",
        "where_the_sdk_answers_a_session_that_a_restart_lost_is_renewed_once",
        SDK_ANSWERS,
    ),
    absent("rmcp", "where_the_sdk_answers_a_session_that_was_deleted_is_renewed_once", SDK_ANSWERS),
    absent(
        "go-recorded",
        "where_the_sdk_answers_a_session_that_a_restart_lost_is_renewed_once",
        SDK_ANSWERS,
    ),
    absent(
        "go-recorded",
        "where_the_sdk_answers_a_session_that_was_deleted_is_renewed_once",
        SDK_ANSWERS,
    ),
    absent(
        "everything",
        "where_the_sdk_answers_a_session_that_a_restart_lost_is_renewed_once",
        NO_CHOICE,
    ),
    absent(
        "everything",
        "where_the_sdk_answers_a_session_that_was_deleted_is_renewed_once",
        NO_CHOICE,
    ),
    absent("everything", "a_session_that_is_deleted_in_mid_call_leaves_one_run", NO_LEDGER),
    always("fastmcp", "an_update_of_a_subscribed_resource_is_told", NO_SUBSCRIPTIONS),
    always("fastmcp", "nothing_is_told_after_unsubscribing", NO_SUBSCRIPTIONS),
    absent(
        "fastmcp",
        "without_sessions_a_server_that_is_rolled_back_and_rolled_out_again_is_followed",
        NO_ROLLBACK,
    ),
    absent(
        "python",
        "without_sessions_a_server_that_is_rolled_back_and_rolled_out_again_is_followed",
        NO_ROLLBACK,
    ),
    always("fastmcp", "without_sessions_changed_lists_are_told_to_who_listens", NO_LISTENING),
    always("fastmcp", "without_sessions_an_update_of_a_subscribed_resource_is_told", NO_LISTENING),
    always("fastmcp", "without_sessions_nothing_is_told_after_unsubscribing", NO_LISTENING),
    always("fastmcp", "without_sessions_a_subscription_comes_back_after_a_restart", NO_LISTENING),
    always(
        "fastmcp",
        "without_sessions_a_cut_subscription_comes_back_and_what_was_missed_is_told",
        NO_LISTENING,
    ),
    always("rmcp", "an_answer_that_came_while_the_stream_was_cut_is_found_by_resuming", FORGETS),
    by_chance("rmcp", "a_question_on_a_cut_stream_is_asked_once_and_answered", FORGETS),
    always(
        "rmcp",
        "a_stream_that_the_server_closes_is_resumed_and_the_tool_runs_once",
        "a tool is not told which stream is its own, so it cannot close it",
    ),
    always(
        "typescript-split",
        "without_sessions_a_call_that_lacks_its_headers_goes_out_again_with_them",
        "its low-level `Server`, which this program uses, does not look at `Mcp-Param-*`, so nothing is refused",
    ),
    always(
        "fastmcp",
        "without_sessions_a_call_that_becomes_a_task_is_followed_to_its_end",
        NO_TASKS,
    ),
    always("fastmcp", "without_sessions_a_task_that_asks_is_answered", NO_TASKS),
    always(
        "fastmcp",
        "without_sessions_a_task_is_followed_by_another_client_through_lost_answers",
        NO_TASKS,
    ),
    always(
        "fastmcp",
        "without_sessions_a_task_that_is_cancelled_is_cancelled_in_the_server",
        NO_TASKS,
    ),
    always(
        "python",
        "without_sessions_a_call_that_becomes_a_task_is_followed_to_its_end",
        NO_TASKS,
    ),
    always("python", "without_sessions_a_task_that_asks_is_answered", NO_TASKS),
    always(
        "python",
        "without_sessions_a_task_is_followed_by_another_client_through_lost_answers",
        NO_TASKS,
    ),
    always(
        "python",
        "without_sessions_a_task_that_is_cancelled_is_cancelled_in_the_server",
        NO_TASKS,
    ),
    always(
        "typescript-split",
        "without_sessions_a_call_that_becomes_a_task_is_followed_to_its_end",
        NO_TASKS,
    ),
    always("typescript-split", "without_sessions_a_task_that_asks_is_answered", NO_TASKS),
    always(
        "typescript-split",
        "without_sessions_a_task_is_followed_by_another_client_through_lost_answers",
        NO_TASKS,
    ),
    always(
        "typescript-split",
        "without_sessions_a_task_that_is_cancelled_is_cancelled_in_the_server",
        NO_TASKS,
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
        for Limit { server, check, .. } in LIMITS {
            assert!(SERVERS.iter().any(|it| it.name == *server), "no server {server}");
            let is_check = CHECKS.iter().any(|it| it.name() == *check);
            assert!(is_check || authorization::is_check(check), "no check {check}");
        }
    }
}
