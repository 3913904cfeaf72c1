//! Hashes that are part of the model: 32-bit keys of strings and of features. They must never change.
//!
//! A key of 32 bits stands for a word or a feature everywhere, in training as in use. Among some 300,000 stored keys
//! an unknown one is mistaken for a known one less than once in ten thousand look-ups, which costs nothing measurable
//! and saves storing strings.

const K: u64 = 0x9E37_79B9_7F4A_7C15;

/// Spreads the information of a word over all its bits (the finaliser of SplitMix64).
#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The hash of a string, 64 bits.
#[inline]
pub(crate) fn of_bytes(salt: u64, bytes: &[u8]) -> u64 {
    let mut hash = salt.wrapping_mul(K) ^ bytes.len() as u64;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word = u64::from_le_bytes(chunk.try_into().expect("eight bytes"));
        hash = (hash ^ word).wrapping_mul(K);
        hash ^= hash >> 32;
    }
    let mut last = [0u8; 8];
    let rest = chunks.remainder();
    last[..rest.len()].copy_from_slice(rest);
    mix((hash ^ u64::from_le_bytes(last)).wrapping_mul(K))
}

/// The key of a string; never 0.
#[inline]
pub(crate) fn key(salt: u64, text: &str) -> u32 {
    ((of_bytes(salt, text.as_bytes()) >> 32) as u32).max(1)
}

/// The key of a feature: its template and up to three values; never 0, which marks a free slot.
#[inline]
pub(crate) fn feature(template: u32, a: u32, b: u32, c: u32) -> u32 {
    let low = (u64::from(a) << 32 | u64::from(b)).wrapping_mul(K);
    let high = (u64::from(c) << 32 | u64::from(template)).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
    let mut z = low.rotate_left(29) ^ high;
    z = (z ^ (z >> 32)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^= z >> 29;
    ((z.wrapping_mul(K) >> 32) as u32).max(1)
}

/// Several texts as one key of a map in memory. Each comes after its length, so no other texts have the same key, whatever
/// characters they are made of.
pub(crate) fn joined<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut key = String::new();
    for text in texts {
        // Six bits of the length in a byte, as long as there are any.
        let mut rest = text.len();
        while rest >= 64 {
            key.push(char::from(64 | (rest % 64) as u8));
            rest /= 64;
        }
        key.push(char::from(rest as u8));
        key.push_str(text);
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that are cut elsewhere have other keys, also where they hold what lengths are written with.
    #[test]
    fn joined_keys_differ_wherever_texts_do() {
        let joints =
            ["", "\n", "\t", "\0", "\u{1}", "\u{2}", "A", "\u{1}a", &"b".repeat(63), &"c".repeat(5000)];
        let mut keys = Vec::new();
        for joint in joints {
            let text = format!("a{joint}b");
            keys.extend((0..=text.len()).map(|at| joined([&text[..at], &text[at..]])));
            keys.extend([joined([&*text]), joined([&*text, "", ""])]);
        }
        let same = [joined(["ab"]), joined(["", "ab"]), joined(["a", "b"]), joined(["ab", ""])];
        assert!(same.iter().collect::<std::collections::BTreeSet<_>>().len() == same.len());
        let n = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), n);
        assert_eq!(joined([]), "");
    }

    #[test]
    fn keys_are_fixed() {
        // Models store these keys: a change here makes every stored tagger useless.
        assert_eq!(
            [key(1, ""), key(1, "the"), key(2, "the"), key(1, "longer than eight")],
            [1368810943, 3968443572, 3769402080, 167912662]
        );
        assert_eq!(
            [feature(1, 2, 3, 4), feature(2, 2, 3, 4), feature(1, 3, 2, 4)],
            [1730396831, 4027275006, 3636760417]
        );
    }

    #[test]
    fn keys_rarely_meet() {
        let mut keys: Vec<u32> =
            (0..300).flat_map(|a| (0..300).map(move |b| feature(a % 7, a, b, a ^ b))).collect();
        keys.sort_unstable();
        let n = keys.len();
        keys.dedup();
        assert!(n - keys.len() <= 4, "{} of {n} keys met", n - keys.len());
    }
}
