//! Collections that grow with what users pass or get: where there is no memory for more, that is an exception.

use std::collections::HashMap;
use std::hash::Hash;

use smallvec::{Array, SmallVec};
use weft_codegen::shortage;

/// A collection with room for some.
pub(crate) trait Grow {
    /// Whether the next one needs more memory.
    fn is_full(&self) -> bool;
    /// Makes room for one more; false if there is no memory.
    fn grow(&mut self) -> bool;

    /// Whether there is room for one more, after it was asked for.
    fn has_room(&mut self) -> bool {
        !self.is_full() || !shortage::strikes() && self.grow()
    }
}

impl<T> Grow for Vec<T> {
    fn is_full(&self) -> bool {
        self.len() == self.capacity()
    }
    fn grow(&mut self) -> bool {
        self.try_reserve(1).is_ok()
    }
}

impl<A: Array> Grow for SmallVec<A> {
    fn is_full(&self) -> bool {
        self.len() == self.capacity()
    }
    fn grow(&mut self) -> bool {
        self.try_reserve(1).is_ok()
    }
}

impl<K: Eq + Hash, V> Grow for HashMap<K, V> {
    fn is_full(&self) -> bool {
        self.len() == self.capacity()
    }
    fn grow(&mut self) -> bool {
        self.try_reserve(1).is_ok()
    }
}
