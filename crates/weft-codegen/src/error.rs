//! What can go wrong between IR and machine code.

use weft_diag::Span;

/// The result of everything in this crate.
pub type Result<T> = std::result::Result<T, CodegenError>;

/// Why no code came out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CodegenError {
    /// LLVM gave up: its verifier, a pass, instruction selection, or a fatal error caught by the backstop.
    #[error("LLVM: {0}")]
    Llvm(String),
    /// An operation that a target has no instruction or routine for.
    #[error("`{op}` is not available on {target}")]
    Unsupported {
        /// The op and its dtype, as in IR text.
        op: String,
        /// The target, in words.
        target: &'static str,
        /// Where the user wrote it.
        span: Span,
    },
    /// The IR breaks a rule of stage `loops`: a bug in an earlier pass.
    #[error("malformed IR: {message}")]
    Malformed {
        /// Which rule.
        message: String,
        /// The op's place in the source.
        span: Span,
    },
    /// The function to compile is not in the module.
    #[error("no function `@{0}` in the module")]
    NoFunction(String),
    /// Object code wants a symbol outside the closed list.
    #[error("object code refers to `{0}`, which is not in the closed list of symbols")]
    UndefinedSymbol(String),
    /// Object code is not what this crate writes (a damaged cache entry, say).
    #[error("object code cannot be loaded: {0}")]
    BadObject(String),
    /// The operating system refused memory for code.
    #[error("no memory for code: {0}")]
    Memory(String),
    /// Device math needs libdevice.
    #[error(
        "CUDA's libdevice.10.bc was not found (looked in {searched}): install the CUDA toolkit or `pip install weft[cuda]`, or set WEFT_LIBDEVICE"
    )]
    NoLibdevice {
        /// Every directory that was tried.
        searched: String,
    },
    /// The compile thread panicked: a bug in this crate.
    #[error("code generation panicked: {0}")]
    Panic(String),
}
