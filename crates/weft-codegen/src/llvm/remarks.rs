//! Remarks: what the loop vectoriser says of each loop, and where the loop stands in the user's source.
//!
//! LLVM writes remarks only if options of the process ask for them. They are asked for when a report is first wanted, so that
//! compilations before it pay nothing; those after it throw them away.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use llvm_sys::debuginfo::*;
use llvm_sys::support::LLVMParseCommandLineOptions;
use weft_diag::Span;

use super::Metadata;
use super::context::Context;
use super::module::Module;
use super::target::initialise;

/// Whether remarks are written. Held for reading while passes run, which look at the options.
static WRITTEN: RwLock<bool> = RwLock::new(false);

/// How long to wait for other compilations before a report goes without remarks: one that LLVM gave up never ends.
const PATIENCE: Duration = Duration::from_secs(2);

/// Keeps the options as they are.
pub(super) fn steady() -> RwLockReadGuard<'static, bool> {
    WRITTEN.read().unwrap_or_else(PoisonError::into_inner)
}

/// Asks for remarks of the vectoriser from now on.
pub(crate) fn ask() {
    initialise();
    let begun = Instant::now();
    while !*steady() && begun.elapsed() < PATIENCE {
        if let Ok(mut written) = WRITTEN.try_write() {
            let options = [
                c"weft".as_ptr(),
                c"-pass-remarks=loop-vectorize".as_ptr(),
                c"-pass-remarks-missed=loop-vectorize".as_ptr(),
                c"-pass-remarks-analysis=loop-vectorize".as_ptr(),
            ];
            // SAFETY: no pass runs, so nobody reads the options; each is given once in a process.
            unsafe { LLVMParseCommandLineOptions(options.len() as i32, options.as_ptr(), std::ptr::null()) };
            *written = true;
        }
        std::thread::yield_now();
    }
}

impl Module<'_> {
    /// Something for locations to stand in. It is no debug information: no function refers to it.
    pub(crate) fn scope(&self) -> Metadata {
        let name = c"weft";
        let (text, length) = (name.as_ptr(), name.to_bytes().len());
        // SAFETY: the module is alive; texts are copied; the builder is freed here, its nodes belong to the context.
        unsafe {
            let builder = LLVMCreateDIBuilderDisallowUnresolved(self.raw);
            let file = LLVMDIBuilderCreateFile(builder, text, length, text, 0);
            let ty = LLVMDIBuilderCreateSubroutineType(builder, file, std::ptr::null_mut(), 0, LLVMDIFlagZero);
            let scope = LLVMDIBuilderCreateFunction(
                builder,
                file,
                text,
                length,
                text,
                0,
                file,
                1,
                ty,
                1,
                0,
                1,
                LLVMDIFlagZero,
                1,
            );
            LLVMDIBuilderFinalize(builder);
            LLVMDisposeDIBuilder(builder);
            Metadata(scope)
        }
    }
}

impl Context {
    /// A place in the source, as a line (the byte, from 1) and a column (the file) that [`place`] reads back.
    pub(crate) fn location(&self, scope: Metadata, span: Span) -> Metadata {
        let (line, column) = match u16::try_from(span.file) {
            Ok(file) if span.is_known() => (span.start + 1, file.into()),
            _ => (0, 0),
        };
        // SAFETY: the scope is of this context.
        let location =
            unsafe { LLVMDIBuilderCreateDebugLocation(self.raw, line, column, scope.0, std::ptr::null_mut()) };
        Metadata(location)
    }
}

/// A remark as its place, if it has one, and its text.
pub(crate) fn place(remark: &str) -> Option<(Option<Span>, &str)> {
    let mut parts = remark.splitn(4, ':').skip(1);
    let mut number = || parts.next()?.parse::<u32>().ok();
    let (line, column) = (number()?, number()?);
    let place = line.checked_sub(1).map(|start| Span::new(column, start, start));
    Some((place, parts.next()?.trim()))
}
