//! Arrays in a model file, in the format of safetensors: the length of a header, the header (JSON: for each array its type,
//! its shape, and where it begins and ends), the numbers. The header is filled up so that the numbers are aligned.
//!
//! In a quantised model weights are 8-bit integers; beside each array stands one with the scales of its rows (tables) or
//! columns (layers).

use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::encoder::PREFIX;
use super::layers::{Array, Arrays, Named, quantise};
use super::small::MAX_WEIGHT;
use super::words::Vectors;

const ALIGNMENT: usize = 64;
/// The largest 8-bit number of a table; as many are below 0.
const MAX_OF_TABLE: f32 = 127.0;
/// ... of a table of an encoder. These are large, and their rows go through a layer norm: six bits are enough, which makes gzipped
/// models smaller.
const MAX_OF_ENCODER_TABLE: f32 = 31.0;

#[derive(Serialize, Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

/// How numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::score) enum Precision {
    /// As they are, in 32 bits.
    Whole,
    /// In 8 bits, but for biases, which are few.
    EightBits,
}

/// The numbers of a network that was read.
#[derive(Debug)]
pub(in crate::score) enum Numbers {
    /// They begin at this word of the file.
    InFile(usize),
    /// They were made from those of the file.
    Owned(Vec<f32>),
}

/// Is an array of a quantised model stored in 8 bits?
fn is_quantised(array: Array) -> bool {
    array.n_rows > 1
}

/// The number of scales of an array in 8 bits.
pub(super) fn n_scales(Named { array, is_table, .. }: &Named) -> usize {
    if *is_table { array.n_rows } else { array.n_columns }
}

/// Which scale belongs to a number of an array.
pub(super) fn scale_of(Named { array, is_table, .. }: &Named, number: usize) -> usize {
    if *is_table { number / array.n_columns } else { number % array.n_columns }
}

/// The numbers of an array in 8 bits, and their scales.
pub(super) fn quantised(named: &Named, numbers: &[f32]) -> (Vec<i8>, Vec<f32>) {
    let max = match named.is_table {
        false => MAX_WEIGHT,
        true if named.name.starts_with(PREFIX) => MAX_OF_ENCODER_TABLE,
        true => MAX_OF_TABLE,
    };
    quantise(numbers, n_scales(named), max, |i| scale_of(named, i))
}

/// An array that belongs to no network, for a file.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::score) struct Extra {
    pub(super) name: String,
    pub(super) dtype: &'static str,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: Vec<u8>,
}

/// A file in the making.
#[derive(Default)]
struct Writer {
    header: Map<String, serde_json::Value>,
    bytes: Vec<u8>,
}

impl Writer {
    fn push(&mut self, name: &str, dtype: &str, shape: &[usize], numbers: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(numbers);
        let data_offsets = [start, self.bytes.len()];
        let entry = Entry { dtype: dtype.to_owned(), shape: shape.to_vec(), data_offsets };
        self.header.insert(name.to_owned(), serde_json::to_value(entry).expect("plain data"));
    }

    fn finish(self) -> Vec<u8> {
        let mut header = serde_json::to_vec(&self.header).expect("plain data");
        header.resize((8 + header.len()).next_multiple_of(ALIGNMENT) - 8, b' ');
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header);
        bytes.extend(self.bytes);
        bytes
    }
}

/// The bytes of a file with arrays of 32-bit numbers alone.
pub(super) fn of_floats<'a>(arrays: impl Iterator<Item = &'a (String, Vec<usize>, Vec<f32>)>) -> Vec<u8> {
    let mut file = Writer::default();
    arrays.for_each(|(name, shape, numbers)| file.push(name, "F32", shape, bytemuck::cast_slice(numbers)));
    file.finish()
}

