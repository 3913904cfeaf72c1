use super::*;
use crate::laws;
use crate::systems::trees::{self, BracketFixture, Brackets};

impl BracketFixture for TopDown {
    const MARGINS: [u32; 3] = [2, 1, 2];
    const CHECKED: [usize; 6] = [1000, 100_000, 100, 10, 400, 50];
    const N_WALKS: [usize; 2] = [15, 10];

    fn with_limit(&self, limit: Option<u32>) -> Self {
        TopDown { max_openings: limit, ..self.clone() }
    }

    fn needed(gold: &ConstituentTree) -> u32 {
        longest_run(gold)
    }

    fn has_room(state: &State, margin: u32) -> bool {
        state.n_fresh < margin
    }

    fn flags(state: &State) -> [u32; 3] {
        [state.n_open, state.n_fresh, 0]
    }

    fn is_near_end(state: &State, n: usize) -> bool {
        state.next.index() + 1 >= n
    }

    /// Openings in a row multiply what there is to search.
    fn is_quick(gold: &ConstituentTree) -> bool {
        longest_run(gold) as usize + gold.n_tokens() <= 5
    }

    fn is_quick_with_roots(gold: &ConstituentTree) -> bool {
        longest_run(gold) <= 2 && gold.n_tokens() <= 2
    }
}

laws::suite!(Brackets<TopDown>, exact);

#[test]
fn trees_outside_the_tables_are_refused_with_a_reason() {
    trees::check_refused::<TopDown>(2, "(A (C w0) w1)", "the label C is not among the system's labels");
    let why = "3 constituents start at one word; the limit is 2";
    trees::check_refused::<TopDown>(2, "(A (B (A w0)) w1)", why);
    trees::check_gaps_are_refused::<TopDown>();
}

#[test]
fn the_printed_loss_differs_from_the_true_one_where_it_is_known_to() {
    let check = trees::check_printed::<TopDown>;
    check("(B (A w0) w1)", "NT-A", 0, 1);
    check("(B (A w0 w1))", "NT-A NT-B", 1, 0);
    // On the gold path both are 0.
    check("(B (A w0) w1)", "NT-B NT-A SH RE SH RE", 0, 0);
}

/// Memory of where labels stood is missing in files of older versions.
#[test]
fn a_table_without_places_allows_every_label_everywhere() {
    let old: TopDown = serde_json::from_str(r#"{"labels":["A","B"],"max_openings":2}"#).unwrap();
    assert_eq!(old, TopDown::with_labels(["A", "B"].into_iter().collect(), Some(2)));
    assert_eq!(old, trees::anywhere(Some(2)));
}
