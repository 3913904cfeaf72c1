use super::*;
use crate::laws;
use crate::systems::trees::{self, BracketFixture, Brackets};

impl BracketFixture for InOrder {
    const MARGINS: [u32; 3] = [2, 2, 3];
    const CHECKED: [usize; 6] = [900, 1000, 50, 10, 1000, 20];
    const N_WALKS: [usize; 2] = [10, 5];
    const PRINTED: &[(&str, &str, u32, u32)] = &[
        ("(B (A w0) w1)", "SH NT-B", 0, 1),
        // An opening that becomes gold, but not by the index it has in the gold derivation.
        ("(A w0 w1 w2)", "SH NT-B SH SH RE NT-A", 2, 1),
        ("(A w0 w1 w2)", "SH NT-B RE NT-B SH SH RE NT-A", 3, 2),
        // On the gold path both are 0.
        ("(B (A w0) w1)", "SH NT-A RE NT-B SH RE FI", 0, 0),
    ];
    const TOO_LOW: (u32, &str) = (1, "a unary chain of 2 is longer than the limit, 1");
    const OLD_TABLE: &str = r#"{"labels":["A","B"],"max_unary":2}"#;

    fn n_places(n: u32, limit: u32) -> u32 {
        limit * (2 * n - 1)
    }

    fn least_limit(gold: &ConstituentTree) -> u32 {
        longest_chain(gold)
    }

    fn with_limit(&self, limit: Option<u32>) -> Self {
        InOrder { max_unary: limit, ..self.clone() }
    }

    /// The most gold constituents over one span: no completion worth taking builds a longer unary chain.
    fn needed(gold: &ConstituentTree) -> u32 {
        let mut spans: Vec<_> = gold.nodes().map(|(_, node)| (node.span().start, node.span().end)).collect();
        spans.sort_unstable();
        spans.chunk_by(|a, b| a == b).map(<[_]>::len).max().unwrap_or(0) as u32
    }

    /// The margin is for one more step, and to close a bad opening at once.
    fn has_room(state: &State, _margin: u32) -> bool {
        state.own.n_unary == 0
    }

    fn flags(state: &State) -> [u32; 3] {
        [state.own.n_unary, u32::from(state.own.is_fresh), u32::from(state.own.is_finished)]
    }

    fn is_near_end(state: &State, n: usize) -> bool {
        n - state.next.index() + state.own.n_open as usize <= 3
    }

    /// Where no span has two gold constituents the limit can be low.
    fn is_quick(gold: &ConstituentTree) -> bool {
        Self::needed(gold) == 1
    }

    fn is_quick_near_end(gold: &ConstituentTree) -> bool {
        Self::is_quick(gold)
    }
}

laws::suite!(Brackets<InOrder>, exact);

laws::suite! {
    trees_outside_the_tables_are_refused_with_a_reason => trees::refusals::<InOrder>;
    the_printed_loss_differs_from_the_true_one_where_it_is_known_to => trees::printed_losses::<InOrder>;
    a_table_without_places_allows_every_label_everywhere => trees::tables_without_places::<InOrder>;
}
