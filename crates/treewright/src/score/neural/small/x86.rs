//! Blocks of products in 8 bits with AVX2 and with the dot products of AVX-512.
#![allow(clippy::needless_range_loop, reason = "places of one block in several arrays")]

use std::arch::x86_64::{
    _mm256_add_epi32, _mm256_load_si256, _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_setzero_si256, _mm256_storeu_si256, _mm512_dpbusd_epi32, _mm512_load_si512,
    _mm512_set1_epi32, _mm512_setzero_si512, _mm512_storeu_si512,
};

use super::{Blocks, GROUP, PANEL, Panels, Rows, Sums};

pub(super) struct Avx2;

impl Blocks for Avx2 {
    const ROWS: usize = 4;
    const PANELS: usize = 1;

    #[target_feature(enable = "avx2")]
    unsafe fn block<const M: usize, const P: usize>(a: Rows<*const u8>, b: Panels, sums: &mut Sums) {
        // SAFETY: the caller's promise; lines are aligned.
        unsafe {
            let ones = _mm256_set1_epi16(1);
            let mut all = [[[_mm256_setzero_si256(); 2]; P]; M];
            for group in 0..b.n_groups {
                for q in 0..P {
                    let line = (&raw const (*b.lines.add(q * b.n_groups + group)).0).cast();
                    let halves = [_mm256_load_si256(line), _mm256_load_si256(line.add(1))];
                    for r in 0..M {
                        let x = a.start.add(r * a.stride + group * GROUP).cast::<i32>().read_unaligned();
                        let x = _mm256_set1_epi32(x);
                        for (sum, half) in all[r][q].iter_mut().zip(halves) {
                            let pairs = _mm256_madd_epi16(_mm256_maddubs_epi16(x, half), ones);
                            *sum = _mm256_add_epi32(*sum, pairs);
                        }
                    }
                }
            }
            for r in 0..M {
                for q in 0..P {
                    let to = sums[r * P + q].as_mut_ptr();
                    _mm256_storeu_si256(to.cast(), all[r][q][0]);
                    _mm256_storeu_si256(to.add(PANEL / 2).cast(), all[r][q][1]);
                }
            }
        }
    }
}

pub(super) struct Vnni;

impl Blocks for Vnni {
    const ROWS: usize = 12;
    const PANELS: usize = 2;

    #[target_feature(enable = "avx512f,avx512vnni")]
    unsafe fn block<const M: usize, const P: usize>(a: Rows<*const u8>, b: Panels, sums: &mut Sums) {
        // SAFETY: the caller's promise; lines are aligned.
        unsafe {
            let mut all = [[_mm512_setzero_si512(); P]; M];
            for group in 0..b.n_groups {
                let mut lines = [_mm512_setzero_si512(); P];
                for q in 0..P {
                    lines[q] =
                        _mm512_load_si512((&raw const (*b.lines.add(q * b.n_groups + group)).0).cast());
                }
                for r in 0..M {
                    let x = a.start.add(r * a.stride + group * GROUP).cast::<i32>().read_unaligned();
                    let x = _mm512_set1_epi32(x);
                    for q in 0..P {
                        all[r][q] = _mm512_dpbusd_epi32(all[r][q], x, lines[q]);
                    }
                }
            }
            for r in 0..M {
                for q in 0..P {
                    _mm512_storeu_si512(sums[r * P + q].as_mut_ptr().cast(), all[r][q]);
                }
            }
        }
    }
}
