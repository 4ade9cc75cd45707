//! Requests that can be given a time limit.

use std::time::Duration;

use ridethrough::Call;
use ridethrough::call::List;
use ridethrough::model::{Prompt, Resource, ResourceTemplate, TaskState, Tool};

/// A request that was not sent yet.
pub(super) trait Timed {
    /// Returns this request with a limit on its whole time.
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
