//! A second, tiny scorer, which shows that one file and one line in the registry are all it takes: the score of an action
//! is a number for it and the action before it. Tests only.

use std::sync::Arc;

use super::{
    AnyLearner, Learner, Learning, Mode, Rows, Scorer, ScorerKind, ScorerModel, Shared, SlotId, StoredScorer,
    Views, bad_model,
};
use crate::config::TrainConfig;
use crate::error::Result;
use crate::forest::{Forest, View};
use crate::ids::ActionId;
use crate::sentence::Sentence;

pub(super) struct Bigrams;

impl ScorerKind for Bigrams {
    fn name(&self) -> &'static str {
        "bigrams"
    }

    fn about(&self) -> &'static str {
        "linear, over pairs of actions"
    }

    fn learner(&self, _config: &TrainConfig, shared: Shared, _sentences: &[&Sentence]) -> Result<AnyLearner> {
        Ok(AnyLearner::Online(Box::new(Table::new(shared.n_actions()))))
    }

    fn load(&self, stored: StoredScorer, shared: Shared) -> Result<Arc<dyn ScorerModel>> {
        let words = stored.words;
        let mut table = Table::new(shared.n_actions());
        if words.words().len() != table.weights.len() {
            return Err(bad_model("the weights do not fit the actions"));
        }
        table.weights = words.words().iter().map(|&word| f32::from_bits(word)).collect();
        Ok(Arc::new(Frozen(table)))
    }
}

/// A row for each action before, and one for the start.
#[derive(Clone, Debug)]
struct Table {
    n_actions: usize,
    weights: Vec<f32>,
    gradients: Vec<f32>,
    mode: Mode,
}

impl Table {
    fn new(n_actions: usize) -> Self {
        let zeros = vec![0.0; (n_actions + 1) * n_actions];
        Table { n_actions, weights: zeros.clone(), gradients: zeros, mode: Mode::Predict }
    }

    fn row(&self, forest: &Forest, view: &View) -> std::ops::Range<usize> {
        let before = view.past.map_or(self.n_actions, |step| forest.step(step).action.index());
        before * self.n_actions..(before + 1) * self.n_actions
    }
}

impl Scorer for Table {
    fn score(&mut self, queries: &[Views<'_>], rows: &mut Rows) {
        rows.reset_for(queries, self.n_actions);
        for (row, query, view) in Views::by_row(queries) {
            rows.row_mut(row).copy_from_slice(&self.weights[self.row(query.forest, view)]);
        }
    }
}

impl Learner for Table {
    fn backward(&mut self, _slot: SlotId, forest: &Forest, view: &View, gradient: &[(ActionId, f32)]) {
        assert_ne!(self.mode, Mode::Predict, "trainers say when they train");
        let start = self.row(forest, view).start;
        gradient.iter().for_each(|(action, by)| self.gradients[start + action.index()] += by);
    }

    fn step(&mut self) {
        let pairs = self.weights.iter_mut().zip(&mut self.gradients);
        pairs.for_each(|(weight, gradient)| *weight -= 0.1 * std::mem::take(gradient));
    }
}

impl Learning for Table {
    fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
    }

    fn n_features(&self) -> usize {
        self.weights.len()
    }

    fn freeze(&self) -> Result<Arc<dyn ScorerModel>> {
        Ok(Arc::new(Frozen(self.clone())))
    }

    fn save(&self, out: &mut Vec<u8>) {
        self.weights.iter().for_each(|weight| out.extend(weight.to_le_bytes()));
    }

    fn load(&mut self, bytes: &[u8]) -> Option<()> {
        let (chunks, rest) = bytes.as_chunks::<4>();
        if chunks.len() != self.weights.len() || !rest.is_empty() {
            return None;
        }
        self.weights = chunks.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        Some(())
    }
}

#[derive(Debug)]
struct Frozen(Table);

impl ScorerModel for Frozen {
    fn kind(&self) -> &'static str {
        Bigrams.name()
    }

    fn scorer(&self) -> Box<dyn Scorer> {
        Box::new(self.0.clone())
    }

    fn header(&self) -> serde_json::Value {
        serde_json::json!({})
    }

    fn words(&self) -> &[u32] {
        bytemuck::cast_slice(&self.0.weights)
    }

    fn n_features(&self) -> usize {
        self.0.weights.len()
    }
}

mod tests {
    use crate::config::{TrainConfig, Update};
    use crate::registry::SystemTag;
    use crate::score::laws;
    use crate::train::train;

    const SYSTEM: SystemTag = SystemTag::ArcHybrid;

    fn config(update: Update, beam: usize) -> TrainConfig {
        let scorer = "bigrams".to_owned();
        TrainConfig { system: SYSTEM, scorer, update, beam, epochs: 4, batch: 5, ..TrainConfig::default() }
    }

    /// It trains, locally and globally, saves, loads, resumes and parses like any other.
    #[test]
    fn a_second_scorer_goes_through_every_door() {
        let data = laws::data(SYSTEM, 40);
        for (update, beam) in [(Update::Local, 1), (Update::MaxViolation, 4), (Update::Early, 2)] {
            let config = config(update, beam);
            let errors = laws::learns_the_same_again(&config, &data);
            assert!(update != Update::Local || errors[3] < errors[0], "it learns: {errors:?}");
            laws::goes_through_every_door(&config, &data);
        }
    }

    #[test]
    fn a_scorer_that_does_not_exist_is_refused() {
        let config = TrainConfig { scorer: "trigrams".to_owned(), ..config(Update::Local, 1) };
        let error = train(&config, &laws::data(SYSTEM, 40), &[], None, &mut ()).expect_err("no such scorer");
        assert!(error.message.contains("perceptron, neural, stack-lstm, bigrams"), "{error}");
    }
}
