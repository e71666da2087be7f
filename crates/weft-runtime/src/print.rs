//! Output of compiled code: whoever embeds the runtime says where it goes.

use std::sync::OnceLock;

use crate::error::Foreign;

/// Writes a text; what that raised, if it did.
pub type Writer = fn(&str) -> Result<(), Foreign>;

static WRITER: OnceLock<Writer> = OnceLock::new();

/// Sends the output of compiled code there. Only the first call counts.
pub fn set_writer(writer: Writer) {
    let _ = WRITER.set(writer);
}

pub(crate) fn write(text: &str) -> Result<(), Foreign> {
    match WRITER.get() {
        Some(writer) => writer(text),
        None => {
            print!("{text}");
            Ok(())
        }
    }
}
