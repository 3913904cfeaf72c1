//! Rows of scores.

use super::Rows;
use crate::ids::ActionId;
use crate::rng::Rng;
use crate::system::ActionSet;

#[test]
fn the_best_of_a_row_is_the_first_of_the_highest() {
    let mut rng = Rng::new(3);
    for n in [1, 7, 8, 9, 64, 65, 200] {
        for round in 0..50 {
            let mut rows = Rows::default();
            rows.reset(3, n);
            let row = rows.row_mut(1);
            // Few values, so that there are ties; below zero, which is what stands after the last action.
            row.iter_mut().for_each(|score| *score = -1.0 - rng.below(1 + round / 4) as f32);
            let mut legal = ActionSet::new(n);
            (0..n).filter(|_| rng.below(4) == 0).for_each(|action| legal.insert(ActionId::new(action)));
            let of_blocks: Vec<(usize, f32)> = rows
                .blocks(1, &legal)
                .flat_map(|block| block.higher(f32::NEG_INFINITY).collect::<Vec<_>>())
                .collect();
            assert!(of_blocks.iter().map(|pair| pair.0).eq(legal.indices()));
            let row = rows.row(1);
            assert!(of_blocks.iter().all(|&(action, score)| score == row[action]));
            let highest = legal.indices().map(|action| row[action]).fold(f32::NEG_INFINITY, f32::max);
            let first = legal.iter().find(|action| row[action.index()] == highest);
            assert_eq!(rows.best(1, &legal), first);
        }
    }
}
