//! Faults by name, each with a rate: what may happen in a world, and how often.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;
use std::str::FromStr;
use std::time::Duration;

use ridethrough_core::rng::Rng;

/// A kind of fault, for one kind of world.
pub trait FaultKind: Copy + fmt::Debug + Ord + Send + Sync + 'static {
    /// All of them.
    const ALL: &'static [Self];

    /// Returns its name in commands and files.
    fn name(self) -> &'static str;

    /// Returns the highest rate that a world draws.
    fn most(self) -> u64;

    /// Those that happen over time, independent of calls; their rates are for a hundred calls.
    const EVENTS: &'static [Self];

    /// Returns its place in [`ALL`](Self::ALL).
    fn place(self) -> usize;
}

/// Writes an enum of faults: the variant, its name, the highest rate that a world draws, and `event` if it happens over
/// time.
macro_rules! fault_kinds {
    (event $variant:expr) => { $variant };
    (
        $(#[$kind_meta:meta])* $kind:ident
        $($(#[$meta:meta])* $variant:ident $word:literal $most:literal $($event:ident)?,)*
    ) => {
        $(#[$kind_meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $kind {
            $($(#[$meta])* $variant,)*
        }

        impl $kind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns its name in commands and files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// Whether it happens over time, so that its rate is for a hundred calls.
            pub fn is_event(self) -> bool {
                <Self as $crate::rates::FaultKind>::EVENTS.contains(&self)
            }
        }

        impl $crate::rates::FaultKind for $kind {
            const ALL: &'static [Self] = Self::ALL;
            const EVENTS: &'static [Self] =
                &[$($($crate::rates::fault_kinds!($event Self::$variant),)?)*];

            fn name(self) -> &'static str {
                self.name()
            }

            fn most(self) -> u64 {
                match self {
                    $(Self::$variant => $most,)*
                }
            }

            fn place(self) -> usize {
                self as usize
            }
        }
    };
}
pub(crate) use fault_kinds;

/// An event that will happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Happening<F> {
    pub(crate) at: Duration,
    pub(crate) what: F,
}

/// The rate of each fault.
#[derive(Clone, PartialEq, Eq)]
pub struct Rates<F>(Vec<u64>, PhantomData<F>);

impl<F: FaultKind> Rates<F> {
    /// Returns rates without any fault.
    pub fn none() -> Self {
        Self(vec![0; F::ALL.len()], PhantomData)
    }

    /// Draws the subset of a seed.
    pub fn draw(rng: &mut Rng) -> Self {
        // Some worlds have few faults and some have many.
        let density = 1 + rng.below(5);
        let rate = |fault: &F| if rng.below(6) < density { 1 + rng.below(fault.most()) } else { 0 };
        Self(F::ALL.iter().map(rate).collect(), PhantomData)
    }

    /// Adds a fault.
    #[must_use]
    pub fn with(mut self, fault: F, rate: u64) -> Self {
        self.0[fault.place()] = rate;
        self
    }

    /// Removes a fault.
    #[must_use]
    pub fn without(self, fault: F) -> Self {
        self.with(fault, 0)
    }

    /// Returns the faults with a rate above zero.
    pub fn present(&self) -> impl Iterator<Item = F> + '_ {
        F::ALL.iter().copied().filter(|fault| self[*fault] > 0)
    }

    /// Whether this fault happens now. A number is drawn in any case, so that a world without one of its
    /// faults goes on much like the one with it.
    pub fn happens(&self, fault: F, rng: &mut Rng) -> bool {
        rng.below(1000) < self[fault]
    }

    /// Draws the events of a world with so many calls, in order. Their rates are for `per` calls; `most` says how often
    /// one may happen at all.
    pub(crate) fn draw_events(
        &self,
        rng: &mut Rng,
        (calls, per): (u64, u64),
        within: Duration,
        most: impl Fn(F) -> u64,
    ) -> Vec<Happening<F>> {
        let mut happenings = Vec::new();
        for &what in F::EVENTS {
            let times = self[what] * calls.max(50) / per;
            let times = if times == 0 { 0 } else { 1 + rng.below(times) };
            for _ in 0..times.min(most(what)) {
                happenings.push(Happening { at: rng.between(Duration::ZERO, within), what });
            }
        }
        happenings.sort();
        happenings
    }

    /// Whether the world has any of these faults.
    pub fn has(&self, faults: &[F]) -> bool {
        faults.iter().any(|fault| self[*fault] > 0)
    }
}

impl<F: FaultKind> Index<F> for Rates<F> {
    type Output = u64;

    fn index(&self, fault: F) -> &u64 {
        &self.0[fault.place()]
    }
}

impl<F: FaultKind> fmt::Display for Rates<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut present = self.present().peekable();
        if present.peek().is_none() {
            return f.write_str("none");
        }
        for (place, fault) in present.enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{}={}", fault.name(), self[fault])?;
        }
        Ok(())
    }
}

impl<F: FaultKind> fmt::Debug for Rates<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Faults({self})")
    }
}

impl<F: FaultKind> FromStr for Rates<F> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut faults = Self::none();
        for part in text.split(',').filter(|part| !matches!(*part, "" | "none")) {
            let (name, rate) = part.split_once('=').ok_or(format!("`{part}` is not NAME=RATE"))?;
            let known = F::ALL.iter().find(|fault| fault.name() == name);
            let fault = known.ok_or(format!("there is no fault `{name}`"))?;
            let rate = rate.parse().map_err(|_| format!("the rate of `{name}` is no number"))?;
            faults = faults.with(*fault, rate);
        }
        Ok(faults)
    }
}
