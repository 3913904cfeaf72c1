//! Reading, drawing and scoring from outside: limits, conversions, pictures.

use std::process::Output;

use crate::common::run;

/// The exit code, stdout and stderr.
fn ends(arguments: &[&str], input: &str) -> (i32, String, String) {
    let Output { status, stdout, stderr } = run(arguments, input);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (status.code().expect("no signal"), text(stdout), text(stderr))
}

#[test]
fn a_large_sentence_is_refused_or_skipped() {
    let text = format!("(S (A a))\n(S {})\n(S (B b))\n", "(A a)".repeat(40));
    let convert = ["convert", "-", "-", "--from", "ptb", "--to", "ptb", "--max-sentence-bytes", "2k"];
    let (code, _, stderr) = ends(&convert, &text);
    assert_eq!(code, 1);
    assert!(stderr.contains("stdin:2:1: sentence 2:") && stderr.contains("[TW010]"), "{stderr}");
    assert!(stderr.contains("--max-sentence-bytes"), "{stderr}");
    let (_, stdout, stderr) = ends(&[&convert[..], &["--on-error", "skip"]].concat(), &text);
    assert_eq!(stdout, "(S (A a))\n(S (B b))\n");
    assert!(stderr.contains("[TW010]"), "{stderr}");
    let (code, ..) = ends(&convert[..7], &text);
    assert_eq!(code, 0);
    for wrong in ["0", "x", "5T", "", "99999999999G"] {
        let (code, ..) = ends(&[&convert[..8], &[wrong]].concat(), "");
        assert_eq!(code, 2, "{wrong}");
    }
}

const TREES: &str = "(S (A one))\n(S (A two))\n(S (A three))\n(S (A four))\n";

#[test]
fn sentences_to_draw_are_numbers_and_ranges() {
    let drawn = |numbers: &str| {
        let (code, stdout, stderr) = ends(&["draw", "-", "--from", "ptb", "--sentence", numbers], TREES);
        assert_eq!(code, 0, "{stderr}");
        ["one", "two", "three", "four"].map(|word| stdout.contains(word))
    };
    assert_eq!(drawn("2-"), [false, true, true, true]);
    assert_eq!(drawn("-2"), [true, true, false, false]);
    assert_eq!(drawn("2-3"), [false, true, true, false]);
    assert_eq!(drawn("1,4"), [true, false, false, true]);
    assert_eq!(drawn("1,3-"), [true, false, true, true]);
    assert_eq!(ends(&["draw", "-", "--from", "ptb", "--sentence", "5-"], TREES).0, 1);
    assert_eq!(ends(&["draw", "-", "--from", "ptb", "--sentence", "x"], TREES).0, 2);
}

#[test]
fn an_unknown_kind_of_picture_is_a_usage_error() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("picture.jpg");
    let path = path.to_str().expect("a plain path");
    let (code, _, stderr) = ends(&["draw", "-", "--from", "ptb", "--sentence", "1", "-o", path], TREES);
    assert_eq!(code, 2);
    assert!(stderr.contains(".svg, .png, .pdf") && !std::path::Path::new(path).exists(), "{stderr}");
    let (code, _, stderr) = ends(&["eval", "a.mrg", "b.mrg", "--plot", path], "");
    assert_eq!(code, 2);
    assert!(stderr.contains(".svg, .png or .pdf"), "{stderr}");
}

#[test]
fn control_characters_are_drawn_as_pictures() {
    let (code, stdout, _) = ends(&["draw", "-", "--from", "ptb"], "(S (A\x1b[31m b\x07ell))\n");
    assert_eq!(code, 0);
    assert!(!stdout.contains(['\x1b', '\x07']) && stdout.contains("\u{241b}[31m"), "{stdout}");
}
