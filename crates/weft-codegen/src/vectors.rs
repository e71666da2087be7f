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
        let mut found: Vec<LoopRemark> = vec![];
        for remark in said.iter().filter_map(|text| read(text)) {
            if !found.contains(&remark) {
                found.push(remark);
            }
        }
        Ok(found)
    })
}

fn read(text: &str) -> Option<LoopRemark> {
    let (span, text) = remarks::place(text)?;
    let count = |key: &str| {
        let from = text.split_once(key)?.1;
        from.split([',', ')']).next()?.trim().parse::<u32>().ok()
    };
    let outcome = match text.strip_prefix("loop not vectorized: ") {
        Some(why) => Err(why.to_owned()),
        None if text.starts_with("vectorized loop") => {
            Ok((count("vectorization width:")?, count("interleaved count:")?))
        }
        None => return None,
    };
    Some(LoopRemark { span, outcome })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_are_read() {
        let place = Span::new(3, 11, 11);
        let vector = read("weft:12:3: vectorized loop (vectorization width: 4, interleaved count: 2)");
        assert_eq!(vector, Some(LoopRemark { span: place, outcome: Ok((4, 2)) }));
        let not = read("weft:12:3: loop not vectorized: call instruction cannot be vectorized");
        assert_eq!(not, Some(LoopRemark { span: place, outcome: Err("call instruction cannot be vectorized".into()) }));
        assert_eq!(read("weft:12:3: loop not vectorized"), None);
        assert_eq!(read("<unknown>:0:0: loop not vectorized: why"), None);
    }
}
