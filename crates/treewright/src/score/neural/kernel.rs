//! The innermost loops of neural networks: matrix products with packed weights, and what is done number by number.
//!
//! Every number of a product is one chain of fused multiplications and additions over the inner dimension, in order. So a
//! product has the same bits for a row alone as for a row among others, with AVX2 or AVX-512 as without, on every machine.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod x86;

use std::sync::OnceLock;

use crate::weights::kernel::zip;

/// The columns that lie together in a packed matrix: one AVX-512 register, or two AVX2 registers.
pub(in crate::score) const PANEL: usize = 16;

/// The most rows of a block of any kernel.
const MAX_ROWS: usize = 12;

/// The numbers of the left side that a product reads again and again, panel by panel: they stay in the second-level cache.
const CACHED: usize = 1 << 15;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
struct Line([f32; PANEL]);

/// A matrix for the right side of products: panels of 16 columns, each from its first row to its last. The columns that
/// the last panel lacks are zeros.
#[derive(Clone, Debug, Default)]
pub(in crate::score) struct Packed {
    lines: Vec<Line>,
    n_rows: usize,
    n_columns: usize,
}

impl Packed {
    /// Packs a matrix that lies row by row.
    pub(in crate::score) fn set(&mut self, matrix: &[f32], n_rows: usize, n_columns: usize) {
        assert_eq!(matrix.len(), n_rows * n_columns, "a matrix has rows and columns");
        self.set_rows(Left { values: matrix, n_rows, stride: n_columns }, n_columns);
    }

    /// Packs rows of `n_columns` numbers that may lie apart.
    pub(in crate::score) fn set_rows(&mut self, matrix: Left<'_>, n_columns: usize) {
        let Left { values, n_rows, stride } = matrix;
        (self.n_rows, self.n_columns) = (n_rows, n_columns);
        self.lines.resize(n_columns.div_ceil(PANEL) * n_rows, Line::default());
        for (j, panel) in self.lines.chunks_exact_mut(n_rows.max(1)).enumerate() {
            let start = j * PANEL;
            let width = PANEL.min(n_columns - start);
            for (row, line) in panel.iter_mut().enumerate() {
                let from = &values[row * stride + start..][..width];
                if let Some(whole) = from.first_chunk() {
                    line.0 = *whole;
                } else {
                    line.0[..width].copy_from_slice(from);
                    line.0[width..].fill(0.0);
                }
            }
        }
    }

    /// Packs the transpose of a matrix that lies row by row: its columns become the rows of the packed one.
    pub(in crate::score) fn set_transposed(&mut self, matrix: &[f32], n_rows: usize, n_columns: usize) {
        assert_eq!(matrix.len(), n_rows * n_columns, "a matrix has rows and columns");
        (self.n_rows, self.n_columns) = (n_columns, n_rows);
        self.lines.resize(n_rows.div_ceil(PANEL) * n_columns, Line::default());
        for (j, panel) in self.lines.chunks_exact_mut(n_columns.max(1)).enumerate() {
            let rows = &matrix[j * PANEL * n_columns..];
            let width = PANEL.min(n_rows - j * PANEL);
            for (p, line) in panel.iter_mut().enumerate() {
                for (i, value) in line.0.iter_mut().enumerate() {
                    *value = if i < width { rows[i * n_columns + p] } else { 0.0 };
                }
            }
        }
    }

    #[cfg(test)]
    pub(in crate::score) fn of(matrix: &[f32], n_rows: usize, n_columns: usize) -> Self {
        let mut packed = Packed::default();
        packed.set(matrix, n_rows, n_columns);
        packed
    }
}

/// The left side of a product: rows that may lie apart.
#[derive(Clone, Copy, Debug)]
pub(in crate::score) struct Left<'a> {
    pub values: &'a [f32],
    pub n_rows: usize,
    /// From one row to the next.
    pub stride: usize,
}