/// Writes a network's numbers, its word vectors and further arrays, as 32-bit words.
pub(in crate::score) fn write(
    arrays: &Arrays,
    all: &[f32],
    vectors: &Vectors,
    extra: &[Extra],
    precision: Precision,
) -> Vec<u32> {
    let mut file = Writer::default();
    for named in &arrays.named {
        let Named { name, array, .. } = named;
        let (shape, numbers) = ([array.n_rows, array.n_columns], array.of(all));
        if precision == Precision::EightBits && is_quantised(*array) {
            let (small, scales) = quantised(named, numbers);
            file.push(name, "I8", &shape, bytemuck::cast_slice(&small));
            file.push(&scales_name(name), "F32", &[scales.len()], bytemuck::cast_slice(&scales));
        } else {
            file.push(name, "F32", &shape, bytemuck::cast_slice(numbers));
        }
    }
    if !vectors.keys.is_empty() {
        let n = vectors.keys.len();
        file.push("vectors.keys", "U32", &[n], bytemuck::cast_slice(&vectors.keys));
        file.push("vectors.scales", "F32", &[n], bytemuck::cast_slice(&vectors.scales));
        file.push("vectors", "I8", &[n, vectors.width], bytemuck::cast_slice(&vectors.values));
    }
    for Extra { name, dtype, shape, bytes } in extra {
        file.push(name, dtype, shape, bytes);
    }
    let mut bytes = file.finish();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

fn scales_name(name: &str) -> String {
    format!("{name}.scales")
}

/// The number of vectors and their width that a file claims to have, if it has any.
fn vector_shape(words: &[u32]) -> Option<[usize; 2]> {
    let reader = Reader::open(words)?;
    let entry: Entry = serde_json::from_value(reader.header.get("vectors")?.clone()).ok()?;
    entry.shape.try_into().ok()
}

/// No vectors yet, but of the width that those of a file have.
///
/// # Errors
/// When they are so wide that it must be damage.
pub(in crate::score) fn vectors_of_width(words: &[u32]) -> Result<Vectors, &'static str> {
    let width = vector_shape(words).map_or(0, |[_, width]| width);
    if width > 1 << 14 {
        return Err("the network's word vectors are too wide");
    }
    Ok(Vectors { width, ..Vectors::default() })
}

/// A file that is read array by array.
struct Reader<'a> {
    header: Map<String, serde_json::Value>,
    numbers: &'a [u8],
    /// Where the numbers begin in the file.
    start: usize,
    /// Where the last array ends.
    end: usize,
    /// True if infinite numbers are errors.
    is_strict: bool,
}

impl<'a> Reader<'a> {
    fn open(words: &'a [u32]) -> Option<Self> {
        let (length, rest) = bytemuck::cast_slice::<u32, u8>(words).split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (header, numbers) = rest.split_at_checked(length)?;
        Some(Reader {
            header: serde_json::from_slice(header).ok()?,
            numbers,
            start: 8 + length,
            end: 0,
            is_strict: true,
        })
    }

    fn has(&self, name: &str) -> bool {
        self.header.contains_key(name)
    }

    /// The bytes of the next array, which must have this name, type and shape.
    fn next(&mut self, name: &str, dtype: &str, shape: &[usize]) -> Result<&'a [u8], String> {
        let size = match dtype {
            "I8" => 1,
            "F16" => 2,
            _ => 4,
        };
        let n_bytes = shape.iter().try_fold(size, |product: usize, n| product.checked_mul(*n));
        let after =
            n_bytes.and_then(|n| self.end.checked_add(n)).ok_or("the network's arrays are too large")?;
        let expected = [self.end, after];
        let entry = self.header.remove(name).ok_or_else(|| format!("the network lacks the array {name}"))?;
        let entry: Entry = serde_json::from_value(entry).map_err(|error| format!("array {name}: {error}"))?;
        if entry.dtype != dtype || entry.shape != shape || entry.data_offsets != expected {
            return Err(format!("the network's array {name} is not as large as its settings say"));
        }
        self.end = after;
        let bytes = self.numbers.get(expected[0]..after).ok_or("the network's arrays are cut short")?;
        if self.is_strict && !is_finite(bytes, dtype) {
            return Err(format!("the network's array {name} has infinite numbers, or what is no number"));
        }
        Ok(bytes)
    }
}

