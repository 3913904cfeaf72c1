//! Products in 8 bits: weights from -63 to 63 with a scale for each column, and rows of activations from 0 to 255 with
//! a scale and a lowest value for each row.
//!
//! A pair of products is at most 2 * 255 * 63 = 32,130, so the 16-bit sums of AVX2 never saturate, and all sums are the same
//! with AVX2, with the dot products of AVX-512 (VNNI), and without either.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod x86;

use std::cell::RefCell;

use super::kernel::{Cpu, Left, Rows, Sum, block, compiled_twice, cpu};

/// The largest weight; as many are below 0.
pub(super) const MAX_WEIGHT: f32 = 63.0;

/// The columns that lie together.
const PANEL: usize = 16;
/// Numbers of a row that are multiplied together.
const GROUP: usize = 4;
/// The most rows of a block.
const MAX_ROWS: usize = 12;
/// The most panels of a block.
const MAX_PANELS: usize = 2;
/// About how many bytes of activations are worked on at a time, so that they stay in the cache.
const CACHED: usize = 1 << 17;

/// Four weights of each of 16 columns.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([i8; GROUP * PANEL]);

/// Weights of 8 bits, packed for products.
#[derive(Clone, Debug, Default)]
pub(super) struct SmallWeights {
    /// Panels of 16 columns, each from its first row to its last.
    lines: Vec<Line>,
    n_in: usize,
    n_out: usize,
    scales: Vec<f32>,
    /// The sum of each column.
    sums: Vec<f32>,
}

/// Rows of activations in 8 bits.
#[derive(Clone, Debug, Default)]
struct SmallRows {
    values: Vec<u8>,
    /// The lowest value of each row, and how much one more of 255 is worth.
    ranges: Vec<[f32; 2]>,
}

impl SmallWeights {
    /// Packs weights that lie row by row; every column has a scale.
    pub(super) fn new(weights: &[i8], scales: &[f32]) -> Self {
        let n_out = scales.len();
        let n_in = weights.len() / n_out.max(1);
        let n_groups = n_in.div_ceil(GROUP);
        let mut lines = vec![Line([0; GROUP * PANEL]); n_out.div_ceil(PANEL) * n_groups];
        let mut sums = vec![0i32; n_out];
        for (row, weights) in weights.chunks_exact(n_out.max(1)).enumerate() {
            for (column, &weight) in weights.iter().enumerate() {
                let line = &mut lines[column / PANEL * n_groups + row / GROUP];
                line.0[column % PANEL * GROUP + row % GROUP] = weight;
                sums[column] += i32::from(weight);
            }
        }
        let sums = sums.iter().map(|&sum| sum as f32).collect();
        SmallWeights { lines, n_in, n_out, scales: scales.to_vec(), sums }
    }

    /// The product of `left` and the weights, to rows that begin every `stride` numbers of `out`.
    pub(super) fn multiply(&self, left: Left<'_>, out: &mut [f32], stride: usize, sum: Sum) {
        thread_local! {
            /// Memory for the left side.
            static ROWS: RefCell<SmallRows> = RefCell::default();
        }
        if sum == Sum::Fresh {
            out.chunks_mut(stride).take(left.n_rows).for_each(|row| row[..self.n_out].fill(0.0));
        }
        let work = match cpu() {
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512 if has_vnni() => in_blocks::<x86::Vnni>,
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512 | Cpu::Avx2 => in_blocks::<x86::Avx2>,
            Cpu::Plain => in_blocks::<Plain>,
        };
        ROWS.with_borrow_mut(|rows| {
            rows.set(left, self.n_in);
            work(self, rows, out, stride);
        });
    }
}

#[cfg(target_arch = "x86_64")]
fn has_vnni() -> bool {
    std::arch::is_x86_feature_detected!("avx512vnni")
}

impl SmallRows {
    fn set(&mut self, left: Left<'_>, n_in: usize) {
        let stride = n_in.next_multiple_of(GROUP);
        self.values.resize(left.n_rows * stride, 0);
        self.ranges.clear();
        let rows = left.values.chunks(left.stride).zip(self.values.chunks_exact_mut(stride));
        for (x, values) in rows.take(left.n_rows) {
            // What a row is filled up with is multiplied by 0.
            self.ranges.push(shrink(&x[..n_in], &mut values[..n_in]));
        }
    }
}

/// Adds what sums of products are worth to values.
#[inline(always)]
fn add_worth(sums: &[i32], [low, step]: [f32; 2], scales: &[f32], column_sums: &[f32], out: &mut [f32]) {
    for i in 0..out.len() {
        let value = (sums[i] as f32).mul_add(step, low * column_sums[i]);
        out[i] = value.mul_add(scales[i], out[i]);
    }
}

