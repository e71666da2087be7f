//! The reference page: one table of ops per dialect, from the table that declares them.

use std::fmt::Write;
use weft_ir::Op;

/// The page in Markdown.
pub fn page() -> String {
    let mut out = String::from("# Ops of the IR\n\nMade by `weft-opt --ops` from `weft-ir/src/ops.rs`.\n");
    let mut dialect = "";
    for row in Op::DOCS {
        let of_row = row.name.split_once('.').map_or("scf", |(d, _)| d);
        if of_row != dialect {
            dialect = of_row;
            let _ = write!(out, "\n## {dialect}\n\n| op | meaning |\n|---|---|\n");
        }
        let doc = row.doc.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
        let _ = writeln!(out, "| `{}` | {doc} |", row.name);
    }
    out
}
