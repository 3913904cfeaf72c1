use super::*;
use crate::laws;
use crate::systems::trees::{self, BracketFixture, Brackets};

impl BracketFixture for TopDown {
    const MARGINS: [u32; 3] = [2, 1, 2];
    const CHECKED: [usize; 6] = [1000, 100_000, 100, 10, 400, 50];
    const N_WALKS: [usize; 2] = [15, 10];
    const PRINTED: &[(&str, &str, u32, u32)] = &[
        ("(B (A w0) w1)", "NT-A", 0, 1),
        ("(B (A w0 w1))", "NT-A NT-B", 1, 0),
        // On the gold path both are 0.
        ("(B (A w0) w1)", "NT-B NT-A SH RE SH RE", 0, 0),
    ];
    const TOO_LOW: (u32, &str) = (2, "3 constituents start at one word; the limit is 2");
    const OLD_TABLE: &str = r#"{"labels":["A","B"],"max_openings":2}"#;

    fn n_places(n: u32, limit: u32) -> u32 {
        limit * n
    }

    fn least_limit(gold: &ConstituentTree) -> u32 {
        longest_run(gold)
    }

    fn with_limit(&self, limit: Option<u32>) -> Self {
        TopDown { max_openings: limit, ..self.clone() }
    }

    fn needed(gold: &ConstituentTree) -> u32 {
        longest_run(gold)
    }

    fn has_room(state: &State, margin: u32) -> bool {
        state.own.n_fresh < margin
    }

    fn flags(state: &State) -> [u32; 3] {
        [state.own.n_open, state.own.n_fresh, 0]
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

laws::suite! {
    trees_outside_the_tables_are_refused_with_a_reason => trees::refusals::<TopDown>;
    the_printed_loss_differs_from_the_true_one_where_it_is_known_to => trees::printed_losses::<TopDown>;
    a_table_without_places_allows_every_label_everywhere => trees::tables_without_places::<TopDown>;
}
