//! Random trainings: tiny treebanks and settings of every kind, for every system. None of them may panic.
//!
//! `scripts/check-trainings` runs thousands; `TREEWRIGHT_TRAININGS` says how many, `TREEWRIGHT_FIRST_TRAINING` which is the
//! first. A training that panics is reported with its number, its settings and its trees.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use treewright::config::{DecoderKind, NeuralConfig, StackLstmConfig, TrainConfig, Update};
use treewright::model::Parser;
use treewright::registry::{OracleKind, SystemTag};
use treewright::rng::Rng;
use treewright::train::{TrainingData, train_on};
use treewright::tree::TreeKind;
use treewright::treebank::{self, Entry, Format, ReadOptions};

/// The shape of the trees of a treebank.
struct Shape {
    max_words: usize,
    /// Constituents have two parts, as they have in treebanks that need no temporary symbols.
    is_binary: bool,
    /// The probability of one more constituent right above another, or above a word.
    unary: f64,
    /// The probability that the parts of a constituent are interleaved, or that an arc goes anywhere.
    crossing: f64,
    n_labels: usize,
    /// The root of a constituent tree has a label of its own.
    has_root_label: bool,
    /// The probability that a word hangs from the root, beside the first.
    many_roots: f64,
}

impl Shape {
    fn random(rng: &mut Rng, is_crossing: bool) -> Self {
        let some = |rng: &mut Rng, p: f64| if rng.unit() < 0.5 { 0.0 } else { p };
        Shape {
            max_words: 1 + rng.below(6),
            is_binary: rng.unit() < 0.5,
            unary: some(rng, 0.4),
            crossing: if is_crossing || rng.unit() < 0.1 { [0.0, 0.3, 0.8][rng.below(3)] } else { 0.0 },
            n_labels: 1 + rng.below(4),
            has_root_label: rng.unit() < 0.5,
            many_roots: some(rng, 0.3),
        }
    }

    fn label(&self, rng: &mut Rng) -> String {
        format!("L{}", rng.below(self.n_labels))
    }

    /// A discbracket, or a sentence of CoNLL-U.
    fn tree(&self, rng: &mut Rng, kind: TreeKind) -> String {
        let n = 1 + rng.below(self.max_words);
        let words: Vec<usize> = (0..n).map(|_| rng.below(4)).collect();
        match kind {
            TreeKind::Constituents => {
                let inner = self.constituent(rng, &(0..n).collect::<Vec<_>>(), &words, true);
                inner + "\n"
            }
            TreeKind::Dependencies => self.dependencies(rng, &words),
        }
    }

    /// The subtree over these positions.
    fn constituent(&self, rng: &mut Rng, positions: &[usize], words: &[usize], is_root: bool) -> String {
        let mut out = match positions {
            [at] => format!("(T{} {at}=w{})", words[*at] % 2, words[*at]),
            _ => {
                let n_parts = if self.is_binary { 2 } else { 2 + rng.below(positions.len() - 1) };
                let mut order = positions.to_vec();
                if rng.unit() < self.crossing {
                    rng.shuffle(&mut order);
                }
                let mut cuts: Vec<usize> = (1..order.len()).collect();
                rng.shuffle(&mut cuts);
                cuts.truncate(n_parts - 1);
                cuts.extend([0, order.len()]);
                cuts.sort_unstable();
                let mut parts: Vec<Vec<usize>> =
                    cuts.windows(2).map(|c| order[c[0]..c[1]].to_vec()).collect();
                parts.iter_mut().for_each(|part| part.sort_unstable());
                parts.sort_unstable();
                let parts: Vec<String> =
                    parts.iter().map(|part| self.constituent(rng, part, words, false)).collect();
                format!("({} {})", self.label(rng), parts.join(" "))
            }
        };
        let mut n_unaries = usize::from(positions.len() == 1 && is_root);
        while rng.unit() < self.unary {
            n_unaries += 1;
        }
        (0..n_unaries).for_each(|_| out = format!("({} {out})", self.label(rng)));
        if is_root && self.has_root_label { format!("(ROOT {out})") } else { out }
    }

