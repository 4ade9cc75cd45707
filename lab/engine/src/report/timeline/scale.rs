//! Converts milliseconds to pixels, in proportion.

/// The position of each moment on a picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// Where the lanes begin.
    pub(super) left: f64,
    /// Where they end.
    pub(super) right: f64,
    begin_ms: f64,
    end_ms: f64,
}

impl Scale {
    /// Creates a scale from one moment to another.
    pub(super) fn new(left: f64, right: f64, begin_ms: f64, end_ms: f64) -> Self {
        Self { left, right, begin_ms, end_ms: end_ms.max(begin_ms + SHORTEST_MS) }
    }

    pub(super) fn x(&self, at_ms: f64) -> f64 {
        let part = (at_ms - self.begin_ms) / (self.end_ms - self.begin_ms);
        let part = part.clamp(0.0, 1.0);
        self.left + part * (self.right - self.left)
    }

    /// Round moments that leave room for their labels.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let most = ((self.right - self.left) / TICK_ROOM).floor().max(1.0);
        let step = round_up((self.end_ms - self.begin_ms) / most);
        let (first, last) = ((self.begin_ms / step).ceil(), (self.end_ms / step).floor());
        // Multiplied each time, because sums of fractions drift.
        let times = (first as u64..=last as u64).map(|times| times as f64 * step);
        times.map(|at| (self.x(at), label(at, step))).collect()
    }
}

/// Returns the next number of 1, 2, 5, 10, 20, 50 and so on.
fn round_up(number: f64) -> f64 {
    let power = 10_f64.powf(number.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= number);
    factor.unwrap_or(10.0) * power
}

fn label(at_ms: f64, step_ms: f64) -> String {
    match step_ms {
        _ if at_ms == 0.0 => "0".to_owned(),
        step if step >= 1000.0 => format!("{:.0} s", at_ms / 1e3),
        step if step >= 100.0 && at_ms >= 1000.0 => format!("{:.1} s", at_ms / 1e3),
        step if step >= 10.0 && at_ms >= 1000.0 => format!("{:.2} s", at_ms / 1e3),
        step if step >= 1.0 => format!("{at_ms:.0} ms"),
        _ => format!("{at_ms:.1} ms"),
    }
}

/// The shortest time that is shown; less would show only noise.
const SHORTEST_MS: f64 = 1.0;
const TICK_ROOM: f64 = 62.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_placed_in_proportion() {
        let scale = Scale::new(100.0, 500.0, 3000.0, 5000.0);

        let places = [3000.0, 3500.0, 4000.0, 5000.0, 9000.0].map(|at| scale.x(at));

        assert_eq!(places, [100.0, 200.0, 300.0, 500.0, 500.0]);
    }

    #[test]
    fn ticks_are_round_and_have_room() {
        for end in [1.0, 7.3, 99.0, 620.0, 4810.0, 20_050.0, 119_000.0] {
            let scale = Scale::new(0.0, 300.0, end / 3.0, end);

            let ticks = scale.ticks();

            let gaps: Vec<_> = ticks.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
            assert!(gaps.iter().all(|gap| *gap > TICK_ROOM - 1e-6), "{end}: {ticks:?}");
            assert!(ticks.len() > 1, "{end}: {ticks:?}");
        }
        let labels = |begin, end| -> Vec<_> {
            let ticks = Scale::new(0.0, 300.0, begin, end).ticks();
            ticks.into_iter().map(|it| it.1).collect()
        };
        assert_eq!(labels(0.0, 4810.0), ["0", "2 s", "4 s"]);
        assert_eq!(labels(900.0, 1130.0), ["900 ms", "1.0 s", "1.1 s"]);
    }
}
