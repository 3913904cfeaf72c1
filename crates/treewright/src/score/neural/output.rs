//! The last layer: from the hidden units of states to the scores of actions. Kinds of action (a left-arc of any label, say) may
//! have hidden units and scores of their own, which are added to those of their actions.

use std::ops::Range;

use super::kernel::Left;
use super::layers::{Arrays, Linear, PackedLinear, Scratch};

/// The last layer. Hidden units for actions come first, then those for kinds.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub actions: Linear,
    pub kinds: Option<Linear>,
    /// Where the actions of each kind end.
    pub kind_ends: Vec<usize>,
}

impl Output {
    pub(super) fn new(arrays: &mut Arrays, hidden: usize, kind_hidden: usize, kind_ends: Vec<usize>) -> Self {
        let n_actions = kind_ends.last().copied().unwrap_or_default();
        let actions = Linear::new(arrays, "output", hidden, n_actions);
        let kinds = (kind_hidden > 0).then(|| Linear::new(arrays, "kinds", kind_hidden, kind_ends.len()));
        Output { actions, kinds, kind_ends }
    }

    pub(super) fn n_actions(&self) -> usize {
        self.actions.weights.n_columns
    }

    /// Hidden units of a state.
    pub(super) fn n_hidden(&self) -> usize {
        self.actions.weights.n_rows + self.kinds.map_or(0, |layer| layer.weights.n_rows)
    }

    /// The actions of each kind.
    fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(&0).chain(&self.kind_ends);
        starts.zip(&self.kind_ends).map(|(start, end)| *start..*end)
    }

    /// Gives each action what its kind has.
    fn spread(&self, of_kinds: &[f32]) -> impl Iterator<Item = f32> {
        self.ranges()
            .zip(of_kinds)
            .flat_map(|(actions, of_kind)| std::iter::repeat_n(*of_kind, actions.len()))
    }

    /// Packs both parts as one layer, so that kinds cost no more than their hidden units.
    pub(super) fn pack(&self, all: &[f32], learns: bool, out: &mut PackedLinear) {
        let Some(kinds) = self.kinds else { return out.set(self.actions, all, learns) };
        let mut weights = self.actions.weights.of(all).to_vec();
        (0..kinds.weights.n_rows).for_each(|row| weights.extend(self.spread(kinds.weights.row(all, row))));
        let biases = self.actions.bias.of(all).iter().zip(self.spread(kinds.bias.of(all)));
        out.set_to(&weights, biases.map(|(a, b)| a + b), (self.n_hidden(), self.n_actions()), learns);
    }

    /// The way back to the weights, from the hidden units of states and the gradients of their scores.
    pub(super) fn back(
        &self,
        hidden: &[f32],
        d_scores: &[f32],
        gradients: &mut [f32],
        scratch: &mut Scratch,
    ) {
        let hidden = Left::dense(hidden, self.n_hidden());
        self.actions.back_to_weights(hidden, d_scores, gradients, scratch);
        let Some(kinds) = self.kinds else { return };
        let of_kinds =
            |row: &[f32]| -> Vec<f32> { self.ranges().map(|actions| row[actions].iter().sum()).collect() };
        let d_kinds: Vec<f32> = d_scores.chunks_exact(self.n_actions()).flat_map(of_kinds).collect();
        // Without a state there are no units, either.
        let values = hidden.values.get(self.actions.weights.n_rows..).unwrap_or_default();
        kinds.back_to_weights(Left { values, ..hidden }, &d_kinds, gradients, scratch);
    }
}