compiled_twice! {
    /// Rounds a row to 8 bits; gives its lowest value, and how much one more is worth.
    pub(in crate::score) fn shrink(x: &[f32], out: &mut [u8]) -> [f32; 2] {
        const LANES: usize = 16;
        const ROUND: f32 = 12_582_912.0;
        let (mut lows, mut highs) = ([f32::INFINITY; LANES], [f32::NEG_INFINITY; LANES]);
        let (chunks, rest) = x.as_chunks::<LANES>();
        for chunk in chunks {
            for lane in 0..LANES {
                lows[lane] = if chunk[lane] < lows[lane] { chunk[lane] } else { lows[lane] };
                highs[lane] = if chunk[lane] > highs[lane] { chunk[lane] } else { highs[lane] };
            }
        }
        let low = lows.iter().chain(rest).copied().fold(f32::INFINITY, f32::min);
        let high = highs.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max);
        let step = (high - low) / 255.0;
        let by = if step > 0.0 { 1.0 / step } else { 0.0 };
        for (out, x) in out.iter_mut().zip(x) {
            // The last bits of the sum are the number, rounded.
            *out = ((x - low).mul_add(by, ROUND)).to_bits() as u8;
        }
        [low, step]
    }

    /// Scales sums of products and adds them to the values of some rows, each of which has its own range. In `sums` and `out`,
    /// rows start `stride` values apart.
    pub(in crate::score) fn finish(
        sums: Rows<&[i32]>,
        ranges: &[[f32; 2]],
        scales: &[f32],
        column_sums: &[f32],
        out: Rows<&mut [f32]>,
    ) {
        let n = scales.len();
        let (panel_scales, more_scales) = scales.as_chunks::<PANEL>();
        let (panel_column_sums, more_column_sums) = column_sums[..n].as_chunks::<PANEL>();
        for (row, &range) in ranges.iter().enumerate() {
            let (panel_sums, more_sums) = sums.start[row * sums.stride..][..n].as_chunks::<PANEL>();
            let (panels, more) = out.start[row * out.stride..][..n].as_chunks_mut::<PANEL>();
            // Panels have a length that the compiler knows.
            for (i, out) in panels.iter_mut().enumerate() {
                add_worth(&panel_sums[i], range, &panel_scales[i], &panel_column_sums[i], out);
            }
            add_worth(more_sums, range, more_scales, more_column_sums, more);
        }
    }
}

/// The weights of a block: panels of a line for each group of rows, one after the other.
#[derive(Clone, Copy)]
struct Panels {
    lines: *const Line,
    n_groups: usize,
}

/// The sums of a block.
type Sums = [[i32; PANEL]; MAX_ROWS * MAX_PANELS];

/// Computes blocks of a product.
trait Blocks {
    /// The most rows of a block.
    const ROWS: usize;
    /// The panels of a block.
    const PANELS: usize;

    /// The sums of `M` rows and `P` panels, row by row.
    ///
    /// # Safety
    /// The processor has what the blocks need; `a` has `M` rows of `b.n_groups` groups; `b` has `P` panels.
    unsafe fn block<const M: usize, const P: usize>(a: Rows<*const u8>, b: Panels, sums: &mut Sums);
}

fn in_blocks<B: Blocks>(right: &SmallWeights, rows: &SmallRows, out: &mut [f32], out_stride: usize) {
    let SmallWeights { lines, n_in, n_out, scales, sums: column_sums } = right;
    let (n_rows, n_groups) = (rows.ranges.len(), n_in.div_ceil(GROUP));
    let stride = n_groups * GROUP;
    assert!(rows.values.len() >= n_rows * stride, "all rows are there");
    let n_panels = n_out.div_ceil(PANEL);
    assert_eq!(lines.len(), n_panels * n_groups, "all panels are there");
    let n_cached = (CACHED / stride.max(1) / MAX_ROWS).max(1) * MAX_ROWS;
    let mut sums: Sums = [[0; PANEL]; MAX_ROWS * MAX_PANELS];
    for start in (0..n_rows).step_by(n_cached) {
        let end = (start + n_cached).min(n_rows);
        for panel in (0..n_panels).step_by(B::PANELS) {
            let p = B::PANELS.min(n_panels - panel);
            let column = panel * PANEL;
            let width = (p * PANEL).min(n_out - column);
            let (scales, column_sums) =
                (&scales[column..column + width], &column_sums[column..column + width]);
            let b = &lines[panel * n_groups..(panel + p) * n_groups];
            let mut row = start;
            while row < end {
                let m = B::ROWS.min(end - row);
                let a = &rows.values[row * stride..(row + m) * stride];
                // SAFETY: `apply` has checked the processor; the slices have all rows and panels.
                unsafe {
                    let block = match p {
                        2 => block!(B, m, 2),
                        _ => block!(B, m, 1),
                    };
                    let a = Rows { start: a.as_ptr(), stride };
                    block(a, Panels { lines: b.as_ptr(), n_groups }, &mut sums);
                }
                let sums = Rows { start: sums.as_flattened(), stride: p * PANEL };
                let out = Rows { start: &mut out[row * out_stride + column..], stride: out_stride };
                finish(sums, &rows.ranges[row..row + m], scales, column_sums, out);
                row += m;
            }
        }
    }
}

