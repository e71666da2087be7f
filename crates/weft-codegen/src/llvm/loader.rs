//! Loading object code: map, relocate, protect.
//!
//! Our objects are small and of one kind (x86-64 ELF, position independent, no unwinding), so this is a hundred lines instead
//! of LLVM's ORC: it takes microseconds, keeps no global state, and dropping [`LoadedCode`] unmaps the code. References
//! leave the object only through slots of its own table, filled from the closed list of [`super::symbols`].

use std::collections::{HashMap, HashSet};

use super::elf::{Definition, Object, Section, bad};
use super::symbols;
use crate::error::{CodegenError, Result};

const PAGE: usize = 4096;

/// Code in memory, ready to run. Dropping it unmaps it.
#[derive(Debug)]
pub struct LoadedCode {
    base: *mut u8,
    len: usize,
    functions: HashMap<String, usize>,
}

// SAFETY: after loading the mapping never changes (code and constants are read-only) and has no thread affinity.
unsafe impl Send for LoadedCode {}
// SAFETY: as above.
unsafe impl Sync for LoadedCode {}

impl LoadedCode {
    /// Loads an object that this crate wrote.
    pub fn load(object: &[u8]) -> Result<LoadedCode> {
        let object = Object::parse(object)?;
        let layout = Layout::of(&object);
        let base = map(layout.len)?;
        let mut code = LoadedCode { base, len: layout.len, functions: HashMap::new() };
        for (section, place) in object.sections.iter().zip(&layout.places) {
            if let Some(at) = *place {
                let n = section.data.len().min(section.size);
                // SAFETY: the layout gives every loaded section `size` bytes of its own inside the mapping.
                unsafe { std::ptr::copy_nonoverlapping(section.data.as_ptr(), base.add(at), n) };
            }
        }
        let mut linker = Linker { code: &code, object: &object, layout: &layout, filled: HashSet::new() };
        for (i, section) in object.sections.iter().enumerate() {
            if layout.places[i].is_some() {
                linker.relocate(i, section)?;
            }
        }
        let functions = object.symbols.iter().filter(|s| !s.name.is_empty()).filter_map(|s| match s.definition {
            Definition::In(section, offset) => {
                Some((s.name.to_string(), layout.places.get(section).copied()??, offset))
            }
            _ => None,
        });
        code.functions = functions.map(|(name, at, offset)| (name, at.saturating_add(offset as usize))).collect();
        code.protect(0, layout.code_len, libc::PROT_READ | libc::PROT_EXEC)?;
        code.protect(layout.code_len, layout.writable_from, libc::PROT_READ)?;
        Ok(code)
    }

    /// The address of a function of the object.
    pub fn function(&self, name: &str) -> Option<*const u8> {
        let offset = *self.functions.get(name)?;
        // SAFETY: symbols of a parsed object lie in the mapping.
        (offset < self.len).then(|| unsafe { self.base.add(offset).cast_const() })
    }

    fn protect(&self, from: usize, to: usize, how: i32) -> Result<()> {
        if from == to {
            return Ok(());
        }
        // SAFETY: whole pages of our own mapping.
        match unsafe { libc::mprotect(self.base.add(from).cast(), to - from, how) } {
            0 => Ok(()),
            _ => Err(CodegenError::Memory(std::io::Error::last_os_error().to_string())),
        }
    }
}

