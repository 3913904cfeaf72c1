//! The settings of the stack-LSTM scorer.

use serde::{Deserialize, Serialize};

use super::LossKind;
use super::section::{Section, settings};
use crate::error::Result;

/// How the vector of a constituent is made from those of its children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Composition {
    /// A bidirectional LSTM reads the label and the children (Dyer et al. 2016).
    #[default]
    Lstm,
    /// The element-wise maximum of the children, and the label.
    Max,
}

/// How weights are changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptimiserKind {
    /// Adam (Kingma and Ba 2015).
    #[default]
    Adam,
    /// Stochastic gradient descent.
    Sgd,
}

/// The sizes of a stack-LSTM scorer, and how it learns. The default sizes are those of Liu and Zhang (2017), which paper
/// 000 shares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct StackLstmConfig {
    /// Numbers in the embedding of a word.
    pub word_size: usize,
    /// Numbers in the embedding of a tag.
    pub tag_size: usize,
    /// Numbers in the embedding of an action.
    pub action_size: usize,
    /// Numbers in the vector of a word or constituent: the input of the LSTMs over stack and buffer.
    pub input_size: usize,
    /// Units of the LSTMs over stack, buffer and action history.
    pub units: usize,
    /// Layers of these LSTMs.
    pub layers: usize,
    /// Units between the states of the LSTMs and the scores of actions.
    pub hidden: usize,
    /// How constituents are composed.
    pub composition: Composition,
    /// Are the tags of the input looked at?
    pub tags: bool,
    /// The probability of leaving out a value that goes into an LSTM or into the hidden units while learning.
    pub dropout: f64,
    /// ... of treating a word that was seen once as unknown.
    pub singleton_dropout: f64,
    /// The loss of a state.
    pub loss: LossKind,
    /// About how many words a minibatch has; 1 is one sentence at a time.
    pub batch_words: usize,
    /// Parts of a minibatch, which threads share. It changes the order in which gradients are added, and so the model a
    /// little; the number of threads does not.
    pub shards: usize,
    /// How weights are changed.
    pub optimiser: OptimiserKind,
    /// The learning rate at its highest. Adam's rises for a fiftieth of the training and then falls to a fiftieth.
    pub learning_rate: f32,
    /// For SGD: the learning rate is divided by 1 plus this times the number of epochs that are over.
    pub decay: f32,
    /// Adam's memory of gradients.
    pub beta_1: f32,
    /// Adam's memory of their squares.
    pub beta_2: f32,
    /// Gradients that are longer together are shortened to this.
    pub clip: f32,
    /// How much of the average of the weights is left after a step.
    pub average: f32,
}

impl Default for StackLstmConfig {
    fn default() -> Self {
        StackLstmConfig {
            word_size: 32,
            tag_size: 12,
            action_size: 16,
            input_size: 128,
            units: 128,
            layers: 2,
            hidden: 128,
            composition: Composition::Lstm,
            tags: true,
            dropout: 0.2,
            singleton_dropout: 0.5,
            loss: LossKind::Log,
            batch_words: 100,
            shards: 1,
            optimiser: OptimiserKind::Adam,
            learning_rate: 2e-3,
            decay: 0.05,
            beta_1: 0.9,
            beta_2: 0.95,
            clip: 5.0,
            average: 0.998,
        }
    }
}

impl StackLstmConfig {
    /// Are these the settings that go without saying?
    pub(super) fn is_default(&self) -> bool {
        *self == StackLstmConfig::default()
    }

    /// Do the settings make sense?
    ///
    /// # Errors
    /// With the name of the setting that does not.
    pub fn check(&self) -> Result<()> {
        let section = Section("stack-lstm");
        section.sizes(settings!(
            self.word_size,
            self.tag_size,
            self.action_size,
            self.input_size,
            self.units,
            self.hidden,
            self.batch_words
        ))?;
        section.counts(settings!(self.layers, self.shards))?;
        section.shares(settings!(self.dropout, self.beta_1, self.beta_2, self.average))?;
        section.each(settings!(self.singleton_dropout), |p: f64| (0.0..=1.0).contains(&p), "from 0 to 1")?;
        section.positive(settings!(self.learning_rate, self.clip))?;
        section.not_negative(settings!(self.decay))
    }
}
