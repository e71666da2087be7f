//! Failures on demand, to prove that what lies above survives them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::HalError;

/// What can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An allocation: there is no memory.
    Allocation,
    /// A launch: the driver refuses it.
    Launch,
    /// A copy: the driver refuses it.
    Copy,
    /// A launch: the kernel faults, and the device is lost.
    Loss,
}

/// The failures that the null device has been told to show. One for the process.
#[derive(Debug, Default)]
pub struct Faults(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// For each kind of fault: operations that succeed before it, and how many then fail.
    armed: [Option<(u64, u64)>; 4],
    lost: Option<String>,
}

/// The failures of the null device.
pub fn faults() -> &'static Faults {
    static FAULTS: Faults = Faults(Mutex::new(State { armed: [None; 4], lost: None }));
    &FAULTS
}

/// A driver's refusal.
pub(super) fn driver(call: &'static str) -> HalError {
    let text = "NULL_INJECTED_FAULT, a failure that was asked for".to_owned();
    HalError::Driver { device: "null:accelerator:0".to_owned(), call, code: -1, text }
}

impl Faults {
    /// Lets the `nth` operation of that kind from now on fail (the first is 1), and those after it, `count` in all. A
    /// lost device stays lost whatever the count.
    pub fn arm(&self, fault: Fault, nth: u64, count: u64) {
        self.state().armed[fault as usize] = Some((nth.saturating_sub(1), count));
    }

    /// Nothing fails from now on; a lost device is found again.
    pub fn clear(&self) {
        *self.state() = State::default();
    }

    /// What every operation asks first.
    pub(super) fn alive(&self) -> Result<(), HalError> {
        match &self.state().lost {
            None => Ok(()),
            Some(cause) => Err(HalError::DeviceLost { device: "null:accelerator:0".to_owned(), cause: cause.clone() }),
        }
    }

    /// Counts an operation of that kind, and says whether it fails.
    pub(super) fn happens(&self, fault: Fault) -> bool {
        match &mut self.state().armed[fault as usize] {
            Some((0, 0)) | None => false,
            Some((0, count)) => {
                *count -= 1;
                true
            }
            Some((before, _)) => {
                *before -= 1;
                false
            }
        }
    }

    /// Counts a launch.
    pub(super) fn launch(&self, kernel: &str) -> Result<(), HalError> {
        if self.happens(Fault::Loss) {
            self.state().lost = Some(format!("kernel `{kernel}` faulted, as was asked for"));
        }
        self.alive()?;
        if self.happens(Fault::Launch) { Err(driver("launch")) } else { Ok(()) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_operation_fails_and_then_so_many() {
        let faults = Faults::default();
        faults.arm(Fault::Allocation, 3, 2);
        let seen: Vec<bool> = (0..6).map(|_| faults.happens(Fault::Allocation)).collect();
        assert_eq!(seen, [false, false, true, true, false, false]);
        assert!(!faults.happens(Fault::Copy));
    }

    #[test]
    fn a_lost_device_stays_lost() {
        let faults = Faults::default();
        faults.arm(Fault::Loss, 2, 1);
        assert_eq!(faults.launch("f"), Ok(()));
        for _ in 0..2 {
            assert!(matches!(faults.launch("f"), Err(HalError::DeviceLost { .. })));
            assert!(matches!(faults.alive(), Err(HalError::DeviceLost { .. })));
        }
        faults.clear();
        assert_eq!(faults.launch("f"), Ok(()));
    }
}
