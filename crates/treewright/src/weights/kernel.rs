//! The innermost loops of parsing and tagging: adding rows of 16-bit weights, finding a fingerprint among eight, fetching memory
//! ahead of its use. Plain loops, compiled once for every processor and once for those with AVX2.
#![allow(unsafe_code)]

use super::layout::LANES;

/// Two lists side by side, as far as both go. As [`Iterator::zip`], but always inlined: that one has calls in it, which
/// stay calls where the parts of a crate are not optimised together, and are compiled for every processor alone.
#[inline(always)]
pub(crate) fn zip<A: IntoIterator, B: IntoIterator>(first: A, second: B) -> Zip<A::IntoIter, B::IntoIter> {
    Zip(first.into_iter(), second.into_iter())
}

/// What [`zip`] gives.
pub(crate) struct Zip<A, B>(A, B);

impl<A: Iterator, B: Iterator> Iterator for Zip<A, B> {
    type Item = (A::Item, B::Item);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        Some((self.0.next()?, self.1.next()?))
    }
}

/// How many lanes are summed up at once, in registers.
const MAX_BLOCKS: usize = 8;

/// Adds the rows that start at `places` of `words` to `sums`, whose length is a multiple of `LANES`; `FRESH` sums are
/// written, whatever was there. A place that is not there adds nothing.
#[inline(always)]
pub(crate) fn sum_rows<const FRESH: bool>(words: &[u32], places: &[u32], sums: &mut [i16]) {
    for (part, sums) in sums.chunks_mut(MAX_BLOCKS * LANES).enumerate() {
        let offset = part * MAX_BLOCKS * LANES / 2;
        match sums.len() / LANES {
            1 => sum_blocks::<FRESH, 1>(words, places, offset, sums),
            2 => sum_blocks::<FRESH, 2>(words, places, offset, sums),
            3 => sum_blocks::<FRESH, 3>(words, places, offset, sums),
            4 => sum_blocks::<FRESH, 4>(words, places, offset, sums),
            5 => sum_blocks::<FRESH, 5>(words, places, offset, sums),
            6 => sum_blocks::<FRESH, 6>(words, places, offset, sums),
            7 => sum_blocks::<FRESH, 7>(words, places, offset, sums),
            _ => sum_blocks::<FRESH, MAX_BLOCKS>(words, places, offset, sums),
        }
    }
}

/// The number of blocks is known to the compiler, so the sums stay in registers from row to row.
#[inline(always)]
fn sum_blocks<const FRESH: bool, const BLOCKS: usize>(
    words: &[u32],
    places: &[u32],
    offset: usize,
    sums: &mut [i16],
) {
    let Some(sums) = sums.as_chunks_mut::<LANES>().0.first_chunk_mut::<BLOCKS>() else { return };
    let mut blocks = if FRESH { [[0i16; LANES]; BLOCKS] } else { *sums };
    for &place in places {
        let start = place as usize + offset;
        let Some(row) = words.get(start..start + BLOCKS * LANES / 2) else { continue };
        let row = bytemuck::cast_slice(row).as_chunks::<LANES>().0.first_chunk::<BLOCKS>();
        let Some(row) = row else { continue };
        for (block, weights) in zip(&mut blocks, row) {
            for (sum, &weight) in zip(block, weights) {
                *sum = sum.saturating_add(weight);
            }
        }
    }
    *sums = blocks;
}

/// Asks for the line of memory that holds a word; where there is no such word nothing happens.
#[inline(always)]
pub(crate) fn prefetch(words: &[u32], place: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch changes nothing and does not fault, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(words.as_ptr().wrapping_add(place).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (words, place);
}

/// A list that is filled without branches, as [`BranchlessLists`] are.
pub(crate) struct BranchlessList<'a, T> {
    values: &'a mut [T],
    end: usize,
}

impl<'a, T> BranchlessList<'a, T> {
    /// An empty list with room for as many values.
    pub(crate) fn new(values: &'a mut [T]) -> Self {
        BranchlessList { values, end: 0 }
    }

    /// The number of values.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.end
    }

    /// Adds a value if it counts (1, else 0). Without room nothing is added.
    #[inline(always)]
    pub(crate) fn push(&mut self, value: T, counts: u32) {
        if let Some(last) = self.values.get_mut(self.end) {
            *last = value;
            self.end += (counts & 1) as usize;
        }
    }
}

/// Lists that are filled without branches, which would be mispredicted: a value is written to every list, and overwritten
/// by the next where it does not count. (No iterator with a closure: see [`Work`].)
pub(crate) struct BranchlessLists<'a, T, const N: usize> {
    values: &'a mut [T],
    /// Where each list ends.
    ends: [usize; N],
    /// How many more values there is room for, in every list.
    room: usize,
}

