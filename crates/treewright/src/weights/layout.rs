//! How a table of weights lies in memory, and the packed form that unpacks to it.
//!
//! The build script of the program compiles this file too, to unpack the default model without compiling the library
//! twice. So it uses the standard library alone.

/// Features of a bucket.
pub const BUCKET: usize = 8;
/// Words of a bucket: the fingerprints (0 = free), then the weights, or their places with their numbers.
pub const BUCKET_WORDS: usize = 2 * BUCKET;
/// A feature's only pair stands in the bucket itself, marked by this bit: most features have but one, which saves them a
/// cache miss.
pub const SINGLE: u32 = 1 << 31;
/// Else the low bits are the number of pairs at the place that the others tell, 0 for a whole row.
pub const COUNT_BITS: u32 = 5;
/// The most pairs that are kept as pairs.
pub const MAX_PAIRS: usize = (1 << COUNT_BITS) - 1;
/// The most words of a table: places have the other bits (268 MB).
pub const MAX_WORDS: usize = 1 << (31 - COUNT_BITS);
/// Rows are whole multiples of this many weights, as many as the widest instructions add at once.
pub const LANES: usize = 16;

/// A column and a weight.
pub type Pair = (u16, i16);

/// A pair as a word.
pub fn pack((column, weight): Pair) -> u32 {
    u32::from(column) << 16 | u32::from(weight as u16)
}

/// The words of a row: two weights each, full lanes.
#[inline]
pub fn row_words(n_columns: usize) -> usize {
    n_columns.next_multiple_of(LANES) / 2
}

/// Are this many weights kept as a whole row?
pub fn is_row(n_weights: usize, n_columns: usize) -> bool {
    n_weights > MAX_PAIRS || (n_columns >= LANES && n_weights > 1 && n_weights * 16 >= n_columns)
}

/// The words of a table while features are put into it: buckets, then rows, so that these stay aligned, then pairs.
pub struct Layout {
    /// All words so far.
    pub words: Vec<u32>,
    n_columns: usize,
    next_row: usize,
}

impl Layout {
    /// Buckets without weights, and room for this many rows.
    pub fn new(buckets: Vec<u32>, n_columns: usize, n_rows: usize) -> Self {
        let next_row = buckets.len();
        let mut words = buckets;
        words.resize(next_row + n_rows * row_words(n_columns), 0);
        Layout { words, n_columns, next_row }
    }

    /// Puts the weights of a feature, at least one, where they belong; `at` is the word of its fingerprint.
    pub fn put(&mut self, at: usize, pairs: &[Pair]) {
        self.words[at + BUCKET] = match pairs {
            [(column, _)] if column >> 15 == 0 => SINGLE | pack(pairs[0]),
            _ if is_row(pairs.len(), self.n_columns) => {
                let row = self.next_row;
                self.next_row += row_words(self.n_columns);
                for &(column, weight) in pairs {
                    let (word, half) = (usize::from(column) / 2, u32::from(column) % 2);
                    self.words[row + word] |= u32::from(weight as u16) << (16 * half);
                }
                (row as u32) << COUNT_BITS
            }
            _ => {
                let place = self.words.len() as u32;
                self.words.extend(pairs.iter().map(|&pair| pack(pair)));
                place << COUNT_BITS | pairs.len() as u32
            }
        };
    }
}

/// The first bytes of a packed model.
///
/// ```text
/// 0   8 bytes   "TREEWPK\n"
/// 8             chunks to the end, which follow each other in the unpacked file:
///               u32 0, u32 length, bytes as they are
///               u32 1, a packed table
///               u32 2, u32 start, u32 length: bytes of the unpacked file again, such as an encoder of two parsers
/// ```
///
/// A packed table is the numbers of buckets, columns, features and weights and the unit of weights as u32, and then lists of
/// 16-bit numbers: the number of features in each bucket; their fingerprints; the numbers of their weights; the columns of
/// features with one weight, then of the others, each counted from the column before; the weights in the same order, in
/// units, doubled, those below 0 as the odd numbers between. A list has the low bytes of all its numbers first, then the high
/// bytes: bytes that are alike stand together, and gzip makes the most of it. The places of weights follow from the order,
/// so they take no room.
pub const PACKED_MAGIC: &[u8; 8] = b"TREEWPK\n";
/// The kinds of chunks.
pub const PLAIN: u32 = 0;
/// See [`PLAIN`].
pub const TABLE: u32 = 1;
/// See [`PLAIN`].
pub const AGAIN: u32 = 2;

