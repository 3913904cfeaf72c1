//! The table of a system's actions: id, action and name, all from the one list that `actions!` is given.
//!
//! Ids are given out kind by kind in the order of the list, and within a kind by its arguments (all labels, say). So a
//! system only has to know how many arguments each kind has.

use std::marker::PhantomData;
use std::ops::Range;

use super::{ActionSet, TransitionSystem};
use crate::ids::{ActionId, LabelId};

/// The argument of an action, such as its label: an entry of some table.
pub trait Argument: Copy {
    /// The argument at this place of its table.
    fn at(index: usize) -> Self;

    /// Its place.
    fn index(self) -> usize;
}

/// How an argument is written in the names of a system's actions.
pub trait Text<S> {
    /// Its text.
    fn text(self, system: &S) -> String;
}

impl Argument for LabelId {
    #[inline]
    fn at(index: usize) -> Self {
        LabelId::new(index)
    }

    #[inline]
    fn index(self) -> usize {
        self.index()
    }
}

impl<S: TransitionSystem> Text<S> for LabelId {
    fn text(self, system: &S) -> String {
        system.label(self)
    }
}

/// A number, from 0.
impl Argument for u32 {
    #[inline]
    fn at(index: usize) -> Self {
        index as u32
    }

    #[inline]
    fn index(self) -> usize {
        self as usize
    }
}

impl<S> Text<S> for u32 {
    fn text(self, _system: &S) -> String {
        self.to_string()
    }
}

/// Arguments that are positions in a table of the system's own.
macro_rules! places {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(u32);

        impl $crate::system::actions::Argument for $name {
            #[inline]
            fn at(index: usize) -> Self {
                $name(index as u32)
            }

            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

pub(crate) use places;

/// An enum of actions by kind; `actions!` implements it.
pub trait Kinds: Copy + PartialEq {
    /// How many kinds there are.
    const N: usize;

    /// The action of a kind with its argument at `index`.
    fn new(kind: usize, index: usize) -> Self;

    /// The kind, and the place of the argument.
    fn split(self) -> (usize, usize);
}

/// Names of actions, for people; `actions!` implements it.
pub trait Named<S> {
    /// The action's name.
    fn name(self, system: &S) -> String;
}

/// The enum `Action`: kinds in the order of their ids, each with its name, in which the argument stands in braces:
/// `Unary(label: LabelId) = "RU-{label}"`.
macro_rules! actions {
    ($($(#[$about:meta])* $kind:ident $(($argument:ident: $of:ty))? = $name:literal,)*) => {
        /// The actions, in the order of their ids.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Action {
            $($(#[$about])* $kind $(($of))?,)*
        }

        const _: () = {
            use $crate::system::actions::{Argument, Kinds, Named, Text};

            enum Kind {
                $($kind,)*
            }

            impl Kinds for Action {
                const N: usize = [$(stringify!($kind)),*].len();

                #[inline]
                fn new(kind: usize, _index: usize) -> Self {
                    $(if kind == Kind::$kind as usize {
                        return Action::$kind $((<$of as Argument>::at(_index)))?;
                    })*
                    unreachable!("there are no other kinds")
                }

                #[inline]
                fn split(self) -> (usize, usize) {
                    match self {
                        $(Action::$kind $(($argument))? =>
                            (Kind::$kind as usize, 0 $(+ Argument::index($argument))?),)*
                    }
                }
            }

            impl<S> Named<S> for Action
            where
                $($($of: Text<S>,)?)*
            {
                fn name(self, _system: &S) -> String {
                    match self {
                        $(Action::$kind $(($argument))? => {
                            $(let $argument = $argument.text(_system);)?
                            format!($name)
                        })*
                    }
                }
            }
        };
    };
}

pub(crate) use actions;

/// No system has more kinds of actions.
const MAX_KINDS: usize = 8;

/// The ids of a system's actions.
#[derive(Clone, Copy)]
pub struct Actions<A> {
    /// Where each kind ends.
    ends: [usize; MAX_KINDS],
    actions: PhantomData<A>,
}

impl<A: Kinds> Actions<A> {
    /// The table with this many actions of each kind.
    #[inline]
    pub(crate) fn new<const N: usize>(counts: [usize; N]) -> Self {
        const { assert!(A::N == N && N <= MAX_KINDS, "one count for each kind") };
        let (mut ends, mut end) = ([0; MAX_KINDS], 0);
        for (kind_end, count) in ends.iter_mut().zip(counts) {
            end += count;
            *kind_end = end;
        }
        Actions { ends, actions: PhantomData }
    }

    /// Empties a set of actions, and gives the table to fill it from.
    #[inline]
    pub(crate) fn clear(self, out: &mut ActionSet) -> Self {
        out.reset(self.len());
        self
    }

    /// The number of actions.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.ends[A::N - 1]
    }

    /// The ids are in order of kinds; where those of each kind end.
    pub(crate) fn kind_ends(&self) -> &[usize] {
        &self.ends[..A::N]
    }

    /// The action of this id.
    #[inline]
    pub(crate) fn get(&self, id: ActionId) -> A {
        let (mut kind, mut start) = (0, 0);
        while kind + 1 < A::N && id.index() >= self.ends[kind] {
            start = self.ends[kind];
            kind += 1;
        }
        A::new(kind, id.index() - start)
    }

    /// The id of an action.
    #[inline]
    pub(crate) fn id(&self, action: A) -> ActionId {
        let (kind, index) = action.split();
        ActionId::new(index + if kind == 0 { 0 } else { self.ends[kind - 1] })
    }

    /// Allows the actions of one kind whose arguments have these places in their table.
    #[inline]
    pub(crate) fn allow<T: Argument>(&self, kind: fn(T) -> A, arguments: Range<usize>, out: &mut ActionSet) {
        let first = self.id(kind(T::at(0))).index();
        out.insert_range(first + arguments.start, first + arguments.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    actions! {
        Shift = "SH",
        Gap(count: u32) = "GAP-{count}",
        Swap(count: u32) = "SWAP-{count}",
    }

    #[test]
    fn ids_actions_and_names_are_one_to_one() {
        let table = Actions::<Action>::new([1, 3, 2]);
        let actions: Vec<Action> = (0..table.len()).map(|id| table.get(ActionId::new(id))).collect();
        let names: Vec<String> = actions.iter().map(|action| action.name(&())).collect();
        assert_eq!(names, ["SH", "GAP-0", "GAP-1", "GAP-2", "SWAP-0", "SWAP-1"]);
        assert!(actions.iter().map(|&action| table.id(action).index()).eq(0..6));
        assert_eq!(table.kind_ends(), [1, 4, 6]);
        let mut allowed = ActionSet::default();
        let table = table.clear(&mut allowed);
        table.allow(Action::Gap, 1..3, &mut allowed);
        table.allow(Action::Swap, 0..0, &mut allowed);
        assert_eq!(allowed.indices().collect::<Vec<_>>(), [2, 3]);
    }
}
