//! Tables of weights that are only read, for parsers and taggers: a few 16-bit weights for each feature, one for each
//! action or label (a *column*), laid out for few cache misses, mappable from disk (little-endian machines only: a row's
//! weights are used where they lie).
//!
//! A feature's key leads to a bucket of eight fingerprints and eight places, one line of the cache; the place is its only
//! weight, or says where its weights stand: as pairs, or as a whole row if there are many. Buckets and weights are
//! fetched ahead of their use, in bulk, so that cache misses overlap, and what is found is listed without branches, which
//! would be mispredicted. Sums stay within 16 bits: a row of a hundred columns is added in seven instructions.

pub(crate) mod kernel;
pub(crate) mod layout;
pub(crate) mod single;

use std::sync::Arc;

use crate::map::WordSource;

use kernel::BranchlessLists;
pub(crate) use layout::Pair;
use layout::{BUCKET, BUCKET_WORDS, COUNT_BITS, Layout, MAX_PAIRS, SINGLE, is_row, row_words, unpack_table};

/// How full the table is, in percent. At 40, one in sixty buckets is full, and what is not in it may be in the next, which
/// was not fetched. (At 62 one in eight is full, and parsing takes a sixth longer.)
const FULL: usize = 40;

/// What leads to a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// Spread over all 32-bit numbers; tells the bucket.
    pub spread: u32,
    /// Not 0; tells features of a bucket apart.
    pub fingerprint: u32,
}

#[inline]
fn unpack(pair: u32) -> Pair {
    ((pair >> 16) as u16, pair as u16 as i16)
}

/// Features with their weights.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    source: Arc<dyn WordSource>,
    n_buckets: usize,
    n_columns: usize,
    n_features: usize,
    /// The bits of fingerprints that are kept.
    fingerprint_mask: u32,
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        (self.n_buckets, self.n_columns, self.words()) == (other.n_buckets, other.n_columns, other.words())
    }
}

impl Eq for Table {}

