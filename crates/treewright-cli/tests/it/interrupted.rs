//! Training that is stopped, in whatever way, goes on with `--resume` to the model of a run that nobody stopped.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use treewright::train::Checkpoint;

use crate::common::few_sentences;

/// Small networks: the bytes do not depend on their size.
const NEURAL: &str = "system = \"arc-hybrid\"\nscorer = \"neural\"\nupdate = \"local\"\nbeam = 1\n[neural]\nword-size = 6\n\
                      affix-size = 4\naffix-rows = 20\ninput-size = 8\nunits = 6\nhidden = 6\nbatch-words = 50\n";
const STACK_LSTM: &str = "system = \"arc-hybrid-swap\"\nscorer = \"stack-lstm\"\nupdate = \"local\"\nbeam = 1\n\
                          [stack-lstm]\nunits = 6\nhidden = 6\n";

fn run(arguments: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_treewright")).args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The number of epochs of a training that is to be stopped.
#[derive(Clone, Copy)]
enum Epochs {
    /// More than anybody waits for; the training that goes on has two more than were done.
    Endless,
    /// The rate at which networks learn depends on the number of epochs, so it stays the same.
    Exactly(usize),
}

/// Stops a training with these flags by each signal, and compares the model after `--resume`.
#[track_caller]
fn check(kind: &str, treebank: &str, settings: &str, flags: &[&str], epochs: Epochs) {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("interrupted-{kind}"));
    // An earlier run may have left it.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let path = |name: &str| folder.join(name).to_str().expect("a plain path").to_owned();
    let (treebank_file, config) = (path("t.conllu"), path("settings.toml"));
    let treebank_file = if treebank.starts_with('(') { path("t.mrg") } else { treebank_file };
    std::fs::write(&treebank_file, treebank).expect("a treebank");
    std::fs::write(&config, settings).expect("settings");
    let mut data = vec!["train", "--train", &treebank_file, "--dev", &treebank_file, "--quiet"];
    if !settings.is_empty() {
        data.extend(["--config", &config]);
    }
    data.extend(flags);
    for signal in ["INT", "TERM", "KILL"] {
        let (whole, resumed) = (path("whole.model"), path(&format!("{signal}.model")));
        let checkpoint = format!("{resumed}.checkpoint");
        let heed = "$SIG{$_} = 'DEFAULT' for qw(INT TERM); exec @ARGV";
        let mut command = Command::new("perl");
        command.args(["-e", heed, env!("CARGO_BIN_EXE_treewright")]).args(&data);
        let n_epochs = |n_done: usize| match epochs {
            Epochs::Endless => (n_done + 2).to_string(),
            Epochs::Exactly(n) => n.to_string(),
        };
        command.args(["--epochs", &n_epochs(100_000), "-o", &resumed]).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        while !Path::new(&checkpoint).exists() {
            assert_eq!(child.try_wait().expect("it runs"), None, "{kind}: it ended without a checkpoint");
            std::thread::yield_now();
        }
        let kill = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(kill.expect("kill runs").success());
        child.wait().expect("it ends");
        let bytes = std::fs::read(&checkpoint).expect("there");
        let n_done = Checkpoint::from_bytes(&bytes).expect("it is whole").epochs();
        let epochs = n_epochs(n_done);
        run(&[&data[..], &["--epochs", &epochs, "-o", &whole]].concat());
        run(&[&data[..], &["--epochs", &epochs, "-o", &resumed, "--resume"]].concat());
        let model = |path: &str| std::fs::read(path).expect("a model");
        assert!(model(&whole) == model(&resumed), "{kind}, {signal}: {n_done} of {epochs} epochs");
        assert!(!Path::new(&checkpoint).exists());
        let log = std::fs::read_to_string(format!("{resumed}.log.jsonl")).expect("a log");
        assert_eq!(log.matches("\"epoch\":").count().to_string(), epochs, "{kind}, {signal}");
    }
}

fn brackets() -> String {
    (0..8).map(|i| format!("(TOP (S (NP (DT the) (NN dog{})) (VP (VB barks))))\n", i % 3)).collect()
}

#[test]
fn step_by_step() {
    check("local", &few_sentences(6), "", &["--system", "arc-hybrid-swap", "--beam", "1"], Epochs::Endless);
}

#[test]
fn in_a_beam() {
    check(
        "global",
        &brackets(),
        "",
        &["--system", "in-order", "--beam", "4", "--jobs", "2"],
        Epochs::Endless,
    );
}

#[test]
fn with_merged_states() {
    check(
        "dp",
        &brackets(),
        "",
        &["--recipe", "paper-001", "--decoder", "dp", "--beam", "4"],
        Epochs::Endless,
    );
}

#[test]
fn neural() {
    check("neural", &few_sentences(6), NEURAL, &[], Epochs::Exactly(12));
}

#[test]
fn stack_lstm() {
    check("stack-lstm", &few_sentences(6), STACK_LSTM, &[], Epochs::Exactly(12));
}

#[test]
fn with_all_parts() {
    check("parts", &few_sentences(6), "", &["--jackknife", "2"], Epochs::Endless);
    check("brackets", &brackets(), "", &[], Epochs::Endless);
}

#[test]
fn neural_with_a_tagger() {
    check(
        "neural-parts",
        &few_sentences(6),
        NEURAL,
        &["--with", "segmenter,tagger", "--jackknife", "2"],
        Epochs::Exactly(12),
    );
}
