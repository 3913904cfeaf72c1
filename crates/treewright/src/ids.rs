//! Ids: positions and table entries as types of their own, so that two of them are never swapped by mistake.
//!
//! Every id is stored plus one in a `NonZeroU32`, so `Option<Id>` takes four bytes and nothing needs a sentinel.

use std::fmt;
use std::num::NonZeroU32;

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// The id of the entry at `index`.
            ///
            /// # Panics
            /// When `index` does not fit in 32 bits less one.
            #[inline]
            pub const fn new(index: usize) -> Self {
                assert!(index < u32::MAX as usize, "ids are 32 bits wide");
                match NonZeroU32::new(index as u32 + 1) {
                    Some(plus_one) => $name(plus_one),
                    None => panic!("index plus one is never zero"),
                }
            }

            /// The position in its table.
            #[inline]
            pub const fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.index())
            }
        }
    )*};
}

id! {
    /// A word's position in its sentence, from 0.
    TokenIdx;
    /// A node: of a finished tree, or of the forest of one sentence.
    NodeId;
    /// A cell of the tree-structured stack in a forest.
    CellId;
    /// One step of a derivation in a forest.
    StepId;
    /// A constituent label or dependency relation, in a system's own table.
    LabelId;
    /// A transition of a system: the index in its action table.
    ActionId;
}
