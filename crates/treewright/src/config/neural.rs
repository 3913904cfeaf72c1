//! The settings of the neural scorer.

use serde::{Deserialize, Serialize};

use super::section::{Section, settings};
use crate::error::Result;

/// What a state loses by, in local training of scorers that learn from minibatches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// Minus the logarithm of the probability of the optimal actions together.
    #[default]
    Log,
    /// Minus the logarithm of the probability of the best-scoring optimal action (paper 000).
    Best,
    /// The best optimal action should be above the best other by 1 (paper 003). It learns slowly where no action is right more
    /// than half of the time: then all scores the same is where the loss is least.
    Hinge,
    /// The best optimal action should be above every other by 1.
    HingeAll,
}

/// The sizes of a neural scorer, and how it learns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NeuralConfig {
    /// Numbers in the embedding of a word.
    pub word_size: usize,
    /// Are prefixes, suffixes, shapes and forms of words looked at?
    pub affixes: bool,
    /// Numbers in the embedding of an affix, of the shape of a word, or of a tag.
    pub affix_size: usize,
    /// Rows in the table of each kind of affix; affixes are hashed to them.
    pub affix_rows: usize,
    /// Numbers in the embedding of a character; 0: words are not spelt.
    pub char_size: usize,
    /// LSTM units in each direction over the characters of a word.
    pub char_units: usize,
    /// Numbers that stand for a word before its context is read.
    pub input_size: usize,
    /// LSTM units in each direction.
    pub units: usize,
    /// LSTM layers.
    pub layers: usize,
    /// Units between the words of a state and the scores of its actions.
    pub hidden: usize,
    /// More units for the scores of kinds of action, such as left-arcs of any label, which are added to those of actions; 0:
    /// actions are scored by themselves alone.
    pub kind_hidden: usize,
    /// The places of a configuration that are looked at; empty for those that suit the system.
    pub places: String,
    /// Are the tags of the input looked at?
    pub tags: bool,
    /// The weight of the loss of tags, which are learnt beside actions where the treebank has them.
    pub tag_weight: f32,
    /// The probability of leaving out a value between layers while learning.
    pub dropout: f64,
    /// ... of leaving out a hidden unit.
    pub hidden_dropout: f64,
    /// ... of treating a word as unknown.
    pub word_dropout: f64,
    /// ... of leaving out an affix.
    pub affix_dropout: f64,
    /// With an encoder: how many of its layers are computed.
    pub encoder_layers: usize,
    /// ... the layers whose vectors are looked at, numbered from 1; empty for three of those that are computed: the last, and
    /// two before it, a quarter of the layers apart.
    pub encoder_outputs: Vec<usize>,
    /// ... numbers that stand for a word in its vectors.
    pub encoder_size: usize,
    /// ... the probability of leaving out a number of its vectors while learning.
    pub encoder_dropout: f64,
    /// ... are its layers learnt, too? The vectors of word pieces are not.
    pub fine_tune: bool,
    /// ... from when on, if they are: the share of the training that goes before.
    pub fine_tune_from: f64,
    /// ... the probability of leaving out a number of what each half of a layer computes, if they are.
    pub encoder_layer_dropout: f64,
    /// ... the learning rate of its layers at its highest, if they are.
    pub encoder_rate: f32,
    /// The loss of a state.
    pub loss: LossKind,
    /// About how many words a minibatch has.
    pub batch_words: usize,
    /// Parts of a minibatch, which threads share. It changes the order in which gradients are added, and so the model a
    /// little; the number of threads does not.
    pub shards: usize,
    /// The learning rate at its highest; it rises for a fiftieth of the training and then falls to a fiftieth.
    pub learning_rate: f32,
    /// Adam's memory of gradients.
    pub beta_1: f32,
    /// Adam's memory of their squares.
    pub beta_2: f32,
    /// Gradients that are longer together are shortened to this.
    pub clip: f32,
    /// How much of the average of the weights is left after a step.
    pub average: f32,
}

impl Default for NeuralConfig {
    fn default() -> Self {
        NeuralConfig {
            word_size: 100,
            affixes: true,
            affix_size: 32,
            affix_rows: 2000,
            char_size: 0,
            char_units: 50,
            input_size: 160,
            units: 160,
            layers: 2,
            hidden: 160,
            kind_hidden: 0,
            places: String::new(),
            tags: false,
            tag_weight: 0.5,
            dropout: 0.3,
            hidden_dropout: 0.0,
            word_dropout: 0.125,
            affix_dropout: 0.1,
            encoder_layers: 4,
            encoder_outputs: Vec::new(),
            encoder_size: 200,
            encoder_dropout: 0.2,
            fine_tune: false,
            fine_tune_from: 0.3,
            encoder_layer_dropout: 0.1,
            encoder_rate: 1.5e-4,
            loss: LossKind::Log,
            batch_words: 800,
            shards: 2,
            learning_rate: 2e-3,
            beta_1: 0.9,
            beta_2: 0.95,
            clip: 5.0,
            average: 0.998,
        }
    }
}

impl NeuralConfig {
    /// Are these the settings that go without saying?
    pub(super) fn is_default(&self) -> bool {
        *self == NeuralConfig::default()
    }

    /// The layers of the encoder whose vectors are looked at.
    pub fn encoder_outputs(&self) -> Vec<usize> {
        match &self.encoder_outputs[..] {
            [] => {
                let (n, step) = (self.encoder_layers, (self.encoder_layers / 4).max(1));
                (0..3).rev().map(|back| n.saturating_sub(back * step)).filter(|layer| *layer > 0).collect()
            }
            outputs => outputs.to_vec(),
        }
    }

    /// Do the settings make sense?
    ///
    /// # Errors
    /// With the name of the setting that does not.
    pub fn check(&self) -> Result<()> {
        let section = Section("neural");
        section.sizes(settings!(
            self.word_size,
            self.affix_size,
            self.affix_rows,
            self.char_units,
            self.input_size,
            self.units,
            self.hidden,
            self.encoder_size,
            self.batch_words
        ))?;
        section.sizes_or_0(settings!(self.char_size, self.kind_hidden))?;
        section.counts(settings!(self.layers, self.shards, self.encoder_layers))?;
        section.shares(settings!(
            self.dropout,
            self.hidden_dropout,
            self.word_dropout,
            self.affix_dropout,
            self.encoder_dropout,
            self.encoder_layer_dropout,
            self.fine_tune_from,
            self.beta_1,
            self.beta_2,
            self.average
        ))?;
        let is_layer = |output: &usize| (1..=self.encoder_layers).contains(output);
        section.each(
            &[("encoder_outputs", &self.encoder_outputs)],
            |outputs| outputs.iter().all(is_layer),
            "numbers of layers from 1 to neural.encoder-layers",
        )?;
        section.positive(settings!(self.learning_rate, self.encoder_rate, self.clip))?;
        section.not_negative(settings!(self.tag_weight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_of_encoders_are_a_quarter_apart() {
        let outputs =
            |encoder_layers| NeuralConfig { encoder_layers, ..NeuralConfig::default() }.encoder_outputs();
        let expected: [&[usize]; 6] = [&[1], &[1, 2], &[2, 3, 4], &[4, 5, 6], &[4, 6, 8], &[6, 9, 12]];
        for (n_layers, expected) in [1, 2, 4, 6, 8, 12].into_iter().zip(expected) {
            assert_eq!(outputs(n_layers), expected);
        }
    }
}
