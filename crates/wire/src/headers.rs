//! A call's own headers, which every HTTP request for that call carries.
//!
//! The machine never reads them. Their values may be secrets, so nothing prints them.

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};

/// The headers of a call: they go out with every send and every resume.
///
/// ```
/// use ridethrough_wire::headers::Headers;
///
/// let mut map = http::HeaderMap::new();
/// map.insert("x-tenant", "blue".parse()?);
/// let headers = Headers::from(map);
/// assert_eq!(headers.iter().count(), 1);
/// assert!(!format!("{headers:?}").contains("blue"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers {
    // Most calls have none, and a call with some may be sent many times.
    map: Option<Arc<HeaderMap>>,
}

impl Headers {
    /// Returns names and values, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.map.iter().flat_map(|map| map.iter())
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.map.is_none()
    }
}

impl From<HeaderMap> for Headers {
    fn from(map: HeaderMap) -> Self {
        Self { map: Some(map).filter(|map| !map.is_empty()).map(Arc::new) }
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(name, _)| name)).finish()
    }
}