impl Table {
    /// Lays out features with their weights; each has at least one. Of fingerprints the lowest bits are kept, and of
    /// features that cannot be told apart by these the first. Nothing if there are too many.
    pub(crate) fn of<'a, I>(features: I, n_columns: usize, fingerprint_bits: u32) -> Option<Self>
    where
        I: Iterator<Item = (Key, &'a [Pair])> + Clone,
    {
        let fingerprint_mask = mask(fingerprint_bits);
        let n_buckets = (features.clone().count() * 100 / FULL).div_ceil(BUCKET).max(1) + 1;
        let mut buckets = vec![0u32; n_buckets * BUCKET_WORDS];
        let mut n_rows = 0;
        let mut slot = |(key, pairs): (Key, &'a [Pair])| {
            let fingerprint = key.fingerprint & fingerprint_mask;
            let mut bucket = first_bucket(key, n_buckets) * BUCKET_WORDS;
            loop {
                let fingerprints = &mut buckets[bucket..bucket + BUCKET];
                match fingerprints.iter().position(|&word| word == 0 || word == fingerprint) {
                    Some(i) if fingerprints[i] == fingerprint => return None,
                    Some(free) => {
                        fingerprints[free] = fingerprint;
                        n_rows += usize::from(is_row(pairs.len(), n_columns));
                        return Some((bucket + free, pairs));
                    }
                    None => bucket = (bucket + BUCKET_WORDS) % (n_buckets * BUCKET_WORDS),
                }
            }
        };
        let slots: Vec<(usize, &[Pair])> = features.filter_map(&mut slot).collect();
        let mut layout = Layout::new(buckets, n_columns, n_rows);
        slots.iter().for_each(|&(at, pairs)| layout.put(at, pairs));
        let (words, n_features) = (layout.words, slots.len());
        let is_small = words.len() <= layout::MAX_WORDS;
        is_small.then(|| Table {
            source: Arc::new(words),
            n_buckets,
            n_columns,
            n_features,
            fingerprint_mask,
        })
    }

    /// A table from the words of a file, if they can be one: the weights of every feature stand in them, in columns that
    /// there are.
    pub(crate) fn from_words(source: Arc<dyn WordSource>, n_columns: usize, shape: Shape) -> Option<Self> {
        let Shape { n_buckets, n_features, fingerprint_bits } = shape;
        let fits = (1..1 << 27).contains(&n_buckets) && n_buckets * BUCKET_WORDS <= source.words().len();
        let is_filled = fits && n_features <= n_buckets * BUCKET;
        let is_sound = is_filled && n_columns <= 1 << 16 && (1..=32).contains(&fingerprint_bits);
        if !is_sound {
            return None;
        }
        let fingerprint_mask = mask(fingerprint_bits);
        let table = Table { source, n_buckets, n_columns, n_features, fingerprint_mask };
        table.has_all_weights().then_some(table)
    }

    /// True if the weights of every feature stand in the table.
    fn has_all_weights(&self) -> bool {
        let (words, row) = (self.words(), row_words(self.n_columns));
        let is_there = |place: u32| {
            let (start, n) = ((place >> COUNT_BITS) as usize, place as usize & MAX_PAIRS);
            let column = usize::from(unpack(place & !SINGLE).0);
            if place & SINGLE != 0 {
                column < self.n_columns
            } else {
                start + if n == 0 { row } else { n } <= words.len()
            }
        };
        let mut is_sound = true;
        for bucket in &words.as_chunks::<BUCKET_WORDS>().0[..self.n_buckets] {
            for i in 0..BUCKET {
                is_sound &= bucket[i] == 0 || is_there(bucket[BUCKET + i]);
            }
        }
        is_sound
    }

    /// What a file says of it beside its words and columns.
    pub(crate) fn shape(&self) -> Shape {
        let (n_buckets, n_features) = (self.n_buckets, self.n_features);
        Shape { n_buckets, n_features, fingerprint_bits: self.fingerprint_mask.count_ones() }
    }

    /// The packed form (`layout.rs`), if the table is what comes of unpacking it: fingerprints have at most 16 bits, and the
    /// weights stand in the order of the buckets.
    pub(crate) fn packed(&self) -> Option<Vec<u8>> {
        let buckets = &self.words().as_chunks::<BUCKET_WORDS>().0[..self.n_buckets];
        let n_of = |bucket: &[u32]| bucket[..BUCKET].iter().filter(|&&fingerprint| fingerprint != 0).count();
        let counts: Vec<u16> = buckets.iter().map(|bucket| n_of(bucket) as u16).collect();
        let (mut fingerprints, mut sizes): (Vec<u16>, Vec<u16>) = Default::default();
        // Of features with one weight, and of the others.
        let (mut steps, mut weights): ([Vec<u16>; 2], [Vec<u16>; 2]) = Default::default();
        let magnitudes = self.features().flat_map(|(_, pairs)| pairs).map(|pair| pair.1.unsigned_abs());
        let unit = magnitudes.fold(0, greatest_common_divisor).max(1);
        for (fingerprint, pairs) in self.features() {
            fingerprints.push(fingerprint.try_into().ok()?);
            sizes.push(pairs.len().try_into().ok()?);
            let which = usize::from(pairs.len() != 1);
            let mut last = 0;
            for (column, weight) in pairs {
                steps[which].push(column.checked_sub(last)?);
                let weight = i32::from(weight) / i32::from(unit);
                weights[which].push((weight << 1 ^ weight >> 31) as u16);
                last = column;
            }
        }
        let n_weights = steps.iter().map(Vec::len).sum();
        let mut out = Vec::new();
        for size in [self.n_buckets, self.n_columns, fingerprints.len(), n_weights, usize::from(unit)] {
            out.extend((size as u32).to_le_bytes());
        }
        let [single_steps, other_steps] = steps;
        let [single_weights, other_weights] = weights;
        for list in [counts, fingerprints, sizes, single_steps, other_steps, single_weights, other_weights] {
            out.extend(list.iter().map(|&number| number as u8));
            out.extend(list.iter().map(|&number| (number >> 8) as u8));
        }
        unpack_table(&mut &out[..], usize::MAX).is_ok_and(|words| words == self.words()).then_some(out)
    }

    /// All words.
    pub(crate) fn words(&self) -> &[u32] {
        self.source.words()
    }

    pub(crate) fn n_features(&self) -> usize {
        self.n_features
    }

    pub(crate) fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// The number of sums: one for each column, and room for full lanes.
    pub(crate) fn n_sums(&self) -> usize {
        row_words(self.n_columns) * 2
    }

    /// The fingerprints of all features with their weights, in no order that means anything.
    pub(crate) fn features(&self) -> impl Iterator<Item = (u32, Vec<Pair>)> {
        let words = self.words();
        let buckets = &words.as_chunks::<BUCKET_WORDS>().0[..self.n_buckets];
        let slots = buckets.iter().flat_map(|bucket| bucket[..BUCKET].iter().zip(&bucket[BUCKET..]));
        let pairs_at = move |place: u32| -> Vec<Pair> {
            let start = (place >> COUNT_BITS) as usize;
            match place as usize & MAX_PAIRS {
                _ if place & SINGLE != 0 => vec![unpack(place & !SINGLE)],
                0 => {
                    let row: &[i16] = bytemuck::cast_slice(&words[start..start + row_words(self.n_columns)]);
                    let pairs = row.iter().enumerate().map(|(column, &weight)| (column as u16, weight));
                    pairs.filter(|pair| pair.1 != 0).collect()
                }
                n => words[start..start + n].iter().map(|&pair| unpack(pair)).collect(),
            }
        };
        slots.filter(|slot| *slot.0 != 0).map(move |(&fingerprint, &place)| (fingerprint, pairs_at(place)))
    }

    /// Gets ready to find a feature: its bucket is fetched.
    #[inline(always)]
    pub(crate) fn probe(&self, words: &[u32], key: Key) -> Probe {
        let bucket = first_bucket(key, self.n_buckets);
        kernel::prefetch(words, bucket * BUCKET_WORDS);
        Probe { bucket: bucket as u32, fingerprint: key.fingerprint & self.fingerprint_mask }
    }

    /// The place of a feature's weights, and 1 if it is there, else 0.
    #[inline(always)]
    fn place<const AVX2: bool>(buckets: &[[u32; BUCKET_WORDS]], probe: Probe) -> (u32, u32) {
        let bucket = &buckets[probe.bucket as usize];
        let (fingerprints, places) = bucket.split_at(BUCKET);
        let fingerprints: &[u32; BUCKET] = fingerprints.first_chunk().expect("half a bucket");
        let same = kernel::matches::<AVX2>(fingerprints, probe.fingerprint);
        // Nearly always the first bucket tells: buckets are filled from the front. (One branch, which is rarely taken.)
        if (same == 0) & (fingerprints[BUCKET - 1] != 0) {
            return Self::place_beyond(buckets, probe);
        }
        (places[same.trailing_zeros() as usize % BUCKET], u32::from(same != 0))
    }

    /// The same where the first bucket is full, and the feature not in it. The number of looks is bounded, so that a
    /// damaged table without a free place cannot hang anyone.
    #[inline(never)]
    fn place_beyond(buckets: &[[u32; BUCKET_WORDS]], probe: Probe) -> (u32, u32) {
        let (before, after) = buckets.split_at(probe.bucket as usize + 1);
        for bucket in after.iter().chain(before) {
            let (fingerprints, places) = bucket.split_at(BUCKET);
            if let Some(i) = fingerprints.iter().position(|&fingerprint| fingerprint == probe.fingerprint) {
                return (places[i], 1);
            }
            if fingerprints[BUCKET - 1] == 0 {
                break;
            }
        }
        (0, 0)
    }

    /// Finds features, adds their places to the lists of what was found (there is room for them), and fetches their
    /// weights. `words` are all words.
    #[inline(always)]
    pub(crate) fn find<const AVX2: bool>(&self, words: &[u32], probes: &[Probe], lists: &mut Lists<'_>) {
        let buckets = &words.as_chunks::<BUCKET_WORDS>().0[..self.n_buckets];
        for &probe in probes {
            // Numbers, 0 or 1: fewer instructions than truth values take.
            let (place, is_there) = Self::place::<AVX2>(buckets, probe);
            let single = is_there & place >> SINGLE.trailing_zeros();
            let elsewhere = is_there ^ single;
            let row = elsewhere & u32::from(place as usize & MAX_PAIRS == 0);
            let start = place >> COUNT_BITS;
            // The further lines of a row follow by themselves.
            kernel::prefetch(words, (start & elsewhere.wrapping_neg()) as usize);
            lists.push([(start, row), (place, elsewhere ^ row), (place, single)]);
        }
    }

    /// Adds the weights of what was found from `from` up to `to` to `sums`, which may be `FRESH`: then they are written,
    /// whatever was there. `words` are all words. Sums that may leave 16 bits are to be `BOUNDED`, which takes longer:
    /// they stay at their end.
    #[inline(always)]
    pub(crate) fn sum<const FRESH: bool, const BOUNDED: bool>(
        words: &[u32],
        matches: &Matches,
        from: Ends,
        to: Ends,
        sums: &mut [i16],
    ) {
        let list = |kind: usize| &matches.places[from[kind]..to[kind]];
        kernel::sum_rows::<FRESH>(words, list(ROWS), sums);
        let mut add = |pair: u32| {
            let (column, weight) = unpack(pair);
            if let Some(sum) = sums.get_mut(usize::from(column)) {
                *sum = if BOUNDED { sum.saturating_add(weight) } else { sum.wrapping_add(weight) };
            }
        };
        list(SINGLES).iter().for_each(|&pair| add(pair & !SINGLE));
        for &place in list(PAIRS) {
            let start = (place >> COUNT_BITS) as usize;
            let pairs = words.get(start..start + (place as usize & MAX_PAIRS)).unwrap_or(&[]);
            pairs.iter().for_each(|&pair| add(pair));
        }
    }
}

#[inline(always)]
fn first_bucket(key: Key, n_buckets: usize) -> usize {
    ((u64::from(key.spread) * n_buckets as u64) >> 32) as usize
}

fn greatest_common_divisor(a: u16, b: u16) -> u16 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

fn mask(bits: u32) -> u32 {
    u32::MAX >> (32 - bits)
}

/// What is to be known of a table beside its words and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub n_buckets: usize,
    pub n_features: usize,
    /// How many bits of fingerprints are kept.
    pub fingerprint_bits: u32,
}

