//! What the tests of several commands need: running the program, scratch folders, and small models.
#![allow(dead_code, reason = "no test file needs everything")]

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

/// The program, to be given arguments.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_treewright"));
    // What is in the home folder of whoever runs the tests must not matter.
    command.env_remove("TREEWRIGHT_MODELS").env("XDG_DATA_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The program as a terminal starts it. A script in the background ignores signals, and so do the tests that it runs
/// and the programs that those start. A signal that has a handler here is not ignored by what is started from here.
#[cfg(unix)]
pub fn program_that_heeds_signals() -> Command {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use std::sync::{Arc, atomic::AtomicBool};
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        let always = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_default(signal, always).expect("a handler");
    }
    program()
}

/// Sends a signal with the shell's own `kill`; not every system has a program of that name.
#[cfg(unix)]
#[track_caller]
pub fn signal(child: &Child, name: &str) {
    let kill = Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status();
    assert!(kill.expect("a shell").success());
}

/// Runs it with this text as its input.
pub fn run(arguments: &[impl AsRef<OsStr>], input: &str) -> Output {
    run_in(Path::new("."), arguments, input)
}

/// The same, in a folder.
pub fn run_in(folder: &Path, arguments: &[impl AsRef<OsStr>], input: &str) -> Output {
    finish(program().current_dir(folder).args(arguments), input)
}

/// Runs a command to its end with this text as its input.
pub fn finish(command: &mut Command, input: &str) -> Output {
    let mut child = command.spawn().expect("the program runs");
    // A program that refuses its flags may be gone before it has read anything.
    if let Err(error) = child.stdin.take().expect("piped").write_all(input.as_bytes()) {
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe, "{error}");
    }
    child.wait_with_output().expect("it ends")
}

/// What a run that must succeed prints.
#[track_caller]
pub fn stdout(arguments: &[impl AsRef<OsStr>], input: &str) -> String {
    let output = run(arguments, input);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// What a run that must end with this exit code says on stderr.
#[track_caller]
pub fn refusal(code: i32, arguments: &[impl AsRef<OsStr>], input: &str) -> String {
    let output = run(arguments, input);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{message}");
    message
}

/// A fresh folder for one test.
pub fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder");
    path
}

/// A file of the repository's `data` folder.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name)
}

/// The names of the files in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The first sentences of the English sample.
pub fn few_sentences(n: usize) -> String {
    let text = std::fs::read_to_string(data("ud_english_ewt.conllu")).expect("the sample");
    text.split_inclusive("\n\n").take(n).collect()
}

/// A dependency parser that knows only a few sentences, as bytes of its file.
pub fn tiny_model() -> &'static [u8] {
    static MODEL: OnceLock<Vec<u8>> = OnceLock::new();
    MODEL.get_or_init(|| {
        let folder = folder(&format!("tiny-model-{}", std::process::id()));
        let (treebank, model) = (folder.join("t.conllu"), folder.join("m.model"));
        std::fs::write(&treebank, few_sentences(10)).expect("room");
        let train = program()
            .args(["train", "--system", "arc-hybrid", "--beam", "1", "--epochs", "1", "--quiet", "--train"])
            .args([treebank.as_os_str(), OsStr::new("-o"), model.as_os_str()])
            .output()
            .expect("it runs");
        assert!(train.status.success(), "{}", String::from_utf8_lossy(&train.stderr));
        std::fs::read(&model).expect("the model")
    })
}

/// The names of all commands, as the help lists them.
pub fn commands() -> Vec<String> {
    let help = stdout(&["--help"], "");
    let lines =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // Lines that are indented further continue a description.
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

/// A file of these tests alone.
pub fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// A small treebank of the project.
pub fn sample(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name);
    path.to_str().expect("a plain path").to_owned()
}

fn trained(name: &str, flags: &[&str]) -> String {
    let path = scratch(name).to_str().expect("a plain path").to_owned();
    stdout(&[&["train", "--epochs", "2", "--quiet", "-o", &path], flags].concat(), "");
    path
}

/// A model for dependencies with segmenter, tagger and a greedy parser.
pub fn dependencies() -> &'static str {
    static MODEL: OnceLock<String> = OnceLock::new();
    MODEL.get_or_init(|| {
        let flags = ["--system", "arc-hybrid", "--beam", "1", "--with", "segmenter,tagger", "--train"];
        trained("dependencies.model", &[&flags[..], &[&sample("ud_english_ewt.conllu")]].concat())
    })
}

/// A parser for constituents that can be searched exactly.
pub fn searchable() -> &'static str {
    static MODEL: OnceLock<String> = OnceLock::new();
    MODEL.get_or_init(|| {
        let flags = ["--system", "bottom-up-2n", "--features", "simplified", "--beam", "4", "--train"];
        trained("searchable.model", &[&flags[..], &[&sample("gum.mrg")]].concat())
    })
}

/// The trees of the constituent sample with few words, a line for each.
pub fn short_trees() -> String {
    let trees = stdout(&["convert", &sample("gum.mrg"), "-", "--to", "discbracket"], "");
    let short = trees.lines().filter(|line| (3..=14).contains(&line.matches('=').count()));
    let short: String = short.take(12).flat_map(|line| [line, "\n"]).collect();
    stdout(&["convert", "-", "-", "--from", "discbracket", "--to", "ptb"], &short)
}

/// A model for constituents with segmenter, tagger and a parser with a beam.
pub fn constituents() -> &'static str {
    static MODEL: OnceLock<String> = OnceLock::new();
    MODEL.get_or_init(|| {
        let treebank = sample("gum.mrg");
        let flags = ["--system", "in-order", "--beam", "8", "--with", "segmenter,tagger", "--train"];
        trained("constituents.model", &[&flags[..], &[&treebank, "--dev", &treebank]].concat())
    })
}
