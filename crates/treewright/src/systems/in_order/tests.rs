use super::*;
use crate::laws;
use crate::systems::trees::{self, BracketFixture, Brackets};

impl BracketFixture for InOrder {
    const MARGINS: [u32; 3] = [2, 2, 3];
    const CHECKED: [usize; 6] = [900, 1000, 50, 10, 1000, 20];
    const N_WALKS: [usize; 2] = [10, 5];

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
        state.n_unary == 0
    }

    fn flags(state: &State) -> [u32; 3] {
        [state.n_unary, u32::from(state.is_fresh), u32::from(state.is_finished)]
    }

    fn is_near_end(state: &State, n: usize) -> bool {
        n - state.next.index() + state.n_open as usize <= 3
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

#[test]
fn trees_outside_the_tables_are_refused_with_a_reason() {
    trees::check_refused::<InOrder>(2, "(A (C w0) w1)", "the label C is not among the system's labels");
    let why = "a unary chain of 2 is longer than the limit, 1";
    trees::check_refused::<InOrder>(1, "(A (B (A w0)) w1)", why);
    trees::check_gaps_are_refused::<InOrder>();
}

#[test]
fn the_printed_loss_differs_from_the_true_one_where_it_is_known_to() {
    let check = trees::check_printed::<InOrder>;
    check("(B (A w0) w1)", "SH NT-B", 0, 1);
    // An opening that becomes gold, but not by the index it has in the gold derivation.
    check("(A w0 w1 w2)", "SH NT-B SH SH RE NT-A", 2, 1);
    check("(A w0 w1 w2)", "SH NT-B RE NT-B SH SH RE NT-A", 3, 2);
    // On the gold path both are 0.
    check("(B (A w0) w1)", "SH NT-A RE NT-B SH RE FI", 0, 0);
}

/// Memory of where labels stood is missing in files of older versions.
#[test]
fn a_table_without_places_allows_every_label_everywhere() {
    let old: InOrder = serde_json::from_str(r#"{"labels":["A","B"],"max_unary":2}"#).unwrap();
    assert_eq!(old, InOrder::with_labels(["A", "B"].into_iter().collect(), Some(2)));
    assert_eq!(old, trees::anywhere(Some(2)));
}
