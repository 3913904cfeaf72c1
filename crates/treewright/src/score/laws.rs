//! What scorers that learn must obey. Tests only.
//!
//! [`suite`] makes a test of each law for networks, which learn from minibatches.

use std::sync::Arc;

use super::{Rows, ScorerModel, Views};
use crate::config::{TrainConfig, Update};
use crate::error::{Code, Error, Result};
use crate::forest::{Forest, View};
use crate::model::{Model, Parser};
use crate::registry::{Registered, SystemTag, SystemVisitor};
use crate::rng::Rng;
use crate::sentence::Sentence;
use crate::system::{ActionSet, SystemOptions};
use crate::train::{Checkpoint, EpochReport, Log, train};
use crate::tree::{ParserTree, Preparer, TreeKind};
use crate::treebank::{self, Entry, Format, InputFormat, ReadOptions};
use crate::word_classes::WordVectors;

macro_rules! suite {
    ($fixture:ty) => {
        $crate::laws::suite! {
            it_learns_and_neither_threads_nor_interruptions_change_what =>
                $crate::score::laws::networks_learn::<$fixture>;
            every_system_goes_through_every_door => $crate::score::laws::every_system::<$fixture>;
            scores_have_the_same_bits_in_every_batch => $crate::score::laws::batches_change_no_bit::<$fixture>;
            divergence_is_reported_and_leaves_the_last_good_model =>
                $crate::score::laws::divergence_is_reported::<$fixture>;
            global_training_is_refused => $crate::score::laws::global_training_is_refused::<$fixture>;
        }
    };
}
pub(super) use suite;

/// A kind of network with settings for small examples.
pub(super) trait Fixture {
    /// Settings that train in no time.
    fn config(system: SystemTag) -> TrainConfig;

    /// Settings that learn something in a few epochs, each with the share of the errors of the first epoch that is left
    /// at most in the last.
    fn learning() -> Vec<(TrainConfig, f64)>;

    /// Sets how long a minibatch is and how fast the network learns.
    fn set_steps(config: &mut TrainConfig, batch_words: usize, learning_rate: f32);

    /// A network that has learnt nothing yet, for the actions of a system.
    fn untrained(sentences: &[&Sentence], system: SystemTag, kind_ends: &[usize]) -> Arc<dyn ScorerModel>;
}

