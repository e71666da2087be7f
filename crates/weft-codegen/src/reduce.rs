//! Reductions that compiled code calls: the order of [`weft_ir::reduce`], as fast as the processor's vectors.
//!
//! Lanes are independent, so that any vector width gives the same bits.

use std::mem::MaybeUninit;

use weft_ir::DType;
use weft_ir::attr::Fold;
use weft_ir::reduce::{ROW, block, lanes, split};

/// Number of a fold in compiled code.
pub(crate) fn fold_number(fold: Fold) -> u64 {
    FOLDS.iter().position(|&f| f == fold).unwrap_or(0) as u64
}

pub(crate) const FOLDS: [Fold; 8] =
    [Fold::Sum, Fold::Prod, Fold::Min, Fold::Max, Fold::Any, Fold::All, Fold::ArgMin, Fold::ArgMax];

/// Whether there is a routine for this fold of elements of this dtype. Halves are computed as singles.
pub(crate) fn has_routine(fold: Fold, dtype: DType) -> bool {
    match fold {
        Fold::Any | Fold::All => dtype == DType::Bool,
        Fold::Sum | Fold::Prod => dtype != DType::Bool && dtype != DType::F16,
        Fold::Min | Fold::Max | Fold::ArgMin | Fold::ArgMax => dtype != DType::F16,
    }
}

/// `m` reductions of `n` elements each. Steps are in bytes.
#[derive(Clone, Copy)]
#[repr(C)]
struct Lines {
    data: *const u8,
    out: *mut u8,
    n: usize,
    /// From one element to the next.
    stride: isize,
    m: usize,
    /// From one reduction to the next.
    in_step: isize,
    out_step: isize,
    /// Elements of a run, where the order is that of runs: 1 where the elements are results of runs. [`TREE`] where it is not.
    run: usize,
}

/// The order is that along the fastest axis, however the elements lie.
const TREE: usize = 0;

/// What compiled code calls: the number of a fold, the number of a dtype, and a [`Lines`] in words.
///
/// # Safety
/// The lines describe memory that may be read and written.
pub(crate) unsafe extern "C" fn reduce(fold: u64, dtype: u64, lines: *const u64) {
    // SAFETY: words in the order of the fields, as lowering wrote them.
    let lines = &unsafe { lines.cast::<Lines>().read_unaligned() };
    let (Some(&fold), Some(&dtype)) = (FOLDS.get(fold as usize), DType::ALL.get(dtype as usize)) else { return };
    match dtype {
        DType::Bool => match fold {
            Fold::Any => run::<u8, Or>(lines),
            Fold::All => run::<u8, And>(lines),
            _ => ordered::<u8>(fold, lines),
        },
        DType::I8 => ordered::<i8>(fold, lines),
        DType::I16 => ordered::<i16>(fold, lines),
        DType::I32 => ordered::<i32>(fold, lines),
        DType::I64 => ordered::<i64>(fold, lines),
        DType::U8 => ordered::<u8>(fold, lines),
        DType::U16 => ordered::<u16>(fold, lines),
        DType::U32 => ordered::<u32>(fold, lines),
        DType::U64 => ordered::<u64>(fold, lines),
        DType::F32 => ordered::<f32>(fold, lines),
        DType::F64 => ordered::<f64>(fold, lines),
        DType::C64 => ordered::<Complex<f32>>(fold, lines),
        DType::C128 => ordered::<Complex<f64>>(fold, lines),
        // Lowering has refused what there is no routine for.
        DType::F16 => {}
    }
}

/// An element.
pub(crate) trait Item: Copy {
    const ZERO: Self;
    const ONE: Self;
    /// Whether a product with 1 is the same number, to the sign of its zeros.
    const ONE_IS_NEUTRAL: bool = true;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// A block of neighbours.
    ///
    /// # Safety
    /// There are so many elements, at most a block.
    unsafe fn block<C: Combine<Self>>(n: usize, data: *const Self) -> Self;
}