/// For every processor; the twin that the other kernels are tested against.
struct Plain;

impl Blocks for Plain {
    const ROWS: usize = 4;
    const PANELS: usize = 1;

    unsafe fn block<const M: usize, const P: usize>(a: Rows<*const u8>, b: Panels, sums: &mut Sums) {
        // SAFETY: the caller's promise.
        unsafe {
            for r in 0..M {
                for q in 0..P {
                    let mut sum = [0i32; PANEL];
                    for group in 0..b.n_groups {
                        let line = &(*b.lines.add(q * b.n_groups + group)).0;
                        let a = a.start.add(r * a.stride + group * GROUP);
                        for (sum, weights) in sum.iter_mut().zip(line.as_chunks::<GROUP>().0) {
                            for (i, &weight) in weights.iter().enumerate() {
                                *sum += i32::from(*a.add(i)) * i32::from(weight);
                            }
                        }
                    }
                    sums[r * P + q] = sum;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    type Kernel = fn(&SmallWeights, &SmallRows, &mut [f32], usize);

    /// All kernels that this processor has.
    fn kernels() -> Vec<Kernel> {
        #[allow(unused_mut, reason = "other processors have one kernel")]
        let mut kernels: Vec<Kernel> = vec![in_blocks::<Plain>];
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx2") {
                kernels.push(in_blocks::<x86::Avx2>);
            }
            if std::arch::is_x86_feature_detected!("avx512f") && has_vnni() {
                kernels.push(in_blocks::<x86::Vnni>);
            }
        }
        kernels
    }

    #[test]
    fn products_have_the_same_bits_on_every_path_and_are_close() {
        let mut rng = Rng::new(1);
        for (n_rows, n_in, n_out) in [(1, 1, 1), (3, 7, 5), (13, 33, 47), (30, 64, 96), (2, 3000, 16)] {
            let weights: Vec<i8> = (0..n_in * n_out).map(|_| (rng.below(127) as i32 - 63) as i8).collect();
            let mut floats = |n: usize| -> Vec<f32> { (0..n).map(|_| rng.unit() as f32 - 0.3).collect() };
            let (scales, bias, x) = (floats(n_out), floats(n_out), floats(n_rows * n_in));
            let right = SmallWeights::new(&weights, &scales);
            let mut rows = SmallRows::default();
            rows.set(Left::dense(&x, n_in), n_in);
            let results: Vec<Vec<f32>> = kernels()
                .iter()
                .map(|kernel| {
                    // Rows lie apart, and what is between them stays as it is.
                    let mut out = [&bias[..], &[9.0; 3]].concat().repeat(n_rows);
                    kernel(&right, &rows, &mut out, n_out + 3);
                    assert!(out.chunks(n_out + 3).all(|row| row[n_out..] == [9.0; 3]));
                    out.chunks(n_out + 3).flat_map(|row| &row[..n_out]).copied().collect()
                })
                .collect();
            assert!(results.iter().all(|result| *result == results[0]), "{n_rows} {n_in} {n_out}");
            for (i, found) in results[0].iter().enumerate() {
                let (row, column) = (i / n_out, i % n_out);
                let products = (0..n_in).map(|k| x[row * n_in + k] * f32::from(weights[k * n_out + column]));
                let exact = products.sum::<f32>() * scales[column] + bias[column];
                // Half a step for each number at most.
                let limit = 63.0 * n_in as f32 * 0.5 / 255.0 * scales[column].abs() + 1e-3;
                assert!((found - exact).abs() <= limit, "{found} instead of {exact}");
            }
        }
    }

    /// The largest numbers of all: sums of 16 bits must not saturate.
    #[test]
    fn extremes_do_not_saturate() {
        for sign in [-1i8, 1] {
            let right = SmallWeights::new(&[63 * sign; 64], &[1.0]);
            let x: Vec<f32> = (0..64).map(|i| if i == 0 { 0.0 } else { 255.0 }).collect();
            let mut rows = SmallRows::default();
            rows.set(Left::dense(&x, 64), 64);
            for kernel in kernels() {
                let mut out = [0.0];
                kernel(&right, &rows, &mut out, 1);
                assert_eq!(out[0], 63.0 * 63.0 * 255.0 * f32::from(sign));
            }
        }
    }

    #[test]
    fn a_row_of_equal_numbers_is_kept() {
        let right = SmallWeights::new(&[1, 2, 3], &[0.5]);
        let mut out = [1.0];
        right.multiply(Left::dense(&[0.25; 3], 3), &mut out, 1, Sum::Added);
        assert_eq!(out[0], 1.0 + 0.5 * 0.25 * 6.0);
        right.multiply(Left::dense(&[0.25; 3], 3), &mut out, 1, Sum::Fresh);
        assert_eq!(out[0], 0.5 * 0.25 * 6.0);
    }
}