impl<'a> Left<'a> {
    /// Rows that lie one after the other.
    pub(in crate::score) fn dense(values: &'a [f32], width: usize) -> Self {
        Left { values, n_rows: values.len() / width.max(1), stride: width }
    }
}

/// What a product does with what is in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::score) enum Sum {
    /// It is overwritten.
    Fresh,
    /// It is added to.
    Added,
}

/// The product of `left` and `right`, to rows that begin every `stride` numbers of `out`.
pub(in crate::score) fn multiply(left: Left<'_>, right: &Packed, out: &mut [f32], stride: usize, sum: Sum) {
    let (m, k, n) = (left.n_rows, right.n_rows, right.n_columns);
    if m == 0 || n == 0 {
        return;
    }
    assert!(left.values.len() >= (m - 1) * left.stride + k && left.stride >= k, "the left side has its rows");
    assert!(out.len() >= (m - 1) * stride + n && stride >= n, "there is room for the product");
    let work = match cpu() {
        #[cfg(target_arch = "x86_64")]
        Cpu::Avx512 => in_blocks::<x86::Avx512>,
        #[cfg(target_arch = "x86_64")]
        Cpu::Avx2 => in_blocks::<x86::Avx2>,
        Cpu::Plain => in_blocks::<Plain>,
    };
    let rows = (CACHED / k.max(1) / MAX_ROWS).max(1) * MAX_ROWS;
    for first in (0..m).step_by(rows) {
        let values = &left.values[first * left.stride..];
        let left = Left { values, n_rows: rows.min(m - first), stride: left.stride };
        work(left, right, &mut out[first * stride..], stride, sum);
    }
}

/// The rows of a block: where the first begins, and how far it is to the next.
#[derive(Clone, Copy)]
pub(super) struct Rows<T> {
    pub start: T,
    pub stride: usize,
}

type LeftRows = Rows<*const f32>;
type OutRows = Rows<*mut f32>;

/// The weights of a block: panels of `k` lines, one after the other.
#[derive(Clone, Copy)]
struct Panels {
    lines: *const Line,
    k: usize,
}

/// Computes blocks of a product.
trait Blocks {
    /// The most rows of a block: their sums leave registers for a row of weights.
    const ROWS: usize;

    /// How many panels are computed together for this many rows: enough independent sums for the processor to work on.
    fn panels(n_rows: usize) -> usize;

    /// `M` rows and `P` panels.
    ///
    /// # Safety
    /// The processor has what the blocks need; `a` has `M` rows of `b.k` numbers; `b` has `P` panels; `c` has `M` rows of `P`
    /// panels, which nobody else uses.
    unsafe fn block<const M: usize, const P: usize>(a: LeftRows, b: Panels, c: OutRows, sum: Sum);
}

/// The block of a kernel for this many rows and panels.
macro_rules! block {
    ($kernel:ty, $rows:expr, $panels:literal) => {
        match $rows {
            1 => <$kernel>::block::<1, $panels>,
            2 => <$kernel>::block::<2, $panels>,
            3 => <$kernel>::block::<3, $panels>,
            4 => <$kernel>::block::<4, $panels>,
            5 => <$kernel>::block::<5, $panels>,
            6 => <$kernel>::block::<6, $panels>,
            7 => <$kernel>::block::<7, $panels>,
            8 => <$kernel>::block::<8, $panels>,
            9 => <$kernel>::block::<9, $panels>,
            10 => <$kernel>::block::<10, $panels>,
            11 => <$kernel>::block::<11, $panels>,
            _ => <$kernel>::block::<12, $panels>,
        }
    };
}

pub(super) use block;

