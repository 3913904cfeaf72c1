//! Raw text to trees through one model file, and what happens to damaged ones.

use std::io::Write;
use std::sync::LazyLock;

use treewright::config::{TrainConfig, Update};
use treewright::lemma::{LemmaConfig, Lemmatiser};
use treewright::model::Model;
use treewright::model::Parser;
use treewright::pipeline::{Part, PartKind, Pipeline, Tagging};
use treewright::segment::{SegmentConfig, SegmentOptions, Segmenter};
use treewright::tag::{TagConfig, Tagger};
use treewright::train::{Log, Outcome, PipelineConfig, Stage, TaggerWeights, TextPart, train};
use treewright::tree::TreeKind;
use treewright::treebank::{self, Entry, Format, ReadOptions};
use treewright::{Code, Sentence, Tree};

use crate::training::{quick_model, sample, saved};

fn parser(file: &str, system: &str) -> Model {
    quick_model(system, &sample(file), 3)
}

fn tagger(entries: &[Entry]) -> Part {
    let sentences: Vec<Sentence> = entries.iter().map(|entry| entry.sentence.clone()).collect();
    Tagger::train(&sentences, &[], &TagConfig::default(), &mut |_| ()).expect("trainable").into()
}

fn lemmatiser(entries: &[Entry]) -> Part {
    let sentences: Vec<Sentence> = entries.iter().map(|entry| entry.sentence.clone()).collect();
    Lemmatiser::train(&sentences, &[], &LemmaConfig::default(), &mut |_| ()).expect("trainable").into()
}

/// Segmenter, tagger, lemmatiser and parser for dependencies; tagger and parser for constituents. Trained once.
fn pipeline() -> Pipeline {
    static PIPELINE: LazyLock<Pipeline> = LazyLock::new(trained_pipeline);
    PIPELINE.clone()
}

fn trained_pipeline() -> Pipeline {
    let dependencies = sample("ud_english_ewt.conllu");
    let sentences: Vec<Sentence> = dependencies.iter().map(|entry| entry.sentence.clone()).collect();
    let segmenter = Segmenter::train(&sentences, &SegmentConfig::default(), &mut |_| ()).expect("trainable");
    let first = Pipeline::of_parts([
        segmenter.clone().into(),
        tagger(&dependencies),
        lemmatiser(&dependencies),
        parser("ud_english_ewt.conllu", "arc-hybrid").into(),
    ]);
    let second = Pipeline::of_parts([
        segmenter.into(),
        tagger(&sample("gum.mrg")),
        parser("gum.mrg", "in-order").into(),
    ]);
    Pipeline::join([&first, &second])
}

fn bytes(pipeline: &Pipeline) -> Vec<u8> {
    saved(|out| pipeline.save(out))
}

#[test]
fn raw_text_becomes_trees_of_either_kind_by_one_file() {
    let written = bytes(&pipeline());
    let pipeline = Pipeline::from_bytes(&written).expect("a pipeline");
    assert_eq!(pipeline.parts().count(), 6, "one segmenter is enough");
    assert_eq!(bytes(&pipeline), written);
    let segmenter = pipeline.segmenter().expect("whole").expect("there");
    let text = "The boy (she said) \"saw\" a dog. He ran.\n";
    let sentences = segmenter.segment(text, &SegmentOptions::default()).sentences;
    assert_eq!(treewright::segment::text_of(&sentences), text);
    for kind in [TreeKind::Dependencies, TreeKind::Constituents] {
        let analyser = pipeline.analyser(Some(kind)).expect("there is one of each");
        assert_eq!(analyser.parser.as_ref().map(Parser::kind), Some(kind));
        let mut worker = analyser.worker(None, Tagging::Missing);
        for sentence in &sentences {
            let mut sentence = sentence.clone();
            match (worker.analyse(&mut sentence).expect("whole"), kind) {
                (Some(Tree::Dependency(tree)), TreeKind::Dependencies) => {
                    assert_eq!(tree.len(), sentence.len());
                }
                (Some(Tree::Constituent(tree)), TreeKind::Constituents) => {
                    assert_eq!(tree.n_tokens(), sentence.len());
                }
                (tree, _) => panic!("{kind}: {tree:?}"),
            }
            assert!(sentence.tokens.iter().all(|token| !token.tag.is_empty()), "tagged");
            // The constituents' tagger has no lemmatiser.
            let has_lemma = kind == TreeKind::Dependencies;
            assert!(sentence.tokens.iter().all(|token| token.lemma.is_empty() != has_lemma), "{sentence:?}");
        }
    }
}

