//! The laws of the stack-LSTM scorer: gradients, states that are left and come back, batches, threads, files, checkpoints.

use std::sync::Arc;

use super::chain::Noise;
use super::model::StackLstmModel;
use super::network::{Network, PackedNetwork, Trees, Weights};
use super::tape::{Query, Side, Tape};
use super::words::{Lexicon, Reader};
use crate::config::{Composition, LossKind, OptimiserKind, StackLstmConfig, TrainConfig};
use crate::forest::{Forest, View};
use crate::ids::TokenIdx;
use crate::registry::SystemTag;
use crate::rng::Rng;
use crate::score::laws::{self, Fixture, Walk, Walks, vectors};
use crate::score::neural::any_network::AnyNetwork;
use crate::score::neural::gradients::check_some;
use crate::score::neural::kernel::tests::random;
use crate::score::neural::words::Vectors;
use crate::score::{Rows, ScorerModel, Views};
use crate::sentence::Sentence;

/// Small sizes, none of them a multiple of what kernels do at once.
fn small() -> StackLstmConfig {
    StackLstmConfig {
        word_size: 5,
        tag_size: 3,
        action_size: 4,
        input_size: 9,
        units: 6,
        hidden: 7,
        batch_words: 60,
        shards: 2,
        ..StackLstmConfig::default()
    }
}

fn network(
    settings: &StackLstmConfig,
    sentences: &[&Sentence],
    system: SystemTag,
    n_actions: usize,
) -> Network {
    let reader = Reader::new(Lexicon::of(sentences), Vectors::of(&vectors()));
    Network::new(settings, reader, Trees::of(&system.info()), n_actions)
}

fn config(system: SystemTag) -> TrainConfig {
    TrainConfig { stack_lstm: small(), ..laws::config(system, "stack-lstm") }
}

/// Scores random derivations; with gradients of scores, gives those of all weights.
fn run(
    weights: Weights<'_>,
    sentences: &[&Sentence],
    walks: &[Walk],
    by: Option<(&[f32], &mut [f32])>,
) -> Vec<f32> {
    let mut rng = Rng::new(12);
    let mut noise = Noise { p: weights.network.config.dropout, rng: &mut rng };
    let (mut tape, mut sides) = (Tape::new(true), vec![Side::default(); sentences.len()]);
    tape.start(weights, Some(&mut noise));
    let numbers: Vec<usize> = (0..sentences.len()).collect();
    tape.open(weights, sentences, &mut sides, &numbers, Some(&mut noise));
    let n_actions = weights.network.n_actions;
    let mut scores = Vec::new();
    // In lockstep, two states at a time.
    let longest = walks.iter().map(|(_, views)| views.len()).max().unwrap_or(0);
    for start in (0..longest).step_by(2) {
        let views = |views: &'_ [View]| (start.min(views.len()), (start + 2).min(views.len()));
        let queries: Vec<Query<'_>> = walks
            .iter()
            .enumerate()
            .map(|(side, (forest, of_walk))| {
                let (from, to) = views(of_walk);
                Query { side, forest, views: &of_walk[from..to] }
            })
            .collect();
        let n: usize = queries.iter().map(|query| query.views.len()).sum();
        let at = scores.len();
        scores.resize(at + n * n_actions, 0.0);
        tape.score(weights, &queries, &mut sides, Some(&mut noise), &mut scores[at..], n_actions);
    }
    if let Some((wanted, gradients)) = by {
        wanted.chunks(n_actions).for_each(|row| tape.push_gradients(row));
        tape.back(weights, gradients);
        gradients[..weights.network.n_embedded].fill(0.0);
        tape.add_embedded(weights.network, gradients);
    }
    scores
}

#[track_caller]
fn check_gradients(system: SystemTag, composition: Composition, dropout: f64) {
    let sentences = [
        Sentence::from_tagged([("The", "D"), ("cat", "N"), ("sat", "V"), ("down", "P")]),
        Sentence::from_tagged([("the", "D"), ("cat", "N"), ("sat", "V")]),
    ];
    let sentences: Vec<&Sentence> = sentences.iter().collect();
    let settings = StackLstmConfig {
        word_size: 2,
        tag_size: 1,
        action_size: 2,
        input_size: 4,
        units: 3,
        hidden: 4,
        composition,
        dropout,
        singleton_dropout: 0.0,
        ..small()
    };
    let (kind_ends, mut walk) = system.visit(Walks);
    let n_actions = kind_ends[kind_ends.len() - 1];
    let walks: Vec<Walk> = sentences.iter().map(|sentence| walk(sentence)).collect();
    let network = network(&settings, &sentences, system, n_actions);
    let mut all = network.start(&mut Rng::new(3));
    // Far from where ReLU bends, with values on both sides: each unit is above 0 in every state, or below.
    for linear in [network.input, network.join, network.state] {
        linear.weights.of_mut(&mut all).iter_mut().for_each(|weight| *weight *= 0.3);
        let signs = [2.0, 2.5, -2.5, 3.0].into_iter().cycle();
        linear.bias.of_mut(&mut all).iter_mut().zip(signs).for_each(|(bias, sign)| *bias = sign);
    }
    let n_states: usize = walks.iter().map(|(_, views)| views.len()).sum();
    let wanted = random(&mut Rng::new(4), n_states * n_actions);
    let loss = |all: &[f32], gradients: Option<&mut [f32]>| -> f64 {
        let mut packed = PackedNetwork::default();
        network.pack(all, true, &mut packed);
        let weights = Weights { network: &network, packed: &packed, all };
        let scores = run(weights, &sentences, &walks, gradients.map(|gradients| (&*wanted, gradients)));
        scores.iter().zip(&wanted).map(|(score, by)| f64::from(*score) * f64::from(*by)).sum()
    };
    let mut gradients = vec![9.0; all.len()];
    loss(&all, Some(&mut gradients));
    for named in network.arrays.named.iter().filter(|named| named.array.len() > 0) {
        let has_gradient = named.array.of(&gradients).iter().any(|gradient| *gradient != 0.0);
        assert!(has_gradient, "{system}, {composition:?}: {} has no gradient", named.name);
    }
    let used: Vec<usize> = (0..all.len()).filter(|&i| gradients[i] != 0.0 || i % 5 == 0).collect();
    check_some(&all, &gradients, &used, |all| loss(all, None));
}

