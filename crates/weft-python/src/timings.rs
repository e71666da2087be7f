//! How long each part of a compilation took.

use std::time::{Duration, Instant};

/// A stopwatch with a name for every part. A part that happens twice counts twice.
pub(crate) struct Timings {
    last: Instant,
    parts: Vec<(&'static str, Duration)>,
}

impl Timings {
    pub(crate) fn start() -> Timings {
        Timings { last: Instant::now(), parts: vec![] }
    }

    /// What was done since the last end was this part.
    pub(crate) fn end(&mut self, part: &'static str) {
        let now = Instant::now();
        let took = now - self.last;
        self.last = now;
        match self.parts.iter_mut().find(|(name, _)| *name == part) {
            Some((_, sum)) => *sum += took,
            None => self.parts.push((part, took)),
        }
    }

    /// Each part with its seconds, in the order in which they first happened.
    pub(crate) fn parts(&self) -> Vec<(&'static str, f64)> {
        self.parts.iter().map(|(name, took)| (*name, took.as_secs_f64())).collect()
    }

    /// The seconds of all parts.
    pub(crate) fn total(&self) -> f64 {
        self.parts.iter().map(|(_, took)| took.as_secs_f64()).sum()
    }
}
