//! The checks that every server is asked. A check's name is a sentence that can be false.

mod faults;
mod hosts;
mod local;
mod methods;
mod old;
mod restarts;
mod sessions;
mod stateless;
mod talking;
mod tasks;

use futures_util::future::BoxFuture;

use crate::bench::Bench;
use crate::partner::Verdict;

/// One check.
pub(crate) struct Check {
    name: &'static str,
    /// Whether a short run leaves it out.
    pub(crate) is_long: bool,
    pub(crate) run: fn(Bench) -> BoxFuture<'static, Verdict>,
}

impl Check {
    /// Returns its name as a sentence: `revision_2025_03_26_is` is "revision 2025-03-26 is".
    pub(crate) fn sentence(&self) -> String {
        let digit = |at: Option<usize>| {
            at.and_then(|at| self.name.as_bytes().get(at)).is_some_and(u8::is_ascii_digit)
        };
        let letters = self.name.char_indices().map(|(at, letter)| match letter {
            '_' if digit(at.checked_sub(1)) && digit(at.checked_add(1)) => '-',
            '_' => ' ',
            letter => letter,
        });
        letters.collect()
    }

    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it is about the stateless era.
    pub(crate) fn is_stateless(&self) -> bool {
        self.name.starts_with("without_sessions_") || self.name.starts_with(STATELESS_HOST)
    }

    /// Whether it is about the loss of a session.
    pub(crate) fn is_of_sessions(&self) -> bool {
        self.name.contains("a_session_that_")
    }

    /// Whether it is about a host, and not about our client.
    pub(crate) fn is_of_a_host(&self) -> bool {
        self.name.contains("through_the_bridge_")
    }
}

macro_rules! checks {
    (
        $($module:ident::$name:ident,)*;
        in full runs only: $($long:ident::$full:ident,)*;
        without sessions: $($stateless:ident::$same:ident,)*;
        by a stateless host: $($by:ident::$likewise:ident,)*
    ) => {
        &[
            $(Check {
                name: stringify!($name),
                is_long: false,
                run: |bench| Box::pin($module::$name(bench)),
            },)*
            $(Check {
                name: stringify!($full),
                is_long: true,
                run: |bench| Box::pin($long::$full(bench)),
            },)*
            $(Check {
                name: concat!("without_sessions_", stringify!($same)),
                is_long: false,
                run: |bench| Box::pin($stateless::$same(bench.stateless())),
            },)*
            $(Check {
                name: concat!("in_2026_07_28_", stringify!($likewise)),
                is_long: false,
                run: |bench| Box::pin($by::$likewise(bench.with_stateless_hosts())),
            },
            Check {
                name: concat!("without_sessions_in_2026_07_28_", stringify!($likewise)),
                is_long: false,
                run: |bench| Box::pin($by::$likewise(bench.stateless().with_stateless_hosts())),
            },)*
        ]
    };
}

