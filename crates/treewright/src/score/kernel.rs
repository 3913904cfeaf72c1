//! Adding a row of 16-bit weights (or of sums) to 32-bit scores: the innermost loop of parsing, once for every processor and once
//! for those with AVX2, which take a third of the time.
#![allow(unsafe_code)]

/// Adds `row` to the first scores, one weight each.
#[inline]
pub(super) fn add_row(scores: &mut [i32], row: &[i16]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as was just asked (the answer is cached in a static).
        unsafe { add_row_avx2(scores, row) };
        return;
    }
    add_row_anywhere(scores, row);
}

/// Adds sums to sums.
#[inline]
pub(super) fn add_sums(scores: &mut [i32], sums: &[i32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: as above.
        unsafe { add_sums_avx2(scores, sums) };
        return;
    }
    add_sums_anywhere(scores, sums);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_sums_avx2(scores: &mut [i32], sums: &[i32]) {
    add_sums_anywhere(scores, sums);
}

#[inline(always)]
fn add_sums_anywhere(scores: &mut [i32], sums: &[i32]) {
    for (score, &sum) in scores.iter_mut().zip(sums) {
        *score += sum;
    }
}

/// The same code, compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_row_avx2(scores: &mut [i32], row: &[i16]) {
    add_row_anywhere(scores, row);
}

#[inline(always)]
fn add_row_anywhere(scores: &mut [i32], row: &[i16]) {
    for (score, &weight) in scores.iter_mut().zip(row) {
        *score += i32::from(weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_agree() {
        for n in [0, 1, 7, 8, 31, 64, 109] {
            let row: Vec<i16> = (0..n).map(|i| (i * 7919 % 65536 - 32768) as i16).collect();
            let (mut fast, mut slow) = (vec![5; n as usize], vec![5; n as usize]);
            add_row(&mut fast, &row);
            add_row_anywhere(&mut slow, &row);
            assert_eq!(fast, slow);
            let sums: Vec<i32> = row.iter().map(|&weight| i32::from(weight)).collect();
            let (mut by_sums, mut slow) = (vec![5; n as usize], vec![5; n as usize]);
            add_sums(&mut by_sums, &sums);
            add_sums_anywhere(&mut slow, &sums);
            assert_eq!((&by_sums, &fast), (&slow, &by_sums));
            assert!(fast.iter().zip(&row).all(|(score, weight)| *score == 5 + i32::from(*weight)));
        }
    }
}