/// The beginning of a sample in the repository that a system can learn from.
pub(super) fn data(system: SystemTag, n: usize) -> Vec<Entry> {
    let info = system.info();
    let (name, format) = match (info.kind, info.is_crossing) {
        (TreeKind::Dependencies, _) => ("ud_english_ewt.conllu", Format::Conllu),
        (TreeKind::Constituents, false) => ("gum.mrg", Format::Ptb),
        (TreeKind::Constituents, true) => ("greek_nt.discbracket", Format::Discbracket),
    };
    let path = format!("{}/../../data/{name}", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::File::open(path).expect("the sample");
    let options = ReadOptions { format: InputFormat::Given(format), ..ReadOptions::default() };
    let opened = treebank::open(file, &options).expect("a format");
    opened.reader.map(|entry| entry.expect("a tree")).take(n).collect()
}

pub(super) fn vectors() -> Arc<WordVectors> {
    let text = "the 1 0 0\na 0.9 0.1 0\ncat 0 1 0\nof 0 0 -1\n";
    Arc::new(WordVectors::read(text.as_bytes(), 1).expect("four vectors"))
}

/// The settings that all networks share.
pub(super) fn config(system: SystemTag, scorer: &str) -> TrainConfig {
    TrainConfig {
        system,
        scorer: scorer.to_owned(),
        update: Update::Local,
        beam: 1,
        epochs: 3,
        explore_after: 1,
        vectors: vectors(),
        ..TrainConfig::default()
    }
}

/// A random derivation: its forest, and what is seen of each of its states that is not final.
pub(super) type Walk = (Forest, Vec<View>);

/// Where the kinds of action of a system for a few trees end, and random derivations of other sentences.
pub(super) struct Walks;

impl SystemVisitor for Walks {
    type Output = (Vec<usize>, Box<dyn FnMut(&Sentence) -> Walk>);

    fn visit<S: Registered>(self) -> Self::Output {
        let preparer = Preparer::new(&TrainConfig::default().preparation(), S::UNARIES).expect("rules");
        let trees: Vec<S::Tree> = data(S::TAG, 3)
            .iter()
            .filter_map(|entry| S::Tree::prepare(entry.tree.as_ref()?, &entry.sentence, &preparer).ok())
            .collect();
        let system = S::from_trees(trees.iter(), &SystemOptions::default());
        let (mut rng, mut legal) = (Rng::new(9), ActionSet::default());
        let kind_ends = system.actions().kind_ends().to_vec();
        let walk = move |sentence: &Sentence| {
            let mut forest = Forest::new();
            let mut state = system.start(&mut forest, sentence);
            let mut views = Vec::new();
            while !system.is_final(&forest, &state) {
                views.push(system.view(&state));
                system.legal(&forest, &state, &mut legal);
                let action = legal.iter().nth(rng.below(legal.len())).expect("a legal action");
                state = system.apply(&mut forest, &state, action);
            }
            (forest, views)
        };
        (kind_ends, Box::new(walk))
    }
}

/// Records what a training run reports.
#[derive(Default)]
pub(super) struct RecordedLog {
    pub reports: Vec<EpochReport>,
    pub checkpoints: Vec<Checkpoint>,
    pub stopped: Option<Error>,
}

impl Log for RecordedLog {
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

/// Trains; neither threads nor a stop half way change a byte of the model, which is that of the last epoch. Gives the share of wrong steps in each epoch.
#[track_caller]
pub(super) fn learns_the_same_again(config: &TrainConfig, data: &[Entry]) -> Vec<f64> {
    let mut log = RecordedLog::default();
    let model = bytes(&train(config, data, &[], None, &mut log).expect("a model"));
    let threads = TrainConfig { jobs: 3, ..config.clone() };
    assert!(bytes(&train(&threads, data, &[], None, &mut ()).expect("a model")) == model, "threads");
    let half = &log.checkpoints[config.epochs / 2 - 1];
    assert_ne!(*half, log.checkpoints[0], "it learns");
    let half = Checkpoint::from_bytes(&half.to_bytes()).expect("a checkpoint");
    assert!(bytes(&train(config, data, &[], Some(&half), &mut ()).expect("a model")) == model, "a stop");
    log.reports.iter().map(|report| report.errors as f64 / report.of as f64).collect()
}

/// A model that was trained is saved, loaded, and parses the same one by one as many at once.
#[track_caller]
pub(super) fn goes_through_every_door(config: &TrainConfig, data: &[Entry]) {
    let system = config.system;
    let model = train(config, data, data, None, &mut ()).unwrap_or_else(|error| panic!("{system}: {error}"));
    let read = Model::from_bytes(&bytes(&model)).expect("what was written");
    assert!(bytes(&read) == bytes(&model), "{system}");
    let (mut one, mut other) = (Parser::new(model).worker(), Parser::new(read).worker());
    let sentences: Vec<&Sentence> = data.iter().map(|entry| &entry.sentence).collect();
    let alone: Vec<_> = sentences.iter().map(|sentence| one.parse(sentence)).collect();
    assert!(alone.iter().zip(&sentences).all(|(tree, sentence)| tree.is_some() != sentence.is_empty()));
    assert_eq!(other.parse_all(&sentences), alone, "{system}");
    let with_gap = [sentences[0], &Sentence::default(), sentences[1]];
    assert_eq!(other.parse_all(&with_gap), [alone[0].clone(), None, alone[1].clone()]);
}

pub(super) fn networks_learn<F: Fixture>() {
    for (config, most) in F::learning() {
        let shares = learns_the_same_again(&config, &data(config.system, 30));
        assert!(shares[shares.len() - 1] < most * shares[0], "{config:?}: {shares:?}");
    }
}

pub(super) fn every_system<F: Fixture>() {
    for &system in SystemTag::ALL {
        goes_through_every_door(&TrainConfig { epochs: 2, ..F::config(system) }, &data(system, 15));
    }
}

pub(super) fn batches_change_no_bit<F: Fixture>() {
    for &system in SystemTag::ALL {
        let data = data(system, 8);
        let sentences: Vec<&Sentence> =
            data.iter().map(|entry| &entry.sentence).filter(|sentence| sentence.len() < 30).collect();
        let (kind_ends, mut walk) = system.visit(Walks);
        let walks: Vec<Walk> = sentences.iter().map(|sentence| walk(sentence)).collect();
        let model = F::untrained(&sentences, system, &kind_ends);
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

pub(super) fn divergence_is_reported<F: Fixture>() {
    let system = SystemTag::ArcHybrid;
    let (data, mut config) = (data(system, 30), TrainConfig { epochs: 6, ..F::config(system) });
    // One step an epoch: the first is taken from a good start, the second from where it led.
    F::set_steps(&mut config, 1 << 14, 1e35);
    let mut log = RecordedLog::default();
    let model = train(&config, &data, &[], None, &mut log).expect("the model of the first epoch");
    let why = log.stopped.expect("a reason");
    assert!(why.message.contains("diverged") && why.code == Code::BadTraining, "{why}");
    assert!(!log.reports.is_empty() && log.reports.len() < 6);
    assert!(Parser::new(model).worker().parse(&data[0].sentence).is_some());
    // Where there is no good model there is an error.
    F::set_steps(&mut config, 20, 1e35);
    let error = train(&config, &data, &[], None, &mut ()).expect_err("no epoch is finished");
    assert!(error.message.contains("diverged"), "{error}");
}

pub(super) fn global_training_is_refused<F: Fixture>() {
    let system = SystemTag::ArcHybrid;
    let config = TrainConfig { update: Update::Early, beam: 4, ..F::config(system) };
    let error = train(&config, &data(system, 30), &[], None, &mut ()).expect_err("it learns step by step");
    assert!(error.message.contains("local"), "{error}");
}
