//! Lists: their headers come from the runtime, and their items hold counts that the call does not know of.

use std::mem::offset_of;

use weft_ir::OpData;

use super::{Lowering, malformed};
use crate::abi::RuntimeTable;
use crate::error::Result;
use crate::llvm::builder::Opcode;

impl Lowering<'_, '_> {
    /// `mem.list`.
    pub(crate) fn new_list(&mut self, data: &OpData, words: u32, owners: &[u32]) -> Result<()> {
        if owners.iter().any(|&k| k > 63) {
            return Err(malformed("an item of a list holds a count beyond its first 64 words", data.span));
        }
        let mask = owners.iter().fold(0, |mask, &k| mask | 1u64 << k);
        let out = self.word_buffer(2);
        let args = [self.b.i64(words.into()), self.b.i64(mask), out];
        self.runtime_try(offset_of!(RuntimeTable, list_new), &args, data.span)?;
        self.define_pair(data, out);
        Ok(())
    }

    /// `mem.reserve`: header, items.
    pub(crate) fn reserve(&mut self, data: &OpData) -> Result<()> {
        let args = [self.operand(data, 0)?, self.operand(data, 1)?];
        self.runtime_try(offset_of!(RuntimeTable, list_reserve), &args, data.span)
    }

    /// `mem.pointer`: address.
    pub(crate) fn pointer(&mut self, data: &OpData) -> Result<()> {
        let v = self.b.cast(Opcode::LLVMIntToPtr, self.operand(data, 0)?, self.b.context.ptr(0));
        self.define(data, 0, v);
        Ok(())
    }

    /// `mem.share`: address, word.
    pub(crate) fn share(&mut self, data: &OpData) -> Result<()> {
        let word = self.operand(data, 1)?;
        self.count_word(word, offset_of!(RuntimeTable, retain), data.span)?;
        self.pointer(data)?;
        self.define(data, 1, word);
        Ok(())
    }

    /// `mem.keep`.
    pub(crate) fn keep(&mut self, data: &OpData) -> Result<()> {
        let word = self.operand(data, 0)?;
        self.count_word(word, offset_of!(RuntimeTable, keep), data.span)?;
        self.define(data, 0, word);
        Ok(())
    }
}
