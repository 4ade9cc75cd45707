//! Makes a broken world simpler: takes its faults away one by one, for as long as it stays broken.

use crate::SeededWorld;
use crate::world::World;

/// The result of shrinking a world.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The simplest world found that breaks the promise.
    pub world: World,
    /// The promise that is broken.
    pub promise: &'static str,
}

/// Looks for a simpler world that breaks the promise that this one breaks first; `None` if it breaks none.
/// `told` gets each world that is still broken.
pub fn shrink(world: &World, mut told: impl FnMut(&World)) -> Option<Shrunk> {
    let promise = broken(world)?;
    let mut least = world.clone();
    while let Some(next) = smaller(&least, promise) {
        told(&next);
        least = next;
    }
    Some(Shrunk { world: least, promise })
}

/// Returns a world that is simpler by one step and still breaks the promise.
fn smaller(world: &World, promise: &'static str) -> Option<World> {
    steps(world).find(|world| broken(world) == Some(promise))
}

/// Returns the first promise that a world breaks.
fn broken(world: &World) -> Option<&'static str> {
    world.live().violations.first().map(|violation| violation.promise)
}

/// Worlds that are simpler by one step, the largest step first.
fn steps(world: &World) -> impl Iterator<Item = World> + '_ {
    let fewer = [world.calls / 2, world.calls.saturating_sub(1)];
    let fewer = fewer.into_iter().filter(|calls| (1..world.calls).contains(calls));
    let fewer = fewer.map(|calls| World { calls, ..world.clone() });
    let without = world.faults.present().map(|fault| {
        let faults = world.faults.clone().without(fault);
        World { faults, ..world.clone() }
    });
    fewer.chain(without)
}
