//! `nt.scan` → a call of the routine that folds a vector and keeps what came out at every step; on a device, kernels (`scan_device`).

use super::Lower;
use crate::canon;
use weft_diag::Diagnostic;
use weft_ir::attr::Fold;
use weft_ir::func::RegionData;
use weft_ir::{Op, OpId};

impl Lower<'_> {
    /// The op. What was computed for it alone is scanned where it is.
    pub fn scan(&mut self, id: OpId, fold: Fold) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let (operand, result) = (data.operands[0], data.results[0]);
        let from = self.array(operand).clone();
        let Some(ty) = self.r.src.ty(result).as_tensor().cloned() else {
            return Err(Diagnostic::internal(data.span, "no array is scanned"));
        };
        // In one region: what was computed before a loop is there for every turn of it.
        let made = canon::definitions(self.r.src)[operand.index()].filter(|&op| {
            let together = |region: &RegionData| region.ops.contains(&op) && region.ops.contains(&id);
            self.r.src.op(op).op == Op::NtElementwise && self.r.src.regions.iter().any(together)
        });
        let alone = made.is_some() && self.r.src.use_counts()[operand.index()] == 1;
        let to = if alone { from.clone() } else { self.alloc(&ty, &self.place.clone()) };
        if !self.place.is_host() {
            self.scan_on_device(&from, &to, fold)?;
            self.arrays.insert(result, to);
            return Ok(());
        }
        let words = [to.mem, from.mem, from.sizes[0], from.strides[0]];
        self.r.b().effect(Op::MemScan { fold }, &words);
        self.arrays.insert(result, to);
        Ok(())
    }
}