#[test]
fn a_text_becomes_trees_by_one_call() {
    let entries = pipeline().parse_text("The boy saw a dog. He ran.").expect("it has a segmenter");
    let written = treebank::to_string(&entries, Format::Conllu).expect("CoNLL-U holds dependencies");
    let words: Vec<&str> =
        entries.iter().flat_map(|entry| &entry.sentence.tokens).map(|t| t.form.as_str()).collect();
    assert_eq!(words, ["The", "boy", "saw", "a", "dog", ".", "He", "ran", "."]);
    let read = treebank::reader(Format::Conllu, written.as_bytes(), &ReadOptions::default());
    let read: Vec<Entry> = read.collect::<Result<_, _>>().expect("it was written here");
    assert!(read.iter().map(|entry| &entry.tree).eq(entries.iter().map(|entry| &entry.tree)));
    let without = Pipeline::of_parts([]);
    assert_eq!(without.parse_text("The boy.").expect_err("no segmenter").code, Code::BadModel);
}

#[test]
fn tags_that_are_there_stay_unless_new_ones_are_wanted() {
    let analyser = pipeline().analyser(None).expect("the first parser");
    let given = Sentence::from_tagged([("The", "X1"), ("boy", "X2")]);
    let tags = |tagging| {
        let mut sentence = given.clone();
        analyser.worker(None, tagging).analyse(&mut sentence).expect("whole");
        sentence.tokens.iter().map(|token| token.tag.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(tags(Tagging::Untagged), ["X1", "X2"]);
    for tagging in [Tagging::Missing, Tagging::Always] {
        assert!(tags(tagging).iter().all(|tag| !tag.starts_with('X')), "{tagging:?}");
    }
}

#[test]
fn xpos_that_the_model_does_not_know_does_not_change_the_tree() {
    let analyser = pipeline().analyser(Some(TreeKind::Dependencies)).expect("there is one");
    let mut worker = analyser.worker(None, Tagging::Missing);
    for entry in sample("ud_english_ewt.conllu") {
        let [mut without, mut strange] = [(); 2].map(|()| entry.sentence.clone());
        without.tokens.iter_mut().for_each(|token| token.xpos.clear());
        // Some of another tagset's names mean something else here.
        let names = ["x1", "NN", "x2", "VBZ", "x3"];
        strange.tokens.iter_mut().zip(names.iter().cycle()).for_each(|(t, name)| t.xpos = (*name).into());
        let given = strange.clone();
        let trees = [&mut without, &mut strange].map(|sentence| worker.analyse(sentence).expect("whole"));
        // Short sentences have too many names that the model knows.
        if given.len() >= 3 {
            assert_eq!(trees[0], trees[1]);
        }
        assert_eq!(strange, given, "what is written is what was read");
    }
    assert_eq!(worker.take_unknown_tags(), None, "the tags were used");
}

#[test]
fn the_first_tags_that_are_not_known_are_told() {
    let analyser = pipeline().analyser(Some(TreeKind::Dependencies)).expect("there is one");
    let mut worker = analyser.worker(None, Tagging::Missing);
    for tag in ["NOUN", "X1", "X2"] {
        worker.analyse(&mut Sentence::from_tagged([("boy", tag)])).expect("whole");
    }
    let unknown = worker.take_unknown_tags().expect("two sentences have strange tags");
    assert_eq!((unknown.n_sentences, unknown.is_retagged), (2, true));
    assert_eq!(unknown.examples, ["X1"]);
    assert_eq!(worker.take_unknown_tags(), None);
    let lone = Pipeline::of_parts([parser("ud_english_ewt.conllu", "arc-hybrid").into()]);
    let analyser = lone.analyser(None).expect("a parser");
    let mut worker = analyser.worker(None, Tagging::Missing);
    worker.analyse(&mut Sentence::from_tagged([("boy", "X1")])).expect("whole");
    assert!(!worker.take_unknown_tags().expect("strange").is_retagged);
}

#[test]
fn lemmas_that_are_there_stay_unless_words_are_tagged_anew() {
    let analyser = pipeline().analyser(None).expect("the first parser");
    let mut given = Sentence::from_tagged([("The", "DET"), ("boys", "NOUN"), ("ran", "VERB")]);
    given.tokens[1].lemma = "given".into();
    let lemmas = |tagging, given: &Sentence, k_best: bool| {
        let mut sentence = given.clone();
        let mut worker = analyser.worker(None, tagging);
        if k_best {
            worker.analyse_k_best(&mut sentence).expect("whole");
        } else {
            worker.analyse(&mut sentence).expect("whole");
        }
        sentence.tokens.iter().map(|token| token.lemma.to_string()).collect::<Vec<_>>()
    };
    let mut untagged = given.clone();
    untagged.tokens.iter_mut().for_each(|token| token.tag.clear());
    for k_best in [false, true] {
        for given in [&given, &untagged] {
            let kept = lemmas(Tagging::Missing, given, k_best);
            assert_eq!((kept[0].as_str(), kept[1].as_str()), ("the", "given"));
            assert!(!kept[2].is_empty());
            let new = lemmas(Tagging::Always, given, k_best);
            assert!(new[0] == "the" && new[1] != "given", "{new:?}");
        }
    }
}

#[test]
fn a_lemmatiser_follows_the_final_tags() {
    let pipeline = pipeline();
    let analyser = pipeline.analyser(Some(TreeKind::Dependencies)).expect("there is one");
    let lemmatiser = analyser.lemmatiser().expect("it is whole").expect("there is one");
    // A parser that nearly always has its way about the tags.
    let mut worker = analyser.worker(None, Tagging::Missing).with_tagger_weight(1);
    for mut sentence in bare_sentences() {
        sentence.tokens.iter_mut().for_each(|token| token.lemma.clear());
        worker.analyse(&mut sentence).expect("whole");
        let mut again = sentence.clone();
        lemmatiser.worker().lemmatise(&mut again);
        assert_eq!(again, sentence);
    }
}

#[test]
fn a_lemmatiser_is_joined_to_the_tagger_whose_tags_it_knows() {
    let dependencies = sample("ud_english_ewt.conllu");
    let kinds = |pipeline: &Pipeline| pipeline.parts().map(|part| part.0).collect::<Vec<_>>();
    let lone = Pipeline::of_parts([lemmatiser(&dependencies)]);
    let (ud, penn) =
        (Pipeline::of_parts([tagger(&dependencies)]), Pipeline::of_parts([tagger(&sample("gum.mrg"))]));
    let (t, l) = (PartKind::Tagger, PartKind::Lemmatiser);
    assert_eq!(kinds(&Pipeline::join([&ud, &penn, &lone])), [t, l, t]);
    assert_eq!(kinds(&Pipeline::join([&lone, &penn, &ud])), [t, t, l]);
    assert_eq!(kinds(&Pipeline::join([&lone])), [l]);
    // One that comes with its tagger stays with it.
    let both = Pipeline::of_parts([tagger(&sample("gum.mrg")), lemmatiser(&dependencies)]);
    assert_eq!(kinds(&Pipeline::join([&both, &ud])), [t, l, t]);
    // Without tagger and parser it works on words with tags.
    let analyser = lone.analyser(None).expect("a lemmatiser is enough");
    let mut sentence = Sentence::from_tagged([("The", "DET")]);
    assert_eq!(analyser.worker(None, Tagging::Missing).analyse(&mut sentence).expect("whole"), None);
    assert_eq!(sentence.tokens[0].lemma, "the");
}

/// Sentences without tags: those of the sample, with some of their words gone, so that taggers doubt.
fn bare_sentences() -> Vec<Sentence> {
    let mut sentences: Vec<Sentence> =
        sample("ud_english_ewt.conllu").into_iter().map(|entry| entry.sentence).collect();
    for sentence in &mut sentences {
        let mut number = 0;
        sentence.tokens.retain(|_| {
            number += 1;
            number % 4 != 0
        });
        sentence.tokens.iter_mut().for_each(|token| {
            [&mut token.tag, &mut token.xpos, &mut token.feats].into_iter().for_each(|column| column.clear());
        });
    }
    sentences
}

#[test]
fn tags_are_reranked_where_the_parser_gains_enough() {
    let analyser = pipeline().analyser(Some(TreeKind::Dependencies)).expect("there is one");
    assert_eq!(analyser.tagger_weight, 0, "nothing was tuned");
    let mut parser = analyser.parser.as_ref().expect("there is one").worker();
    let mut worker = |weight: u32| analyser.worker(None, Tagging::Missing).with_tagger_weight(weight);
    let [mut first, mut cheap, mut dear] = [0, 1, u32::MAX].map(&mut worker);
    let mut changed = 0;
    for sentence in bare_sentences() {
        let [mut of_first, mut of_cheap, mut of_dear] = [(); 3].map(|()| sentence.clone());
        let by_first = first.analyse_k_best(&mut of_first).expect("whole");
        let by_cheap = cheap.analyse_k_best(&mut of_cheap).expect("whole");
        assert_eq!(dear.analyse_k_best(&mut of_dear).expect("whole"), by_first);
        assert_eq!(of_dear, of_first);
        // The tags that are written are those with which the tree was found.
        assert_eq!(parser.parse_k_best(&of_cheap), by_cheap);
        let is_changed = of_cheap != of_first;
        changed += usize::from(is_changed);
        let score = |trees: &[treewright::model::ScoredTree]| trees.first().map(|tree| tree.score);
        assert_eq!(score(&by_cheap) > score(&by_first), is_changed, "{of_first:?} {of_cheap:?}");
    }
    assert!(changed > 0, "no sentence had a tag worth a change");
}

#[test]
fn the_weight_of_the_tagger_is_tuned_on_development_data_and_kept() {
    let mut pipeline = pipeline();
    let dev = sample("ud_english_ewt.conllu");
    let tune = |pipeline: &mut Pipeline, jobs: usize| {
        pipeline
            .tune_tagger_weight(&dev, jobs)
            .expect("whole")
            .expect("there are a tagger, a parser and trees")
    };
    let weights = tune(&mut pipeline, 1);
    assert_eq!(tune(&mut pipeline, 3), weights, "threads do not show");
    let TaggerWeights { best, scores } = weights;
    let highest = scores.iter().map(|score| score.1).fold(f64::MIN, f64::max);
    assert_eq!(scores.iter().find(|score| score.1 == highest).map(|score| score.0), Some(best));
    let joined = Pipeline::join([&Pipeline::from_bytes(&bytes(&pipeline)).expect("a pipeline")]);
    assert_eq!(joined.analyser(Some(TreeKind::Dependencies)).expect("there").tagger_weight, best);
    assert_eq!(joined.analyser(Some(TreeKind::Constituents)).expect("there").tagger_weight, 0);
    // Without a tagger, or without trees, there is nothing to tune.
    let mut lone = Pipeline::of_parts([parser("ud_english_ewt.conllu", "arc-hybrid").into()]);
    assert_eq!(lone.tune_tagger_weight(&dev, 1).expect("whole"), None);
    assert_eq!(pipeline.tune_tagger_weight(&[], 1).expect("whole"), None);
}

/// The stages of a training, and how many are over.
#[derive(Default)]
struct Stages(Vec<Stage>, usize);

impl Log for Stages {
    fn begin(&mut self, stage: Stage) {
        self.0.push(stage);
    }

    fn end(&mut self, outcome: &Outcome) {
        self.1 += 1;
        if let Outcome::Tagger { percent_right } | Outcome::Lemmatiser { percent_right } = outcome {
            assert!(percent_right.is_some_and(|percent| (50.0..=100.0).contains(&percent)), "{outcome:?}");
        }
    }
}

#[test]
fn a_pipeline_is_trained_as_planned_whatever_the_number_of_threads() {
    let treebank = sample("ud_english_ewt.conllu");
    let trained = |jobs: usize| {
        let parser = TrainConfig {
            system: "arc-hybrid-swap".parse().expect("a system"),
            update: Update::Local,
            beam: 1,
            epochs: 2,
            jobs,
            ..TrainConfig::default()
        };
        let config = PipelineConfig { parser, folds: 3, ..PipelineConfig::default() };
        let mut stages = Stages::default();
        let pipeline = Pipeline::train(&config, &treebank, &treebank, &mut stages).expect("trainable");
        let plan: Vec<Stage> =
            config.plan(&treebank, &treebank).into_iter().map(|(stage, _)| stage).collect();
        assert_eq!((stages.0, stages.1), (plan, 6));
        bytes(&pipeline)
    };
    let written = trained(1);
    assert!(written == trained(3), "the number of threads shows");
    let kinds =
        Pipeline::from_bytes(&written).expect("a pipeline").parts().map(|part| part.0).collect::<Vec<_>>();
    let parser = PartKind::Parser(TreeKind::Dependencies);
    assert_eq!(kinds, [PartKind::Segmenter, PartKind::Tagger, PartKind::Lemmatiser, parser]);
}

#[test]
fn a_pipeline_of_a_parser_alone_is_the_parser() {
    let treebank = sample("gum.mrg");
    let parser = TrainConfig { epochs: 1, ..TrainConfig::default() };
    let config = PipelineConfig { parts: Vec::new(), parser, ..PipelineConfig::default() };
    let pipeline = Pipeline::train(&config, &treebank, &[], &mut ()).expect("trainable");
    let mut model = Vec::new();
    train(&config.parser, &treebank, &[], None, &mut ())
        .expect("trainable")
        .save(&mut model)
        .expect("memory");
    assert!(bytes(&pipeline) == model);
}

#[test]
fn a_lone_parser_is_a_pipeline_and_a_pipeline_holds_parsers() {
    let mut model = Vec::new();
    parser("ud_english_ewt.conllu", "arc-hybrid").save(&mut model).expect("memory");
    let lone = Pipeline::from_bytes(&model).expect("a model");
    assert!(lone.segmenter().expect("nothing damaged").is_none());
    let analyser = lone.analyser(None).expect("the parser");
    assert!(!analyser.has_tagger() && analyser.parser.is_some());
    let message = lone.analyser(Some(TreeKind::Constituents)).expect_err("there is none").message;
    assert!(message.contains("no parser for constituents"), "{message}");
    let folder = std::env::temp_dir().join(format!("treewright-pipeline-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("whole.model");
    std::fs::write(&path, bytes(&pipeline())).expect("a file");
    assert!(Model::open(&path).is_ok(), "the first parser");
    std::fs::remove_dir_all(folder).expect("clean up");
}

#[test]
fn a_packed_file_is_read_like_the_other() {
    let folder = std::env::temp_dir().join(format!("treewright-packed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("packed.model");
    let lone = Pipeline::of_parts([parser("gum.mrg", "in-order").into()]);
    for pipeline in [pipeline(), lone] {
        let mut packed = Vec::new();
        pipeline.save_packed(&mut packed).expect("memory");
        let whole = bytes(&pipeline);
        assert!(packed.len() < whole.len() * 9 / 10, "{} of {} bytes", packed.len(), whole.len());
        std::fs::write(&path, &packed).expect("a file");
        assert!(treewright::pipeline::is_model(&path));
        assert!(bytes(&Pipeline::open(&path).expect("a model")) == whole);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&packed).expect("memory");
        for file in [&packed, &gzip.finish().expect("memory")] {
            assert!(bytes(&Pipeline::from_bytes(file).expect("a model")) == whole);
            assert!(Model::from_bytes(file).is_ok(), "the first parser");
        }
        // Cut short between chunks it is a model that is cut short.
        for length in [0, 7, 8, 12, 20, packed.len() / 2, packed.len() - 1] {
            std::fs::write(&path, &packed[..length]).expect("a file");
            let error = Pipeline::open(&path).map(|_| length).expect_err("cut short");
            assert_eq!(error.code.as_str(), "TW801", "{length}: {error}");
        }
    }
    std::fs::remove_dir_all(folder).expect("clean up");
}

#[test]
fn damaged_pipelines_are_refused() {
    let whole = bytes(&pipeline());
    let load = |bytes: &[u8]| -> treewright::Result<()> {
        let pipeline = Pipeline::from_bytes(bytes)?;
        pipeline.segmenter()?;
        for kind in [None, Some(TreeKind::Dependencies), Some(TreeKind::Constituents)] {
            pipeline.analyser(kind)?.load()?;
        }
        Ok(())
    };
    load(&whole).expect("whole");
    for length in [0, 7, 8, 15, 16, 100, 200, whole.len() / 2, whole.len() - 1] {
        let error = load(&whole[..length]).expect_err("cut short");
        assert_eq!(error.code.as_str(), "TW801", "{length}: {error}");
    }
    // Every flipped bit outside the padding is noticed; none makes a panic.
    let (mut noticed, mut tried) = (0, 0);
    for at in (0..whole.len()).step_by(whole.len() / 300 + 1) {
        let mut flipped = whole.clone();
        flipped[at] ^= 16;
        tried += 1;
        noticed += usize::from(load(&flipped).is_err());
    }
    assert!(noticed * 100 >= tried * 98, "{noticed} of {tried}");
}

/// A neural parser finds tags of its own: they fill what the input lacks, replace what is there only where that is wanted, and
/// the lemmatiser sees them.
#[test]
fn a_neural_parser_needs_no_tagger() {
    let treebank = sample("ud_english_ewt.conllu");
    let mut parser = TrainConfig {
        scorer: "neural".to_owned(),
        system: "arc-hybrid".parse().expect("a system"),
        update: Update::Local,
        beam: 1,
        epochs: 2,
        ..TrainConfig::default()
    };
    parser.neural.units = 16;
    let parts = vec![TextPart::Lemmatiser];
    let config = PipelineConfig { parts, parser, ..PipelineConfig::default() };
    let pipeline = Pipeline::train(&config, &treebank, &[], &mut ()).expect("trainable");
    let analyser = pipeline.analyser(None).expect("a parser");
    assert!(!analyser.has_tagger() && !analyser.lacks_tagger());
    let bare = || {
        let mut sentence = treebank[0].sentence.clone();
        for token in &mut sentence.tokens {
            (token.tag, token.xpos, token.feats, token.lemma) = Default::default();
        }
        sentence
    };
    let mut worker = analyser.worker(None, Tagging::default());
    let mut alone = bare();
    let tree = worker.analyse(&mut alone).expect("whole");
    assert!(alone.tokens.iter().all(|token| !token.tag.is_empty() && !token.xpos.is_empty()));
    assert!(alone.tokens.iter().all(|token| !token.lemma.is_empty()));
    // Among sentences with tags, which keep them.
    let mut others = [treebank[1].sentence.clone(), bare(), treebank[2].sentence.clone()];
    let mut all: Vec<&mut Sentence> = others.iter_mut().collect();
    let trees = worker.analyse_all(&mut all).expect("whole");
    assert_eq!((&others[1], &trees[1]), (&alone, &tree));
    assert_eq!([&others[0], &others[2]], [&treebank[1].sentence, &treebank[2].sentence]);
    // Wherever they are wanted.
    let mut replaced = treebank[0].sentence.clone();
    replaced.tokens.iter_mut().for_each(|token| token.tag = "X".into());
    analyser.worker(None, Tagging::Always).analyse(&mut replaced).expect("whole");
    let tags =
        |sentence: &Sentence| sentence.tokens.iter().map(|token| token.tag.clone()).collect::<Vec<_>>();
    assert_eq!(tags(&replaced), tags(&alone));
}
