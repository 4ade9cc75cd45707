//! What other parts ask of the calls, one method for each.

use super::Calls;
use crate::link::base::Base;
use crate::link::effects::{CallEffect, PostRead};
use crate::moment::Moment;

impl Calls {
    /// Does what was asked.
    pub(crate) fn perform(&mut self, base: &mut Base, now: Moment, effect: CallEffect) {
        match effect {
            CallEffect::Answered(id, answer) => self.stream_answered(base, now, id, *answer),
            CallEffect::Ask(request) => self.ask(base, now, *request),
            CallEffect::AskAtGate => self.ask_at_gate(base, now),
            CallEffect::CheckGeneration(generation) => self.check_generation(base, now, generation),
            CallEffect::DropRestoring => self.drop_restoring(&mut base.cx),
            CallEffect::End(id, ending) => self.end(base, now, id, ending),
            CallEffect::EndAll(awaited, ending) => self.end_all(base, awaited, &ending),
            CallEffect::EndImpatient => self.end_impatient(base, now),
            CallEffect::EndImpatientCall(id) => self.end_impatient_call(base, now, id),
            CallEffect::EndSessionWaiter(id, ending, refusal) => {
                self.end_session_waiter(base, now, id, ending, refusal);
            }
            CallEffect::EndSessionWaiters(ending, refusal) => {
                self.end_session_waiters(base, &ending, refusal.as_ref());
            }
            CallEffect::EndSilent { is_unreachable } => self.end_silent(base, now, is_unreachable),
            CallEffect::EndSilentAttempt(id) => self.end_silent_attempt(base, now, id),
            CallEffect::Failed(id, failure) => self.attempt_failed(base, now, id, failure),
            CallEffect::FillNext => self.fill_next(base),
            CallEffect::FillPlaces => self.fill_places(base),
            CallEffect::Finish(id, answer) => self.finish(base, now, id, Ok(*answer), None),
            CallEffect::GateOpened(call) => self.gate_opened(base, call),
            CallEffect::GivePlaceBack(id) => self.give_place_back(base, id),
            CallEffect::LetOut(id, then) => self.let_out(base, now, id, then),
            CallEffect::LearnHints => self.plan_learning(&mut base.cx, now),
            CallEffect::LetOutAll(awaited) => self.let_out_all(base, awaited),
            CallEffect::LetOutGroup(group) => self.let_out_group(base, group),
            CallEffect::LetOutIf(id, awaited) => self.let_out_if(base, now, id, awaited),
            CallEffect::LetOutRamped(id, then) => self.let_out_ramped(base, now, id, then),
            CallEffect::PostDecided(id, reading, is_whole) => {
                self.post_decided(base, now, id, *reading, is_whole);
            }
            CallEffect::PostRead(id, read) => {
                let PostRead { head, answer, is_whole } = *read;
                self.post_read(base, now, id, (head, answer), is_whole);
            }
            CallEffect::RefuseSubscriber(id, answer) => {
                self.refuse_subscriber(base, now, id, answer);
            }
            CallEffect::HoldCalls => self.trouble(base, now, None),
            CallEffect::ReleaseFromProbation => self.release_from_probation(base),
            CallEffect::ResolveCredentials(id, is_confirmed) => {
                self.resolve_credentials(base, now, id, is_confirmed);
            }
            CallEffect::ResolveEra(id, found) => self.resolve_era(base, now, id, found),
            CallEffect::ResolveEras(found) => self.resolve_eras(base, found),
            CallEffect::ResolveSession(id, verdict) => {
                self.resolve_session(base, now, id, &verdict);
            }
            CallEffect::ResumeRead(id, reading) => self.resume_read(base, now, id, *reading),
            CallEffect::ResumeSilent => self.resume_silent(base, now),
            CallEffect::ReviewSessionWaiter(id) => self.review_session_waiter(base, now, id),
            CallEffect::ReviewSessionWaiters => self.review_session_waiters(base),
            CallEffect::SendHome(id, home, refusal) => {
                self.send_home(base, now, id, home, &refusal);
            }
            CallEffect::ServerAnswered(attempt) => self.server_answered(base, now, attempt),
            CallEffect::SessionMade => self.session_made(base, now),
            CallEffect::SetGateAlarm => self.set_gate_alarm(base),
            CallEffect::SetProbationAlarm => self.set_probation_alarm(base),
            CallEffect::Step(id, step) => self.carry_out(base, now, id, *step),
            CallEffect::TakeIn(source, message) => self.take_in(base, now, source, message),
            CallEffect::WatchLive => self.watch_live(base),
        }
    }
}