/// Unpacks a packed model to the bytes of a model file, of which there may be at most `max`.
///
/// # Errors
/// When it is damaged, or larger.
pub fn unpack(packed: &[u8], max: usize) -> Result<Vec<u8>, &'static str> {
    let mut out = Vec::new();
    let mut rest = packed.strip_prefix(PACKED_MAGIC).ok_or("this is not a packed model")?;
    while !rest.is_empty() {
        match number(&mut rest)? {
            PLAIN => {
                let length = number(&mut rest)? as usize;
                let bytes = take(&mut rest, length)?;
                if bytes.len() > max - out.len() {
                    return Err(TOO_LARGE);
                }
                out.extend_from_slice(bytes);
            }
            TABLE => {
                let words = unpack_table(&mut rest, (max - out.len()) / 4)?;
                out.extend(words.into_iter().flat_map(u32::to_le_bytes));
            }
            AGAIN => {
                let (start, length) = (number(&mut rest)? as usize, number(&mut rest)? as usize);
                let end = start.checked_add(length).filter(|end| *end <= out.len());
                let end = end.ok_or(DAMAGED_COPY)?;
                if length > max - out.len() {
                    return Err(TOO_LARGE);
                }
                out.extend_from_within(start..end);
            }
            _ => return Err("the packed model has a chunk of an unknown kind"),
        }
    }
    Ok(out)
}

const TOO_LARGE: &str = "the packed model is damaged: it unpacks to far more than a model of its size";
const DAMAGED_COPY: &str = "the packed model is damaged: it repeats what is not there";
const SHORT: &str = "the packed model is cut short";
const DAMAGED: &str = "a table of the packed model is damaged";

fn take<'a>(input: &mut &'a [u8], n: usize) -> Result<&'a [u8], &'static str> {
    let (taken, rest) = input.split_at_checked(n).ok_or(SHORT)?;
    *input = rest;
    Ok(taken)
}

fn number(input: &mut &[u8]) -> Result<u32, &'static str> {
    take(input, 4).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")))
}

/// A list of 16-bit numbers.
fn list<'a>(input: &mut &'a [u8], n: usize) -> Result<impl Iterator<Item = u16> + Clone + 'a, &'static str> {
    let (low, high) = (take(input, n)?, take(input, n)?);
    Ok(low.iter().zip(high).map(|(&low, &high)| u16::from_le_bytes([low, high])))
}

/// The words of a packed table, of which there may be at most `max_words`.
pub fn unpack_table(input: &mut &[u8], max_words: usize) -> Result<Vec<u32>, &'static str> {
    let mut size = || number(input).map(|n| n as usize);
    let (n_buckets, n_columns, n_features, n_weights, unit) = (size()?, size()?, size()?, size()?, size()?);
    let counts = list(input, n_buckets)?;
    let mut fingerprints = list(input, n_features)?;
    let sizes = list(input, n_features)?.map(usize::from);
    let n_single = sizes.clone().filter(|&size| size == 1).count();
    let n_others = n_weights.checked_sub(n_single).ok_or(DAMAGED)?;
    let mut steps = [list(input, n_single)?, list(input, n_others)?];
    let mut weights = [list(input, n_single)?, list(input, n_others)?];
    let n_rows = sizes.clone().filter(|&size| is_row(size, n_columns)).count();
    let n_words = n_buckets * BUCKET_WORDS + n_weights;
    let n_words = n_words.saturating_add(n_rows.saturating_mul(row_words(n_columns)));
    if n_columns > 1 << 16 || n_words > MAX_WORDS {
        return Err(DAMAGED);
    }
    if n_words > max_words {
        return Err(TOO_LARGE);
    }
    let mut layout = Layout::new(vec![0; n_buckets * BUCKET_WORDS], n_columns, n_rows);
    let mut sizes = sizes;
    let mut pairs = Vec::new();
    for (bucket, count) in counts.enumerate() {
        for slot in 0..usize::from(count) {
            let (fingerprint, size) = (fingerprints.next().ok_or(DAMAGED)?, sizes.next().ok_or(DAMAGED)?);
            let which = usize::from(size != 1);
            let mut column = 0usize;
            pairs.clear();
            for _ in 0..size {
                let (step, weight) = steps[which].next().zip(weights[which].next()).ok_or(DAMAGED)?;
                column += usize::from(step);
                if column >= n_columns {
                    return Err(DAMAGED);
                }
                let weight = (i32::from(weight >> 1) ^ -i32::from(weight & 1)).wrapping_mul(unit as i32);
                pairs.push((column as u16, i16::try_from(weight).map_err(|_| DAMAGED)?));
            }
            if slot >= BUCKET || pairs.is_empty() {
                return Err(DAMAGED);
            }
            let at = bucket * BUCKET_WORDS + slot;
            layout.words[at] = u32::from(fingerprint);
            layout.put(at, &pairs);
        }
    }
    if sizes.next().is_some() || steps.iter_mut().any(|steps| steps.next().is_some()) {
        return Err(DAMAGED);
    }
    Ok(layout.words)
}