impl<'a, T: Copy, const N: usize> BranchlessLists<'a, T, N> {
    /// Lists that go on from `ends`, all in the same memory.
    #[inline(always)]
    pub(crate) fn new(values: &'a mut [T], ends: [usize; N]) -> Self {
        let mut room = values.len();
        for end in ends {
            room = room.min(values.len().saturating_sub(end));
        }
        BranchlessLists { values, ends, room }
    }

    /// Where each list ends.
    #[inline(always)]
    pub(crate) fn ends(&self) -> [usize; N] {
        self.ends
    }

    /// Adds a value to each list where it counts (1, else 0). Without room nothing is added.
    #[inline(always)]
    pub(crate) fn push(&mut self, values: [(T, u32); N]) {
        if self.room == 0 {
            return;
        }
        self.room -= 1;
        #[allow(clippy::needless_range_loop, reason = "an iterator over an array goes through memory")]
        for list in 0..N {
            let (value, counts) = values[list];
            // SAFETY: at first `end + room` was the number of values at most, and `end` rises by one at most whenever
            // `room` falls by one; `room` was not 0.
            unsafe { *self.values.get_unchecked_mut(self.ends[list]) = value };
            self.ends[list] += (counts & 1) as usize;
        }
    }
}

/// Which of eight words are `wanted`, as bits. With `AVX2` only where the processor has it.
#[inline(always)]
pub(crate) fn matches<const AVX2: bool>(words: &[u32; 8], wanted: u32) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{
            _mm_cmpeq_epi32, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32,
            _mm_set1_epi32, _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_loadu_si256, _mm256_movemask_ps,
            _mm256_set1_epi32,
        };
        if AVX2 {
            // SAFETY: the processor has AVX2, as the caller knows, and the load stays within the eight words.
            return unsafe {
                let words = _mm256_loadu_si256(words.as_ptr().cast());
                let same = _mm256_cmpeq_epi32(words, _mm256_set1_epi32(wanted as i32));
                _mm256_movemask_ps(_mm256_castsi256_ps(same)) as u32
            };
        }
        // SAFETY: every x86-64 processor has SSE2, and both loads stay within the eight words.
        unsafe {
            let start = words.as_ptr().cast();
            let wanted = _mm_set1_epi32(wanted as i32);
            let low = _mm_cmpeq_epi32(_mm_loadu_si128(start), wanted);
            let high = _mm_cmpeq_epi32(_mm_loadu_si128(start.add(1)), wanted);
            let both = _mm_packs_epi32(low, high);
            _mm_movemask_epi8(_mm_packs_epi16(both, both)) as u32 & 0xFF
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    matches_anywhere(words, wanted)
}