fn in_blocks<B: Blocks>(left: Left<'_>, right: &Packed, out: &mut [f32], stride: usize, sum: Sum) {
    let (m, k, n) = (left.n_rows, right.n_rows, right.n_columns);
    let n_panels = n.div_ceil(PANEL);
    let together = B::panels(m);
    let n_blocks = m.div_ceil(B::ROWS);
    let mut panel = 0;
    while panel < n_panels {
        let is_whole = |p: usize| (panel + p) * PANEL <= n;
        let p = if panel + together <= n_panels && is_whole(together) { together } else { 1 };
        let mut row = 0;
        for i in 0..n_blocks {
            // Blocks of nearly the same size: none is left with a single row.
            let rows = (m - row).div_ceil(n_blocks - i);
            let column = panel * PANEL;
            let width = (p * PANEL).min(n - column);
            let mut edge = [0f32; MAX_ROWS * PANEL];
            let is_edge = width < p * PANEL;
            if is_edge && sum == Sum::Added {
                for (r, edge) in edge.chunks_exact_mut(PANEL).take(rows).enumerate() {
                    let at = (row + r) * stride + column;
                    edge[..width].copy_from_slice(&out[at..at + width]);
                }
            }
            let a = &left.values[row * left.stride..];
            let b = &right.lines[panel * k..(panel + p) * k];
            let (c, c_stride) = match is_edge {
                true => (&mut edge[..], PANEL),
                false => (&mut out[row * stride + column..], stride),
            };
            debug_assert!(c.len() >= (rows - 1) * c_stride + p * PANEL, "a block stays within the product");
            // SAFETY: `multiply` has checked the processor and the lengths of both sides and of the product; a block that
            // would reach over its edge has memory of its own.
            unsafe {
                let block = match p {
                    4 => block!(B, rows, 4),
                    2 => block!(B, rows, 2),
                    _ => block!(B, rows, 1),
                };
                let a = Rows { start: a.as_ptr(), stride: left.stride };
                let c = Rows { start: c.as_mut_ptr(), stride: c_stride };
                block(a, Panels { lines: b.as_ptr(), k }, c, sum);
            }
            if is_edge {
                for (r, edge) in edge.chunks_exact(PANEL).take(rows).enumerate() {
                    let at = (row + r) * stride + column;
                    out[at..at + width].copy_from_slice(&edge[..width]);
                }
            }
            row += rows;
        }
        panel += p;
    }
}

/// Few rows: several panels at once.
const fn panels_of_few_rows(n_rows: usize) -> usize {
    match n_rows {
        1 => 4,
        2 | 3 => 2,
        _ => 1,
    }
}

/// For every processor; the twin that the other kernels are tested against.
struct Plain;

impl Blocks for Plain {
    const ROWS: usize = 6;

    fn panels(n_rows: usize) -> usize {
        panels_of_few_rows(n_rows)
    }

    #[allow(clippy::needless_range_loop, reason = "places of one block in three arrays")]
    #[inline(always)]
    unsafe fn block<const M: usize, const P: usize>(a: LeftRows, b: Panels, c: OutRows, sum: Sum) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut sums = [[[0f32; PANEL]; P]; M];
            for r in 0..M {
                for q in 0..P {
                    if sum == Sum::Added {
                        sums[r][q] = *c.start.add(r * c.stride + q * PANEL).cast();
                    }
                }
            }
            for p in 0..b.k {
                for r in 0..M {
                    let x = *a.start.add(r * a.stride + p);
                    for q in 0..P {
                        let line = &(*b.lines.add(q * b.k + p)).0;
                        for (sum, weight) in zip(&mut sums[r][q], line) {
                            *sum = x.mul_add(*weight, *sum);
                        }
                    }
                }
            }
            for r in 0..M {
                for q in 0..P {
                    *c.start.add(r * c.stride + q * PANEL).cast() = sums[r][q];
                }
            }
        }
    }
}

/// What kernels there are for this processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Cpu {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The kernels to use: the best for this processor, or less where the environment says so, to see what another processor
/// would do. All give the same bits.
#[inline]
pub(super) fn cpu() -> Cpu {
    static BEST: OnceLock<Cpu> = OnceLock::new();
    let best = *BEST.get_or_init(|| match std::env::var("TREEWRIGHT_KERNELS").as_deref() {
        Ok("plain") => Cpu::Plain,
        #[cfg(target_arch = "x86_64")]
        Ok("avx2") => best().min(Cpu::Avx2),
        _ => best(),
    });
    #[cfg(test)]
    let best = tests::allowed(best);
    best
}

