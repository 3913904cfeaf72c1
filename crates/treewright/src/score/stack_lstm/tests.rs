//! The laws of the stack-LSTM scorer: gradients, states that are left and come back, batches, threads, files, checkpoints.

use std::sync::Arc;

use super::chain::Noise;
use super::model::StackLstmModel;
use super::network::{Network, PackedNetwork, Trees, Weights};
use super::tape::{Query, Side, Tape};
use super::words::{Lexicon, Reader};
use crate::config::{Composition, LossKind, OptimiserKind, StackLstmConfig, TrainConfig, Update};
use crate::error::{Error, Result};
use crate::forest::{Forest, View};
use crate::ids::{ActionId, TokenIdx};
use crate::model::{Model, Parser};
use crate::registry::{Registered, SystemTag, SystemVisitor};
use crate::rng::Rng;
use crate::score::neural::any_network::AnyNetwork;
use crate::score::neural::gradients::check;
use crate::score::neural::kernel::tests::random;
use crate::score::neural::words::Vectors;
use crate::score::{Rows, ScorerModel, Views};
use crate::sentence::Sentence;
use crate::system::{ActionSet, SystemOptions};
use crate::train::{Checkpoint, EpochReport, Log, train};
use crate::tree::{ParserTree, Preparer, TreeKind};
use crate::treebank::{self, Entry, Format, ReadOptions};
use crate::word_classes::WordVectors;

