//! What encoders do number by number: layer norms, GELU, 16-bit numbers.
#![allow(unsafe_code)]

use crate::score::neural::kernel::{compiled_twice, exp};

/// Sums are made of this many partial sums, so that they do not depend on the processor.
const LANES: usize = 16;

/// The sum of what `value` makes of each place.
#[inline(always)]
fn sum(n: usize, value: impl Fn(usize) -> f32) -> f32 {
    let mut sums = [0f32; LANES];
    let whole = n - n % LANES;
    for start in (0..whole).step_by(LANES) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum += value(start + lane);
        }
    }
    for (lane, sum) in sums.iter_mut().enumerate().take(n - whole) {
        *sum += value(whole + lane);
    }
    sums.iter().sum()
}

/// The share of a normal distribution below `x`, and its density there. The error is below 2e-7 (Abramowitz and Stegun
/// 7.1.26).
#[inline(always)]
fn normal(x: f32) -> (f32, f32) {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / 0.327_591_1f32.mul_add(z, 1.0);
    let tail = exp(-z * z);
    let polynomial = 1.061_405_4f32
        .mul_add(t, -1.453_152)
        .mul_add(t, 1.421_413_8)
        .mul_add(t, -0.284_496_74)
        .mul_add(t, 0.254_829_6);
    let above = 0.5 * polynomial * t * tail;
    let share = if x > 0.0 { 1.0 - above } else { above };
    (share, 0.398_942_3 * tail)
}

compiled_twice! {
    /// Normalises a row in place: mean 0 and variance 1, then scale and shift. `normal` is the row before these two; gives
    /// what the row was multiplied by.
    pub(in crate::score) fn layer_norm(row: &mut [f32], normal: &mut [f32], scale: &[f32], shift: &[f32], epsilon: f32) -> f32 {
        let n = row.len();
        let (normal, scale, shift) = (&mut normal[..n], &scale[..n], &shift[..n]);
        let mean = sum(n, |i| row[i]) / n as f32;
        let variance = sum(n, |i| (row[i] - mean) * (row[i] - mean)) / n as f32;
        let factor = 1.0 / (variance + epsilon).sqrt();
        for i in 0..n {
            normal[i] = (row[i] - mean) * factor;
            row[i] = normal[i].mul_add(scale[i], shift[i]);
        }
        factor
    }

    /// The way back of [`layer_norm`], in place of the gradients of what came out; those of scale and shift are added up.
    pub(in crate::score) fn layer_norm_back(
        gradients: &mut [f32],
        normal: &[f32],
        factor: f32,
        scale: &[f32],
        d_scale: &mut [f32],
        d_shift: &mut [f32],
    ) {
        let n = gradients.len();
        let (normal, scale, d_scale, d_shift) = (&normal[..n], &scale[..n], &mut d_scale[..n], &mut d_shift[..n]);
        for i in 0..n {
            d_scale[i] = gradients[i].mul_add(normal[i], d_scale[i]);
            d_shift[i] += gradients[i];
            gradients[i] *= scale[i];
        }
        let mean = sum(n, |i| gradients[i]) / n as f32;
        let along = sum(n, |i| gradients[i] * normal[i]) / n as f32;
        for i in 0..n {
            gradients[i] = factor * (gradients[i] - mean - normal[i] * along);
        }
    }

    /// Multiplies numbers by the share of a normal distribution below them.
    pub(in crate::score) fn gelu(values: &[f32], out: &mut [f32]) {
        for (out, &value) in out.iter_mut().zip(values) {
            *out = value * normal(value).0;
        }
    }

    /// The way back of [`gelu`], from what went in.
    pub(in crate::score) fn gelu_back(values: &[f32], gradients: &mut [f32]) {
        for (gradient, &value) in gradients.iter_mut().zip(values) {
            let (share, density) = normal(value);
            *gradient *= value.mul_add(density, share);
        }
    }

    /// Multiplies all numbers.
    pub(in crate::score) fn scale(values: &mut [f32], by: f32) {
        for value in values {
            *value *= by;
        }
    }

    /// The way back of softmax, for a row: `gradients` become those of what went in.
    pub(in crate::score) fn softmax_back(row: &[f32], gradients: &mut [f32]) {
        let n = row.len();
        let gradients = &mut gradients[..n];
        let along = sum(n, |i| row[i] * gradients[i]);
        for i in 0..n {
            gradients[i] = row[i] * (gradients[i] - along);
        }
    }

    /// Rounds numbers to 16 bits, to the nearest, ties to even. Numbers that are too large become the largest.
    pub(in crate::score) fn narrow(values: &[f32], out: &mut [u16]) {
        for (out, value) in out.iter_mut().zip(values) {
            let bits = value.to_bits();
            let sign = (bits >> 16) & 0x8000;
            let size = f32::from_bits(bits & 0x7FFF_FFFF).min(65504.0);
            // Small numbers have a fixed last place, which adding this power of two leaves as the last one.
            let small = (size + 0.5).to_bits() - 0.5f32.to_bits();
            let rounded = size.to_bits() + 0xFFF + ((size.to_bits() >> 13) & 1);
            let large = (rounded >> 13).wrapping_sub(112 << 10);
            let is_small = size < 6.103_515_6e-5;
            *out = (sign | if is_small { small } else { large }) as u16;
        }
    }

    /// The way back from 16 bits.
    pub(in crate::score) fn widen(halves: &[u16], out: &mut [f32]) {
        for (out, &half) in out.iter_mut().zip(halves) {
            let sign = u32::from(half & 0x8000) << 16;
            // The exponent is corrected by a product, which is right for small numbers, too.
            let size = f32::from_bits(u32::from(half & 0x7FFF) << 13) * 5.192_297e33;
            *out = f32::from_bits(sign | size.to_bits());
        }
    }
}
