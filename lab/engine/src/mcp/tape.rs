//! The event store: what was sent on every stream that can be resumed.
//!
//! Any task may record events on a tape; the task that answers a GET plays it. Recording never waits. A tape
//! that is not played goes on being recorded, and the rest is sent when it is resumed.

use tokio::sync::watch;

/// All tapes. A tape is named by its place, which is also part of its event ids.
#[derive(Default)]
pub(super) struct Tapes(Vec<Tape>);

struct Tape {
    /// The session whose standing stream this is; `None` for the stream of an answer.
    standing: Option<Owner>,
    events: Vec<String>,
    is_ended: bool,
    /// The number of events, or the end, for the player.
    grown: watch::Sender<usize>,
    /// How many events the latest player has sent; closed once the player is gone.
    played: watch::Receiver<usize>,
}

/// The owner of a standing stream: a session, or `None` on a server without sessions.
pub(super) type Owner = Option<String>;

/// The right to play a tape. A newer one takes it away.
pub(super) struct TapePlayer {
    pub(super) tape: usize,
    pub(super) next: usize,
    pub(super) grown: watch::Receiver<usize>,
    pub(super) played: watch::Sender<usize>,
}

/// A recorded event.
pub(super) struct TapeEvent {
    pub(super) id: String,
    pub(super) data: String,
}

impl Tapes {
    /// Starts a tape for a standing stream, unless this session has one that is being played.
    pub(super) fn stand(&mut self, owner: &Owner) -> Option<TapePlayer> {
        let is_taken = owner.is_some() && self.playing().any(|tape| tape.belongs_to(owner));
        if is_taken {
            return None;
        }
        let tape = self.add(Some(owner.clone()));
        Some(self.play(tape, 0))
    }

    /// Records the whole stream of an answer and returns its events.
    pub(super) fn record_answer(&mut self, data: [String; 2]) -> Vec<TapeEvent> {
        let tape = self.add(None);
        self.0[tape].events.extend(data);
        self.0[tape].is_ended = true;
        self.after(tape, 0).0
    }

    /// Records an event on every standing stream. For those that are being played, returns the count at which
    /// it will have been sent.
    pub(super) fn record_standing(&mut self, data: &str) -> Vec<(watch::Receiver<usize>, usize)> {
        let mut playing = Vec::new();
        for tape in self.0.iter_mut().filter(|tape| tape.standing.is_some() && !tape.is_ended) {
            tape.record(data);
            if tape.is_playing() {
                playing.push((tape.played.clone(), tape.events.len()));
            }
        }
        playing
    }

    /// Records an event on the standing streams of one session.
    pub(super) fn record_for(&mut self, owner: &Owner, data: &str) {
        let theirs = self.0.iter_mut().filter(|tape| tape.belongs_to(owner) && !tape.is_ended);
        theirs.for_each(|tape| tape.record(data));
    }

    /// Finds the tape with this event, to be played from the next one on.
    pub(super) fn resume(&mut self, last_event_id: &str) -> Option<TapePlayer> {
        let (tape, event) = last_event_id.split_once('-')?;
        let (tape, next) = (tape.parse::<usize>().ok()?.checked_sub(1)?, event.parse().ok()?);
        // Event number 0 does not exist.
        let is_known = next > 0 && next <= self.0.get(tape)?.events.len();
        is_known.then(|| self.play(tape, next))
    }

    /// Returns the events of a tape from this one on, and whether no more can follow.
    pub(super) fn after(&self, tape: usize, next: usize) -> (Vec<TapeEvent>, bool) {
        let Tape { events, is_ended, .. } = &self.0[tape];
        let events = events.iter().enumerate().skip(next).map(|(place, data)| TapeEvent {
            id: format!("{}-{}", tape + 1, place + 1),
            data: data.clone(),
        });
        (events.collect(), *is_ended)
    }

    /// Ends the standing stream of a session.
    pub(super) fn end(&mut self, owner: &Owner) {
        for tape in self.0.iter_mut().filter(|tape| tape.belongs_to(owner)) {
            tape.is_ended = true;
            tape.grown.send_replace(tape.events.len());
        }
    }

    /// Returns how many standing streams are being played.
    pub(super) fn standing(&self) -> usize {
        self.playing().filter(|tape| tape.standing.is_some()).count()
    }

    fn playing(&self) -> impl Iterator<Item = &Tape> {
        self.0.iter().filter(|tape| tape.is_playing())
    }

    fn add(&mut self, standing: Option<Owner>) -> usize {
        let grown = watch::Sender::new(0);
        // Closed from the start: it has no player yet.
        let (_, played) = watch::channel(0);
        self.0.push(Tape { standing, events: Vec::new(), is_ended: false, grown, played });
        self.0.len() - 1
    }

    fn play(&mut self, tape: usize, next: usize) -> TapePlayer {
        let (played, is_played) = watch::channel(next);
        // A channel wakes its receivers in a random order, so each player has one of its own.
        let (grown, has_grown) = watch::channel(self.0[tape].events.len());
        (self.0[tape].played, self.0[tape].grown) = (is_played, grown);
        TapePlayer { tape, next, grown: has_grown, played }
    }
}

impl Tape {
    fn record(&mut self, data: &str) {
        self.events.push(data.to_owned());
        self.grown.send_replace(self.events.len());
    }

    fn belongs_to(&self, owner: &Owner) -> bool {
        self.standing.as_ref() == Some(owner)
    }

    fn is_playing(&self) -> bool {
        // This fails exactly when the player, which holds the sender, is gone.
        self.played.has_changed().is_ok()
    }
}