/// The best kernels for this processor.
fn best() -> Cpu {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        match () {
            () if has!("avx512f") && has!("avx2") && has!("fma") => Cpu::Avx512,
            () if has!("avx2") && has!("fma") => Cpu::Avx2,
            () => Cpu::Plain,
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    Cpu::Plain
}

/// Functions that are plain loops, compiled once for every processor and once for those with AVX2 and FMA.
macro_rules! compiled_twice {
    ($($(#[$doc:meta])* pub(in crate::score) fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$doc])*
        #[allow(clippy::too_many_arguments, reason = "the arrays of one loop")]
        pub(in crate::score) fn $name($($arg: $type),*) $(-> $result)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            fn plain($($arg: $type),*) $(-> $result)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                #[allow(clippy::too_many_arguments)]
                fn avx2($($arg: $type),*) $(-> $result)? {
                    plain($($arg),*)
                }
                if $crate::score::neural::kernel::cpu() != $crate::score::neural::kernel::Cpu::Plain {
                    // SAFETY: the processor has both.
                    return unsafe { avx2($($arg),*) };
                }
            }
            plain($($arg),*)
        }
    )*};
}

pub(super) use compiled_twice;

/// e to the power of `x`, to about seven digits: 2^n times a polynomial.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 87.0);
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-0.693_359_4, x);
    let r = n.mul_add(2.121_944_4e-4, r);
    let p = 1.987_569_1e-4f32
        .mul_add(r, 1.398_199_9e-3)
        .mul_add(r, 8.333_452e-3)
        .mul_add(r, 4.166_579_6e-2)
        .mul_add(r, 1.666_666_5e-1)
        .mul_add(r, 0.5);
    let p = p.mul_add(r * r, r) + 1.0;
    // The low bits of the shifted number are n; they become the exponent.
    let scale = shifted.to_bits().wrapping_shl(23).wrapping_add(1f32.to_bits());
    p * f32::from_bits(scale)
}

#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

#[inline(always)]
fn tanh(x: f32) -> f32 {
    2.0f32.mul_add(sigmoid(2.0 * x), -1.0)
}

