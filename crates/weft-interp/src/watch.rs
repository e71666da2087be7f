//! What work-items do to memory that they share, and where two of them meet: data races.
//!
//! Work-items run one after the other, so each element needs to remember who wrote it, two of those that read it and two
//! that updated it (atomically): whoever comes later meets one of them that is another, or none. Two that store equal
//! values do not race: the outcome does not depend on their order.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use weft_diag::Span;

use crate::value::Failure;

/// What is done to an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// It is updated, and nothing comes between.
    Update,
}

/// Which work-item runs, by its position among all, the last dimension fastest.
#[derive(Clone, Debug, Default)]
pub struct Now(Rc<Cell<u64>>);

impl Now {
    /// The position.
    pub fn item(&self) -> u64 {
        self.0.get()
    }

    pub(crate) fn set(&self, item: u64) {
        self.0.set(item);
    }
}

/// Two work-items that meet at an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The one that ran first, and what it did.
    pub first: (u64, Access),
    /// The one that came later, and what it was about to do.
    pub second: (u64, Access),
    /// Where in the program, once known.
    pub place: Option<Met>,
}

/// A place where work-items meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Met {
    /// Name of the array; empty if it has none.
    pub array: String,
    /// Index of the element.
    pub index: Vec<i64>,
    /// The user's expression.
    pub span: Span,
}

/// Who did what to an element.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    writer: Option<u64>,
    readers: [Option<u64>; 2],
    updaters: [Option<u64>; 2],
}

/// What was done to a block so far, by byte offset.
#[derive(Debug)]
pub(crate) struct Watched {
    now: Now,
    seen: RefCell<HashMap<i64, Seen>>,
}

impl Watched {
    pub(crate) fn new(now: &Now) -> Watched {
        Watched { now: now.clone(), seen: RefCell::default() }
    }

    /// Notes what the work-item that runs does to an element. `same`: what it writes is there already.
    pub(crate) fn note(&self, offset: i64, access: Access, same: bool) -> Result<(), Failure> {
        let item = self.now.item();
        let mut all = self.seen.borrow_mut();
        let size = all.len() * size_of::<(i64, Seen)>();
        all.try_reserve(1).map_err(|_| Failure::Exhausted(size))?;
        let seen = all.entry(offset).or_default();
        let other = |who: &[Option<u64>]| who.iter().flatten().copied().find(|&w| w != item);
        let by = |who: &[Option<u64>], what| other(who).map(|w| (w, what));
        let written = by(&[seen.writer], Access::Write);
        let (read, updated) = (by(&seen.readers, Access::Read), by(&seen.updaters, Access::Update));
        let first = match access {
            Access::Read => written.or(updated),
            Access::Write => written.filter(|_| !same).or(updated).or(read),
            Access::Update => written.or(read),
        };
        if let Some(first) = first {
            return Err(Failure::Race(Box::new(Race { first, second: (item, access), place: None })));
        }
        match access {
            Access::Read => add(&mut seen.readers, item),
            Access::Write => seen.writer = Some(item),
            Access::Update => add(&mut seen.updaters, item),
        }
        Ok(())
    }
}

/// Adds the last of those who did something: of more than two, the first and the last are kept.
fn add(who: &mut [Option<u64>; 2], item: u64) {
    match who {
        [None, _] => who[0] = Some(item),
        [Some(first), _] if *first == item => {}
        _ => who[1] = Some(item),
    }
}