#[test]
fn gradients_of_the_whole_network_are_those_of_finite_differences() {
    for dropout in [0.0, 0.25] {
        check_gradients(SystemTag::InOrder, Composition::Lstm, dropout);
        check_gradients(SystemTag::TopDown, Composition::Max, dropout);
        check_gradients(SystemTag::SrGap, Composition::Lstm, dropout);
        check_gradients(SystemTag::ArcHybridSwap, Composition::Lstm, dropout);
    }
}

/// A state that is left and comes back is the same; so is one that is made again in another cell.
#[test]
fn a_popped_and_repushed_item_gives_identical_scores() {
    let sentence = Sentence::from_tagged([("The", "D"), ("cat", "N"), ("sat", "V")]);
    let network = network(&small(), &[&sentence], SystemTag::InOrder, 11);
    let all = network.start(&mut Rng::new(8));
    let mut scorer = StackLstmModel::new(Arc::new(network), &all, &[]).scorer();
    let slot = scorer.open_one(&sentence);
    let mut forest = Forest::new();
    forest.start(3, false);
    let [zero, one] = [0, 1].map(|i| forest.leaf(TokenIdx::new(i)));
    let bottom = forest.push_cell(zero, None);
    let pushed = forest.push_cell(one, Some(bottom));
    let view = |stack| View {
        stack: Some(stack),
        deque_top: None,
        deque: None,
        n_deque: 0,
        buffer: None,
        next: TokenIdx::new(2),
        past: None,
    };
    let mut rows = |forest: &Forest, view: View| {
        let mut rows = Rows::default();
        scorer.score(&[Views { slot, forest, views: &[view] }], &mut rows);
        rows.row(0).to_vec()
    };
    let (first, below) = (rows(&forest, view(pushed)), rows(&forest, view(bottom)));
    assert_ne!(first, below);
    let again = forest.push_cell(one, Some(bottom));
    assert_eq!(rows(&forest, view(again)), first);
    assert_eq!(rows(&forest, view(bottom)), below);
    assert_eq!(rows(&forest, view(pushed)), first);
}

struct StackLstm;

impl Fixture for StackLstm {
    fn config(system: SystemTag) -> TrainConfig {
        let mut config = config(system);
        // Each system with other settings.
        let number = SystemTag::ALL.iter().position(|tag| *tag == system).unwrap_or(0);
        config.stack_lstm.tags = number % 2 == 0;
        config.stack_lstm.composition = if number % 3 == 0 { Composition::Max } else { Composition::Lstm };
        config
    }

    fn learning() -> Vec<(TrainConfig, f64)> {
        let config = |optimiser, loss, learning_rate, batch_words| {
            let mut config = config(SystemTag::InOrder);
            config.stack_lstm = StackLstmConfig {
                optimiser,
                loss,
                learning_rate,
                batch_words,
                input_size: 20,
                units: 20,
                dropout: 0.0,
                ..config.stack_lstm
            };
            (TrainConfig { explore: 0.1, epochs: 8, ..config }, 0.8)
        };
        vec![
            config(OptimiserKind::Adam, LossKind::Log, 1e-2, 60),
            // One sentence at a time, as in the papers.
            config(OptimiserKind::Sgd, LossKind::Best, 0.1, 1),
        ]
    }

    fn set_steps(config: &mut TrainConfig, batch_words: usize, learning_rate: f32) {
        (config.stack_lstm.batch_words, config.stack_lstm.learning_rate) = (batch_words, learning_rate);
    }

    fn untrained(sentences: &[&Sentence], system: SystemTag, kind_ends: &[usize]) -> Arc<dyn ScorerModel> {
        let network = network(&small(), sentences, system, kind_ends[kind_ends.len() - 1]);
        let all = network.start(&mut Rng::new(8));
        Arc::new(StackLstmModel::new(Arc::new(network), &all, &[]))
    }
}

laws::suite!(StackLstm);
