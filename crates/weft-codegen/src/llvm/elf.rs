//! Reading the relocatable ELF objects that LLVM writes: sections, symbols, relocations.
//!
//! Only what [`super::loader`] needs. Every read is checked, since objects also come from the disk cache.

use crate::error::{CodegenError, Result};

/// A section that takes memory when loaded.
pub(crate) struct Section<'o> {
    /// Contents; shorter than `size` for zero-filled sections.
    pub(crate) data: &'o [u8],
    /// Bytes in memory.
    pub(crate) size: usize,
    /// Alignment, a power of two.
    pub(crate) align: usize,
    /// Holds instructions.
    pub(crate) executable: bool,
    /// May be written by code.
    pub(crate) writable: bool,
    /// Whether it is loaded at all.
    pub(crate) loaded: bool,
    /// What to patch in it.
    pub(crate) relocations: Vec<Relocation>,
}

/// One patch: at `offset` of its section, of a kind, against a symbol plus an addend.
pub(crate) struct Relocation {
    pub(crate) offset: u64,
    pub(crate) kind: u32,
    pub(crate) symbol: usize,
    pub(crate) addend: i64,
}

/// What a symbol stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Definition {
    /// An address outside.
    Undefined,
    /// An offset in a section of this object.
    In(usize, u64),
    /// A number.
    Absolute(u64),
}

/// A symbol.
pub(crate) struct Symbol<'o> {
    pub(crate) name: &'o str,
    pub(crate) definition: Definition,
}

/// A parsed object.
pub(crate) struct Object<'o> {
    pub(crate) sections: Vec<Section<'o>>,
    pub(crate) symbols: Vec<Symbol<'o>>,
}

const PROGBITS_NOBITS: u32 = 8;
const RELA: u32 = 4;
const SYMTAB: u32 = 2;
const WRITE: u64 = 1;
const ALLOC: u64 = 2;
const EXECUTE: u64 = 4;

/// A header of the section table.
struct Header {
    kind: u32,
    flags: u64,
    offset: u64,
    size: u64,
    link: u32,
    info: u32,
    align: u64,
}

impl<'o> Object<'o> {
    /// Reads an x86-64 ELF relocatable object.
    pub(crate) fn parse(bytes: &'o [u8]) -> Result<Object<'o>> {
        let r = Bytes(bytes);
        if bytes.get(..6) != Some(b"\x7fELF\x02\x01") || r.u16(16)? != 1 || r.u16(18)? != 62 {
            return Err(bad("it is not an x86-64 ELF object"));
        }
        let (table, entry, count) = (r.u64(40)?, r.u16(58)?.into(), r.u16(60)?);
        let headers = (0..u64::from(count)).map(|i| r.header(table, entry, i)).collect::<Result<Vec<_>>>()?;
        let mut sections = headers.iter().map(|h| r.section(h)).collect::<Result<Vec<_>>>()?;
        for h in headers.iter().filter(|h| h.kind == RELA) {
            let target = sections.get_mut(h.info as usize).ok_or_else(|| bad("a relocation table has no section"))?;
            for at in (h.offset..h.offset.saturating_add(h.size)).step_by(24) {
                let info = r.u64(at + 8)?;
                target.relocations.push(Relocation {
                    offset: r.u64(at)?,
                    kind: info as u32,
                    symbol: (info >> 32) as usize,
                    addend: r.u64(at + 16)? as i64,
                });
            }
        }
        let mut symbols = Vec::new();
        if let Some(h) = headers.iter().find(|h| h.kind == SYMTAB) {
            let names = headers.get(h.link as usize).ok_or_else(|| bad("the symbol table has no names"))?;
            let names = r.slice(names.offset, names.size)?;
            for at in (h.offset..h.offset.saturating_add(h.size)).step_by(24) {
                symbols.push(r.symbol(at, names)?);
            }
        }
        Ok(Object { sections, symbols })
    }

    /// Names of the symbols that must be found outside.
    pub(crate) fn undefined(&self) -> impl Iterator<Item = &'o str> {
        let outside = |s: &&Symbol<'o>| s.definition == Definition::Undefined && !s.name.is_empty();
        self.symbols.iter().filter(outside).map(|s| s.name)
    }
}

/// Checked little-endian reads.
struct Bytes<'o>(&'o [u8]);

impl<'o> Bytes<'o> {
    fn slice(&self, at: u64, len: u64) -> Result<&'o [u8]> {
        let end = at.checked_add(len).ok_or_else(|| bad("it is truncated"))?;
        self.0.get(at as usize..end as usize).ok_or_else(|| bad("it is truncated"))
    }

    fn array<const N: usize>(&self, at: u64) -> Result<[u8; N]> {
        let bytes = self.slice(at, N as u64)?;
        bytes.try_into().map_err(|_| bad("it is truncated"))
    }

    fn u16(&self, at: u64) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array(at)?))
    }

    fn u32(&self, at: u64) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(at)?))
    }

    fn u64(&self, at: u64) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(at)?))
    }

    fn header(&self, table: u64, entry: u64, i: u64) -> Result<Header> {
        let at = table.saturating_add(entry * i);
        Ok(Header {
            kind: self.u32(at + 4)?,
            flags: self.u64(at + 8)?,
            offset: self.u64(at + 24)?,
            size: self.u64(at + 32)?,
            link: self.u32(at + 40)?,
            info: self.u32(at + 44)?,
            align: self.u64(at + 48)?,
        })
    }

    fn section(&self, h: &Header) -> Result<Section<'o>> {
        let data = if h.kind == PROGBITS_NOBITS { &[][..] } else { self.slice(h.offset, h.size)? };
        if h.align > 4096 || h.size > 1 << 31 || (h.align & h.align.wrapping_sub(1)) != 0 {
            return Err(bad("a section has an impossible size or alignment"));
        }
        Ok(Section {
            data,
            size: h.size as usize,
            align: h.align.max(1) as usize,
            executable: h.flags & EXECUTE != 0,
            writable: h.flags & WRITE != 0,
            loaded: h.flags & ALLOC != 0,
            relocations: Vec::new(),
        })
    }

    fn symbol(&self, at: u64, names: &'o [u8]) -> Result<Symbol<'o>> {
        let rest = names.get(self.u32(at)? as usize..).ok_or_else(|| bad("a symbol has no name"))?;
        let len = rest.iter().position(|&b| b == 0).ok_or_else(|| bad("a symbol's name does not end"))?;
        let name = std::str::from_utf8(&rest[..len]).map_err(|_| bad("a symbol's name is not text"))?;
        let value = self.u64(at + 8)?;
        let definition = match self.u16(at + 6)? {
            0 => Definition::Undefined,
            0xfff1 => Definition::Absolute(value),
            i if i < 0xff00 => Definition::In(i.into(), value),
            _ => return Err(bad("a symbol is in a section of unknown kind")),
        };
        Ok(Symbol { name, definition })
    }
}

pub(crate) fn bad(why: impl Into<String>) -> CodegenError {
    CodegenError::BadObject(why.into())
}
