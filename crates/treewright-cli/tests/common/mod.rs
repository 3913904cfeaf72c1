//! What the tests of several commands need: running the program, and small models.
#![allow(dead_code, reason = "no test file needs everything")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// Runs the program.
pub fn run(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_treewright"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    // A program that refuses its flags may be gone before it has read anything.
    if let Err(error) = child.stdin.take().expect("piped").write_all(input.as_bytes()) {
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe, "{error}");
    }
    child.wait_with_output().expect("it ends")
}

/// What a run that must succeed prints.
#[track_caller]
pub fn stdout(arguments: &[&str], input: &str) -> String {
    let output = run(arguments, input);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// What a run that must fail with this exit code says.
#[track_caller]
pub fn refusal(code: i32, arguments: &[&str], input: &str) -> String {
    let output = run(arguments, input);
    let message = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
    message
}

/// A file of these tests alone.
pub fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", env!("CARGO_CRATE_NAME")))
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

/// A model for constituents with segmenter, tagger and a parser with a beam.
pub fn constituents() -> &'static str {
    static MODEL: OnceLock<String> = OnceLock::new();
    MODEL.get_or_init(|| {
        let treebank = sample("gum.mrg");
        let flags = ["--system", "in-order", "--beam", "8", "--with", "segmenter,tagger", "--train"];
        trained("constituents.model", &[&flags[..], &[&treebank, "--dev", &treebank]].concat())
    })
}
