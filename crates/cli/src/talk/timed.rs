//! Everything that can be asked with a time limit.

use std::time::Duration;

use ridethrough::Call;
use ridethrough::call::List;
use ridethrough::model::{Prompt, Resource, ResourceTemplate, TaskState, Tool};

/// Something to be asked, before it is asked.
pub(super) trait Timed {
    /// The same, with this much time in all.
    fn within(self, time: Duration) -> Self;
}

impl<T> Timed for Call<T> {
    fn within(self, time: Duration) -> Self {
        self.timeout(time)
    }
}

macro_rules! lists {
    ($($item:ty),+) => {$(
        impl Timed for List<$item> {
            fn within(self, time: Duration) -> Self {
                self.timeout(time)
            }
        }
    )+};
}

lists!(Prompt, Resource, ResourceTemplate, TaskState, Tool);
