//! Training, model files and parsing, end to end on the samples.

use std::io::Write;

use treewright::config::{TrainConfig, Update};
use treewright::decode::Method;
use treewright::model::Model;
use treewright::model::{Parser, Search};
use treewright::registry::OracleKind;
use treewright::registry::SystemTag;
use treewright::train::{Checkpoint, EpochReport, Log, TrainingData, train, train_on};
use treewright::tree::Tree;
use treewright::treebank::{self, Entry, Format, ReadOptions};

pub fn sample(name: &str) -> Vec<Entry> {
    let path = format!("{}/../../data/{name}", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let options = ReadOptions { file: path, ..ReadOptions::default() };
    treebank::open(&bytes[..], &options)
        .expect("a sample")
        .reader
        .map(|entry| entry.expect("a sentence"))
        .collect()
}

#[derive(Default)]
struct Scores(Vec<EpochReport>);

impl Log for Scores {
    fn epoch(&mut self, report: &EpochReport) {
        self.0.push(report.clone());
    }
}

fn config(system: &str, update: Update) -> TrainConfig {
    let system: SystemTag = system.parse().expect("a system");
    let beam = if update == Update::Local { 1 } else { 4 };
    TrainConfig { system, update, beam, epochs: 20, jobs: 2, ..TrainConfig::default() }
}

/// Trained and tested on the same few sentences, a parser that learns must know most of them; not all by heart,
/// because words seen once are all alike to it. An untrained one gets about a fifth.
#[track_caller]
fn check_learns(config: &TrainConfig, entries: &[Entry], least: f64) {
    let (_, best) = best_score(config, entries);
    assert!(best >= least, "{} {:?}: {best}", config.system, config.update);
}

/// A model, and the score of its best epoch on the same sentences.
fn best_score(config: &TrainConfig, entries: &[Entry]) -> (Model, f64) {
    let mut scores = Scores::default();
    let model = train(config, entries, entries, None, &mut scores).expect("trainable");
    assert!(scores.0.iter().all(|report| report.errors <= report.of), "{:?}", scores.0);
    // A parser that knows nothing is wrong about nearly every sentence.
    assert!(config.beam == 1 || scores.0[0].errors * 10 >= scores.0[0].of * 9, "{:?}", scores.0[0]);
    (model, scores.0.iter().filter_map(|report| report.dev).fold(0.0, f64::max))
}

#[test]
fn dependency_parsers_learn_their_sample() {
    let entries = sample("agdt_ancient_greek.conllu");
    check_learns(&config("arc-hybrid-swap", Update::Local), &entries, 80.0);
    check_learns(
        &TrainConfig { oracle: Some(OracleKind::Static), ..config("arc-hybrid-swap", Update::Local) },
        &entries,
        97.0,
    );
    check_learns(&config("arc-hybrid-swap", Update::Early), &entries, 80.0);
    check_learns(&config("arc-standard-swap", Update::MaxViolation), &entries, 80.0);
    check_learns(&config("arc-eager", Update::Local), &sample("ud_english_ewt.conllu"), 80.0);
}

#[test]
fn constituent_parsers_learn_their_sample() {
    let continuous = sample("gum.mrg");
    for system in ["top-down", "in-order", "bottom-up", "bottom-up-2n"] {
        check_learns(&config(system, Update::Early), &continuous, 80.0);
    }
    for oracle in [OracleKind::Static, OracleKind::Dynamic] {
        check_learns(
            &TrainConfig { oracle: Some(oracle), ..config("in-order", Update::Local) },
            &continuous,
            80.0,
        );
        check_learns(
            &TrainConfig { oracle: Some(oracle), ..config("top-down", Update::Local) },
            &continuous,
            80.0,
        );
    }
    let discontinuous = sample("greek_nt.discbracket");
    for system in ["sr-gap", "sr-cgap", "sr-swap", "sr-cswap"] {
        check_learns(&config(system, Update::MaxViolation), &discontinuous, 80.0);
    }
    check_learns(&config("sr-gap", Update::Local), &discontinuous, 80.0);
}

fn bytes(model: &Model) -> Vec<u8> {
    saved(|out| model.save(out))
}

/// What a model or pipeline writes.
pub fn saved(save: impl FnOnce(&mut dyn Write) -> treewright::Result<()>) -> Vec<u8> {
    let mut bytes = Vec::new();
    save(&mut bytes).expect("memory");
    bytes
}

/// A parser that learns a little, soon.
pub fn quick_model(system: &str, entries: &[Entry], epochs: usize) -> Model {
    let config = TrainConfig { epochs, ..config(system, Update::Local) };
    train(&config, entries, &[], None, &mut ()).expect("trainable")
}

/// Silver trees are learnt from like those of the treebank, as often as their weight says; those with labels that the
/// treebank lacks are left out.
#[test]
fn silver_trees_are_learnt_from() {
    #[derive(Default)]
    struct LeftOut(Vec<String>, Vec<u64>);
    impl Log for LeftOut {
        fn prepared(&mut self, _usable: usize, underivable: &[(usize, String)], _n_actions: usize) {
            self.0.extend(underivable.iter().map(|(_, why)| why.clone()));
        }
        fn epoch(&mut self, report: &EpochReport) {
            self.1.push(report.of);
        }
    }
    let entries = sample("gum.mrg");
    let mut silver = entries[..entries.len() / 2].to_vec();
    let run = |silver: &[Entry], silver_weight| {
        let config = TrainConfig { silver_weight, epochs: 3, ..config("in-order", Update::Local) };
        let (data, mut log) =
            (TrainingData { train: &entries, silver, ..TrainingData::default() }, LeftOut::default());
        (train_on(&config, &data, None, &mut log).expect("trainable"), log)
    };
    let twice = [&entries[..], &silver].concat();
    let config = TrainConfig { epochs: 3, ..config("in-order", Update::Local) };
    let expected = train(&config, &twice, &[], None, &mut ()).expect("trainable");
    let (model, LeftOut(left_out, all)) = run(&silver, 1.0);
    assert!(bytes(&model) == bytes(&expected), "the same as in one treebank");
    assert_eq!(left_out, Vec::<String>::new());
    let steps = |weight| run(&silver, weight).1.1;
    let (none, some) = (steps(0.0), steps(0.5));
    for ((none, some), all) in none.iter().zip(&some).zip(&all) {
        assert!(none < some && some < all, "{none}, {some}, {all}");
    }
    assert!(steps(2.5)[0] > all[0] + (all[0] - none[0]), "a weight above 1 repeats trees");
    assert_ne!(some[0], some[1], "other trees in every epoch");
    // A label that the treebank does not have.
    let Some(Tree::Constituent(tree)) = &mut silver[0].tree else { panic!("a constituent tree") };
    *tree.label_mut(tree.root()) = "UNHEARD-OF".into();
    let (_, LeftOut(left_out, _)) = run(&silver, 1.0);
    assert_eq!(left_out.len(), 1);
    assert!(left_out[0].starts_with("silver tree 1: "), "{}", left_out[0]);
    // Trees of another kind are a mistake.
    let silver = &sample("ud_english_ewt.conllu");
    let data = TrainingData { train: &entries, silver, ..TrainingData::default() };
    let error = train_on(&config, &data, None, &mut ()).expect_err("nothing to learn from");
    assert_eq!(error.message, "the silver trees are not constituents, which the parser builds");
}

/// A parser with SWAP must learn when to swap, with either oracle: the sample has crossing arcs.
#[test]
fn swaps_are_learnt_with_either_oracle() {
    let entries = sample("agdt_ancient_greek.conllu");
    let crossing =
        |tree: &Option<Tree>| matches!(tree, Some(Tree::Dependency(tree)) if !tree.is_projective());
    assert!(entries.iter().any(|entry| crossing(&entry.tree)));
    for oracle in [OracleKind::Static, OracleKind::Dynamic] {
        let config =
            TrainConfig { oracle: Some(oracle), epochs: 15, ..config("arc-hybrid-swap", Update::Local) };
        let parser = Parser::new(train(&config, &entries, &[], None, &mut ()).expect("trainable"));
        let mut worker = parser.worker();
        let parsed: Vec<bool> =
            entries.iter().map(|entry| crossing(&worker.parse(&entry.sentence))).collect();
        assert!(parsed.iter().any(|&crosses| crosses), "{oracle:?}: no tree has crossing arcs");
    }
}

#[test]
fn same_seed_same_bytes_whatever_the_threads() {
    let entries = sample("ud_english_ewt.conllu");
    let config = TrainConfig { epochs: 3, ..config("arc-hybrid", Update::Local) };
    let model =
        |config: &TrainConfig| bytes(&train(config, &entries, &entries, None, &mut ()).expect("trainable"));
    let one = model(&TrainConfig { jobs: 1, ..config.clone() });
    assert!(one == model(&TrainConfig { jobs: 3, ..config.clone() }), "threads changed the model");
    assert!(one != model(&TrainConfig { seed: 2, ..config }), "the seed had no effect");
}

#[test]
fn a_model_survives_its_file_and_parses_the_same() {
    let entries = sample("ud_english_ewt.conllu");
    let model = train(
        &TrainConfig { epochs: 3, ..config("arc-hybrid", Update::Local) },
        &entries,
        &[],
        None,
        &mut (),
    )
    .expect("trainable");
    let bytes = bytes(&model);
    let folder = std::env::temp_dir().join(format!("treewright-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("sample.model");
    std::fs::write(&path, &bytes).expect("a file");
    let parsers = [
        Parser::new(model),
        Parser::new(Model::from_bytes(&bytes).expect("a model")),
        Parser::open(&path).expect("a model"),
    ];
    let trees = |parser: &Parser, beam: usize| -> Vec<Option<Tree>> {
        let mut worker = parser.worker().with_search(Search { method: Method::beam(beam), k_best: 1 });
        entries.iter().map(|entry| worker.parse(&entry.sentence)).collect()
    };
    for beam in [1, 4] {
        let first = trees(&parsers[0], beam);
        assert!(first.iter().all(Option::is_some));
        assert!(parsers.iter().all(|parser| trees(parser, beam) == first));
    }
    let mut worker = parsers[0].worker().with_search(Search { method: Method::beam(4), k_best: 3 });
    let parses = worker.parse_k_best(&entries[0].sentence);
    assert_eq!(parses.len(), 3);
    assert!(parses.windows(2).all(|pair| pair[0].score >= pair[1].score));
    std::fs::remove_dir_all(folder).expect("clean up");
}

#[test]
fn the_model_knows_the_score_gaps_of_winners() {
    let entries = sample("ud_english_ewt.conllu");
    let (learnt, new) = entries.split_at(entries.len() / 2);
    let config = TrainConfig { epochs: 2, beam: 4, ..config("arc-hybrid", Update::MaxViolation) };
    let model = train(&config, learnt, new, None, &mut ()).expect("trainable");
    let parser = Parser::new(Model::from_bytes(&bytes(&model)).expect("a model"));
    let trees = |percentile: usize| -> Vec<Option<Tree>> {
        let mut worker =
            parser.worker().with_search(Search { method: Method::Beam { width: 4, percentile }, k_best: 1 });
        new.iter().map(|entry| worker.parse(&entry.sentence)).collect()
    };
    let whole = trees(100);
    let same = |percentile: usize| whole.iter().zip(trees(percentile)).filter(|(a, b)| **a == *b).count();
    // Those who come in where others left may win, so not all are the same.
    assert!(same(99) * 2 >= whole.len(), "of {} winners {} are left", whole.len(), same(99));
    assert!(same(0) < same(99), "without any gap the search is greedy");
    // The first of several parses is the one that a search for one finds, whatever is kept.
    for percentile in [0, 50, 95, 100] {
        let mut worker =
            parser.worker().with_search(Search { method: Method::Beam { width: 4, percentile }, k_best: 4 });
        for (entry, tree) in new.iter().zip(trees(percentile)) {
            let parses = worker.parse_k_best(&entry.sentence);
            assert_eq!(parses.first().map(|parse| parse.tree.clone()), tree, "{percentile}");
            let is_new = |i: usize| parses[..i].iter().all(|other| other.tree != parses[i].tree);
            assert!((0..parses.len()).all(is_new), "all trees are different");
        }
    }
    let mut worker = parser.worker().with_search(Search { method: Method::beam(4), k_best: 4 });
    assert_eq!(worker.parse_k_best(&new[0].sentence).len(), 4, "nothing was pruned");
}

#[test]
fn damaged_models_are_refused() {
    let entries = sample("ud_english_ewt.conllu");
    let config = TrainConfig { epochs: 1, ..config("arc-hybrid", Update::Local) };
    let bytes = bytes(&train(&config, &entries[..3], &[], None, &mut ()).expect("trainable"));
    let check = |bytes: &[u8], part: &str| {
        let error = Model::from_bytes(bytes).expect_err(part);
        assert_eq!(error.code.as_str(), "TW801");
        assert!(error.message.contains(part), "{error}");
    };
    check(b"", "not a treewright model");
    check(b"(S (NP x))", "not a treewright model");
    check(&bytes[..20], "cut short");
    check(&bytes[..bytes.len() - 1], "bytes");
    let mut other = bytes.clone();
    other[8] = 9;
    check(&other, "version 9");
    other[8] = 1;
    check(&other, "version 1");
    other[8] = bytes[8];
    other[20] = 1;
    check(&other, "more than this program reads");
    for at in [32, 40, bytes.len() - 3] {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        check(&flipped, "checksum");
    }
}

#[test]
fn training_on_nothing_is_an_error() {
    let error = train(&config("arc-hybrid", Update::Local), &[], &[], None, &mut ()).expect_err("no data");
    assert_eq!(error.code.as_str(), "TW802");
    let wrong =
        train(&config("in-order", Update::Early), &sample("ud_english_ewt.conllu"), &[], None, &mut ());
    assert!(wrong.expect_err("dependencies").message.contains("the parser builds constituents"));
}

#[derive(Default)]
struct Checkpoints(Vec<Vec<u8>>);

impl Log for Checkpoints {
    fn checkpoint(&mut self, make: &dyn Fn() -> treewright::Result<Checkpoint>) -> treewright::Result<()> {
        self.0.push(make()?.to_bytes());
        Ok(())
    }
}

#[test]
fn a_resumed_run_ends_in_the_same_model() {
    let entries = sample("agdt_ancient_greek.conllu");
    for update in [Update::Local, Update::Early] {
        let config = TrainConfig { epochs: 4, ..config("arc-hybrid-swap", update) };
        let mut kept = Checkpoints::default();
        let whole = train(&config, &entries, &entries, None, &mut kept).expect("trainable");
        assert_eq!(kept.0.len(), 3);
        let checkpoint = Checkpoint::from_bytes(&kept.0[1]).expect("a checkpoint");
        let resumed = train(&config, &entries, &entries, Some(&checkpoint), &mut ()).expect("trainable");
        assert!(bytes(&whole) == bytes(&resumed), "{update:?}");
        // The first sentence is soon parsed right: the best epoch comes before the checkpoint.
        let (mut kept, dev) = (Checkpoints::default(), &entries[..1]);
        let whole = train(&config, &entries, dev, None, &mut kept).expect("trainable");
        let last = Checkpoint::from_bytes(&kept.0[2]).expect("a checkpoint");
        let resumed = train(&config, &entries, dev, Some(&last), &mut ()).expect("trainable");
        assert!(bytes(&whole) == bytes(&resumed), "{update:?}");
        let other =
            train(&TrainConfig { seed: 5, ..config.clone() }, &entries, &entries, Some(&checkpoint), &mut ());
        assert!(other.expect_err("another seed").message.contains("other data or settings"));
        // Scores on another development set could not be compared with those so far.
        let other = train(&config, &entries, dev, Some(&checkpoint), &mut ());
        assert!(other.expect_err("another set").message.contains("other data or settings"));
        let mut flipped = kept.0[0].clone();
        flipped[40] ^= 1;
        assert!(Checkpoint::from_bytes(&flipped).expect_err("damaged").message.contains("checksum"));
        assert!(Checkpoint::from_bytes(&kept.0[0][..15]).is_err());
    }
}

#[test]
fn pseudo_projective_training_keeps_crossing_sentences() {
    let entries = sample("agdt_ancient_greek.conllu");
    let projective = config("arc-hybrid", Update::Local);
    let encoded = TrainConfig { pseudo_projective: "head".to_owned(), ..projective.clone() };
    // Without the encoding, no parse has crossing arcs, and what crosses is not learnt.
    let (_, plain) = best_score(&projective, &entries);
    let (model, best) = best_score(&encoded, &entries);
    assert!(best >= 90.0 && best > plain + 5.0, "{best} with the encoding, {plain} without");
    let mut worker = Parser::new(model).worker();
    let crossing = |tree: Option<Tree>| matches!(tree, Some(Tree::Dependency(tree)) if !tree.is_projective());
    assert!(
        entries.iter().any(|entry| crossing(worker.parse(&entry.sentence))),
        "arcs cross again in parses"
    );
}

#[test]
fn an_oracle_that_a_system_lacks_is_not_replaced_silently() {
    let paper = TrainConfig { oracle: Some(OracleKind::Paper), ..config("arc-hybrid", Update::Local) };
    let lacking = train(&paper, &sample("ud_english_ewt.conllu"), &[], None, &mut ());
    assert!(lacking.expect_err("no such oracle").message.contains("arc-hybrid has no oracle as printed"));
    let entries = sample("agdt_ancient_greek.conllu");
    let standard = TrainConfig { epochs: 1, ..config("arc-standard-swap", Update::Local) };
    let dynamic = TrainConfig { oracle: Some(OracleKind::Dynamic), ..standard.clone() };
    let lacking = train(&dynamic, &entries, &[], None, &mut ()).expect_err("no such oracle");
    assert_eq!(lacking.message, "arc-standard-swap has no dynamic oracle");
    // A model records the oracle that was asked, or would have been.
    for (config, expected) in [
        (standard, OracleKind::Static),
        (TrainConfig { epochs: 1, ..config("arc-hybrid-swap", Update::Local) }, OracleKind::Dynamic),
        (TrainConfig { update: Update::Early, beam: 4, ..dynamic }, OracleKind::Static),
    ] {
        let model = train(&config, &entries, &[], None, &mut ()).expect("trainable");
        assert_eq!(model.info().config.oracle, Some(expected), "{}", config.system);
    }
}

/// Two chains of words that take turns: each word of one is swapped with all words of the other that precede it.
#[test]
fn an_epoch_learns_from_a_bounded_number_of_steps_of_a_sentence() {
    let n = 320;
    let head = |i: usize| if i <= 2 { i - 1 } else { i - 2 };
    let lines = (1..=n).map(|i| format!("{i}\tw\t_\tT\t_\t_\t{}\tx\t_\t_\n", head(i)));
    let text = lines.collect::<String>() + "\n";
    let reader = treebank::reader(Format::Conllu, text.as_bytes(), &ReadOptions::default());
    let entries: Vec<Entry> = reader.map(|entry| entry.expect("a tree")).collect();
    for oracle in [OracleKind::Static, OracleKind::Dynamic] {
        let settings =
            TrainConfig { oracle: Some(oracle), epochs: 1, ..config("arc-hybrid-swap", Update::Local) };
        let mut scores = Scores::default();
        train(&settings, &entries, &[], None, &mut scores).expect("trainable");
        assert_eq!(scores.0[0].of, 20_000);
    }
}