/// True if all numbers of an array are finite.
fn is_finite(bytes: &[u8], dtype: &str) -> bool {
    // No early end, so that many are looked at at once.
    match dtype {
        "F32" => floats(bytes).fold(true, |is_finite, number| is_finite & number.is_finite()),
        "F16" => {
            const EXPONENT: u16 = 0x7C00;
            let halves = bytes.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes));
            halves.fold(true, |is_finite, number| is_finite & (number & EXPONENT != EXPONENT))
        }
        _ => true,
    }
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
}

/// The numbers of a network in a file, its word vectors, and the bytes of further arrays.
///
/// # Errors
/// When the file has other arrays than the network, or a number that is not finite.
pub(in crate::score) fn read<'a>(
    words: &'a [u32],
    arrays: &Arrays,
    extra: &[Extra],
) -> Result<(Numbers, Vectors, Vec<&'a [u8]>), String> {
    let file = Reader::open(words).ok_or("the header of the network's arrays is damaged")?;
    read_arrays(file, words, arrays, extra)
}

/// The same for what [`write()`] just wrote, with any numbers: training may have found infinite ones.
pub(in crate::score) fn read_written<'a>(
    words: &'a [u32],
    arrays: &Arrays,
    extra: &[Extra],
) -> Result<(Numbers, Vectors, Vec<&'a [u8]>), String> {
    let file = Reader::open(words).ok_or("the header of the network's arrays is damaged")?;
    read_arrays(Reader { is_strict: false, ..file }, words, arrays, extra)
}

fn read_arrays<'a>(
    mut file: Reader<'a>,
    words: &'a [u32],
    arrays: &Arrays,
    extra: &[Extra],
) -> Result<(Numbers, Vectors, Vec<&'a [u8]>), String> {
    let is_quantised_file = arrays.named.iter().any(|named| file.has(&scales_name(&named.name)));
    let mut all = Vec::new();
    for named in &arrays.named {
        let Named { name, array, .. } = named;
        let shape = [array.n_rows, array.n_columns];
        if is_quantised_file && is_quantised(*array) {
            let small: &[i8] = bytemuck::cast_slice(file.next(name, "I8", &shape)?);
            let scales: Vec<f32> =
                floats(file.next(&scales_name(name), "F32", &[n_scales(named)])?).collect();
            let number = |(i, small): (usize, &i8)| f32::from(*small) * scales[scale_of(named, i)];
            all.extend(small.iter().enumerate().map(number));
        } else {
            let numbers = file.next(name, "F32", &shape)?;
            if is_quantised_file {
                all.extend(floats(numbers));
            }
        }
    }
    let mut vectors = Vectors::default();
    if let Some([n, width]) = vector_shape(words) {
        let keys = file.next("vectors.keys", "U32", &[n])?;
        let word = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
        vectors.keys = keys.as_chunks().0.iter().map(word).collect();
        vectors.scales = floats(file.next("vectors.scales", "F32", &[n])?).collect();
        vectors.values = bytemuck::cast_slice(file.next("vectors", "I8", &[n, width])?).to_vec();
        vectors.width = width;
    }
    if file.is_strict && !all.iter().all(|number| number.is_finite()) {
        return Err("the network has weights that are not finite".to_owned());
    }
    let mut bytes = Vec::with_capacity(extra.len());
    for Extra { name, dtype, shape, .. } in extra {
        bytes.push(file.next(name, dtype, shape)?);
    }
    if !file.start.is_multiple_of(4)
        || file.numbers.len() != file.end.next_multiple_of(4)
        || !file.header.is_empty()
    {
        return Err("the network's arrays are not those that its settings name".to_owned());
    }
    if !vectors.is_sound() {
        return Err("the network's word vectors are damaged".to_owned());
    }
    let numbers = if is_quantised_file { Numbers::Owned(all) } else { Numbers::InFile(file.start / 4) };
    Ok((numbers, vectors, bytes))
}
