//! The arrays of an encoder as a model file keeps them: weights in 16 or 8 bits, biases and norms in 32.
//!
//! In 8 bits, tables have a scale for each row and weights one for each column. Weights use seven of the eight bits, so that
//! products of AVX2 (`small.rs`) cannot overflow.

use super::kernel::{narrow, widen};
use crate::score::neural::file::{Extra, n_scales, quantised, scale_of};
use crate::score::neural::layers::{Arrays, Named};
use crate::score::neural::small::MAX_WEIGHT;

/// How many bits a weight has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bits {
    Sixteen,
    Eight,
}

/// The names, types and shapes of the arrays of an encoder in a file, in order, without their bytes.
pub(super) fn outline(arrays: &Arrays, bits: Bits) -> Vec<Extra> {
    let mut outline = Vec::new();
    for named in &arrays.named {
        let Named { name, array, .. } = named;
        let shape = vec![array.n_rows, array.n_columns];
        let mut push = |name: String, dtype, shape| {
            outline.push(Extra { name, dtype, shape, bytes: Vec::new() });
        };
        match bits {
            _ if array.n_rows == 1 => push(name.clone(), "F32", shape),
            Bits::Sixteen => push(name.clone(), "F16", shape),
            Bits::Eight => {
                push(name.clone(), "I8", shape);
                push(format!("{name}.scales"), "F32", vec![n_scales(named)]);
            }
        }
    }
    outline
}

/// Arrays for a file.
pub(super) fn store(arrays: &Arrays, all: &[f32], bits: Bits) -> Vec<Extra> {
    let mut stored = outline(arrays, bits);
    let mut next = stored.iter_mut();
    let mut put = |bytes: &[u8]| next.next().expect("an array").bytes = bytes.to_vec();
    for named in &arrays.named {
        let numbers = named.array.of(all);
        match bits {
            _ if named.array.n_rows == 1 => put(bytemuck::cast_slice(numbers)),
            Bits::Sixteen => {
                let mut halves = vec![0; numbers.len()];
                narrow(numbers, &mut halves);
                put(bytemuck::cast_slice(&halves));
            }
            Bits::Eight => {
                let (small, scales) = quantised(named, numbers);
                put(bytemuck::cast_slice(&small));
                put(bytemuck::cast_slice(&scales));
            }
        }
    }
    stored
}

pub(super) fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
}

/// All numbers of an encoder, from the bytes of its arrays, in the order of [`outline`].
///
/// # Errors
/// When a number is not finite.
pub(super) fn read(layout: &Arrays, arrays: &[&[u8]], bits: Bits) -> Result<Vec<f32>, String> {
    let mut all = vec![0.0; layout.n_numbers];
    let mut arrays = arrays.iter();
    let mut next = || *arrays.next().expect("as many arrays as the outline has");
    for named in &layout.named {
        let numbers = named.array.of_mut(&mut all);
        let bytes = next();
        match bits {
            _ if named.array.n_rows == 1 => {
                numbers.iter_mut().zip(floats(bytes)).for_each(|(to, from)| *to = from);
            }
            Bits::Sixteen => {
                let halves: Vec<u16> =
                    bytes.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect();
                widen(&halves, numbers);
            }
            Bits::Eight => {
                let scales: Vec<f32> = floats(next()).collect();
                let small = bytemuck::cast_slice::<u8, i8>(bytes).iter();
                for (i, (to, from)) in numbers.iter_mut().zip(small).enumerate() {
                    *to = f32::from(*from) * scales[scale_of(named, i)];
                }
            }
        }
    }
    if all.iter().all(|number| number.is_finite()) { Ok(all) } else { Err(not_finite()) }
}

fn not_finite() -> String {
    "the encoder has weights that are not finite".to_owned()
}

/// Can products be computed with arrays in 8 bits?
///
/// # Errors
/// When a weight is larger than products allow, or a number is not finite.
pub(super) fn check_small(layout: &Arrays, arrays: &[&[u8]]) -> Result<(), String> {
    for (extra, bytes) in outline(layout, Bits::Eight).iter().zip(arrays) {
        let is_table = || layout.named.iter().any(|named| named.is_table && named.name == extra.name);
        if extra.dtype == "F32" {
            if !floats(bytes).all(f32::is_finite) {
                return Err(not_finite());
            }
        } else if !is_table() {
            let max = MAX_WEIGHT as u8;
            if bytes.iter().any(|byte| i8::from_ne_bytes([*byte]).unsigned_abs() > max) {
                return Err("the encoder has weights that are too large".to_owned());
            }
        }
    }
    Ok(())
}
