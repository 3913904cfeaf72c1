//! `treewright oracle`: which system is asked about, and how gold trees are read.

use crate::common::{refusal, run, stdout};

/// A tree whose constituents have two parts each.
const IN_PAIRS: &str = "(S (A (T 0=a) (T 2=c)) (B (T 1=b) (T 3=d)))";

/// Asks sr-gap about the tree, with these flags.
fn ask(gold: &str, actions: &str, flags: &[&str]) -> String {
    let question = ["oracle", "--system", "sr-gap", "--gold", gold, "--actions", actions];
    stdout(&[&question, flags].concat(), "")
}

/// The answer to a question that is asked as a JSON line.
fn ask_line(line: &str, flags: &[&str]) -> serde_json::Value {
    let answer = stdout(&[&["oracle", "--system", "sr-gap", "--jsonl"], flags].concat(), line);
    serde_json::from_str(&answer).expect("a line of JSON")
}

#[test]
fn a_system_without_temporary_symbols_can_be_asked_about() {
    assert!(ask(IN_PAIRS, "SH SH SH GAP", &[]).contains("RR-X:"));
    let without = ask(IN_PAIRS, "SH SH SH GAP", &["--no-temporaries"]);
    assert!(without.contains("RR-A") && !without.contains("X:"), "{without}");
    assert!(ask(IN_PAIRS, "", &["--no-temporaries"]).contains(" 0 (dynamic oracle)"));
}

#[test]
fn json_lines_ask_about_systems_without_temporary_symbols_by_flag_or_field() {
    let line = |field: &str| format!("{{\"gold\": \"{IN_PAIRS}\", \"prefix\": [\"SH\", \"SH\"]{field}}}\n");
    let (with, without) = (ask_line(&line(""), &[]), ask_line(&line(""), &["--no-temporaries"]));
    assert!(with.to_string().contains("X:") && !without.to_string().contains("X:"), "{without}");
    assert_eq!(without, ask_line(&line(", \"temporaries\": false"), &[]));
    assert_eq!(with, ask_line(&line(", \"temporaries\": true"), &["--no-temporaries"]));
    let wrong = ask_line(&line(", \"temporaries\": \"no\""), &[]);
    assert!(wrong["error"].as_str().expect("an error").contains("true or false"), "{wrong}");
}

#[test]
fn a_system_without_temporary_symbols_is_for_sr_gap_and_has_no_temporary_symbol() {
    let both = ["oracle", "--system", "sr-gap", "--no-temporaries", "--temporary", "Y:", "--jsonl"];
    assert!(refusal(2, &both, "").contains("--temporary"));
    let other = ["oracle", "--system", "top-down", "--no-temporaries", "--jsonl"];
    assert!(refusal(2, &other, "").contains("--no-temporaries has no effect on top-down"));
}

/// `(VP barks)` in a tree with bare words: a tag by the rule for treebanks, a constituent by that of gold trees for the
/// oracle; `derive` says so, and reads it like the oracle if it is told to.
#[test]
fn a_word_in_brackets_beside_bare_words_is_read_alike_if_asked_for() {
    let tree = "(S (NP The dog) (VP barks))";
    let derive = ["derive", "--system", "in-order", "--from", "ptb", "-"];
    let output = run(&derive, tree);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "SH NT-NP SH RE NT-S SH RE FI\n");
    let note = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        note,
        "sentence 1: \"The\" has no tag, and VP in (VP barks) is read as a tag; if it is a constituent, use \
         --bare-words\n"
    );
    let output = run(&[&derive[..], &["--bare-words"]].concat(), tree);
    assert!(output.status.success() && output.stderr.is_empty());
    let actions = "SH NT-NP SH RE NT-S SH NT-VP RE RE FI";
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), actions);
    let asked = stdout(&["oracle", "--system", "in-order", "--gold", tree, "--actions", actions], "");
    assert!(asked.contains(" 0 (dynamic oracle)\nThe parse is finished."), "{asked}");
    // Nothing is said where all words have tags, or none has one.
    for tree in ["(S (NP (D The) (N dog)) (V barks))", "(S (NP The dog) barks now)"] {
        assert!(run(&derive, tree).stderr.is_empty(), "{tree}");
    }
}