/// A feature to be found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probe {
    bucket: u32,
    fingerprint: u32,
}

/// The kinds of weights: whole rows, by where they begin; pairs, by their places with their numbers; single pairs.
const ROWS: usize = 0;
const PAIRS: usize = 1;
const SINGLES: usize = 2;

/// A place in each of the lists of what was found.
pub(crate) type Ends = [usize; 3];

/// What was found so far.
pub(crate) type Lists<'a> = BranchlessLists<'a, u32, 3>;

/// Where the weights of some features stand, by their kinds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matches {
    /// A list for each kind, one after the other.
    places: Vec<u32>,
}

impl Matches {
    /// Begins anew: lists with room for this many features.
    #[inline(always)]
    pub(crate) fn start(&mut self, most: usize) -> Lists<'_> {
        if self.places.len() < 3 * most {
            self.places.resize(3 * most, 0);
        }
        BranchlessLists::new(&mut self.places, [0, most, 2 * most])
    }
}

#[cfg(test)]
mod tests {
    use super::layout::pack;
    use super::*;

    #[test]
    fn pairs_keep_every_column_and_weight() {
        for pair in [(0, 1), (7, -1), (0x7FFF, i16::MIN), (0x8000, i16::MAX), (u16::MAX, -2)] {
            assert_eq!(unpack(pack(pair)), pair);
        }
    }

