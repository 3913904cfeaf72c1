//! Blocks of products with AVX2 and with AVX-512.
#![allow(clippy::needless_range_loop, reason = "places of one block in three arrays")]

use std::arch::x86_64::{
    _mm256_broadcast_ss, _mm256_fmadd_ps, _mm256_load_ps, _mm256_loadu_ps, _mm256_setzero_ps,
    _mm256_storeu_ps, _mm512_fmadd_ps, _mm512_load_ps, _mm512_loadu_ps, _mm512_set1_ps, _mm512_setzero_ps,
    _mm512_storeu_ps,
};

use super::{Blocks, LeftRows, OutRows, PANEL, Panels, Sum, panels_of_few_rows};

pub(super) struct Avx2;

impl Blocks for Avx2 {
    const ROWS: usize = 6;

    fn panels(n_rows: usize) -> usize {
        panels_of_few_rows(n_rows)
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn block<const M: usize, const P: usize>(a: LeftRows, b: Panels, c: OutRows, sum: Sum) {
        // SAFETY: the caller's promise; lines are aligned.
        unsafe {
            let mut sums = [[[_mm256_setzero_ps(); 2]; P]; M];
            if sum == Sum::Added {
                for r in 0..M {
                    for q in 0..P {
                        let at = c.start.add(r * c.stride + q * PANEL);
                        sums[r][q] = [_mm256_loadu_ps(at), _mm256_loadu_ps(at.add(PANEL / 2))];
                    }
                }
            }
            for p in 0..b.k {
                for q in 0..P {
                    let line: *const f32 = b.lines.add(q * b.k + p).cast();
                    let (low, high) = (_mm256_load_ps(line), _mm256_load_ps(line.add(PANEL / 2)));
                    for r in 0..M {
                        let x = _mm256_broadcast_ss(&*a.start.add(r * a.stride + p));
                        sums[r][q][0] = _mm256_fmadd_ps(x, low, sums[r][q][0]);
                        sums[r][q][1] = _mm256_fmadd_ps(x, high, sums[r][q][1]);
                    }
                }
            }
            for r in 0..M {
                for q in 0..P {
                    let at = c.start.add(r * c.stride + q * PANEL);
                    _mm256_storeu_ps(at, sums[r][q][0]);
                    _mm256_storeu_ps(at.add(PANEL / 2), sums[r][q][1]);
                }
            }
        }
    }
}

pub(super) struct Avx512;

impl Blocks for Avx512 {
    const ROWS: usize = 12;

    fn panels(n_rows: usize) -> usize {
        if n_rows <= 6 { 4 } else { 2 }
    }

    #[target_feature(enable = "avx512f")]
    unsafe fn block<const M: usize, const P: usize>(a: LeftRows, b: Panels, c: OutRows, sum: Sum) {
        // SAFETY: the caller's promise; lines are aligned.
        unsafe {
            let mut sums = [[_mm512_setzero_ps(); P]; M];
            if sum == Sum::Added {
                for r in 0..M {
                    for q in 0..P {
                        sums[r][q] = _mm512_loadu_ps(c.start.add(r * c.stride + q * PANEL));
                    }
                }
            }
            for p in 0..b.k {
                let mut lines = [_mm512_setzero_ps(); P];
                for q in 0..P {
                    lines[q] = _mm512_load_ps(b.lines.add(q * b.k + p).cast());
                }
                for r in 0..M {
                    let x = _mm512_set1_ps(*a.start.add(r * a.stride + p));
                    for q in 0..P {
                        sums[r][q] = _mm512_fmadd_ps(x, lines[q], sums[r][q]);
                    }
                }
            }
            for r in 0..M {
                for q in 0..P {
                    _mm512_storeu_ps(c.start.add(r * c.stride + q * PANEL), sums[r][q]);
                }
            }
        }
    }
}
