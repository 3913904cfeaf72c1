//! The parameters of the network: embeddings, the LSTMs over stack, buffer and history, composition, and the way from their
//! states to the scores of actions.

use serde::{Deserialize, Serialize};

use super::chain::{Lstm, PackedLstm};
use super::words::Reader;
use crate::config::{Composition, StackLstmConfig};
use crate::forest::Kind;
use crate::ids::LabelId;
use crate::registry::SystemInfo;
use crate::rng::Rng;
use crate::score::neural::any_network::{self, AnyNetwork};
use crate::score::neural::layers::{Array, Arrays, Linear, PackedLinear, uniform};
use crate::score::neural::words::Vectors;
use crate::tree::TreeKind;

/// What the network has to know about the trees of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Trees {
    /// Constituents of any number of children.
    Constituents,
    /// Binary constituents, whose systems have a deque, or at least a d0.
    Binary,
    /// Dependencies; the buffer ends in the root.
    Dependencies,
}

impl Trees {
    pub(super) fn of(info: &SystemInfo) -> Self {
        match (info.kind, info.is_binary) {
            (TreeKind::Dependencies, _) => Trees::Dependencies,
            (TreeKind::Constituents, true) => Trees::Binary,
            (TreeKind::Constituents, false) => Trees::Constituents,
        }
    }
}

/// Symbols: vectors that are looked up. First these, then labels.
pub(super) const GUARD: usize = 0;
pub(super) const ROOT: usize = 1;
const N_BEFORE_LABELS: usize = 2;
/// With more labels some share a vector.
const MAX_LABELS: usize = 512;

/// A network without its numbers: sizes, and where each array lies among all numbers.
#[derive(Clone, Debug)]
pub(super) struct Network {
    pub config: StackLstmConfig,
    pub reader: Reader,
    pub trees: Trees,
    pub n_actions: usize,
    pub arrays: Arrays,
    /// The embeddings of words and tags come first; of these a minibatch touches few.
    pub n_embedded: usize,
    pub words: Array,
    pub tags: Array,
    /// Vectors of openings, labels, the root, and of what is below everything.
    pub symbols: Array,
    /// The last is what is before the first action.
    pub actions: Array,
    pub input: Linear,
    pub chains: [Lstm; N_CHAINS],
    pub join: Linear,
    pub state: Linear,
    pub output: Linear,
    n_labels: usize,
}

/// The LSTMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chain {
    Stack,
    Buffer,
    History,
    /// Over the children of a constituent, from left to right.
    Forward,
    /// The same from right to left.
    Backward,
}

pub(super) const N_CHAINS: usize = 5;

impl Chain {
    pub(super) const ALL: [Chain; N_CHAINS] =
        [Chain::Stack, Chain::Buffer, Chain::History, Chain::Forward, Chain::Backward];

    fn name(self) -> &'static str {
        match self {
            Chain::Stack => "stack",
            Chain::Buffer => "buffer",
            Chain::History => "history",
            Chain::Forward => "forward",
            Chain::Backward => "backward",
        }
    }
}

/// The weights of a network, packed for products.
#[derive(Clone, Debug, Default)]
pub(super) struct PackedNetwork {
    pub input: PackedLinear,
    pub chains: [PackedLstm; N_CHAINS],
    pub join: PackedLinear,
    pub state: PackedLinear,
    pub output: PackedLinear,
}

pub(super) type Weights<'a> = any_network::Weights<'a, Network>;

impl Network {
    pub(super) fn new(config: &StackLstmConfig, reader: Reader, trees: Trees, n_actions: usize) -> Self {
        let config = config.clone();
        let StackLstmConfig { word_size, tag_size, action_size, input_size, units, layers, hidden, .. } =
            config;
        let mut arrays = Arrays::default();
        let words = arrays.add_table("words", reader.lexicon.n_word_rows(), word_size);
        let tag_size = if config.tags { tag_size } else { 0 };
        let tags = arrays.add_table("tags", reader.lexicon.n_tag_rows(), tag_size);
        let n_embedded = arrays.n_numbers;
        // A system has at least one action for each label.
        let n_labels = n_actions.clamp(1, MAX_LABELS);
        let symbols = arrays.add_table("symbols", N_BEFORE_LABELS + 3 * n_labels, input_size);
        let actions = arrays.add_table("actions", n_actions + 1, action_size);
        let n_word = word_size + tag_size + reader.vectors.width;
        let input = Linear::new(&mut arrays, "input", n_word, input_size);
        let composes_by_lstm = trees != Trees::Dependencies && config.composition == Composition::Lstm;
        let chains = Chain::ALL.map(|chain| {
            let (n_in, n_units, n_layers) = match chain {
                Chain::Stack | Chain::Buffer => (input_size, units, layers),
                Chain::History => (action_size, units, layers),
                Chain::Forward | Chain::Backward => (input_size, input_size, usize::from(composes_by_lstm)),
            };
            Lstm::new(&mut arrays, chain.name(), n_in, n_units, n_layers)
        });
        let n_joined = if trees == Trees::Dependencies { 3 } else { 2 };
        let join = Linear::new(&mut arrays, "join", n_joined * input_size, input_size);
        let n_state = 3 * units + if trees == Trees::Binary { units + input_size } else { 0 };
        let state = Linear::new(&mut arrays, "state", n_state, hidden);
        let output = Linear::new(&mut arrays, "output", hidden, n_actions);
        Network {
            config,
            reader,
            trees,
            n_actions,
            arrays,
            n_embedded,
            words,
            tags,
            symbols,
            actions,
            input,
            chains,
            join,
            state,
            output,
            n_labels,
        }
    }

    pub(super) fn n_symbols(&self) -> usize {
        self.symbols.n_rows
    }

    /// The symbol of a label: of an opening, of a temporary symbol, or of a constituent or dependent.
    pub(super) fn symbol(&self, kind: Kind, label: Option<LabelId>) -> usize {
        let of_kind = match kind {
            Kind::Word | Kind::Root | Kind::Constituent => 0,
            Kind::Temporary => 1,
            Kind::Opening => 2,
        };
        label.map_or(GUARD, |label| N_BEFORE_LABELS + label.index() % self.n_labels * 3 + of_kind)
    }

    /// Are constituents composed by LSTMs?
    pub(super) fn composes_by_lstm(&self) -> bool {
        self.trees != Trees::Dependencies && self.config.composition == Composition::Lstm
    }

    /// Does a configuration have a deque?
    pub(super) fn has_deque(&self) -> bool {
        self.trees == Trees::Binary
    }
}

impl AnyNetwork for Network {
    type Packed = PackedNetwork;

    fn stored(&self) -> (&Arrays, &Vectors) {
        (&self.arrays, &self.reader.vectors)
    }

    fn set_start(&self, all: &mut [f32], rng: &mut Rng) {
        for array in [self.words, self.tags, self.symbols, self.actions] {
            uniform(array.of_mut(all), 0.5, rng);
        }
        self.chains.iter().for_each(|chain| chain.start(all, rng));
        [self.input, self.join, self.state, self.output].iter().for_each(|layer| layer.start(all, rng));
    }

    fn pack(&self, all: &[f32], learns: bool, out: &mut PackedNetwork) {
        out.input.set(self.input, all, learns);
        self.chains.iter().zip(&mut out.chains).for_each(|(chain, out)| chain.pack(all, learns, out));
        out.join.set(self.join, all, learns);
        out.state.set(self.state, all, learns);
        out.output.set(self.output, all, learns);
    }
}