/// Which of eight scores are higher than `least`, as bits.
#[inline(always)]
pub(crate) fn higher(scores: &[f32; 8], least: f32) -> u8 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_cmpgt_ps, _mm_loadu_ps, _mm_movemask_ps, _mm_set1_ps};
        // SAFETY: every x86-64 processor has SSE, and both loads stay within the eight scores.
        unsafe {
            let least = _mm_set1_ps(least);
            let low = _mm_movemask_ps(_mm_cmpgt_ps(_mm_loadu_ps(scores.as_ptr()), least));
            let high = _mm_movemask_ps(_mm_cmpgt_ps(_mm_loadu_ps(scores.as_ptr().add(4)), least));
            (low | high << 4) as u8
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    higher_anywhere(scores, least)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn higher_anywhere(scores: &[f32; 8], least: f32) -> u8 {
    scores.iter().enumerate().fold(0, |bits, (i, &score)| bits | u8::from(score > least) << i)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn matches_anywhere(words: &[u32; 8], wanted: u32) -> u32 {
    words.iter().enumerate().fold(0, |bits, (i, &word)| bits | u32::from(word == wanted) << i)
}

/// Work that is compiled twice, for every processor and for those with AVX2. (A closure would not do: the compiler may
/// choose not to inline it, and then it is compiled for every processor alone.)
pub(crate) trait Work {
    /// Does it. To be marked `#[inline(always)]`, with all that it calls. `AVX2`: the processor has it.
    fn run<const AVX2: bool>(self);
}

/// Does work with AVX2 where the processor has it.
#[inline]
pub(crate) fn with_avx2(work: impl Work) {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the processor has all that `run_avx2` is compiled for, as was just asked.
        return unsafe { run_avx2(work) };
    }
    work.run::<false>();
}

/// Does the processor have everything that `run_avx2` is compiled for? A virtual machine may hide any of it.
#[cfg(target_arch = "x86_64")]
#[inline]
fn has_avx2() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run_avx2(work: impl Work) {
    work.run::<true>();
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Matches<'a>(&'a [u32; 8], u32, u32);

    impl Work for Matches<'_> {
        #[inline(always)]
        fn run<const AVX2: bool>(self) {
            assert_eq!(matches::<AVX2>(self.0, self.1), self.2);
        }
    }

    #[test]
    fn matches_are_found() {
        for bits in 0..256u32 {
            let words =
                std::array::from_fn(
                    |i| if bits >> i & 1 == 1 { 0xFFFF_8001 } else { 0x7FFF_0001 + i as u32 },
                );
            with_avx2(Matches(&words, 0xFFFF_8001, bits));
            assert_eq!(matches::<false>(&words, 0xFFFF_8001), bits);
            assert_eq!(matches_anywhere(&words, 0xFFFF_8001), bits);
        }
    }

    #[test]
    fn lists_hold_what_counts_and_nothing_is_written_where_there_is_no_room() {
        let mut rng = crate::rng::Rng::new(5);
        for n in [0, 1, 5, 40] {
            let (mut memory, mut expected) = (vec![0u32; 2 * n], [Vec::new(), Vec::new()]);
            let mut lists = BranchlessLists::new(&mut memory, [0, n]);
            for i in 0..n as u32 {
                let counts = [rng.below(2), rng.below(2)].map(|counts| counts as u32);
                lists.push([(i, counts[0]), (i + 100, counts[1])]);
                (0..2).filter(|&k| counts[k] == 1).for_each(|k| expected[k].push(i + 100 * k as u32));
            }
            let [first, second] = lists.ends();
            assert_eq!([&memory[..first], &memory[n..second]], [&expected[0][..], &expected[1][..]]);
            let mut lists = BranchlessLists::new(&mut memory, [0, n]);
            (0..3 * n).for_each(|_| lists.push([(7, 1), (8, 1)]));
            assert_eq!(lists.ends(), [n, 2 * n]);
            assert_eq!(memory, [vec![7; n], vec![8; n]].concat());
        }
        let mut memory = [1u8];
        let mut beyond = BranchlessLists::new(&mut memory, [2]);
        beyond.push([(3, 1)]);
        assert_eq!(beyond.ends(), [2]);
    }

    #[test]
    fn higher_scores_are_found() {
        for bits in 0..=255u8 {
            for least in [f32::NEG_INFINITY, -0.5, 0.0, 3.0] {
                let scores =
                    std::array::from_fn(|i| if bits >> i & 1 == 1 { least.max(-9.0) + 0.25 } else { least });
                assert_eq!(higher(&scores, least), bits);
                assert_eq!(higher_anywhere(&scores, least), bits);
            }
        }
        assert_eq!(higher(&[f32::NAN; 8], 0.0), 0);
    }

    struct SumRows<'a>(&'a [u32], &'a [u32], &'a mut [i16]);

    impl Work for SumRows<'_> {
        #[inline(always)]
        fn run<const AVX2: bool>(self) {
            sum_rows::<false>(self.0, self.1, self.2);
        }
    }

    #[test]
    fn both_versions_agree_with_plain_sums() {
        // Sums of this many stay within 16 bits.
        let words: Vec<u32> = (0..4000u32).map(|i| i.wrapping_mul(2_654_435_761) & 0x0FFF_0FFF).collect();
        let weights: &[i16] = bytemuck::cast_slice(&words);
        for n_blocks in [1, 2, 3, 4, 5, 6, 7, 8, 9, 17] {
            let n = n_blocks * LANES;
            // The last place has no whole row any more.
            let places = [0, 8, 1234, 77, 3000, 4000 - n as u32 / 2, 4001 - n as u32 / 2, u32::MAX];
            let (mut fast, mut portable) = (vec![5i16; n], vec![5i16; n]);
            with_avx2(SumRows(&words, &places, &mut fast));
            sum_rows::<false>(&words, &places, &mut portable);
            assert_eq!(fast, portable);
            // Of rows that are cut off, the parts that are there may count.
            if n_blocks <= MAX_BLOCKS {
                let sum =
                    |i: usize| places[..6].iter().fold(5i16, |sum, &at| sum + weights[at as usize * 2 + i]);
                assert!(fast.iter().enumerate().all(|(i, &got)| got == sum(i)), "{n_blocks} blocks");
            }
            let mut fresh = vec![7i16; n];
            sum_rows::<true>(&words, &places, &mut fresh);
            assert!(fresh.iter().zip(&fast).all(|(fresh, added)| fresh + 5 == *added), "{n_blocks} blocks");
        }
    }

    #[test]
    fn sums_stay_at_the_end_of_sixteen_bits() {
        let words: Vec<u32> = bytemuck::cast_slice(&[[20_000i16, -20_000]; 8].concat()).to_vec();
        let mut sums = vec![0i16; LANES];
        with_avx2(SumRows(&words, &[0, 0, 0], &mut sums));
        assert_eq!(sums, [[i16::MAX, i16::MIN]; LANES / 2].concat());
    }
}