    /// Features in the order of buckets, with up to 40 weights each.
    fn features(n: u32, n_columns: usize) -> Vec<(Key, Vec<Pair>)> {
        let mut rng = crate::rng::Rng::new(n_columns as u64);
        let feature = |i: u32| {
            let n = 1 + rng.below(n_columns.min(40));
            let step = n_columns / n;
            let key = Key { spread: i * 0x1_0000, fingerprint: i.wrapping_mul(0x9E37_79B1) | 1 };
            (key, (0..n).map(|k| ((k * step) as u16, (i as i16 % 100 - 50) * 2 + 1)).collect())
        };
        (0..n).map(feature).collect()
    }

    fn table(features: &[(Key, Vec<Pair>)], n_columns: usize, fingerprint_bits: u32) -> Table {
        let slices = features.iter().map(|(key, pairs)| (*key, &pairs[..]));
        Table::of(slices, n_columns, fingerprint_bits).expect("few weights")
    }

    #[test]
    fn packed_tables_come_back_word_for_word() {
        for n_columns in [1, 16, 37, 130, 1 << 16] {
            for n in [0, 1, 3000] {
                let table = table(&features(n, n_columns), n_columns, 16);
                let packed = table.packed().expect("in the order of buckets");
                let mut rest = &packed[..];
                assert_eq!(
                    unpack_table(&mut rest, usize::MAX).expect("whole"),
                    table.words(),
                    "{n} in {n_columns}"
                );
                assert!(rest.is_empty());
                for end in [0, 19, packed.len() / 2, packed.len() - 1] {
                    assert!(unpack_table(&mut &packed[..end], usize::MAX).is_err(), "{end} bytes");
                }
            }
        }
    }

    #[test]
    fn a_damaged_packed_table_is_an_error_or_another_table() {
        let packed = table(&features(50, 37), 37, 16).packed().expect("in the order of buckets");
        let mut n_refused = 0;
        for at in 0..packed.len() {
            for byte in [0, 1, 9, 37, 255] {
                let mut changed = packed.clone();
                changed[at] = byte;
                n_refused += usize::from(unpack_table(&mut &changed[..], usize::MAX).is_err());
            }
        }
        // Sizes, counts and columns are checked; a fingerprint or a weight may be anything.
        assert!(n_refused > packed.len(), "{n_refused} of {}", 5 * packed.len());
    }

