use super::*;
use crate::laws;
use crate::rng::Rng;
use crate::system::SystemOptions;
use crate::systems::trees::tree;

/// [`DynamicOracle::best_block`] by its definition, with every block looked at; `label` is on top of the openings.
fn best_block_plainly(
    oracle: &DynamicOracle,
    range: Range<usize>,
    label: LabelId,
    group: usize,
    value: impl Fn(u32, u32) -> u32,
) -> u32 {
    let data = &oracle.groups[group];
    let column = (group - oracle.groups_at(data.left).start) as u32;
    let before = |i: usize| match i > range.start {
        true => oracle.rows[(oracle.openings[i - 1].row + column) as usize],
        false => 0,
    };
    let mut best = 0;
    for start in range.start..=range.end {
        let block = (start..=range.end).filter(|&i| i > 0 || column == 0);
        let labels: Vec<LabelId> =
            block.map(|i| if i < range.end { oracle.openings[i].label } else { label }).collect();
        let matched =
            |m: &Member| m.count.min(labels.iter().filter(|&&label| label == m.label).count() as u32);
        let matched: u32 = oracle.members(data).iter().map(matched).sum();
        best = best.max(value(before(start), matched));
    }
    best
}

/// The costs of openings are kept step by step; here they are counted anew on trees in which many constituents start at
/// one word, some of them over one span.
#[test]
fn openings_at_one_word_cost_what_the_definition_says() {
    let mut rng = Rng::new(7);
    let label = |rng: &mut Rng| ["A", "B", "C"][rng.below(3)];
    for round in 0..200 {
        let n = 1 + round % 9;
        let mut text = "w0".to_owned();
        for i in 1..=n {
            for _ in 0..1 + rng.below(2) {
                text = format!("({} {text})", label(&mut rng));
            }
            if i < n {
                text = format!("({} {text} w{i})", label(&mut rng));
            }
        }
        let gold = tree(&text);
        let system = TopDown::from_trees([&gold].into_iter(), &SystemOptions::default());
        let mut oracle: DynamicOracle = Oracle::for_gold(&system, &gold).unwrap();
        let (mut forest, mut legal) = (Forest::new(), ActionSet::default());
        let mut state = system.start(&mut forest, &laws::sentence(n));
        while !system.is_final(&forest, &state) {
            let next = state.next.index() as u32;
            let below = oracle.openings_at(next);
            for id in (0..system.table.labels.len()).map(LabelId::new).filter(|_| (next as usize) < n) {
                let n_openings = below.len() as u32 + 1;
                let room = system.max_openings.map_or(u32::MAX, |max| max.saturating_sub(n_openings));
                let without_room = |count: u32| count.saturating_sub(room);
                let mut left: u32 = oracle.groups_at(next).map(|group| oracle.groups[group].size).sum();
                let (mut best, mut larger) = (n_openings + without_room(left), 0);
                for group in oracle.groups_at(next) {
                    let value = |before: u32, matched: u32| {
                        2 * before + matched + without_room(left) - without_room(left - matched)
                    };
                    let saved = best_block_plainly(&oracle, below.clone(), id, group, value);
                    best = best.min(n_openings + larger + without_room(left) - saved);
                    larger += oracle.groups[group].size;
                    left -= oracle.groups[group].size;
                }
                assert_eq!(oracle.fresh_cost_with(&system, next, id), best, "{text}");
            }
            system.legal(&forest, &state, &mut legal);
            // Openings are the most interesting.
            let first = rng.below(legal.len()).max(rng.below(legal.len()));
            let action = legal.iter().nth(first).expect("a legal action");
            oracle.advance(&system, &forest, &state, action);
            state = system.apply(&mut forest, &state, action);
        }
    }
}
