//! Numbers in groups: the dependents of each head, say, as ranges of one list.

use std::ops::Range;

/// The numbers 0, 1, 2, ... in groups by their keys, in ascending order within a group.
#[derive(Clone, Debug)]
pub(crate) struct Grouped {
    /// Group k stands at `starts[k]..starts[k + 1]`.
    starts: Vec<u32>,
    members: Vec<u32>,
}

impl Grouped {
    /// Groups numbers by these keys, each below `n_keys`.
    pub(crate) fn by(keys: impl Iterator<Item = usize> + Clone, n_keys: usize) -> Self {
        let mut starts = vec![0; n_keys + 1];
        keys.clone().for_each(|key| starts[key + 1] += 1);
        (0..n_keys).for_each(|key| starts[key + 1] += starts[key]);
        let (mut fill, mut members) = (starts.clone(), vec![0; starts[n_keys] as usize]);
        for (i, key) in keys.enumerate() {
            members[fill[key] as usize] = i as u32;
            fill[key] += 1;
        }
        Grouped { starts, members }
    }

    /// Where a group stands among the members. If the keys come in ascending order, this is the group itself.
    #[inline]
    pub(crate) fn range(&self, key: usize) -> Range<usize> {
        self.starts[key] as usize..self.starts[key + 1] as usize
    }

    /// The numbers of a group.
    #[inline]
    pub(crate) fn of(&self, key: usize) -> &[u32] {
        &self.members[self.range(key)]
    }
}