/// All checks. Those of the stateless era come last: most repeat earlier checks, with a client that is pinned
/// to it.
pub(crate) const CHECKS: &[Check] = checks![
    stateless::a_client_that_speaks_both_eras_finds_out_what_the_server_speaks,
    methods::revision_2025_03_26_is_agreed_on_and_spoken,
    methods::revision_2025_06_18_is_agreed_on_and_spoken,
    methods::revision_2025_11_25_is_agreed_on_and_spoken,
    methods::a_ping_is_answered,
    methods::the_tools_are_listed,
    methods::a_list_comes_in_pages,
    methods::tools_answer,
    methods::a_tool_that_fails_says_so_in_its_result,
    methods::an_unknown_tool_is_answered_with_an_error,
    methods::a_mebibyte_comes_back_as_it_was_sent,
    methods::text_of_every_kind_comes_back_as_it_was_sent,
    methods::a_listed_resource_is_read,
    methods::a_resource_of_a_template_is_read,
    methods::an_update_of_a_subscribed_resource_is_told,
    methods::nothing_is_told_after_unsubscribing,
    methods::a_prompt_is_listed_and_filled_in,
    methods::an_argument_is_completed,
    methods::log_messages_arrive,
    methods::log_messages_below_the_level_stay_away,
    talking::progress_is_told_and_grows,
    talking::changed_lists_are_told_on_the_standing_stream,
    talking::a_form_comes_back_with_its_defaults,
    talking::a_request_for_sampling_is_answered,
    talking::a_request_for_roots_is_answered,
    talking::a_cancelled_call_is_cancelled_in_the_server,
    faults::a_cut_stream_is_resumed_and_the_tool_runs_once,
    faults::a_cut_stream_of_an_older_revision_is_resumed_and_the_tool_runs_once,
    faults::a_stream_that_is_cut_three_times_is_resumed_each_time,
    faults::an_answer_that_came_while_the_stream_was_cut_is_found_by_resuming,
    faults::a_question_on_a_cut_stream_is_asked_once_and_answered,
    faults::a_stream_that_the_server_closes_is_resumed_and_the_tool_runs_once,
    faults::a_cut_standing_stream_comes_back,
    faults::answers_that_arrive_byte_by_byte_are_read,
    faults::a_503_with_a_hint_is_waited_out,
    faults::a_bare_503_ends_an_unsafe_call_and_repeats_a_safe_one,
    faults::a_lost_answer_ends_an_unsafe_call_and_repeats_a_safe_one,
    restarts::a_call_after_a_restart_is_answered_on_one_new_session,
    restarts::a_call_after_a_graceful_restart_is_answered_on_one_new_session,
    sessions::a_session_that_a_restart_lost_is_renewed_once,
    restarts::calls_that_wait_for_a_dead_server_are_answered_when_it_is_back,
    restarts::ten_calls_under_kill_9_end_once_and_no_unsafe_one_runs_twice,
    local::over_stdio_every_method_is_answered,
    local::over_stdio_questions_and_progress_find_their_way,
    local::over_stdio_ten_calls_under_kill_9_end_once_and_no_unsafe_one_runs_twice,
    local::over_stdio_nothing_is_left_after_closing,
    old::over_http_sse_every_method_is_answered,
    old::over_http_sse_questions_and_progress_find_their_way,
    old::over_http_sse_ten_calls_under_kill_9_end_once_and_no_unsafe_one_runs_twice,
    hosts::through_the_bridge_a_host_finds_tools_resources_and_prompts,
    hosts::through_the_bridge_progress_and_log_messages_reach_a_host,
    hosts::through_the_bridge_a_host_answers_what_the_server_asks,
    hosts::through_the_bridge_a_call_that_a_host_cancels_is_cancelled_in_the_server,
    hosts::through_the_bridge_changed_lists_are_told_to_a_host,
    hosts::through_the_bridge_an_update_of_a_subscribed_resource_reaches_a_host,
    hosts::through_the_bridge_a_host_does_not_notice_that_the_session_is_lost,
    hosts::through_the_bridge_a_host_that_starts_before_the_server_works_when_it_is_there,
    hosts::through_the_bridge_a_call_that_may_have_run_says_so_to_a_host,
    hosts::through_the_bridge_nothing_is_left_after_a_host_has_closed,
    ; in full runs only:
    sessions::a_session_that_was_deleted_is_renewed_once,
    sessions::a_session_that_expired_is_renewed_once,
    sessions::a_session_that_is_deleted_in_mid_call_leaves_one_run,
    sessions::in_json_mode_a_session_that_a_restart_lost_is_renewed_once,
    sessions::in_json_mode_a_session_that_was_deleted_is_renewed_once,
    sessions::in_json_mode_a_session_that_is_deleted_in_mid_call_leaves_one_run,
    sessions::where_the_sdk_answers_a_session_that_a_restart_lost_is_renewed_once,
    sessions::where_the_sdk_answers_a_session_that_was_deleted_is_renewed_once,
    ; without sessions:
    methods::a_ping_is_answered,
    methods::the_tools_are_listed,
    methods::a_list_comes_in_pages,
    methods::tools_answer,
    methods::a_tool_that_fails_says_so_in_its_result,
    methods::an_unknown_tool_is_answered_with_an_error,
    methods::a_mebibyte_comes_back_as_it_was_sent,
    methods::text_of_every_kind_comes_back_as_it_was_sent,
    methods::a_listed_resource_is_read,
    methods::a_resource_of_a_template_is_read,
    methods::a_prompt_is_listed_and_filled_in,
    methods::an_argument_is_completed,
    methods::log_messages_arrive,
    methods::log_messages_below_the_level_stay_away,
    stateless::arguments_that_a_tool_marks_are_in_headers,
    stateless::a_call_that_lacks_its_headers_goes_out_again_with_them,
    talking::progress_is_told_and_grows,
    talking::a_form_comes_back_with_its_defaults,
    talking::a_request_for_sampling_is_answered,
    talking::a_request_for_roots_is_answered,
    stateless::a_question_that_nobody_can_answer_ends_the_call,
    talking::a_cancelled_call_is_cancelled_in_the_server,
    stateless::changed_lists_are_told_to_who_listens,
    methods::an_update_of_a_subscribed_resource_is_told,
    methods::nothing_is_told_after_unsubscribing,
    stateless::a_cut_subscription_comes_back_and_what_was_missed_is_told,
    stateless::a_cut_stream_ends_an_unsafe_call_and_repeats_a_safe_one,
    stateless::a_question_whose_answer_is_lost_is_asked_once,
    faults::answers_that_arrive_byte_by_byte_are_read,
    faults::a_503_with_a_hint_is_waited_out,
    faults::a_bare_503_ends_an_unsafe_call_and_repeats_a_safe_one,
    faults::a_lost_answer_ends_an_unsafe_call_and_repeats_a_safe_one,
    stateless::only_calls_are_sent_and_none_names_a_session,
    stateless::a_call_after_a_restart_is_answered,
    stateless::a_subscription_comes_back_after_a_restart,
    stateless::a_server_that_is_rolled_back_and_rolled_out_again_is_followed,
    restarts::calls_that_wait_for_a_dead_server_are_answered_when_it_is_back,
    restarts::ten_calls_under_kill_9_end_once_and_no_unsafe_one_runs_twice,
    tasks::a_call_that_becomes_a_task_is_followed_to_its_end,
    tasks::a_task_that_asks_is_answered,
    tasks::a_task_is_followed_by_another_client_through_lost_answers,
    tasks::a_task_that_is_cancelled_is_cancelled_in_the_server,
    hosts::through_the_bridge_a_host_finds_tools_resources_and_prompts,
    hosts::through_the_bridge_progress_and_log_messages_reach_a_host,
    hosts::through_the_bridge_a_host_answers_what_the_server_asks,
    hosts::through_the_bridge_a_call_that_a_host_cancels_is_cancelled_in_the_server,
    hosts::through_the_bridge_changed_lists_are_told_to_a_host,
    hosts::through_the_bridge_an_update_of_a_subscribed_resource_reaches_a_host,
    hosts::through_the_bridge_a_host_that_starts_before_the_server_works_when_it_is_there,
    hosts::through_the_bridge_a_call_that_may_have_run_says_so_to_a_host,
    ; by a stateless host:
    hosts::through_the_bridge_a_host_finds_tools_resources_and_prompts,
    hosts::through_the_bridge_progress_and_log_messages_reach_a_host,
    hosts::through_the_bridge_a_host_answers_what_the_server_asks,
    hosts::through_the_bridge_a_call_that_a_host_cancels_is_cancelled_in_the_server,
    hosts::through_the_bridge_changed_lists_are_told_to_a_host,
    hosts::through_the_bridge_an_update_of_a_subscribed_resource_reaches_a_host,
    hosts::through_the_bridge_a_host_that_starts_before_the_server_works_when_it_is_there,
    hosts::through_the_bridge_a_call_that_may_have_run_says_so_to_a_host,
];

/// The beginning of the names of checks whose host speaks the stateless revision to the bridge.
const STATELESS_HOST: &str = "in_2026_07_28_";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_check_reads_as_a_sentence() {
        assert_eq!(CHECKS[1].sentence(), "revision 2025-03-26 is agreed on and spoken");
    }

    #[test]
    fn a_check_of_the_stateless_era_is_known_by_its_name() {
        let last = CHECKS.last().unwrap();

        assert!(
            last.is_stateless() && last.sentence().starts_with("without sessions in 2026-07-28 ")
        );
        assert!(!CHECKS[0].is_stateless());
    }
}
