//! What networks have in common: numbers in arrays, which are packed for products, and a model that keeps them as a file.

use std::fmt::Debug;
use std::sync::Arc;

use super::file::{self, Extra, Numbers, Precision};
use super::layers::Arrays;
use super::words::Vectors;
use crate::config::EncoderFiles;
use crate::error::Result;
use crate::map::WordSource;
use crate::rng::Rng;
use crate::score::{Scorer, ScorerModel, Shared, StoredScorer};

/// A network without its numbers: sizes, and where each array lies among all numbers.
pub(in crate::score) trait AnyNetwork: Clone + Debug + Send + Sync + 'static {
    /// Weights, packed for products.
    type Packed: Clone + Debug + Default + Send + Sync;

    /// Where all numbers lie, and the word vectors, which are not learnt.
    fn stored(&self) -> (&Arrays, &Vectors);

    /// Sets the numbers that do not begin at 0, at random.
    fn set_start(&self, all: &mut [f32], rng: &mut Rng);

    fn arrays(&self) -> &Arrays {
        self.stored().0
    }

    /// Random numbers to begin with.
    fn start(&self, rng: &mut Rng) -> Vec<f32> {
        let mut all = vec![0.0; self.arrays().n_numbers];
        self.set_start(&mut all, rng);
        all
    }

    /// Packs all numbers; those of a network that `learns` for the way back, too.
    fn pack(&self, all: &[f32], learns: bool, out: &mut Self::Packed);

    /// Keeps packed weights in 8 bits, for parsing alone.
    fn shrink(&self, _all: &[f32], _out: &mut Self::Packed) {}
}

/// A network with all it needs to compute.
#[derive(Debug)]
pub(in crate::score) struct Weights<'a, N: AnyNetwork> {
    pub network: &'a N,
    pub packed: &'a N::Packed,
    /// All numbers.
    pub all: &'a [f32],
}

impl<N: AnyNetwork> Clone for Weights<'_, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N: AnyNetwork> Copy for Weights<'_, N> {}

/// A network that can parse.
pub(in crate::score) trait ParsingNetwork: AnyNetwork {
    /// The name of its kind of scorer, which is that of its section of the settings.
    const KIND: &'static str;

    /// What the model file says beside the numbers.
    fn header(&self) -> serde_json::Value;

    /// The model that a file keeps.
    fn load(stored: StoredScorer, shared: Shared) -> Result<NetworkModel<Self>>;

    fn scorer(model: NetworkModel<Self>) -> Box<dyn Scorer>;

    /// Does it look at the tags of words?
    fn looks_at_tags(&self) -> bool {
        true
    }

    /// The files of its encoder, if it has one; `words` is the file of the model.
    fn encoder(&self, _words: &[u32]) -> Option<EncoderFiles> {
        None
    }

    /// For a model of 8-bit numbers: the network with what it keeps beside its own numbers in 8 bits, and these arrays for
    /// the file. `words` is the file of the model as it is.
    fn quantised(self: Arc<Self>, _words: &[u32]) -> Option<(Arc<Self>, Vec<Extra>)> {
        Some((self, Vec::new()))
    }
}

/// A network with its numbers.
#[derive(Clone, Debug)]
pub(in crate::score) struct NetworkModel<N: AnyNetwork> {
    pub network: Arc<N>,
    packed: Arc<N::Packed>,
    /// The file.
    words: Arc<dyn WordSource>,
    numbers: Arc<Numbers>,
}

impl<N: AnyNetwork> NetworkModel<N> {
    /// A model with all numbers of a network, and further arrays for its file.
    pub(in crate::score) fn new(network: Arc<N>, all: &[f32], extra: &[Extra]) -> Self {
        Self::stored(network, all, extra, Precision::Whole)
    }

    /// A model as it is when it comes back from a file.
    fn stored(network: Arc<N>, all: &[f32], extra: &[Extra], precision: Precision) -> Self {
        let (arrays, vectors) = network.stored();
        let words = file::write(arrays, all, vectors, extra, precision);
        let read = file::read_written(&words, arrays, extra);
        let (numbers, ..) = read.expect("what was just written can be read");
        Self::of_file(network, Arc::new(words), numbers)
    }

    /// A model whose numbers were read from a file.
    pub(in crate::score) fn of_file(network: Arc<N>, words: Arc<dyn WordSource>, numbers: Numbers) -> Self {
        let (packed, numbers) = (Arc::default(), Arc::new(numbers));
        let mut model = NetworkModel { network, packed, words, numbers };
        let mut packed = N::Packed::default();
        model.network.pack(model.numbers(), false, &mut packed);
        if let Numbers::Owned(all) = &*model.numbers {
            model.network.shrink(all, &mut packed);
        }
        model.packed = Arc::new(packed);
        model
    }

    /// All numbers.
    pub(in crate::score) fn numbers(&self) -> &[f32] {
        match &*self.numbers {
            Numbers::Owned(all) => all,
            Numbers::InFile(start) => {
                bytemuck::cast_slice(&self.words.words()[*start..*start + self.network.arrays().n_numbers])
            }
        }
    }

    pub(in crate::score) fn weights(&self) -> Weights<'_, N> {
        Weights { network: &self.network, packed: &self.packed, all: self.numbers() }
    }
}

impl<N: ParsingNetwork> ScorerModel for NetworkModel<N> {
    fn kind(&self) -> &'static str {
        N::KIND
    }

    fn scorer(&self) -> Box<dyn Scorer> {
        N::scorer(self.clone())
    }

    fn header(&self) -> serde_json::Value {
        self.network.header()
    }

    fn words(&self) -> &[u32] {
        self.words.words()
    }

    fn n_features(&self) -> usize {
        self.network.arrays().n_numbers
    }

    fn looks_at_tags(&self) -> bool {
        self.network.looks_at_tags()
    }

    fn encoder(&self) -> Option<EncoderFiles> {
        self.network.encoder(self.words.words())
    }

    fn quantized(&self) -> Option<Arc<dyn ScorerModel>> {
        let Numbers::InFile(_) = &*self.numbers else { return None };
        let (network, extra) = self.network.clone().quantised(self.words.words())?;
        Some(Arc::new(Self::stored(network, self.numbers(), &extra, Precision::EightBits)))
    }
}
