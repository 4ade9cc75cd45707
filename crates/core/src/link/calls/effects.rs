//! What other parts ask of the calls, one method for each.

use super::Calls;
use crate::link::effects::{CallEffect, PostRead};

impl Calls {
    /// Does what was asked.
    pub(crate) fn perform(&mut self, effect: CallEffect) {
        match effect {
            CallEffect::Answered(id, answer) => self.stream_answered(id, *answer),
            CallEffect::Ask(request) => self.ask(*request),
            CallEffect::AskAtGate => self.ask_at_gate(),
            CallEffect::CheckGeneration(generation) => self.check_generation(generation),
            CallEffect::DropRestoring => self.drop_restoring(),
            CallEffect::End(id, ending) => self.end(id, ending),
            CallEffect::EndAll(awaited, ending) => self.end_all(awaited, &ending),
            CallEffect::EndImpatient => self.end_impatient(),
            CallEffect::EndImpatientCall(id) => self.end_impatient_call(id),
            CallEffect::EndSessionWaiter(id, ending, refusal) => {
                self.end_session_waiter(id, ending, refusal);
            }
            CallEffect::EndSessionWaiters(ending, refusal) => {
                self.end_session_waiters(&ending, refusal.as_ref());
            }
            CallEffect::EndSilent { is_unreachable } => self.end_silent(is_unreachable),
            CallEffect::EndSilentAttempt(id) => self.end_silent_attempt(id),
            CallEffect::Failed(id, failure) => self.attempt_failed(id, failure),
            CallEffect::FillNext => self.fill_next(),
            CallEffect::FillPlaces => self.fill_places(),
            CallEffect::Finish(id, answer) => self.finish(id, Ok(*answer), None),
            CallEffect::GateOpened(call) => self.gate_opened(call),
            CallEffect::GivePlaceBack(id) => self.give_place_back(id),
            CallEffect::LetOut(id, then) => self.let_out(id, then),
            CallEffect::LearnHints => self.plan_learning(),
            CallEffect::LetOutAll(awaited) => self.let_out_all(awaited),
            CallEffect::LetOutGroup(group) => self.let_out_group(group),
            CallEffect::LetOutIf(id, awaited) => self.let_out_if(id, awaited),
            CallEffect::LetOutRamped(id, then) => self.let_out_ramped(id, then),
            CallEffect::PostDecided(id, reading, is_whole) => {
                self.post_decided(id, *reading, is_whole);
            }
            CallEffect::PostRead(id, read) => {
                let PostRead { head, answer, is_whole } = *read;
                self.post_read(id, (head, answer), is_whole);
            }
            CallEffect::RefuseSubscriber(id, answer) => {
                self.refuse_subscriber(id, answer);
            }
            CallEffect::HoldCalls => self.trouble(None),
            CallEffect::ReleaseFromProbation => self.release_from_probation(),
            CallEffect::ResolveCredentials(id, is_confirmed) => {
                self.resolve_credentials(id, is_confirmed);
            }
            CallEffect::ResolveEra(id, found) => self.resolve_era(id, found),
            CallEffect::ResolveEras(found) => self.resolve_eras(found),
            CallEffect::ResolveSession(id, verdict) => {
                self.resolve_session(id, &verdict);
            }
            CallEffect::ResumeRead(id, reading) => self.resume_read(id, *reading),
            CallEffect::ResumeSilent => self.resume_silent(),
            CallEffect::ReviewSessionWaiter(id) => self.review_session_waiter(id),
            CallEffect::ReviewSessionWaiters => self.review_session_waiters(),
            CallEffect::SendHome(id, home, refusal) => {
                self.send_home(id, home, &refusal);
            }
            CallEffect::ServerAnswered(attempt) => self.server_answered(attempt),
            CallEffect::SessionMade => self.session_made(),
            CallEffect::SetGateAlarm => self.set_gate_alarm(),
            CallEffect::SetProbationAlarm => self.set_probation_alarm(),
            CallEffect::Step(id, step) => self.carry_out(id, *step),
            CallEffect::TakeIn(source, message) => self.take_in(source, message),
            CallEffect::WatchLive => self.watch_live(),
        }
    }
}
