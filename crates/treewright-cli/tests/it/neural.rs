//! Neural models from outside: training, going on, parsing many sentences or one, 8 bits, votes.

use std::fs;
use std::path::Path;

use crate::common::{folder, program, refusal, stdout};

#[path = "../../../treewright/examples/shared_encoder.rs"]
mod shared_encoder;

/// A sample treebank.
fn data(name: &str) -> String {
    format!("{}/../../data/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Settings for a network that learns in a moment.
const SETTINGS: &str = "\
system = \"arc-hybrid\"
scorer = \"neural\"
update = \"local\"
beam = 1
epochs = 4
pseudo-projective = \"head\"
[neural]
word-size = 8
affix-size = 4
affix-rows = 50
input-size = 12
units = 10
hidden = 12
batch-words = 100
learning-rate = 0.01
encoder-rate = 0.01
fine-tune-from = 0
";

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("a plain path").to_owned()
}

/// Trains with the settings, or with what the flags say.
fn train(folder: &Path, model: &str, flags: &[&str]) -> String {
    let (settings, model) = (path(folder, "settings.toml"), path(folder, model));
    fs::write(&settings, SETTINGS).expect("a folder");
    let treebank = data("ud_english_ewt.conllu");
    let mut arguments = vec!["train", "--train", &treebank, "--dev", &treebank, "-o", &model];
    if !flags.contains(&"--recipe") {
        arguments.extend(["--config", &settings]);
    }
    arguments.extend(flags);
    stdout(&arguments, "");
    model
}

#[test]
fn a_neural_model_is_trained_parses_is_quantised_and_votes() {
    let folder = folder("neural");
    let model = train(&folder, "neural.model", &["--jobs", "2"]);
    let again = train(&folder, "again.model", &["--jobs", "1"]);
    assert!(
        fs::read(&model).expect("a model") == fs::read(&again).expect("a model"),
        "threads change nothing"
    );
    let treebank = data("ud_english_ewt.conllu");
    let parse = |flags: &[&str]| stdout(&[&["parse", &treebank, "--to", "conllu"], flags].concat(), "");
    let trees = parse(&["--model", &model]);
    assert!(trees.contains("nsubj"));
    assert_eq!(parse(&["--model", &model, "--jobs", "3"]), trees);
    // Scores are asked for one sentence at a time.
    let scored = stdout(&["parse", &treebank, "--to", "json", "--model", &model], "");
    assert_eq!(scored.matches("\"score\":-").count(), scored.lines().count(), "logarithms of probabilities");
    assert!(!parse(&["--model", &model, "--beam", "4"]).is_empty());

    let small = path(&folder, "small.model");
    stdout(&["quantize", &model, "-o", &small], "");
    let size = |path: &str| fs::metadata(path).expect("a model").len();
    assert!(size(&small) < size(&model));
    let of_small = parse(&["--model", &small]);
    assert!(of_small.contains("nsubj"));
    // Lesser kernels find the same trees.
    for kernels in ["plain", "avx2"] {
        for (model, trees) in [(&model, &trees), (&small, &of_small)] {
            let mut command = program();
            command
                .args(["parse", &treebank, "--to", "conllu", "--model", model])
                .env("TREEWRIGHT_KERNELS", kernels);
            let output = command.output().expect("it runs");
            assert!(output.stdout == trees.as_bytes(), "{kernels}");
        }
    }
    assert!(refusal(1, &["quantize", &small, "-o", &again], "").contains("no neural parser"));

    // A model that votes with itself changes nothing; linear and neural models vote together.
    assert_eq!(parse(&["--model", &model, "--model", &model]), trees);
    let flags = ["--recipe", "dependencies", "--epochs", "2", "--min-action-count", "1"];
    let linear = train(&folder, "linear.model", &flags);
    assert!(!parse(&["--model", &linear, "--model", &model]).is_empty());
    let flags = ["--recipe", "dependencies", "--epochs", "1", "--min-action-count", "3"];
    let other = train(&folder, "other.model", &flags);
    let message = refusal(1, &["parse", &treebank, "--model", &linear, "--model", &other], "");
    assert!(message.contains("model 2 has other actions"), "{message}");
}

#[test]
fn word_vectors_go_into_the_model() {
    let folder = folder("neural_vectors");
    let vectors = path(&folder, "vectors.txt");
    fs::write(&vectors, "the 1 0\nof 0 1\nand 0.5 0.5\n").expect("a folder");
    let model = train(&folder, "neural.model", &["--vectors", &vectors, "--epochs", "1"]);
    let treebank = data("ud_english_ewt.conllu");
    assert!(!stdout(&["parse", &treebank, "--model", &model], "").is_empty());
}

/// An encoder is tuned with a parser for dependencies, another for constituents looks at it, and a file of both has it once.
#[test]
fn an_encoder_is_tuned_passed_on_and_shared() {
    let folder = folder("encoder");
    let tiny = format!("{}/../treewright/src/score/neural/encoder/tiny", env!("CARGO_MANIFEST_DIR"));
    let tuning = ["--encoder", &tiny, "--encoder-layers", "2", "--fine-tune", "--epochs", "2"];
    let one = train(&folder, "one.model", &[&tuning[..], &["--jobs", "2"]].concat());
    let again = train(&folder, "again.model", &[&tuning[..], &["--jobs", "1"]].concat());
    assert!(fs::read(&one).expect("a model") == fs::read(&again).expect("a model"), "threads change nothing");
    let (two, treebank) = (path(&folder, "two.model"), data("gum.mrg"));
    let flags = ["--system", "in-order", "--scorer", "neural", "--epochs", "1", "--encoder-layers", "2"];
    let of_two = |encoder: &str, model: &str| {
        stdout(
            &[&["train", "--train", &treebank, "--encoder", encoder, "-o", model], &flags[..]].concat(),
            "",
        );
    };
    of_two(&one, &two);
    // The encoder is the tuned one.
    let untuned = path(&folder, "untuned.model");
    of_two(&tiny, &untuned);
    assert!(fs::read(&two).expect("a model") != fs::read(&untuned).expect("a model"));
    let (small_one, small_two) = (path(&folder, "small-one.model"), path(&folder, "small-two.model"));
    stdout(&["quantize", &one, "-o", &small_one], "");
    stdout(&["quantize", &two, "-o", &small_two], "");
    for (one, two) in [(&one, &two), (&small_one, &small_two)] {
        let (both, packed) = (path(&folder, "both.model"), path(&folder, "both.model.gz"));
        stdout(&["join", one, two, "-o", &both], "");
        stdout(&["join", one, two, "-o", &packed], "");
        let parse =
            |model: &str, kind: &str| stdout(&["parse", "--model", model, "--as", kind, &treebank], "");
        for (model, kind) in [(one, "dependencies"), (two, "constituents")] {
            let alone = parse(model, kind);
            assert_eq!(parse(&both, kind), alone);
            assert_eq!(parse(&packed, kind), alone);
        }
        shared_encoder::check(&both, 200).expect("sentences do not mix");
    }
    // An encoder of 8 bits will do, too; a model without one will not.
    of_two(&small_one, &untuned);
    let linear = train(&folder, "linear.model", &["--recipe", "dependencies", "--epochs", "1"]);
    for (encoder, expected) in
        [(&linear[..], "no parser of this model has a pre-trained encoder"), ("nobody", "no such file")]
    {
        let message = refusal(
            1,
            &["train", "--train", &treebank, "--encoder", encoder, "-o", &two, "--scorer", "neural"],
            "",
        );
        assert!(message.contains(expected), "{message}");
    }
}
