//! Whose a name is that two servers want: it stays whose it was, also over a restart.

use std::sync::{Arc, Mutex};

use ridethrough::Era;
use ridethrough_gateway::{GatewaySettings, NameStore, OwnedName, Prefix};

use crate::rig::{Behind, Rig, WayState, call, names};

/// In the first life the second server answers first, and in the next life the first one does.
#[tokio::test(start_paused = true)]
async fn a_contested_name_leads_to_its_first_owner_also_after_a_restart() {
    let (mut a, mut b) = (Behind::new("a", &["t"]), Behind::new("b", &["t"]));
    (a.settings.rules.prefix, b.settings.rules.prefix) = (Prefix::None, Prefix::None);
    let kept = Kept::default();
    let live = || {
        let mut settings = GatewaySettings::default();
        settings.names = Some(Arc::new(kept.clone()));
        Rig::with(vec![a.settings.clone(), b.settings.clone()], settings)
    };

    a.way.set(WayState::Refuses);
    let first = live();
    let client = first.client(Era::Legacy);
    assert_eq!(names(&client).await, ["t"]);
    a.way.set(WayState::Open);
    tokio::time::sleep(crate::rig::secs(60)).await;
    let before = names(&client).await;
    assert_eq!(call(&client, "t").await, r#"b {"a":1}"#);

    b.way.set(WayState::Refuses);
    b.way.cut();
    let second = live();
    let client = second.client(Era::Legacy);
    assert_eq!(names(&client).await, before[..1], "the name of the other is not given away");
    b.way.set(WayState::Open);
    tokio::time::sleep(crate::rig::secs(60)).await;

    assert_eq!(names(&client).await, before);
    assert_eq!(call(&client, "t").await, r#"b {"a":1}"#);
}

/// Keeps names as a file does.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<OwnedName>>>);

impl NameStore for Kept {
    fn read(&self) -> Vec<OwnedName> {
        self.0.lock().unwrap().clone()
    }

    fn keep(&self, names: &[OwnedName]) {
        *self.0.lock().unwrap() = names.to_vec();
    }
}