    fn dependencies(&self, rng: &mut Rng, words: &[usize]) -> String {
        let n = words.len();
        let mut heads = vec![0; n];
        if rng.unit() < self.crossing {
            // Words join the tree in random order.
            let mut order: Vec<usize> = (0..n).collect();
            rng.shuffle(&mut order);
            for i in 1..n {
                heads[order[i]] = if rng.unit() < self.many_roots { 0 } else { order[rng.below(i)] + 1 };
            }
        } else {
            // Ranges of words that hang from a head outside them.
            let mut ranges = vec![(0, n, 0)];
            while let Some((start, end, head)) = ranges.pop() {
                if start == end {
                    continue;
                }
                let at = start + rng.below(end - start);
                let left = if head == 0 && rng.unit() < self.many_roots { 0 } else { at + 1 };
                let cut = at + 1 + rng.below(end - at);
                heads[at] = head;
                ranges.extend([(start, at, left), (at + 1, cut, at + 1), (cut, end, at + 1)]);
            }
        }
        let mut out = String::new();
        for (i, (word, head)) in words.iter().zip(heads).enumerate() {
            let (tag, relation) = (word % 2, if head == 0 { "root".to_owned() } else { self.label(rng) });
            writeln!(out, "{}\tw{word}\t_\tT{tag}\t_\t_\t{head}\t{relation}\t_\t_", i + 1).expect("text");
        }
        out + "\n"
    }
}

/// One training: settings and data.
struct Case {
    config: TrainConfig,
    format: Format,
    train: String,
    silver: String,
    dev: String,
}

impl Case {
    fn new(number: u64) -> Self {
        let mut rng = Rng::new(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5EED);
        let rng = &mut rng;
        let system = SystemTag::ALL[(number % SystemTag::ALL.len() as u64) as usize];
        let info = system.info();
        let shape = Shape::random(rng, info.is_crossing);
        let trees = |rng: &mut Rng, shape: &Shape, n: usize| -> String {
            (0..n).map(|_| shape.tree(rng, info.kind)).collect()
        };
        let n_trees = 1 + rng.below(6);
        let train = trees(rng, &shape, n_trees);
        // Labels, lengths and shapes that the training trees need not have.
        let n_silver = if rng.unit() < 0.1 { 1 + rng.below(3) } else { 0 };
        let silver = trees(rng, &shape, n_silver);
        let (n_dev, other) = (rng.below(4), Shape { n_labels: 6, ..Shape::random(rng, info.is_crossing) });
        let is_like_train = rng.unit() < 0.5;
        let dev = trees(rng, if is_like_train { &shape } else { &other }, n_dev);
        let format = match info.kind {
            TreeKind::Constituents => Format::Discbracket,
            TreeKind::Dependencies => Format::Conllu,
        };
        Case { config: Self::config(rng, system, shape.many_roots > 0.0), format, train, silver, dev }
    }

    fn config(rng: &mut Rng, system: SystemTag, many_roots: bool) -> TrainConfig {
        let info = system.info();
        let mut config = TrainConfig {
            system,
            update: Update::Local,
            beam: 1,
            epochs: 1 + rng.below(5),
            explore: [0.0, 0.5, 0.9, 1.0][rng.below(4)],
            explore_after: rng.below(2),
            seed: rng.next_u64() >> 1,
            jobs: 1,
            single_root: !many_roots,
            min_action_count: if rng.unit() < 0.5 { 1 } else { 2 + rng.below(2) },
            markov_order: rng.below(3),
            head_rules: ["collins", "leftmost", "rightmost", "dutch"][rng.below(4)].to_owned(),
            ..TrainConfig::default()
        };
        let oracles: Vec<OracleKind> =
            OracleKind::ALL.iter().copied().filter(|&kind| info.has_oracle(kind)).collect();
        config.oracle = match rng.below(4) {
            0 => Some(oracles[rng.below(oracles.len())]),
            _ => None,
        };
        if info.is_projective() && rng.unit() < 0.3 {
            config.pseudo_projective = ["head", "path", "head+path"][rng.below(3)].to_owned();
        }
        match rng.below(20) {
            0 => {
                config.scorer = "neural".to_owned();
                config.neural = NeuralConfig {
                    word_size: 4,
                    affix_size: 2,
                    affix_rows: 16,
                    input_size: 4,
                    units: 3,
                    layers: 1,
                    hidden: 4,
                    ..NeuralConfig::default()
                };
            }
            1 => {
                config.scorer = "stack-lstm".to_owned();
                config.stack_lstm = StackLstmConfig {
                    word_size: 4,
                    tag_size: 2,
                    action_size: 2,
                    input_size: 4,
                    units: 3,
                    layers: 1,
                    hidden: 4,
                    ..StackLstmConfig::default()
                };
            }
            2..=4 => {
                config.update = if rng.unit() < 0.5 { Update::Early } else { Update::MaxViolation };
                config.beam = 2 + rng.below(4);
                let is_mergeable =
                    matches!(system, SystemTag::BottomUp2n | SystemTag::ArcHybrid | SystemTag::ArcEager);
                if is_mergeable && rng.unit() < 0.5 {
                    config.decoder = DecoderKind::Dp;
                }
            }
            _ => {}
        }
        config
    }