compiled_twice! {
    /// One step of an LSTM for one sequence: `gates` (input, forget, candidate, output, each as long as `h`) come as sums
    /// and leave as activations.
    pub(in crate::score) fn lstm_cell(gates: &mut [f32], c_before: &[f32], c: &mut [f32], tanh_c: &mut [f32], h: &mut [f32]) {
        let n = h.len();
        let (i, rest) = gates.split_at_mut(n);
        let (f, rest) = rest.split_at_mut(n);
        let (g, o) = rest.split_at_mut(n);
        let (o, c_before, c, tanh_c) = (&mut o[..n], &c_before[..n], &mut c[..n], &mut tanh_c[..n]);
        for j in 0..n {
            i[j] = sigmoid(i[j]);
            f[j] = sigmoid(f[j]);
            g[j] = tanh(g[j]);
            o[j] = sigmoid(o[j]);
            c[j] = f[j].mul_add(c_before[j], i[j] * g[j]);
            tanh_c[j] = tanh(c[j]);
            h[j] = o[j] * tanh_c[j];
        }
    }

    /// The way back of [`lstm_cell`]: from the gradients of `h` and of `c` to those of the sums, in the place of the
    /// activations, and of `c_before`, in the place of that of `c`.
    pub(in crate::score) fn lstm_cell_back(gates: &mut [f32], c_before: &[f32], tanh_c: &[f32], dh: &[f32], dc: &mut [f32]) {
        let n = dh.len();
        let (i, rest) = gates.split_at_mut(n);
        let (f, rest) = rest.split_at_mut(n);
        let (g, o) = rest.split_at_mut(n);
        let (o, c_before, tanh_c, dc) = (&mut o[..n], &c_before[..n], &tanh_c[..n], &mut dc[..n]);
        for j in 0..n {
            let d = dc[j] + dh[j] * o[j] * (1.0 - tanh_c[j] * tanh_c[j]);
            let d_o = dh[j] * tanh_c[j] * o[j] * (1.0 - o[j]);
            let d_i = d * g[j] * i[j] * (1.0 - i[j]);
            let d_f = d * c_before[j] * f[j] * (1.0 - f[j]);
            let d_g = d * i[j] * (1.0 - g[j] * g[j]);
            dc[j] = d * f[j];
            i[j] = d_i;
            f[j] = d_f;
            g[j] = d_g;
            o[j] = d_o;
        }
    }

    /// Adds `from` to `to`.
    pub(in crate::score) fn add(from: &[f32], to: &mut [f32]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to += from;
        }
    }

    /// Softmax in place.
    pub(in crate::score) fn softmax(row: &mut [f32]) {
        let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        for value in &mut *row {
            *value = exp(*value - highest);
        }
        let total: f32 = row.iter().sum();
        for value in &mut *row {
            *value /= total;
        }
    }

    /// The sum of squares, in eight sums that are added up at the end.
    pub(in crate::score) fn squares(values: &[f32]) -> f64 {
        let mut sums = [0f64; 8];
        let (chunks, rest) = values.as_chunks::<8>();
        for chunk in chunks {
            for (sum, value) in zip(&mut sums, chunk) {
                *sum += f64::from(*value) * f64::from(*value);
            }
        }
        for (sum, value) in zip(&mut sums, rest) {
            *sum += f64::from(*value) * f64::from(*value);
        }
        sums.iter().sum()
    }

    /// One step of Adam: gradients to changes of the weights, with running means of gradients and of their squares.
    pub(in crate::score) fn adam(weights: &mut [f32], gradients: &[f32], means: &mut [f32], squares: &mut [f32], step: &AdamStep) {
        let n = weights.len();
        let (gradients, means, squares) = (&gradients[..n], &mut means[..n], &mut squares[..n]);
        for j in 0..n {
            let gradient = gradients[j] * step.scale;
            means[j] = step.beta_1.mul_add(means[j], (1.0 - step.beta_1) * gradient);
            squares[j] = step.beta_2.mul_add(squares[j], (1.0 - step.beta_2) * gradient * gradient);
            weights[j] -= step.rate * means[j] / ((squares[j] * step.correct_2).sqrt() + step.epsilon);
        }
    }

    /// One step of gradient descent.
    pub(in crate::score) fn descend(weights: &mut [f32], gradients: &[f32], rate: f32) {
        for (weight, gradient) in weights.iter_mut().zip(gradients) {
            *weight = (-rate).mul_add(*gradient, *weight);
        }
    }

    /// The larger of two numbers at each place, and which it was: `which` is set where `from` is larger.
    pub(in crate::score) fn maximum(from: &[f32], index: u32, to: &mut [f32], which: &mut [u32]) {
        let n = to.len();
        let (from, which) = (&from[..n], &mut which[..n]);
        for j in 0..n {
            let is_larger = from[j] > to[j];
            to[j] = if is_larger { from[j] } else { to[j] };
            which[j] = if is_larger { index } else { which[j] };
        }
    }

    /// Moves averages towards the weights by a share of the way.
    pub(in crate::score) fn approach(averages: &mut [f32], weights: &[f32], share: f32) {
        for (average, weight) in averages.iter_mut().zip(weights) {
            *average = share.mul_add(*weight - *average, *average);
        }
    }
}

/// The numbers of one step of [`adam`].
#[derive(Clone, Copy, Debug)]
pub(in crate::score) struct AdamStep {
    /// What gradients are multiplied by.
    pub scale: f32,
    pub beta_1: f32,
    pub beta_2: f32,
    /// The learning rate, corrected for the first mean's start at 0.
    pub rate: f32,
    /// The correction for the second mean's start at 0.
    pub correct_2: f32,
    pub epsilon: f32,
}

#[cfg(test)]
pub(in crate::score) mod tests;