/// An element that is less or more than another.
pub(crate) trait Ordered: Item + PartialOrd {
    const LEAST: Self;
    const MOST: Self;
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Item for $t {
            const ZERO: $t = 0;
            const ONE: $t = 1;
            #[inline(always)]
            fn plus(self, other: $t) -> $t { self.wrapping_add(other) }
            #[inline(always)]
            fn times(self, other: $t) -> $t { self.wrapping_mul(other) }
            #[inline(always)]
            unsafe fn block<C: Combine<$t>>(n: usize, data: *const $t) -> $t {
                // SAFETY: the caller's.
                unsafe { one_block::<$t, C, { PART / size_of::<$t>() }>(n, data) }
            }
        }
        impl Ordered for $t {
            const LEAST: $t = <$t>::MIN;
            const MOST: $t = <$t>::MAX;
        }
    )*};
}

macro_rules! floats {
    ($($t:ty),*) => {$(
        impl Item for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            #[inline(always)]
            fn plus(self, other: $t) -> $t { self + other }
            #[inline(always)]
            fn times(self, other: $t) -> $t { self * other }
            #[inline(always)]
            unsafe fn block<C: Combine<$t>>(n: usize, data: *const $t) -> $t {
                // SAFETY: the caller's.
                unsafe { one_block::<$t, C, { PART / size_of::<$t>() }>(n, data) }
            }
        }
        impl Ordered for $t {
            const LEAST: $t = <$t>::NEG_INFINITY;
            const MOST: $t = <$t>::INFINITY;
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);
floats!(f32, f64);

/// Real and imaginary part.
#[derive(Clone, Copy, PartialEq)]
#[repr(C)]
pub(crate) struct Complex<T>(T, T);

macro_rules! complexes {
    ($($t:ty),*) => {$(
        impl Item for Complex<$t> {
            const ZERO: Self = Complex(0.0, 0.0);
            const ONE: Self = Complex(1.0, 0.0);
            const ONE_IS_NEUTRAL: bool = false;
            #[inline(always)]
            fn plus(self, other: Self) -> Self { Complex(self.0 + other.0, self.1 + other.1) }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                Complex(self.0 * other.0 - self.1 * other.1, self.0 * other.1 + self.1 * other.0)
            }
            #[inline(always)]
            unsafe fn block<C: Combine<Complex<$t>>>(n: usize, data: *const Complex<$t>) -> Complex<$t> {
                // SAFETY: the caller's.
                unsafe { one_block::<Complex<$t>, C, { PART / size_of::<Complex<$t>>() }>(n, data) }
            }
        }
        // NumPy's order: by real, then by imaginary part; nothing is beside a nan in either.
        impl PartialOrd for Complex<$t> {
            #[inline(always)]
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                let (real, imag) = (self.0.partial_cmp(&other.0)?, self.1.partial_cmp(&other.1)?);
                Some(real.then(imag))
            }
        }
        impl Ordered for Complex<$t> {
            const LEAST: Self = Complex(<$t>::NEG_INFINITY, <$t>::NEG_INFINITY);
            const MOST: Self = Complex(<$t>::INFINITY, <$t>::INFINITY);
        }
    )*};
}

complexes!(f32, f64);

/// How two elements become one.
pub(crate) trait Combine<T: Copy> {
    const IDENTITY: T;
    /// The result of no elements.
    const EMPTY: T = Self::IDENTITY;
    /// Whether an element folded with the identity is the same one.
    const NEUTRAL: bool = true;
    /// Whether it needs no register beside the accumulators.
    const LEAN: bool = false;
    fn fold(a: T, b: T) -> T;
}

pub(crate) struct Sum;
pub(crate) struct Prod;
pub(crate) struct Min;
pub(crate) struct Max;
pub(crate) struct Or;
pub(crate) struct And;

impl<T: Item> Combine<T> for Sum {
    // As in NumPy, whose sums begin with it: of -0.0 alone they are 0.0.
    const IDENTITY: T = T::ZERO;
    const LEAN: bool = true;
    #[inline(always)]
    fn fold(a: T, b: T) -> T {
        a.plus(b)
    }
}

