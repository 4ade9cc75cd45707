//! A run: every sequence at every place, several side by side.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::backend::{self, Backend, Era};
use crate::differences::Played;
use crate::door::{Place, StandingDoor};
use crate::normal;
use crate::player::{self, Stage};
use crate::script::{Scope, Sequence};

/// What is played, and with what.
pub(crate) struct RunOrder {
    pub(crate) program: PathBuf,
    /// A folder that is there for this run only.
    pub(crate) folder: PathBuf,
    pub(crate) sequences: Vec<Sequence>,
    /// How many hosts are there at once.
    pub(crate) hosts: usize,
}

/// What is shared by all that is played.
struct Stages {
    program: PathBuf,
    folder: PathBuf,
    /// The addresses of the servers behind the doors.
    sessions: String,
    stateless: String,
    /// Doors that stand open and have no host.
    open: Mutex<Vec<(Place, StandingDoor)>>,
}

/// Plays everything.
pub(crate) async fn run(order: RunOrder) -> Result<Vec<Played>> {
    let RunOrder { program, folder, sequences, hosts } = order;
    let stages = Stages {
        program,
        folder,
        sessions: backend::http::serve(Backend::new(Era::Sessions)).await?,
        stateless: backend::http::serve(Backend::new(Era::Stateless)).await?,
        open: Mutex::default(),
    };
    let pairs = sequences.iter().enumerate().flat_map(|(number, sequence)| {
        let is_meant = |it: &Place| it.behind == Era::Sessions || sequence.scope != Scope::Door;
        Place::ALL.into_iter().filter(is_meant).map(move |place| (number, sequence, place))
    });
    let playing = pairs.map(|(number, sequence, place)| {
        let playing = stages.play(number, sequence, place);
        async move { Ok::<_, anyhow::Error>((number, place, playing.await?)) }
    });
    let mut said = vec![BTreeMap::new(); sequences.len()];
    let mut playing = stream::iter(playing).buffer_unordered(hosts);
    while let Some((number, place, lines)) = playing.try_next().await? {
        said[number].insert(place, lines);
    }
    drop(playing);
    stages.close().await?;
    let played = sequences.iter().zip(said);
    Ok(played.map(|(it, said)| Played { line: it.name.to_owned(), said }).collect())
}

impl Stages {
    async fn play(&self, number: usize, sequence: &Sequence, place: Place) -> Result<Vec<String>> {
        let is_alone = sequence.scope == Scope::Alone;
        let standing = if is_alone { None } else { self.take(place) };
        let playing = player::play(sequence, self.stage(number, place, standing));
        let played = playing.await;
        let (heard, standing) =
            played.with_context(|| format!("`{}` at {}", sequence.name, place.name()))?;
        match standing {
            Some(standing) if is_alone => standing.close().await?,
            Some(standing) => self.open().push((place, standing)),
            None => {}
        }
        Ok(normal::lines(&heard))
    }

    /// A door that is opened has a server and a folder of its own behind it.
    fn stage(&self, number: usize, place: Place, standing: Option<StandingDoor>) -> Stage {
        let room = format!("{number}-{}", place.name().replace([' ', ','], ""));
        let address = match place.behind {
            Era::Sessions => &self.sessions,
            Era::Stateless => &self.stateless,
        };
        let upstream = format!("{address}/{room}/mcp");
        let (program, home) = (self.program.clone(), self.folder.join(room));
        Stage { program, home, upstream, door: place.door, standing }
    }

    fn take(&self, place: Place) -> Option<StandingDoor> {
        let mut open = self.open();
        let at = open.iter().position(|(it, _)| *it == place)?;
        Some(open.swap_remove(at).1)
    }

    async fn close(self) -> Result<()> {
        let open = std::mem::take(&mut *self.open());
        for (_, standing) in open {
            standing.close().await?;
        }
        Ok(())
    }

    fn open(&self) -> MutexGuard<'_, Vec<(Place, StandingDoor)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
