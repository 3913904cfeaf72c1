use super::*;
use crate::laws;
use crate::systems::dependency::tests::{Arcs, check_derivation};

laws::suite!(Arcs<Rules>, exact);

#[test]
fn a_known_derivation() {
    // Economic <- news -> little: 1 <- 2 <- r, 2 -> 3.
    check_derivation::<Rules>(&[2, 4, 2], &["a", "b", "a"], "SHIFT LEFT-a SHIFT RIGHT-a REDUCE LEFT-b");
}
