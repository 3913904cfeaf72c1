//! Single features of a table: most that are asked for are not there, and a small filter says so for nearly all of them.

use super::layout::{BUCKET, BUCKET_WORDS, COUNT_BITS, MAX_PAIRS, SINGLE, row_words};
use super::{Key, Probe, Table, first_bucket, kernel, unpack};

/// Which features a table may have: a few bits for each of its buckets. It is a sixteenth of the table, or less, and stays
/// near the processor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    bits: Vec<u32>,
    fingerprint_mask: u32,
}

impl Filter {
    /// Of a table.
    pub(crate) fn of(table: &Table) -> Self {
        let buckets = &table.words().as_chunks::<BUCKET_WORDS>().0[..table.n_buckets];
        let bits = buckets.iter().map(|bucket| {
            let fingerprints = &bucket[..BUCKET];
            // What has no room in a full bucket is in another.
            if fingerprints[BUCKET - 1] != 0 {
                return u32::MAX;
            }
            let used = fingerprints.iter().filter(|&&fingerprint| fingerprint != 0);
            used.fold(0, |bits, &fingerprint| bits | bit(fingerprint))
        });
        Filter { bits: bits.collect(), fingerprint_mask: table.fingerprint_mask }
    }

    /// Asks for the memory that [`Filter::may_have`] looks at.
    #[inline(always)]
    pub(crate) fn prefetch(&self, key: Key) {
        kernel::prefetch(&self.bits, first_bucket(key, self.bits.len()));
    }

    /// May the table have this feature?
    #[inline(always)]
    pub(crate) fn may_have(&self, key: Key) -> bool {
        let bucket = first_bucket(key, self.bits.len());
        // No branch: it would be mispredicted.
        self.bits.get(bucket).copied().unwrap_or(0) & bit(key.fingerprint & self.fingerprint_mask) != 0
    }
}

/// The lowest bit of a fingerprint is the same for all.
#[inline(always)]
fn bit(fingerprint: u32) -> u32 {
    1 << (fingerprint >> 1 & 31)
}

impl Table {
    /// The place of a feature's weights, if it has any.
    #[inline(always)]
    pub(crate) fn find_one(&self, words: &[u32], key: Key) -> Option<u32> {
        let buckets = &words.as_chunks::<BUCKET_WORDS>().0[..self.n_buckets];
        let bucket = first_bucket(key, self.n_buckets) as u32;
        let probe = Probe { bucket, fingerprint: key.fingerprint & self.fingerprint_mask };
        let (place, is_there) = Self::place::<false>(buckets, probe);
        (is_there == 1).then_some(place)
    }

    /// Asks for the memory of the weights at a place.
    #[inline(always)]
    pub(crate) fn prefetch_one(&self, words: &[u32], place: u32) {
        if place & SINGLE == 0 {
            kernel::prefetch(words, (place >> COUNT_BITS) as usize);
        }
    }

    /// Adds the weights at a place that [`Table::find_one`] gave.
    #[inline(always)]
    pub(crate) fn add_one(&self, words: &[u32], place: u32, sums: &mut [i16]) {
        let mut add = |pair: u32| {
            let (column, weight) = unpack(pair);
            if let Some(sum) = sums.get_mut(usize::from(column)) {
                *sum = sum.saturating_add(weight);
            }
        };
        let start = (place >> COUNT_BITS) as usize;
        match place as usize & MAX_PAIRS {
            _ if place & SINGLE != 0 => add(place & !SINGLE),
            0 => {
                let row = words.get(start..start + row_words(self.n_columns)).unwrap_or(&[]);
                let row: &[i16] = bytemuck::cast_slice(row);
                let n = sums.len().min(row.len());
                let (sums, row) = (&mut sums[..n], &row[..n]);
                for i in 0..n {
                    sums[i] = sums[i].saturating_add(row[i]);
                }
            }
            n => words.get(start..start + n).unwrap_or(&[]).iter().for_each(|&pair| add(pair)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pair;
    use super::*;
    use crate::rng::Rng;

    /// Every feature passes the filter and has its own weights; of the others nearly none passes.
    #[test]
    fn single_features_are_found_and_few_others_pass_the_filter() {
        let mut rng = Rng::new(3);
        let mut key =
            || Key { spread: rng.below(1 << 32) as u32, fingerprint: rng.below(1 << 32) as u32 | 1 };
        for n_columns in [1, 20, 130] {
            let features: Vec<(Key, Vec<Pair>)> = (0..3000)
                .map(|i| {
                    let n = 1 + i % n_columns.min(40);
                    (key(), (0..n).map(|column| (column as u16, i as i16 + 1)).collect())
                })
                .collect();
            let slices = features.iter().map(|(key, pairs)| (*key, &pairs[..]));
            let table = Table::of(slices, n_columns, 32).expect("few weights");
            let (filter, words) = (Filter::of(&table), table.words());
            for (key, pairs) in &features {
                assert!(filter.may_have(*key));
                let place = table.find_one(words, *key).expect("it is there");
                let mut sums = vec![7; n_columns.next_multiple_of(16)];
                table.add_one(words, place, &mut sums);
                for (column, sum) in sums.iter().enumerate() {
                    let weight =
                        pairs.iter().find(|pair| usize::from(pair.0) == column).map_or(0, |pair| pair.1);
                    assert_eq!(*sum, 7 + weight);
                }
            }
            let others: Vec<Key> = (0..1000).map(|_| key()).collect();
            assert!(others.iter().filter(|&&other| filter.may_have(other)).count() < 200);
            assert!(others.iter().all(|&other| table.find_one(words, other).is_none()));
        }
    }
}
