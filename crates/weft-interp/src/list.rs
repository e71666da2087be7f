//! Lists: as values up to stage `fused`, and as memory with counts in it at stage `loops`.

use crate::array::Memory;
use crate::exec::{Done, Frame};
use crate::scalar::Scalar;
use crate::value::{Failure, Pointer, Value};
use std::cell::RefCell;
use std::rc::Rc;
use weft_ir::{DType, Op, OpId};

/// Bytes of a header: length, capacity, address of the items.
const HEADER: usize = 24;

/// What memory of lists refers to, for a run and all calls in it.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    lists: Vec<List>,
    /// Memory whose owner stands in an item; the word `2k + 2` names number `k`.
    kept: Vec<Memory>,
}

#[derive(Debug)]
struct List {
    header: Memory,
    items: Option<Memory>,
    words: usize,
    owners: Vec<u32>,
}

impl Heap {
    /// One owner less; with the last one of a list go the counts that its items hold.
    pub(crate) fn release(&mut self, memory: &Memory) -> Done {
        // The length can be read only while the list is alive.
        let list = self.lists.iter().position(|l| l.header.same(memory)).filter(|_| memory.owners() == 1);
        let mut held = vec![];
        if let Some(list) = list.map(|at| &self.lists[at])
            && let Some(items) = &list.items
        {
            for k in 0..integer(&list.header, 0)? as usize {
                for &owner in &list.owners {
                    held.push(integer(items, 8 * (k * list.words + owner as usize) as i64)?);
                }
            }
        }
        memory.release()?;
        held.into_iter().try_for_each(|word| self.drop_word(word))
    }

    fn named(&self, word: i64) -> Done<Memory> {
        let found = usize::try_from(word / 2 - 1).ok().and_then(|k| self.kept.get(k));
        found.cloned().ok_or_else(|| Failure::fault(format!("{word} is no word of an owner")))
    }

    fn drop_word(&mut self, word: i64) -> Done {
        let memory = self.named(word)?;
        self.release(&memory)
    }

    fn list(&mut self, header: &Memory) -> Done<&mut List> {
        let found = self.lists.iter_mut().find(|l| l.header.same(header));
        found.ok_or_else(|| Failure::fault("the header of no list"))
    }
}

fn integer(memory: &Memory, offset: i64) -> Done<i64> {
    memory.load(offset, DType::I64)?.as_int().ok_or_else(|| Failure::fault("no integer"))
}

impl Frame<'_> {
    /// `list.…`.
    pub(crate) fn list(&mut self, id: OpId) -> Done<Vec<Value>> {
        let data = self.f.op(id);
        if data.op == Op::ListNew {
            return Ok(vec![Value::List(Rc::default())]);
        }
        let list = self.operand(id, 0)?.list()?;
        let items = |from: usize| data.operands[from..].iter().map(|&v| self.get(v).cloned()).collect::<Done<Vec<_>>>();
        let at = || {
            let (i, n) = (self.operand(id, 1)?.int()?, list.borrow().len());
            let found = usize::try_from(i).ok().filter(|&i| i < n);
            found.ok_or_else(|| Failure::fault(format!("there is no item {i} in a list of {n}")))
        };
        Ok(match &data.op {
            Op::ListLen => vec![Value::Scalar(Scalar::i64(list.borrow().len() as i64))],
            Op::ListGet => list.borrow()[at()?].clone(),
            Op::ListSet => {
                let (at, item) = (at()?, items(2)?);
                list.borrow_mut()[at] = item;
                vec![]
            }
            Op::ListPush => {
                let item = items(1)?;
                list.borrow_mut().push(item);
                vec![]
            }
            Op::ListReserve => vec![],
            Op::ListRoom => {
                let n = usize::try_from(self.operand(id, 1)?.int()?);
                let n = n.ok().filter(|_| list.borrow().is_empty());
                list.borrow_mut().resize(n.ok_or_else(|| Failure::fault("the list has items"))?, vec![]);
                vec![]
            }
            _ => {
                let n = self.operand(id, 1)?.int()?;
                let n = usize::try_from(n).ok().filter(|&n| n <= list.borrow().len());
                list.borrow_mut().truncate(n.ok_or_else(|| Failure::fault("more items kept than there are"))?);
                vec![]
            }
        })
    }

    /// Ops of stage `loops` that lists are made of.
    pub(crate) fn list_memory(&mut self, id: OpId) -> Done<Vec<Value>> {
        let data = self.f.op(id);
        let heap = self.heap.clone();
        let heap = &mut *heap.borrow_mut();
        let int = |i: usize| self.operand(id, i)?.int();
        let memory = |i: usize| match self.operand(id, i)? {
            Value::Pointer(p) => Ok(p.memory.clone()),
            Value::Owner(m) => Ok(m.clone()),
            other => Err(Failure::fault(format!("{other:?} where a pointer or an owner belongs"))),
        };
        match &data.op {
            Op::MemList { words, owners } => {
                let header = Memory::fresh(HEADER)?;
                header.set_bytes(vec![0; HEADER]);
                let list = List { header: header.clone(), items: None, words: *words as usize, owners: owners.clone() };
                heap.lists.push(list);
                self.fresh.push(header.clone());
                self.made(id, header, 0)
            }
            Op::MemReserve => {
                let (header, n) = (memory(0)?, int(1)?);
                let list = heap.list(&header)?;
                let used = integer(&header, 0)? as usize * list.words * 8;
                let old = list.items.as_ref().map_or(vec![], Memory::to_bytes);
                let items = Memory::fresh(n as usize * list.words.max(1) * 8)?;
                let mut bytes = items.to_bytes();
                bytes[..used].copy_from_slice(&old[..used]);
                items.set_bytes(bytes);
                header.store(8, Scalar::i64(n))?;
                header.store(16, Scalar::i64(items.address()))?;
                list.items = Some(items);
                Ok(vec![])
            }
            Op::MemPointer => {
                let (address, header) = (int(0)?, memory(1)?);
                let items = heap.list(&header)?.items.clone().filter(|items| items.address() == address);
                let memory = items.ok_or_else(|| Failure::fault("an address that is not of the items"))?;
                let weft_ir::Type::Mem(dtype, _) = *self.f.ty(data.results[0]) else {
                    return Err(Failure::fault("the result is no pointer"));
                };
                Ok(vec![Value::Pointer(Pointer { memory, offset: 0, dtype })])
            }
            Op::MemKeep => {
                let memory = memory(0)?.share();
                let known = heap.kept.iter().position(|m| m.same(&memory));
                let at = known.unwrap_or_else(|| {
                    heap.kept.push(memory);
                    heap.kept.len() - 1
                });
                Ok(vec![Value::Scalar(Scalar::i64(2 * at as i64 + 2))])
            }
            Op::MemShare => {
                let memory = heap.named(int(1)?)?.share();
                let offset = int(0)? - memory.address();
                self.made(id, memory, offset)
            }
            _ => heap.drop_word(int(0)?).map(|()| vec![]),
        }
    }

    /// `mem.release`.
    pub(crate) fn release(&self, memory: &Memory) -> Done {
        self.heap.borrow_mut().release(memory)
    }
}

/// The items of a list, each with its values.
pub type Items = RefCell<Vec<Vec<Value>>>;
