//! Lists: a header and an owner, and items as rows of 8-byte words behind the header.
//!
//! Header words: length, capacity, address of the items. A scalar takes one word (a c128 two), an array or a list its slots.
//! Owner words in items hold counts of their own (`mem.keep`, `mem.drop`); what is read from an item gets another.

use super::Lower;
use super::flow::slot_types;
use weft_ir::attr::{CmpOp, Unit};
use weft_ir::{DType, Op, OpId, Space, Type, ValueId};

const LEN: i64 = 0;
const CAPACITY: i64 = 1;
const ITEMS: i64 = 2;

/// A list: what its slots hold.
#[derive(Clone, Copy, Debug)]
pub struct List {
    /// Its header.
    pub header: ValueId,
    /// Owner word.
    pub owner: ValueId,
}

/// Words of one value of an item.
fn words(ty: &Type) -> usize {
    slot_types(ty).iter().map(Type::slots).sum()
}

/// The words of an item that are owners.
fn owner_words(items: &[Type]) -> Vec<u32> {
    let slots = items.iter().flat_map(slot_types);
    let mut at = 0;
    let mut found = vec![];
    for ty in slots {
        if ty == Type::Owner {
            found.push(at);
        }
        at += ty.slots() as u32;
    }
    found
}

impl Lower<'_> {
    fn list(&self, v: ValueId) -> List {
        *self.lists.get(&v).expect("the verifier has checked that this operand is a list defined before")
    }

    fn item_types(&self, list: ValueId) -> Vec<Type> {
        self.r.src.ty(list).as_list().unwrap_or_default().to_vec()
    }

    fn header_word(&mut self, list: List, word: i64) -> ValueId {
        let mut b = self.r.b();
        let at = b.i64(word);
        b.value(Op::MemLoad { unit: Unit::Element }, &[list.header, at], Type::I64)
    }

    /// `list.…`.
    pub fn list_op(&mut self, id: OpId) {
        let data = self.r.src.op(id).clone();
        match data.op {
            Op::ListNew => {
                let types = self.item_types(data.results[0]);
                let count = types.iter().map(words).sum::<usize>() as u32;
                let op = Op::MemList { words: count, owners: owner_words(&types) };
                let slots = slot_types(self.r.src.ty(data.results[0]));
                let made = self.r.b().op(op, &[], &slots, &[]);
                let slots = self.r.dst.op(made).results.clone();
                self.lists.insert(data.results[0], List { header: slots[0], owner: slots[1] });
            }
            Op::ListLen => {
                let list = self.list(data.operands[0]);
                let len = self.header_word(list, LEN);
                self.r.set(data.results[0], len);
            }
            Op::ListGet => self.list_get(id),
            Op::ListSet => {
                let row = self.row(data.operands[0], data.operands[1]);
                self.put_item(row, &self.item_types(data.operands[0]), &data.operands[2..], true);
            }
            Op::ListPush => self.list_push(id),
            Op::ListReserve => {
                let (list, n) = (self.list(data.operands[0]), self.r.get(data.operands[1]));
                let n = self.r.b().cast(n, Type::I64);
                self.r.b().effect(Op::MemReserve, &[list.header, n]);
            }
            Op::ListRoom => {
                let (list, n) = (self.list(data.operands[0]), self.r.get(data.operands[1]));
                self.r.b().effect(Op::MemReserve, &[list.header, n]);
                self.set_len(list, n);
                let items = self.header_word(list, ITEMS);
                self.room = Some((data.operands[0], items));
            }
            _ => self.list_truncate(id),
        }
    }

    /// The row of an item: the list, the address of the items, and the first word.
    fn row(&mut self, list: ValueId, index: ValueId) -> Row {
        let index = self.r.get(index);
        let index = self.r.b().cast(index, Type::I64);
        self.row_at(list, index)
    }

    fn row_at(&mut self, list: ValueId, index: ValueId) -> Row {
        let count = self.item_types(list).iter().map(words).sum::<usize>() as i64;
        let room = self.room.filter(|(has_room, _)| *has_room == list).map(|(_, items)| items);
        let list = self.list(list);
        let address = room.unwrap_or_else(|| self.header_word(list, ITEMS));
        let mut b = self.r.b();
        let first = match count {
            1 => index,
            count => {
                let count = b.i64(count);
                b.value(Op::Mul, &[index, count], Type::I64)
            }
        };
        Row { header: list.header, address, first }
    }

    /// Pointer, index and unit of a value of this type at a word of a row.
    fn word(&mut self, row: &Row, word: usize, dtype: DType) -> (ValueId, ValueId, Unit) {
        let ty = Type::Mem(dtype, Space::Host);
        let mut b = self.r.b();
        let p = b.value(Op::MemPointer, &[row.address, row.header], ty);
        let at = match word {
            0 => row.first,
            word => {
                let word = b.i64(word as i64);
                b.value(Op::Add, &[row.first, word], Type::I64)
            }
        };
        if dtype.size() == 8 {
            return (p, at, Unit::Element);
        }
        let eight = b.i64(8);
        (p, b.value(Op::Mul, &[at, eight], Type::I64), Unit::Byte)
    }

    fn load_word(&mut self, row: &Row, word: usize, dtype: DType) -> ValueId {
        let (p, at, unit) = self.word(row, word, dtype);
        self.r.b().value(Op::MemLoad { unit }, &[p, at], Type::Num(dtype))
    }

    fn store_word(&mut self, row: &Row, word: usize, v: ValueId) {
        let Type::Num(dtype) = *self.r.dst.ty(v) else { return };
        let (p, at, unit) = self.word(row, word, dtype);
        self.r.b().effect(Op::MemStore { unit }, &[v, p, at]);
    }

    fn list_get(&mut self, id: OpId) {
        let data = self.r.src.op(id).clone();
        let row = self.row(data.operands[0], data.operands[1]);
        let mut at = 0;
        for &old in &data.results {
            let types = slot_types(self.r.src.ty(old));
            let mut slots = vec![];
            if let [mem @ Type::Mem(..), Type::Owner, rest @ ..] = &types[..] {
                let address = self.load_word(&row, at, DType::I64);
                let owner = self.load_word(&row, at + 1, DType::I64);
                let pair = [mem.clone(), Type::Owner];
                let shared = self.r.b().op(Op::MemShare, &[address, owner], &pair, &[]);
                slots.extend(self.r.dst.op(shared).results.iter().copied());
                for k in 0..rest.len() {
                    slots.push(self.load_word(&row, at + 2 + k, DType::I64));
                }
            } else {
                for ty in &types {
                    let dtype = ty.scalar_dtype().unwrap_or(DType::I64);
                    slots.push(self.load_word(&row, at, dtype));
                }
            }
            at += types.iter().map(Type::slots).sum::<usize>();
            self.define(old, &slots);
        }
    }

    /// Writes the values of an item; `over` another one, whose counts are dropped.
    fn put_item(&mut self, row: Row, types: &[Type], values: &[ValueId], over: bool) {
        let mut kept = vec![];
        for &v in values {
            for slot in self.slots(v) {
                let mut b = self.r.b();
                kept.push(match b.ty(slot) {
                    Type::Mem(..) => b.value(Op::MemAddress, &[slot], Type::I64),
                    Type::Owner => b.value(Op::MemKeep, &[slot], Type::I64),
                    _ => slot,
                });
            }
        }
        let owners = if over { owner_words(types) } else { vec![] };
        let old: Vec<ValueId> = owners.iter().map(|&k| self.load_word(&row, k as usize, DType::I64)).collect();
        let mut at = 0;
        for v in kept {
            self.store_word(&row, at, v);
            at += self.r.dst.ty(v).slots();
        }
        for word in old {
            self.r.b().effect(Op::MemDrop, &[word]);
        }
    }

    fn list_push(&mut self, id: OpId) {
        let data = self.r.src.op(id).clone();
        let list = self.list(data.operands[0]);
        let len = self.header_word(list, LEN);
        let capacity = self.header_word(list, CAPACITY);
        let mut b = self.r.b();
        let one = b.i64(1);
        let more = b.value(Op::Add, &[len, one], Type::I64);
        let full = b.value(Op::Cmp { is: CmpOp::Ge }, &[len, capacity], Type::BOOL);
        let (grows, _) = b.region(|b| {
            b.effect(Op::MemReserve, &[list.header, more]);
            b.effect(Op::Yield, &[])
        });
        let (fits, _) = b.region(|b| b.effect(Op::Yield, &[]));
        b.op(Op::ScfIf, &[full], &[], &[grows, fits]);
        let row = self.row_at(data.operands[0], len);
        self.put_item(row, &self.item_types(data.operands[0]), &data.operands[1..], false);
        self.set_len(list, more);
    }

    fn set_len(&mut self, list: List, len: ValueId) {
        let mut b = self.r.b();
        let at = b.i64(LEN);
        b.effect(Op::MemStore { unit: Unit::Element }, &[len, list.header, at]);
    }

    fn list_truncate(&mut self, id: OpId) {
        let data = self.r.src.op(id).clone();
        let list = self.list(data.operands[0]);
        let n = self.r.get(data.operands[1]);
        let n = self.r.b().cast(n, Type::I64);
        let owners = owner_words(&self.item_types(data.operands[0]));
        if !owners.is_empty() {
            let len = self.header_word(list, LEN);
            let one = self.r.b().i64(1);
            let body = self.r.dst.new_region();
            let outer = std::mem::replace(&mut self.r.at, body);
            let index = self.r.b().arg(Type::I64);
            let row = self.row_at(data.operands[0], index);
            for &k in &owners {
                let word = self.load_word(&row, k as usize, DType::I64);
                self.r.b().effect(Op::MemDrop, &[word]);
            }
            self.r.b().effect(Op::Yield, &[]);
            self.r.at = outer;
            self.r.b().op(Op::ScfFor, &[n, len, one], &[], &[body]);
        }
        self.set_len(list, n);
    }
}

/// Where an item is.
struct Row {
    header: ValueId,
    address: ValueId,
    first: ValueId,
}
