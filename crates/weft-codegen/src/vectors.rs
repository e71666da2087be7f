//! What LLVM's vectoriser made of each loop, for the report: the code is made again, with places, and thrown away.

use weft_diag::Span;
use weft_ir::Module as IrModule;

use crate::compile::with_host;
use crate::error::Result;
use crate::llvm::fatal::guarded;
use crate::llvm::remarks;
use crate::native;

/// What became of an innermost loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopRemark {
    /// Where the loop begins; the end is not known.
    pub span: Span,
    /// Items in a vector, and vectors that are worked on side by side; or why there are none, in LLVM's words.
    pub outcome: std::result::Result<(u32, u32), String>,
}

/// Remarks about the innermost loops of a module at stage `loops`, each once.
pub fn loop_remarks(module: &IrModule) -> Result<Vec<LoopRemark>> {
    guarded(|| {
        remarks::ask();
        let said = with_host(module, module.entry(), true, |m, machine, unit| {
            m.context.keep_remarks();
            native::prepare(m, machine, unit)?;
            Ok(m.context.remarks())
        })?;
        Ok(read(&said))
    })
}

/// Remarks in the order in which they came. Some reasons have no place; the next remark, without a reason, then has it.
fn read(said: &[String]) -> Vec<LoopRemark> {
    let mut found: Vec<LoopRemark> = vec![];
    let mut reason = None;
    for (span, text) in said.iter().filter_map(|text| remarks::place(text)) {
        let count = |key: &str| {
            let from = text.split_once(key)?.1;
            from.split([',', ')']).next()?.trim().parse::<u32>().ok()
        };
        let why = text.strip_prefix(NOT).map(|rest| rest.strip_prefix(": ").map(str::to_owned));
        let outcome = match (why, span) {
            (Some(why @ Some(_)), None) => {
                reason = why;
                continue;
            }
            (Some(why), Some(_)) => why.or_else(|| reason.take()).map(Err),
            (None, Some(_)) if text.starts_with("vectorized loop") => {
                count("vectorization width:").zip(count("interleaved count:")).map(Ok)
            }
            _ => None,
        };
        let remark = span.zip(outcome).map(|(span, outcome)| LoopRemark { span, outcome });
        found.extend(remark.filter(|remark| !found.contains(remark)));
    }
    found
}

const NOT: &str = "loop not vectorized";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_are_read() {
        let place = Span::new(3, 11, 11);
        let outcomes = |said: &[&str]| {
            let said: Vec<String> = said.iter().map(|&s| s.to_owned()).collect();
            let found = read(&said).into_iter();
            found.map(|r| (r.span == place).then_some(r.outcome).expect("its place")).collect::<Vec<_>>()
        };
        let vector = "weft:12:3: vectorized loop (vectorization width: 4, interleaved count: 2)";
        assert_eq!(outcomes(&[vector, vector]), [Ok((4, 2))]);
        let not = "weft:12:3: loop not vectorized: call instruction cannot be vectorized";
        assert_eq!(outcomes(&[not]), [Err("call instruction cannot be vectorized".to_owned())]);
        assert_eq!(outcomes(&["weft:12:3: loop not vectorized"]), []);
        let elsewhere = "<unknown>:0:0: loop not vectorized: why";
        assert_eq!(outcomes(&[elsewhere, "weft:12:3: loop not vectorized"]), [Err("why".to_owned())]);
        assert_eq!(outcomes(&[elsewhere]), []);
    }
}
