//! LLVM's support library calls `arc4random`, which glibc has only since 2.36. A hidden definition of our own lets the
//! extension module run on glibc 2.34.

/// Random bits from the kernel.
extern "C" fn random_u32() -> u32 {
    let mut bits = 0u32;
    // SAFETY: fills four bytes of our own; on failure (never for so few) they stay 0.
    unsafe { libc::getrandom((&raw mut bits).cast(), 4, 0) };
    bits
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".globl arc4random",
    ".hidden arc4random",
    ".type arc4random,@function",
    "arc4random:",
    "jmp {target}",
    target = sym random_u32,
);