impl<T: Item> Combine<T> for Prod {
    const IDENTITY: T = T::ONE;
    const NEUTRAL: bool = T::ONE_IS_NEUTRAL;
    const LEAN: bool = true;
    #[inline(always)]
    fn fold(a: T, b: T) -> T {
        a.times(b)
    }
}

// Not a number wins: the first that is not equal to itself stays. So does the first of two that are equal, as zeros of either sign.
#[allow(clippy::eq_op)]
impl<T: Ordered> Combine<T> for Min {
    const IDENTITY: T = T::MOST;
    #[inline(always)]
    fn fold(a: T, b: T) -> T {
        if a <= b || a != a { a } else { b }
    }
}

#[allow(clippy::eq_op)]
impl<T: Ordered> Combine<T> for Max {
    const IDENTITY: T = T::LEAST;
    #[inline(always)]
    fn fold(a: T, b: T) -> T {
        if a >= b || a != a { a } else { b }
    }
}

impl Combine<u8> for Or {
    const IDENTITY: u8 = 0;
    #[inline(always)]
    fn fold(a: u8, b: u8) -> u8 {
        a | u8::from(b != 0)
    }
}

impl Combine<u8> for And {
    const IDENTITY: u8 = 1;
    #[inline(always)]
    fn fold(a: u8, b: u8) -> u8 {
        a & u8::from(b != 0)
    }
}

fn ordered<T: Ordered>(fold: Fold, lines: &Lines) {
    match fold {
        Fold::Sum => run::<T, Sum>(lines),
        Fold::Prod => run::<T, Prod>(lines),
        Fold::Min => run::<T, Min>(lines),
        Fold::Max => run::<T, Max>(lines),
        Fold::ArgMin => positions::<T>(lines, |a, b| a < b),
        Fold::ArgMax => positions::<T>(lines, |a, b| a > b),
        Fold::Any | Fold::All => {}
    }
}

fn run<T: Item, C: Combine<T>>(l: &Lines) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        return unsafe { wide::<T, C>(l) };
    }
    all::<T, C, false>(l);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn wide<T: Item, C: Combine<T>>(l: &Lines) {
    all::<T, C, true>(l);
}

#[inline(always)]
fn all<T: Item, C: Combine<T>, const WIDE: bool>(l: &Lines) {
    if l.n == 0 {
        return fill(l, C::EMPTY);
    }
    let across = l.in_step != 0 && l.stride.unsigned_abs() >= l.in_step.unsigned_abs();
    // What fills a part of the lanes is one load.
    let short = l.n <= SHORT && l.n != PART / size_of::<T>();
    if C::NEUTRAL && l.m > 1 && l.run != 1 && if across { l.run == TREE && l.n <= block(size_of::<T>()) } else { short }
    {
        return abreast::<T, C>(l);
    }
    if l.run == 1 || (l.run != TREE && across) {
        return if l.m <= SMALL { columns::<T, C, WIDE, SMALL>(l) } else { columns::<T, C, WIDE, TILE>(l) };
    }
    for k in 0..l.m as isize {
        // SAFETY: the lines describe memory that may be read and written.
        unsafe {
            let v = along::<T, C>(l.n, l.data.offset(k * l.in_step), l.stride);
            l.out.offset(k * l.out_step).cast::<T>().write_unaligned(v);
        }
    }
}

/// Reductions of nothing.
fn fill<T: Copy>(l: &Lines, v: T) {
    for k in 0..l.m as isize {
        // SAFETY: the lines describe memory that may be written.
        unsafe { l.out.offset(k * l.out_step).cast::<T>().write_unaligned(v) };
    }
}