/// The beginning of a sample in the repository that a system can learn from.
fn data(system: SystemTag, n: usize) -> Vec<Entry> {
    let info = system.info();
    let (name, format) = match (info.kind, info.is_crossing) {
        (TreeKind::Dependencies, _) => ("ud_english_ewt.conllu", Format::Conllu),
        (TreeKind::Constituents, false) => ("gum.mrg", Format::Ptb),
        (TreeKind::Constituents, true) => ("greek_nt.discbracket", Format::Discbracket),
    };
    let path = format!("{}/../../data/{name}", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::File::open(path).expect("the sample");
    let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
    let opened = treebank::open(file, &options).expect("a format");
    opened.reader.map(|entry| entry.expect("a tree")).take(n).collect()
}

fn vectors() -> Arc<WordVectors> {
    let text = "the 1 0 0\na 0.9 0.1 0\ncat 0 1 0\nof 0 0 -1\n";
    Arc::new(WordVectors::read(text.as_bytes(), 1).expect("four vectors"))
}

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

fn config(system: SystemTag) -> TrainConfig {
    TrainConfig {
        system,
        scorer: "stack-lstm".to_owned(),
        update: Update::Local,
        beam: 1,
        epochs: 3,
        explore_after: 1,
        stack_lstm: small(),
        vectors: vectors(),
        ..TrainConfig::default()
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

/// A random derivation: its forest and what is seen of each of its states that is not final.
type Walk = (Forest, Vec<View>);

/// A system for some trees, and random derivations of other sentences.
struct Walks;

impl SystemVisitor for Walks {
    type Output = (usize, Box<dyn FnMut(&Sentence) -> Walk>);

    fn visit<S: Registered>(self) -> Self::Output {
        let preparer = Preparer::new(&TrainConfig::default().preparation(), S::UNARIES).expect("rules");
        let trees: Vec<S::Tree> = data(S::TAG, 3)
            .iter()
            .filter_map(|entry| S::Tree::prepare(entry.tree.as_ref()?, &entry.sentence, &preparer).ok())
            .collect();
        let system = S::from_trees(trees.iter(), &SystemOptions::default());
        let (mut rng, mut legal) = (Rng::new(9), ActionSet::default());
        let n_actions = system.n_actions();
        let walk = move |sentence: &Sentence| {
            let mut forest = Forest::new();
            let mut state = system.start(&mut forest, sentence);
            let mut views = Vec::new();
            while !system.is_final(&forest, &state) {
                views.push(system.view(&state));
                system.legal(&forest, &state, &mut legal);
                let action: ActionId = legal.iter().nth(rng.below(legal.len())).expect("a legal action");
                state = system.apply(&mut forest, &state, action);
            }
            (forest, views)
        };
        (n_actions, Box::new(walk))
    }
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
    let (n_actions, mut walk) = system.visit(Walks);
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
    let at: Vec<f32> = used.iter().map(|&i| all[i]).collect();
    let expected: Vec<f32> = used.iter().map(|&i| gradients[i]).collect();
    check(&at, &expected, 2e-3, |moved| {
        let mut all = all.clone();
        used.iter().zip(moved).for_each(|(&i, &value)| all[i] = value);
        loss(&all, None)
    });
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

#[test]
fn scores_have_the_same_bits_in_every_batch() {
    for &system in SystemTag::ALL {
        let data = data(system, 8);
        let sentences: Vec<&Sentence> =
            data.iter().map(|entry| &entry.sentence).filter(|sentence| sentence.len() < 30).collect();
        let (n_actions, mut walk) = system.visit(Walks);
        let walks: Vec<Walk> = sentences.iter().map(|sentence| walk(sentence)).collect();
        let network = network(&small(), &sentences, system, n_actions);
        let all = network.start(&mut Rng::new(8));
        let model = StackLstmModel::new(Arc::new(network), &all, &[]);
        let (mut together, mut alone) = (model.scorer(), model.scorer());
        let mut slots = Vec::new();
        together.open(&sentences, &mut slots);
        let (mut rows, mut row, mut n) = (Rows::default(), Rows::default(), 0);
        // Everything in one call, from the last state to the first, against state by state.
        let views: Vec<Vec<View>> =
            walks.iter().map(|(_, views)| views.iter().rev().copied().collect()).collect();
        let queries: Vec<Views<'_>> = (0..sentences.len())
            .map(|i| Views { slot: slots[i], forest: &walks[i].0, views: &views[i] })
            .collect();
        together.score(&queries, &mut rows);
        for (sentence, (forest, views)) in sentences.iter().zip(&walks) {
            let slot = alone.open_one(sentence);
            for (i, view) in views.iter().enumerate() {
                alone.score(&[Views { slot, forest, views: &[*view] }], &mut row);
                assert_eq!(row.row(0), rows.row(n + views.len() - 1 - i), "{system}");
            }
            n += views.len();
            alone.close(slot);
        }
    }
}

#[derive(Default)]
struct Kept {
    reports: Vec<EpochReport>,
    checkpoints: Vec<Checkpoint>,
    stopped: Option<Error>,
}

impl Log for Kept {
    fn epoch(&mut self, report: &EpochReport) {
        self.reports.push(report.clone());
    }

    fn stopped(&mut self, why: &Error) {
        self.stopped = Some(why.clone());
    }

    fn checkpoint(&mut self, make: &dyn Fn() -> Result<Checkpoint>) -> Result<()> {
        self.checkpoints.push(make()?);
        Ok(())
    }
}

fn bytes(model: &Model) -> Vec<u8> {
    let mut bytes = Vec::new();
    model.save(&mut bytes).expect("memory");
    bytes
}

#[test]
fn it_learns_and_neither_threads_nor_interruptions_change_what() {
    let data = data(SystemTag::InOrder, 30);
    for (optimiser, loss) in [(OptimiserKind::Adam, LossKind::Log), (OptimiserKind::Sgd, LossKind::Best)] {
        let mut config = config(SystemTag::InOrder);
        config.stack_lstm.optimiser = optimiser;
        config.stack_lstm.loss = loss;
        // By gradient descent one sentence at a time, as in the papers.
        (config.stack_lstm.learning_rate, config.stack_lstm.batch_words) =
            if optimiser == OptimiserKind::Adam { (1e-2, 60) } else { (0.1, 1) };
        config.stack_lstm.input_size = 20;
        config.stack_lstm.units = 20;
        config.stack_lstm.dropout = 0.0;
        config.explore = 0.1;
        config.epochs = 8;
        let mut log = Kept::default();
        let model = train(&config, &data, &data, None, &mut log).expect("a model");
        let share = |i: usize| log.reports[i].errors as f64 / log.reports[i].of as f64;
        assert!(share(7) < 0.8 * share(0), "{optimiser:?}: {} then {}", share(0), share(7));
        let threads = TrainConfig { jobs: 3, ..config.clone() };
        assert_eq!(bytes(&train(&threads, &data, &data, None, &mut ()).expect("a model")), bytes(&model));
        let half = Checkpoint::from_bytes(&log.checkpoints[3].to_bytes()).expect("a checkpoint");
        let resumed = train(&config, &data, &data, Some(&half), &mut ()).expect("a model");
        assert_eq!(bytes(&resumed), bytes(&model));
    }
}

/// Every system trains, saves, loads, and parses the same one by one as many at once.
#[test]
fn every_system_goes_through_every_door() {
    for (i, &system) in SystemTag::ALL.iter().enumerate() {
        let data = data(system, 15);
        let mut config = config(system);
        config.epochs = 2;
        config.stack_lstm.tags = i % 2 == 0;
        config.stack_lstm.composition = if i % 3 == 0 { Composition::Max } else { Composition::Lstm };
        let model =
            train(&config, &data, &data, None, &mut ()).unwrap_or_else(|error| panic!("{system}: {error}"));
        let read = Model::from_bytes(&bytes(&model)).expect("what was written");
        assert_eq!(bytes(&read), bytes(&model));
        let (mut one, mut other) = (Parser::new(model).worker(), Parser::new(read).worker());
        let sentences: Vec<&Sentence> = data.iter().map(|entry| &entry.sentence).collect();
        let alone: Vec<_> = sentences.iter().map(|sentence| one.parse(sentence)).collect();
        assert!(alone.iter().zip(&sentences).all(|(tree, sentence)| tree.is_some() != sentence.is_empty()));
        assert_eq!(other.parse_all(&sentences), alone, "{system}");
        let with_gap = [sentences[0], &Sentence::default(), sentences[1]];
        assert_eq!(other.parse_all(&with_gap), [alone[0].clone(), None, alone[1].clone()]);
    }
}