    /// With any content of a place, the table is refused, or can be listed, packed and summed.
    #[test]
    fn a_table_with_a_place_outside_it_is_refused() {
        let (n_columns, bits) = (37, 16);
        let whole = table(&features(50, n_columns), n_columns, bits);
        let read = |words| Table::from_words(Arc::new(words), n_columns, whole.shape());
        assert!(read(whole.words().to_vec()).is_some());
        let n_words = whole.words().len() as u32;
        let used = |at: &usize| at % BUCKET_WORDS < BUCKET && whole.words()[*at] != 0;
        let slots: Vec<usize> = (0..whole.n_buckets * BUCKET_WORDS).filter(used).collect();
        for &slot in &slots {
            let with = |place: u32| {
                let mut words = whole.words().to_vec();
                words[slot + BUCKET] = place;
                read(words)
            };
            for outside in [n_words, n_words - 1, 1 << 25] {
                assert!(with(outside << COUNT_BITS).is_none(), "a row at {outside}");
                assert!(with(outside << COUNT_BITS | 2).is_none(), "pairs at {outside}");
            }
            assert!(with(SINGLE | pack((37, 1))).is_none(), "a column that is not there");
            let last = with((n_words - 2) << COUNT_BITS | 2).expect("the last two words");
            assert_eq!(last.features().count(), slots.len());
            last.packed();
        }
    }

    #[test]
    fn what_the_packed_form_cannot_hold_is_not_packed() {
        let mut features = features(3000, 37);
        assert_eq!(table(&features, 37, 32).packed(), None, "fingerprints of 32 bits");
        features.reverse();
        assert_eq!(table(&features, 37, 16).packed(), None, "weights in another order");
    }

    #[test]
    fn of_features_that_cannot_be_told_apart_the_first_is_kept() {
        let key = |fingerprint: u32| Key { spread: 7, fingerprint };
        let features =
            [(key(0x1_0003), vec![(0, 5)]), (key(0x2_0003), vec![(0, 9)]), (key(0x2_0005), vec![(1, 2)])];
        let pairs: Vec<(u32, Vec<Pair>)> = table(&features, 2, 16).features().collect();
        assert_eq!(pairs, [(3, vec![(0, 5)]), (5, vec![(1, 2)])]);
        let all = table(&features, 2, 32);
        assert_eq!((all.n_features(), all.shape().fingerprint_bits), (3, 32));
    }

    #[test]
    fn features_come_back_and_sums_are_theirs() {
        for n_columns in [1, 3, 16, 37, 130, 1 << 16] {
            let mut rng = crate::rng::Rng::new(n_columns as u64);
            let features: Vec<(Key, Vec<Pair>)> = (1..2000u32)
                .map(|i| {
                    // Ten want the same bucket: it overflows.
                    let key = Key { spread: (i % 200).wrapping_mul(0x9E37_79B1), fingerprint: i };
                    let n = 1 + rng.below(n_columns.min(40));
                    let step = n_columns / n;
                    (key, (0..n).map(|k| ((k * step) as u16, 1 + (i % 7 * 3 + k as u32) as i16)).collect())
                })
                .collect();
            let slices = features.iter().map(|(key, pairs)| (*key, &pairs[..]));
            let table = Table::of(slices, n_columns, 32).expect("few weights");
            let mut back: Vec<(u32, Vec<Pair>)> = table.features().collect();
            back.sort();
            assert!(
                back.iter()
                    .map(|(key, pairs)| (*key, pairs))
                    .eq(features.iter().map(|(key, pairs)| (key.fingerprint, pairs)))
            );
            let words = table.words();
            for wanted in features.chunks(10) {
                let unknown = Key { spread: wanted[0].0.spread, fingerprint: 5000 };
                let keys = wanted.iter().map(|(key, _)| *key).chain([unknown]);
                let probes: Vec<Probe> = keys.map(|key| table.probe(words, key)).collect();
                let mut matches = Matches::default();
                let mut lists = matches.start(probes.len());
                let starts = lists.ends();
                table.find::<false>(words, &probes, &mut lists);
                let ends = lists.ends();
                let mut sums = vec![0i16; table.n_sums()];
                Table::sum::<false, true>(words, &matches, starts, ends, &mut sums);
                let mut expected = vec![0i16; table.n_sums()];
                for (column, weight) in wanted.iter().flat_map(|(_, pairs)| pairs) {
                    expected[usize::from(*column)] += weight;
                }
                assert_eq!(sums, expected, "{n_columns} columns");
            }
        }
    }
}
