//! What can go wrong below the runtime, as data: the sentence a user reads is built once, at the edge.

use std::fmt::Write as _;

/// Every failure of this crate. Each variant carries what a message needs; `Display` is one sentence in plain words.
///
/// The error is `Clone` because some are sticky: a lost device answers every later call with the same value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HalError {
    /// The filter is well formed, but no device answers to it.
    #[error("{}", no_such_device(filter, nearest, why))]
    NoSuchDevice {
        /// The filter as given.
        filter: String,
        /// Filter strings of the devices there are, the most similar first.
        nearest: Vec<String>,
        /// What discovery said about the backends that the filter names.
        why: Vec<String>,
    },
    /// The filter cannot be read.
    #[error("`{filter}` is not a device filter: {reason}")]
    BadFilter {
        /// The filter as given.
        filter: String,
        /// Which part is wrong and what is accepted there.
        reason: String,
    },
    /// A driver call failed in a way that has no variant of its own.
    #[error("{device}: {call} failed with {code}: {text}")]
    Driver {
        /// Filter string of the device (or the backend, while devices are being looked for).
        device: String,
        /// The driver's function.
        call: &'static str,
        /// The driver's code.
        code: i32,
        /// The driver's own words.
        text: String,
    },
    /// An allocation did not fit.
    #[error("{}", out_of_memory(device, *requested, *free, *total))]
    OutOfMemory {
        /// Filter string of the device.
        device: String,
        /// Bytes asked for.
        requested: u64,
        /// Bytes the driver says are free, where it says.
        free: Option<u64>,
        /// Bytes the device has.
        total: u64,
    },
    /// The driver refused the program; the log is the driver's.
    #[error("{device} refused the program:\n{log}")]
    BadProgram {
        /// Filter string of the device.
        device: String,
        /// Build log.
        log: String,
    },
    /// The program has no kernel of that name.
    #[error("the program has no kernel `{name}`{}", list(" (it has ", known, ")"))]
    NoSuchKernel {
        /// Name asked for.
        name: String,
        /// Names in the program, where the driver tells them.
        known: Vec<String>,
    },
    /// The caller broke the contract in a way that was noticed.
    #[error("{0}")]
    InvalidArgument(String),
    /// This device, or this process, cannot do that.
    #[error("{0}")]
    Unsupported(String),
    /// The device cannot be cut that way.
    #[error("{device} cannot be divided {asked}: {offers}")]
    BadPartition {
        /// Filter string of the device.
        device: String,
        /// What was asked for, in words.
        asked: String,
        /// What there is instead.
        offers: String,
    },
    /// The device is gone for the rest of the process.
    #[error("{device} was lost and cannot be used again in this process ({cause}); memory on other devices is intact")]
    DeviceLost {
        /// Filter string of the device.
        device: String,
        /// The failure that lost it.
        cause: String,
    },
}

fn list(before: &str, items: &[String], after: &str) -> String {
    if items.is_empty() { String::new() } else { format!("{before}{}{after}", items.join(", ")) }
}

fn no_such_device(filter: &str, nearest: &[String], why: &[String]) -> String {
    let mut text = format!("no device matches `{filter}`{}", list("; there is ", nearest, ""));
    for line in why {
        // Writing to a String cannot fail.
        let _ = write!(text, "; {line}");
    }
    text
}

fn out_of_memory(device: &str, requested: u64, free: Option<u64>, total: u64) -> String {
    let free = free.map_or(String::new(), |free| format!("{free} bytes free of "));
    format!("{device} is out of memory: {requested} bytes were asked for, {free}{total} bytes in all")
}
