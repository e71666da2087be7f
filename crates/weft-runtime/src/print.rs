//! Output of compiled code: whoever embeds the runtime says where it goes.

use std::sync::OnceLock;

static WRITER: OnceLock<fn(&str)> = OnceLock::new();

/// Sends the output of compiled code there. Only the first call counts.
pub fn set_writer(writer: fn(&str)) {
    let _ = WRITER.set(writer);
}

pub(crate) fn write(text: &str) {
    match WRITER.get() {
        Some(writer) => writer(text),
        None => print!("{text}"),
    }
}
