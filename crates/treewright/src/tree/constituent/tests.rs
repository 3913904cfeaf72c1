//! The canonical form, its laws, and what is refused.

use super::*;

fn nested(build: impl FnOnce(&mut NestedBuilder)) -> Result<ConstituentTree, TreeError> {
    let mut builder = NestedBuilder::default();
    build(&mut builder);
    builder.finish()
}

#[test]
fn nested_input_in_any_order_gives_one_tree() {
    let sorted = nested(|b| {
        b.token(TokenIdx::new(0));
        b.token(TokenIdx::new(2));
        b.close(0, "VP".into());
        b.token(TokenIdx::new(1));
        b.close(1, "NP".into());
        b.close(0, "S".into());
    });
    let shuffled = nested(|b| {
        b.token(TokenIdx::new(1));
        b.close(0, "NP".into());
        b.token(TokenIdx::new(2));
        b.token(TokenIdx::new(0));
        b.close(1, "VP".into());
        b.close(0, "S".into());
    });
    assert!(sorted.is_ok());
    assert_eq!(sorted, shuffled);
}