    /// Trains, and parses with the model. Says whether there is one: there may be nothing to learn from.
    fn run(&self) -> bool {
        let read = |text: &str| -> Vec<Entry> {
            if text.is_empty() {
                return Vec::new();
            }
            let reader = treebank::reader(
                self.format,
                text.as_bytes(),
                &ReadOptions { many_roots: true, ..ReadOptions::default() },
            );
            reader.map(|entry| entry.expect("a tree of this module")).collect()
        };
        let (train, silver, dev) = (read(&self.train), read(&self.silver), read(&self.dev));
        let data = TrainingData { train: &train, silver: &silver, dev: &dev, ..TrainingData::default() };
        let Ok(model) = train_on(&self.config, &data, None, &mut ()) else { return false };
        let parser = Parser::new(model);
        let mut worker = parser.worker();
        for entry in train.iter().chain(&dev) {
            assert!(worker.parse(&entry.sentence).is_some(), "every sentence with words gets a tree");
        }
        true
    }
}

/// A number from the environment.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

#[test]
fn random_trainings_do_not_panic() {
    let (count, first) = (number("TREEWRIGHT_TRAININGS", 100), number("TREEWRIGHT_FIRST_TRAINING", 0));
    let next = AtomicU64::new(first);
    let work = || {
        let (mut n_models, mut reports) = (vec![0; SystemTag::ALL.len()], String::new());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= first + count {
                return (n_models, reports);
            }
            let case = Case::new(number);
            match catch_unwind(AssertUnwindSafe(|| case.run())) {
                Ok(has_model) => n_models[number as usize % SystemTag::ALL.len()] += usize::from(has_model),
                Err(panic) => {
                    let why = panic.downcast_ref::<String>().map(String::as_str);
                    let why = why.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
                    let Case { config, train, silver, dev, .. } = case;
                    write!(
                        reports,
                        "training {number} ({}) panicked: {why}\n--- settings\n{}--- train\n{train}--- silver\n{silver}\
                         --- dev\n{dev}---\n\n",
                        config.system,
                        config.to_toml(),
                    )
                    .expect("text");
                }
            }
        }
    };
    let n_threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(4);
    let found: Vec<(Vec<usize>, String)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("panics are caught")).collect()
    });
    let reports: String = found.iter().map(|(_, reports)| reports.as_str()).collect();
    let n_panics = reports.matches(" panicked: ").count();
    assert!(
        n_panics == 0,
        "{n_panics} of {count} trainings panicked; TREEWRIGHT_FIRST_TRAINING=N TREEWRIGHT_TRAININGS=1 repeats number N\n\n{reports}"
    );
    println!("{count} trainings from number {first}; models that came of them, by system:");
    for (i, tag) in SystemTag::ALL.iter().enumerate() {
        let n_models: usize = found.iter().map(|(n_models, _)| n_models[i]).sum();
        println!("{n_models:>8} {tag}");
        assert!(n_models > 0 || count < 100, "{tag}: no training came to a model");
    }
}
