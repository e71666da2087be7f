//! The backstop: LLVM's fatal errors stop a thread instead of the process.
//!
//! LLVM calls `abort` or `exit` when instruction selection or a pass gives up. Every compilation runs inside [`guarded`], on
//! a thread of its own with a large stack. If LLVM's fatal error handler fires there, it sends the text to the caller and
//! parks the thread for ever: its stack and its context are lost, the process lives.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::CStr;
use std::sync::Once;
use std::sync::mpsc::{Sender, channel};

use llvm_sys::error_handling::LLVMInstallFatalErrorHandler;

use crate::error::{CodegenError, Result};

/// Deep recursion in LLVM's passes needs more than the 2 MB of a default thread. Only touched pages cost memory.
const STACK_BYTES: usize = 16 << 20;

/// Hands a fatal error's text to whoever waits for the compilation.
type Report = Box<dyn Fn(String)>;

thread_local! {
    /// Where the handler sends its text, on a compile thread.
    static REPORT: RefCell<Option<Report>> = const { RefCell::new(None) };
}

/// Runs a compilation so that a fatal error of LLVM is an `Err`.
///
/// Costs a thread's start (about 20 µs). Nested calls run in place.
pub fn guarded<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    install();
    if REPORT.with_borrow(|r| r.is_some()) {
        return work();
    }
    let (send, receive) = channel();
    let on_fatal = send.clone();
    let body = move || {
        REPORT.set(Some(Box::new(move |text| drop(on_fatal.send(Err(CodegenError::Llvm(text)))))));
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
            .unwrap_or_else(|panic| Err(CodegenError::Panic(panic_text(&*panic))));
        REPORT.set(None);
        deliver(&send, result);
    };
    let builder = std::thread::Builder::new().name("weft-compile".into()).stack_size(STACK_BYTES);
    // SAFETY: `body` borrows from our caller. We return only after it has sent its result, as its last use of those borrows,
    // or after the handler has sent a text and parked the thread, which then never runs again.
    let thread = unsafe { builder.spawn_unchecked(body) }.map_err(|e| CodegenError::Memory(e.to_string()))?;
    match receive.recv() {
        Ok(Err(CodegenError::Llvm(text))) if !thread.is_finished() => Err(CodegenError::Llvm(text)),
        Ok(result) => {
            drop(thread.join());
            result
        }
        Err(_) => Err(CodegenError::Panic("the compile thread ended without a result".into())),
    }
}

fn deliver<T>(to: &Sender<Result<T>>, result: Result<T>) {
    // The caller waits for exactly this, so the channel is open.
    drop(to.send(result));
}

/// What a panic said.
fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| s.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}

fn install() {
    static ONCE: Once = Once::new();
    // SAFETY: installed once; our LLVM is private to this library, so nobody else's handler is replaced.
    ONCE.call_once(|| unsafe { LLVMInstallFatalErrorHandler(Some(on_fatal)) });
}

extern "C" fn on_fatal(reason: *const libc::c_char) {
    // SAFETY: LLVM passes a C string.
    let text = unsafe { CStr::from_ptr(reason) }.to_string_lossy().trim().to_string();
    let report = REPORT.with_borrow_mut(Option::take);
    if let Some(report) = report {
        super::spirv_state::abandon();
        report(text);
        loop {
            std::thread::park();
        }
    }
    // Not on a compile thread: nothing to rescue, and LLVM ends the process after this returns.
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llvm::context::Context;
    use crate::llvm::module::Module;
    use crate::llvm::target::{Emit, Machine, TargetKind};

    #[test]
    fn results_and_errors_come_through() {
        let text = String::from("borrowed");
        assert_eq!(guarded(|| Ok(text.len())), Ok(8));
        assert_eq!(
            guarded::<()>(|| Err(CodegenError::NoFunction("f".into()))),
            Err(CodegenError::NoFunction("f".into()))
        );
        assert_eq!(guarded::<()>(|| Err(CodegenError::Llvm("x".into()))), Err(CodegenError::Llvm("x".into())));
    }

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(guarded::<()>(|| panic!("boo")), Err(CodegenError::Panic("boo".into())));
    }

    #[test]
    fn a_fatal_error_is_an_error() {
        let got = guarded::<()>(|| {
            on_fatal(c"cannot select".as_ptr());
            Ok(())
        });
        assert_eq!(got, Err(CodegenError::Llvm("cannot select".into())));
        assert_eq!(guarded(|| Ok(1)), Ok(1));
    }

    #[test]
    fn what_llvm_cannot_select_is_an_error_and_not_the_end() {
        for body in ["call double @llvm.exp.f64(double %x)", "call double @llvm.pow.f64(double %x, double %x)"] {
            let text = format!(
                "target triple = \"nvptx64-nvidia-cuda\"
                 declare double @llvm.exp.f64(double)
                 declare double @llvm.pow.f64(double, double)
                 define double @f(double %x) {{ %r = {body}\n ret double %r }}"
            );
            let got = guarded(|| {
                let machine = Machine::new(&TargetKind::Ptx { arch: "sm_90".into() })?;
                let context = Context::new();
                let module = Module::from_text(&context, &text)?;
                machine.emit(&module, Emit::Assembly)
            });
            assert!(matches!(got, Err(CodegenError::Llvm(_))), "{got:?}");
        }
    }
}
