//! Checks that the workspace matches `floor-plan.toml`: imports point down only, and platforms are named in
//! one place.
//!
//! No lower floor may know anything of an upper one, neither between crates nor between the modules of one. A
//! new file fails until it has a floor, and modules do not import each other in a circle. The rules are in
//! [`modules`], [`circles`], [`names`], [`crates`], [`routers`] and [`platforms`], and look at data;
//! [`workspace`] is the only part that touches the disk.

pub mod breach;
pub mod circles;
pub mod crates;
pub mod import;
pub mod modules;
pub mod names;
pub mod plan;
pub mod platforms;
pub mod routers;
pub mod source;
pub mod token;
pub mod workspace;

use breach::Breach;
use workspace::Workspace;

/// Returns every place where the workspace departs from its plan.
pub fn check(workspace: &Workspace) -> Vec<Breach> {
    let Workspace { plan, graph, sources } = workspace;
    let mut breaches = plan.check();
    breaches.extend(crates::check(plan, graph));
    for (name, sources) in sources {
        let plan = plan.crates.get(name);
        if let Some(floors) = plan.and_then(|plan| plan.floors.as_ref()) {
            breaches.extend(modules::check(name, floors, sources));
        }
        let together = plan.map_or(&[][..], |plan| &plan.together);
        breaches.extend(circles::check(name, together, sources));
        let stand_ins = plan.map_or(&[][..], |plan| &plan.stand_ins);
        breaches.extend(names::check(name, stand_ins, sources));
        for (path, router) in plan.into_iter().flat_map(|plan| &plan.routers) {
            breaches.extend(routers::check(name, path, router, sources));
        }
        let listed = plan.map_or(&[][..], |plan| &plan.platform);
        breaches.extend(platforms::check(name, listed, sources));
    }
    breaches
}