/// One reduction along its axis, of elements so many bytes apart.
#[inline(always)]
unsafe fn along<T: Item, C: Combine<T>>(n: usize, data: *const u8, stride: isize) -> T {
    let size = block(size_of::<T>());
    // SAFETY: the caller's memory, and elements of vectors.
    unsafe {
        let neighbours = stride == size_of::<T>() as isize && data.cast::<T>().is_aligned();
        if n <= size && neighbours {
            return T::block::<C>(n, data.cast());
        }
        // Elements that lie apart are brought together first.
        let mut together = MaybeUninit::<Block>::uninit();
        let together = together.as_mut_ptr().cast::<T>();
        let result = |b: usize| {
            let (count, first) = (size.min(n - b * size), data.offset((b * size) as isize * stride));
            if neighbours {
                return T::block::<C>(count, first.cast());
            }
            for i in 0..count {
                together.add(i).write(first.offset(i as isize * stride).cast::<T>().read_unaligned());
            }
            T::block::<C>(count, together)
        };
        if n <= size {
            return result(0);
        }
        let mut levels = Levels::<T>::new::<C>();
        (0..n.div_ceil(size)).for_each(|b| levels.push::<C>(0, result(b)));
        levels.finish::<C>()
    }
}

/// The elements of a block.
#[repr(align(64))]
struct Block(#[expect(dead_code, reason = "only its size matters")] [u8; block(1)]);

/// Most levels of results of blocks: more than any memory has elements for.
const LEVELS: usize = 6;

/// A row of lanes.
#[repr(align(64))]
struct Row(#[expect(dead_code, reason = "only its size matters")] [u8; ROW]);

/// Results of blocks, which are reduced by the same rule again, as they come: no memory is needed that grows with them.
struct Levels<T> {
    /// Of each level the lanes, which are there once it has a result.
    rows: [MaybeUninit<Row>; LEVELS],
    counts: [usize; LEVELS],
    /// The newest of each level: if nothing else is there, it is what comes out.
    newest: [T; LEVELS],
}

impl<T: Item> Levels<T> {
    const LANES: usize = lanes(size_of::<T>());

    #[inline(always)]
    fn new<C: Combine<T>>() -> Levels<T> {
        Levels { rows: [const { MaybeUninit::uninit() }; LEVELS], counts: [0; LEVELS], newest: [C::IDENTITY; LEVELS] }
    }

    /// Adds a result to a level; those of a whole block of them are one result of the next.
    #[inline(always)]
    fn push<C: Combine<T>>(&mut self, from: usize, mut v: T) {
        for level in from..LEVELS {
            let lanes = self.rows[level].as_mut_ptr().cast::<T>();
            let count = &mut self.counts[level];
            // SAFETY: the row has room for so many, and they are written before one is read.
            unsafe {
                if *count == 0 {
                    (0..Self::LANES).for_each(|k| lanes.add(k).write(C::IDENTITY));
                }
                let lane = lanes.add(*count % Self::LANES);
                *lane = C::fold(*lane, v);
            }
            *count += 1;
            self.newest[level] = v;
            if *count < block(size_of::<T>()) {
                return;
            }
            v = self.take::<C>(level);
        }
    }

    /// The result of a level that has some, and begins anew.
    #[inline(always)]
    fn take<C: Combine<T>>(&mut self, level: usize) -> T {
        // As in `one_block`: a short line needs few lanes.
        let few = PART / size_of::<T>();
        let mut half = if self.counts[level] <= few { few } else { Self::LANES } / 2;
        self.counts[level] = 0;
        let lanes = self.rows[level].as_mut_ptr().cast::<T>();
        // SAFETY: the first result has filled the row.
        let lanes = unsafe { std::slice::from_raw_parts_mut(lanes, Self::LANES) };
        while half > 0 {
            for k in 0..half {
                lanes[k] = C::fold(lanes[k], lanes[k + half]);
            }
            half /= 2;
        }
        lanes[0]
    }

    #[inline(always)]
    fn finish<C: Combine<T>>(mut self) -> T {
        for level in 0..LEVELS {
            let last = self.counts[level + 1..].iter().all(|&n| n == 0);
            match self.counts[level] {
                0 => {}
                1 if last => return self.newest[level],
                _ => {
                    let v = self.take::<C>(level);
                    self.push::<C>(level + 1, v);
                }
            }
        }
        C::EMPTY
    }
}

/// Bytes of the lanes that go together: a vector or two.
const PART: usize = 64;
/// How many such parts there are.
const PARTS: usize = 8;

/// A block of neighbours, whose lanes go together `P` at a time.
#[inline(always)]
unsafe fn one_block<T: Item, C: Combine<T>, const P: usize>(n: usize, data: *const T) -> T {
    // SAFETY: the caller's memory. Lanes without an element change nothing: a short line needs few.
    unsafe { if n <= P { in_lanes::<T, C, P, 1>(n, data) } else { in_lanes::<T, C, P, PARTS>(n, data) } }
}

#[inline(always)]
unsafe fn in_lanes<T: Item, C: Combine<T>, const P: usize, const PARTS: usize>(n: usize, data: *const T) -> T {
    let mut acc = [[C::IDENTITY; P]; PARTS];
    let rows = n / (P * PARTS);
    // As many accumulators at a time as registers hold: with all of them, memory is read once, in order.
    let group = if C::LEAN { PARTS } else { PARTS.div_ceil(2) };
    for first in (0..PARTS).step_by(group) {
        for row in 0..rows {
            for (k, a) in acc[first..first + group].iter_mut().enumerate() {
                // SAFETY: some of the `n` elements.
                fold_part::<T, C, P>(a, unsafe { &*data.add((row * PARTS + first + k) * P).cast::<[T; P]>() });
            }
        }
    }
    let done = rows * P * PARTS;
    let rest = n - done;
    for (k, a) in acc.iter_mut().enumerate().take(rest / P) {
        // SAFETY: some of the `n` elements.
        fold_part::<T, C, P>(a, unsafe { &*data.add(done + k * P).cast::<[T; P]>() });
    }
    for k in rest / P * P..rest {
        let a = &mut acc[k / P][k % P];
        // SAFETY: one of the `n` elements.
        *a = C::fold(*a, unsafe { *data.add(done + k) });
    }
    let mut half = PARTS / 2;
    while half > 0 {
        let (low, high) = acc.split_at_mut(half);
        low.iter_mut().zip(high).for_each(|(a, b)| fold_part::<T, C, P>(a, b));
        half /= 2;
    }
    let last = &mut acc[0];
    let mut half = P / 2;
    while half > 0 {
        for k in 0..half {
            last[k] = C::fold(last[k], last[k + half]);
        }
        half /= 2;
    }
    last[0]
}

#[inline(always)]
fn fold_part<T: Copy, C: Combine<T>, const P: usize>(a: &mut [T; P], b: &[T; P]) {
    for k in 0..P {
        a[k] = C::fold(a[k], b[k]);
    }
}

/// Reductions at a time, each with lanes of its own: vectors go over the reductions, and no lane without an element is touched.
const ABREAST: usize = 32;
/// Elements up to which reductions along the fastest axis are faster so.
const SHORT: usize = 24;

/// Reductions in the order of the tree, beside each other.
#[inline(always)]
fn abreast<T: Item, C: Combine<T>>(l: &Lines) {
    let item = size_of::<T>() as isize;
    let pieces = l.stride == item && l.in_step == l.n as isize * item && l.out_step == item;
    // SAFETY: the lines describe memory that may be read and written.
    unsafe {
        match l.n {
            2 if pieces => rows_of::<T, C, 2>(l),
            3 if pieces => rows_of::<T, C, 3>(l),
            4 if pieces => rows_of::<T, C, 4>(l),
            _ if l.in_step == item => tiles::<T, C, true>(l),
            _ => tiles::<T, C, false>(l),
        }
    }
}

/// Rows of so few elements that the processor's vectors take them apart.
#[inline(always)]
unsafe fn rows_of<T: Item, C: Combine<T>, const N: usize>(l: &Lines) {
    for k in 0..l.m {
        // SAFETY: the caller's.
        unsafe {
            let mut row = l.data.cast::<[T; N]>().add(k).read_unaligned();
            let (mut alive, mut half) = (N, N.next_power_of_two() / 2);
            while half > 0 {
                for i in 0..alive - half {
                    row[i] = C::fold(row[i], row[i + half]);
                }
                (alive, half) = (half, half / 2);
            }
            l.out.cast::<T>().add(k).write_unaligned(C::fold(row[0], C::IDENTITY));
        }
    }
}

/// Tiles of reductions, which are neighbours where `NEXT`.
#[inline(always)]
unsafe fn tiles<T: Item, C: Combine<T>, const NEXT: bool>(l: &Lines) {
    for first in (0..l.m).step_by(ABREAST) {
        let mut out = [C::IDENTITY; ABREAST];
        let width = ABREAST.min(l.m - first);
        // SAFETY: the lines describe memory that may be read and written.
        unsafe {
            let tile = Tile { data: l.data.offset(first as isize * l.in_step), stride: l.stride, in_step: l.in_step };
            tile.block::<T, C, NEXT>(l.n, &mut out[..width]);
            for (k, v) in out[..width].iter().enumerate() {
                l.out.offset((first + k) as isize * l.out_step).cast::<T>().write_unaligned(C::fold(*v, C::IDENTITY));
            }
        }
    }
}

/// Where the elements of some reductions are.
#[derive(Clone, Copy)]
struct Tile {
    data: *const u8,
    stride: isize,
    in_step: isize,
}

impl Tile {
    /// Element `i` of reduction `k`.
    #[inline(always)]
    unsafe fn get<T: Copy, const NEXT: bool>(self, i: usize, k: usize) -> T {
        let step = if NEXT { size_of::<T>() as isize } else { self.in_step };
        // SAFETY: the caller's.
        unsafe { self.data.offset(i as isize * self.stride).offset(k as isize * step).cast::<T>().read_unaligned() }
    }

    /// At least one element, and no more than a block has.
    #[inline(always)]
    unsafe fn block<T: Item, C: Combine<T>, const NEXT: bool>(self, n: usize, out: &mut [T]) {
        let (lanes, width) = (lanes(size_of::<T>()), out.len());
        let mut room = [MaybeUninit::<u64>::uninit(); ROW * ABREAST / 8];
        let acc = room.as_mut_ptr().cast::<T>();
        let (mut alive, mut half) = (n.min(lanes), n.min(lanes).next_power_of_two() / 2);
        // SAFETY: the caller's memory, and lanes that have been written before they are read.
        unsafe {
            if n <= lanes && half > 0 {
                // One element in a lane: those that meet first come from where they are.
                for i in 0..half {
                    let to = acc.add(i * width);
                    if i + half < n {
                        for k in 0..width {
                            *to.add(k) = C::fold(self.get::<T, NEXT>(i, k), self.get::<T, NEXT>(i + half, k));
                        }
                    } else {
                        for k in 0..width {
                            *to.add(k) = self.get::<T, NEXT>(i, k);
                        }
                    }
                }
                (alive, half) = (half, half / 2);
            } else {
                for i in 0..alive {
                    for k in 0..width {
                        *acc.add(i * width + k) = self.get::<T, NEXT>(i, k);
                    }
                }
                for i in lanes..n {
                    let to = acc.add(i % lanes * width);
                    for k in 0..width {
                        *to.add(k) = C::fold(*to.add(k), self.get::<T, NEXT>(i, k));
                    }
                }
            }
            while half > 0 {
                let other = acc.add(half * width);
                for k in 0..(alive - half) * width {
                    *acc.add(k) = C::fold(*acc.add(k), *other.add(k));
                }
                (alive, half) = (half, half / 2);
            }
            out.copy_from_slice(std::slice::from_raw_parts(acc, width));
        }
    }
}

/// Neighbouring reductions at a time, where the elements of one are apart: their results so far stay in the nearest cache, and
/// of each row so much is read in one go that the processor sees what comes next.
const TILE: usize = 256;
const SMALL: usize = 16;
/// Rows that go into the results so far together.
const ROWS: usize = 4;

#[inline(always)]
fn columns<T: Copy, C: Combine<T>, const WIDE: bool, const W: usize>(l: &Lines) {
    for first in (0..l.m).step_by(W) {
        let width = W.min(l.m - first);
        let mut acc = [C::IDENTITY; W];
        // SAFETY: the lines describe memory that may be read and written.
        unsafe {
            runs::<T, C, WIDE, W>(l, first, width, 0, l.n, &mut acc);
            for (k, a) in acc[..width].iter().enumerate() {
                l.out.offset((first + k) as isize * l.out_step).cast::<T>().write_unaligned(*a);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn wide_rows<T: Copy, C: Combine<T>>(l: &Lines, first: usize, lo: usize, n: usize, acc: &mut [T]) {
    // SAFETY: the caller's.
    unsafe { rows::<T, C>(l, first, lo, n, acc) }
}

/// Folds rows `lo..lo + n` into the results so far of the reductions from `first` on.
#[inline(always)]
unsafe fn rows<T: Copy, C: Combine<T>>(l: &Lines, first: usize, lo: usize, n: usize, acc: &mut [T]) {
    let row = |i: usize| i as isize * l.stride + first as isize * l.in_step;
    let mut i = lo;
    // SAFETY: elements of the lines.
    unsafe {
        if l.in_step == size_of::<T>() as isize {
            while i + ROWS <= lo + n {
                let rows: [*const T; ROWS] = std::array::from_fn(|k| l.data.offset(row(i + k)).cast());
                for (k, a) in acc.iter_mut().enumerate() {
                    *a = rows.iter().fold(*a, |a, row| C::fold(a, row.add(k).read_unaligned()));
                }
                i += ROWS;
            }
        }
        for i in i..lo + n {
            let row = l.data.offset(row(i));
            for (k, a) in acc.iter_mut().enumerate() {
                *a = C::fold(*a, row.offset(k as isize * l.in_step).cast::<T>().read_unaligned());
            }
        }
    }
}

/// As [`rows`], in the order of runs. `WIDE`: with the wider vectors that the caller has seen to be there.
unsafe fn runs<T: Copy, C: Combine<T>, const WIDE: bool, const W: usize>(
    l: &Lines,
    first: usize,
    width: usize,
    lo: usize,
    n: usize,
    acc: &mut [T; W],
) {
    if n > l.run {
        let left = split(n, l.run);
        let mut second = [C::IDENTITY; W];
        // SAFETY: the caller's.
        unsafe {
            runs::<T, C, WIDE, W>(l, first, width, lo, left, acc);
            runs::<T, C, WIDE, W>(l, first, width, lo + left, n - left, &mut second);
        }
        for (a, b) in acc[..width].iter_mut().zip(second) {
            *a = C::fold(*a, b);
        }
        return;
    }
    // SAFETY: the caller's.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if WIDE {
            return wide_rows::<T, C>(l, first, lo, n, &mut acc[..width]);
        }
        rows::<T, C>(l, first, lo, n, &mut acc[..width]);
    }
}

/// Position of the first best element; not a number is best.
#[allow(clippy::eq_op)]
fn positions<T: Ordered>(l: &Lines, better: impl Fn(T, T) -> bool) {
    for k in 0..l.m as isize {
        // SAFETY: the lines describe memory that may be read and written.
        unsafe {
            let data = l.data.offset(k * l.in_step);
            let get = |i: usize| data.offset(i as isize * l.stride).cast::<T>().read_unaligned();
            let mut at = 0;
            let mut best = get(0);
            for i in 1..l.n {
                if best != best {
                    break;
                }
                let v = get(i);
                if better(v, best) || v != v {
                    (at, best) = (i, v);
                }
            }
            l.out.offset(k * l.out_step).cast::<i64>().write_unaligned(at as i64);
        }
    }
}