impl Drop for LoadedCode {
    fn drop(&mut self) {
        // SAFETY: our own mapping; callers keep `LoadedCode` alive while its functions run.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}

fn map(len: usize) -> Result<*mut u8> {
    let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh anonymous mapping.
    let p = unsafe { libc::mmap(std::ptr::null_mut(), len, prot, flags, -1, 0) };
    if p == libc::MAP_FAILED {
        return Err(CodegenError::Memory(std::io::Error::last_os_error().to_string()));
    }
    Ok(p.cast())
}

/// Where everything goes: code, then constants and the table of outside addresses, then writable data.
struct Layout {
    places: Vec<Option<usize>>,
    stubs: usize,
    slots: usize,
    code_len: usize,
    writable_from: usize,
    len: usize,
}

/// Bytes of one jump through a slot: `jmp *[rip + disp32]`, padded.
const STUB: usize = 8;

impl Layout {
    fn of(object: &Object) -> Layout {
        let mut places = vec![None; object.sections.len()];
        let mut at = 0usize;
        let mut put = |at: &mut usize, wanted: &dyn Fn(&Section) -> bool| {
            for (section, place) in object.sections.iter().zip(&mut places) {
                if section.loaded && section.size > 0 && wanted(section) {
                    *at = at.next_multiple_of(section.align);
                    *place = Some(*at);
                    *at += section.size;
                }
            }
        };
        put(&mut at, &|s| s.executable);
        let outside = object.symbols.len();
        let stubs = at.next_multiple_of(16);
        at = (stubs + outside * STUB).next_multiple_of(PAGE);
        let code_len = at;
        put(&mut at, &|s| !s.executable && !s.writable);
        let slots = at.next_multiple_of(8);
        at = (slots + outside * 8).next_multiple_of(PAGE);
        let writable_from = at;
        put(&mut at, &|s| s.writable && !s.executable);
        Layout { places, stubs, slots, code_len, writable_from, len: at.next_multiple_of(PAGE).max(PAGE) }
    }
}

struct Linker<'a, 'o> {
    code: &'a LoadedCode,
    object: &'a Object<'o>,
    layout: &'a Layout,
    /// Symbols that have their slot and stub.
    filled: HashSet<usize>,
}

impl Linker<'_, '_> {
    fn relocate(&mut self, i: usize, section: &Section) -> Result<()> {
        let at = self.layout.places[i].unwrap_or(0);
        for r in &section.relocations {
            let width = if matches!(r.kind, kind::ABS64 | kind::PC64) { 8 } else { 4 };
            if (r.offset as usize).checked_add(width).is_none_or(|end| end > section.size) {
                return Err(bad("a relocation lies outside its section"));
            }
            let place = self.address(at + r.offset as usize);
            let direct = self.target(r.symbol)?;
            let value = match r.kind {
                kind::ABS64 => self.anywhere(direct, r.symbol)?,
                kind::PC64 => self.anywhere(direct, r.symbol)?.wrapping_sub(place),
                kind::PC32 | kind::PLT32 => match direct {
                    Some(target) => target.wrapping_sub(place),
                    None => self.stub(r.symbol)?.wrapping_sub(place),
                },
                kind::GOTPCREL | kind::GOTPCRELX | kind::REX_GOTPCRELX => self.slot(r.symbol)?.wrapping_sub(place),
                other => return Err(bad(format!("relocation type {other} is not known"))),
            };
            let value = value.wrapping_add(r.addend as u64);
            if width == 4 && i32::try_from(value as i64).is_err() {
                return Err(bad("a relocation does not fit"));
            }
            // SAFETY: inside the section, which is inside the writable mapping.
            unsafe {
                let p = self.code.base.add(at + r.offset as usize);
                std::ptr::copy_nonoverlapping(value.to_le_bytes().as_ptr(), p, width);
            }
        }
        Ok(())
    }

    fn address(&self, offset: usize) -> u64 {
        self.code.base as u64 + offset as u64
    }

    /// The address of a symbol that the object defines.
    fn target(&self, symbol: usize) -> Result<Option<u64>> {
        let s = self.object.symbols.get(symbol).ok_or_else(|| bad("a relocation has no symbol"))?;
        match s.definition {
            Definition::Undefined => Ok(None),
            Definition::Absolute(v) => Ok(Some(v)),
            Definition::In(section, offset) => match self.layout.places.get(section).copied().flatten() {
                Some(at) => Ok(Some(self.address(at).wrapping_add(offset))),
                None => Err(bad("a relocation points to a section that is not loaded")),
            },
        }
    }

    /// The address of a symbol of the closed list.
    fn outside(&self, symbol: usize) -> Result<u64> {
        let name = self.object.symbols[symbol].name;
        symbols::address(name).ok_or_else(|| CodegenError::UndefinedSymbol(name.into()))
    }

    fn anywhere(&self, direct: Option<u64>, symbol: usize) -> Result<u64> {
        direct.map_or_else(|| self.outside(symbol), Ok)
    }

    /// The table slot that holds a symbol's address, filled on first use together with its stub.
    fn slot(&mut self, symbol: usize) -> Result<u64> {
        let offset = self.layout.slots + 8 * symbol;
        if self.filled.insert(symbol) {
            let value = match self.target(symbol)? {
                Some(v) => v,
                None => self.outside(symbol)?,
            };
            let stub = self.layout.stubs + STUB * symbol;
            // jmp *[rip + d], where d counts from the end of the 6-byte instruction.
            let d = (offset as i64 - (stub as i64 + 6)) as i32;
            let mut jump = [0xff, 0x25, 0, 0, 0, 0, 0xcc, 0xcc];
            jump[2..6].copy_from_slice(&d.to_le_bytes());
            // SAFETY: the layout reserves a slot and a stub per symbol.
            unsafe {
                self.code.base.add(offset).cast::<u64>().write(value);
                std::ptr::copy_nonoverlapping(jump.as_ptr(), self.code.base.add(stub), STUB);
            }
        }
        Ok(self.address(offset))
    }

    /// A jump inside the object to a symbol outside.
    fn stub(&mut self, symbol: usize) -> Result<u64> {
        self.slot(symbol)?;
        Ok(self.address(self.layout.stubs + STUB * symbol))
    }
}

/// Relocation types of the x86-64 ABI.
mod kind {
    pub(super) const ABS64: u32 = 1;
    pub(super) const PC32: u32 = 2;
    pub(super) const PLT32: u32 = 4;
    pub(super) const GOTPCREL: u32 = 9;
    pub(super) const PC64: u32 = 24;
    pub(super) const GOTPCRELX: u32 = 41;
    pub(super) const REX_GOTPCRELX: u32 = 42;
}

/// Fails if an object refers to anything outside the closed list.
pub fn check_symbols(object: &[u8]) -> Result<()> {
    let object = Object::parse(object)?;
    match object.undefined().find(|name| !symbols::is_known(name)) {
        Some(name) => Err(CodegenError::UndefinedSymbol(name.into())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llvm::context::Context;
    use crate::llvm::module::Module;
    use crate::llvm::target::{Emit, Machine, TargetKind};

    fn object(text: &str) -> Vec<u8> {
        let machine = Machine::new(&TargetKind::Host).unwrap();
        let context = Context::new();
        let module = Module::from_text(&context, text).unwrap();
        module.lay_out_for(&machine);
        machine.emit(&module, Emit::Object).unwrap()
    }

    const TABLE: &str = "
        @table = internal constant [4 x i32] [i32 10, i32 20, i32 30, i32 40], align 64
        @count = internal global i32 0
        declare double @fmod(double, double)
        define internal double @inner(double %x) noinline { %r = call double @fmod(double %x, double 3.0)\n ret double %r }
        define double @f(double %x) { %r = call double @inner(double %x)\n ret double %r }
        define i32 @g(i64 %i) {
          %p = getelementptr [4 x i32], ptr @table, i64 0, i64 %i
          %v = load i32, ptr %p
          %c = load i32, ptr @count
          %d = add i32 %c, 1
          store i32 %d, ptr @count
          %r = add i32 %v, %c
          ret i32 %r
        }
        define ptr @h() { ret ptr @fmod }";

    #[test]
    fn code_constants_data_and_outside_functions_are_found() {
        let code = LoadedCode::load(&object(TABLE)).unwrap();
        // SAFETY: the functions have these types.
        unsafe {
            let f: extern "C" fn(f64) -> f64 = std::mem::transmute(code.function("f").unwrap());
            let g: extern "C" fn(i64) -> i32 = std::mem::transmute(code.function("g").unwrap());
            let h: extern "C" fn() -> extern "C" fn(f64, f64) -> f64 = std::mem::transmute(code.function("h").unwrap());
            assert_eq!((f(7.5), g(2), g(2), h()(7.5, 2.0)), (1.5, 30, 31, 1.5));
        }
        assert!(code.function("nobody").is_none());
    }

    #[test]
    fn symbols_outside_the_list_are_refused() {
        let object =
            object("declare i32 @system(ptr)\ndefine i32 @f(ptr %p) { %r = call i32 @system(ptr %p)\n ret i32 %r }");
        assert_eq!(check_symbols(&object), Err(CodegenError::UndefinedSymbol("system".into())));
        assert_eq!(LoadedCode::load(&object).err(), Some(CodegenError::UndefinedSymbol("system".into())));
    }

    #[test]
    fn damaged_objects_are_refused_or_loaded_but_never_crash() {
        let good = object(TABLE);
        assert!(LoadedCode::load(b"").is_err() && LoadedCode::load(b"not an object at all").is_err());
        for len in (0..good.len()).step_by(7) {
            drop(LoadedCode::load(&good[..len]));
        }
        for at in 0..good.len() {
            for bit in [1u8, 0x80] {
                let mut bad = good.clone();
                bad[at] ^= bit;
                drop(LoadedCode::load(&bad));
            }
        }
    }
}
