//! What an object with a `__dict__` holds.
//!
//! CPython makes such an object zeroed, tells the garbage collector of it, and then makes its `__dict__`, which may start a
//! collection; only then PyO3 puts the value in. Until then there is nothing to visit. If there was no memory for the
//! `__dict__`, there is nothing to drop either.

use std::mem::MaybeUninit;
use std::ops::Deref;

/// A value, or, in an object that is not whole yet, zeros.
pub(crate) struct Whole<T> {
    there: bool,
    value: MaybeUninit<T>,
}

impl<T> Whole<T> {
    pub(crate) fn new(value: T) -> Whole<T> {
        Whole { there: true, value: MaybeUninit::new(value) }
    }

    /// The value, once it is there.
    pub(crate) fn get(&self) -> Option<&T> {
        // SAFETY: only `new` sets `there`, with the value.
        self.there.then(|| unsafe { self.value.assume_init_ref() })
    }
}

impl<T> Deref for Whole<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.get().expect("an object is only called when it is whole")
    }
}

impl<T> Drop for Whole<T> {
    fn drop(&mut self) {
        if self.there {
            // SAFETY: only `new` sets `there`, with the value; nobody drops it but this.
            unsafe { self.value.assume_init_drop() };
        }
    }
}
