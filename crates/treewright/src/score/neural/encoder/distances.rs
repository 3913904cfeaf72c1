//! Distances between pieces, for encoders with relative positions. Each distance has a kind (the papers say bucket): each
//! short distance has its own, and longer ones share one with similar distances (Raffel et al. 2020; Song et al. 2020).

/// The number of kinds of distances in every encoder of this sort.
pub(super) const N_KINDS: usize = 32;

/// Can there be this many kinds?
pub(super) fn is_known(n_kinds: usize) -> bool {
    n_kinds == 0 || n_kinds == N_KINDS
}

/// The kind of the distance between two pieces: the second is `later` pieces after the first, or before it if negative. From 8
/// on there are two kinds for each doubling, and from 91 on all distances in one direction are of one kind.
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

/// What the distances in a window of `n` pieces add for one attention head, from `1 - n` (the last piece attends to the first)
/// to `n - 1` (the first attends to the last).
pub(super) fn of_window(weights: &[f32], n_heads: usize, head: usize, n: usize, out: &mut Vec<f32>) {
    out.clear();
    let n = n as isize;
    out.extend((1 - n..n).map(|later| weights[kind(later) * n_heads + head]));
}

/// For each piece of a window, what its distances to all pieces add; `of_window` has what each distance adds.
pub(super) fn rows(of_window: &[f32]) -> impl Iterator<Item = &[f32]> {
    of_window.windows(of_window.len().div_ceil(2)).rev()
}

/// The backward pass: adds the gradients of one head in a window, piece by piece, to those of the kinds of distances.
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
