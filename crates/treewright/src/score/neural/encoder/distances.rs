//! Distances between pieces, for encoders that look at them: short ones are kinds of their own, longer ones share a kind with
//! similar ones (Raffel et al. 2020; Song et al. 2020).

/// Kinds of distances in all encoders that are known.
pub(super) const N_KINDS: usize = 32;

/// Can there be this many kinds?
pub(super) fn is_known(n_kinds: usize) -> bool {
    n_kinds == 0 || n_kinds == N_KINDS
}

/// The kind of the distance from one piece to another that comes so many pieces later. From 8 on there are two kinds for each
/// doubling, and from 91 on all distances are the same.
fn kind(later: isize) -> usize {
    const SHORT: usize = N_KINDS / 4;
    let distance = later.unsigned_abs();
    let size = if distance < SHORT {
        distance
    } else {
        let doublings = (distance * distance / (SHORT * SHORT)).ilog2() as usize;
        (SHORT + doublings).min(N_KINDS / 2 - 1)
    };
    size + if later > 0 { N_KINDS / 2 } else { 0 }
}

/// For a head what the distances of a window of `n` pieces add, from the last piece looking at the first to the first looking
/// at the last.
pub(super) fn of_window(weights: &[f32], n_heads: usize, head: usize, n: usize, out: &mut Vec<f32>) {
    out.clear();
    let n = n as isize;
    out.extend((1 - n..n).map(|later| weights[kind(later) * n_heads + head]));
}

/// What each piece of a window adds, from what all distances add: piece by piece.
pub(super) fn rows(of_window: &[f32]) -> impl Iterator<Item = &[f32]> {
    of_window.windows(of_window.len().div_ceil(2)).rev()
}

/// The way back: adds the gradients of a head of a window, piece by piece, to those of the kinds of distances.
pub(super) fn back(gradients: &[f32], n_heads: usize, head: usize, n: usize, out: &mut [f32]) {
    for (from, row) in gradients.chunks_exact(n).enumerate() {
        for (to, gradient) in row.iter().enumerate() {
            out[kind(to as isize - from as isize) * n_heads + head] += gradient;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_distances_share_a_kind() {
        let known = [
            (0, 0),
            (-1, 1),
            (-7, 7),
            (-8, 8),
            (-11, 8),
            (-12, 9),
            (-15, 9),
            (-16, 10),
            (-90, 14),
            (-91, 15),
            (-127, 15),
            (-128, 15),
            (-500, 15),
        ];
        for (later, expected) in known {
            assert_eq!(kind(later), expected, "{later}");
            if later != 0 {
                assert_eq!(kind(-later), expected + 16, "{later}");
            }
        }
    }

    #[test]
    fn rows_begin_with_the_distance_to_the_first_piece() {
        let weights: Vec<f32> = (0..N_KINDS * 2).map(|i| i as f32).collect();
        let mut of = Vec::new();
        of_window(&weights, 2, 1, 3, &mut of);
        let rows: Vec<&[f32]> = rows(&of).collect();
        assert_eq!(rows, [[1.0, 35.0, 37.0], [3.0, 1.0, 35.0], [5.0, 3.0, 1.0]]);
    }
}
