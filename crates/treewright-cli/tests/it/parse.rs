//! `treewright train` with all parts and `treewright parse` from outside: raw text, documents, models by name.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use crate::common::{run, scratch, stdout};

/// A model with segmenter, tagger and parser, trained by the command on a sample.
fn model() -> &'static str {
    static MODEL: OnceLock<String> = OnceLock::new();
    MODEL.get_or_init(|| {
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/ud_english_ewt.conllu");
        let sample = sample.to_str().expect("a plain path");
        let path = scratch("tiny.model").to_str().expect("a plain path").to_owned();
        let flags = ["train", "--system", "arc-hybrid", "--beam", "1", "--epochs", "2", "--jackknife", "2"];
        let parts = ["--with", "segmenter,tagger", "--train", sample, "--quiet", "-o", &path];
        stdout(&[&flags[..], &parts].concat(), "");
        path
    })
}

const TEXT: &str = "The boy saw a dog. He ran.\n";

#[test]
fn raw_text_becomes_conllu_with_places() {
    let parsed = stdout(&["parse", "--model", model()], TEXT);
    let rows: Vec<Vec<&str>> =
        parsed.lines().filter(|line| line.contains('\t')).map(|line| line.split('\t').collect()).collect();
    assert!(rows.len() >= 8, "{parsed}");
    assert!(
        rows.iter().all(|row| row.len() == 10 && row[3] != "_" && row[6] != "_"),
        "tags and heads: {parsed}"
    );
    let text: Vec<char> = TEXT.chars().collect();
    for row in rows {
        let range = row[9].split('|').find_map(|part| part.strip_prefix("TokenRange=")).expect("its place");
        let (start, end) = range.split_once(':').expect("two numbers");
        let word: String = text[start.parse().unwrap()..end.parse().unwrap()].iter().collect();
        assert_eq!(word, row[1]);
    }
}

#[test]
fn the_number_of_threads_does_not_show() {
    let text = TEXT.repeat(200);
    let one = stdout(&["parse", "--model", model(), "--jobs", "1"], &text);
    assert_eq!(one, stdout(&["parse", "--model", model(), "--jobs", "3"], &text));
}

/// Beyond the first batch, and after what can be written.
#[test]
fn what_cannot_be_written_is_told_by_its_number() {
    let block =
        |i: usize| format!("1\t{}\t_\tNOUN\tNN\t_\t0\troot\t_\t_\n\n", if i == 70 { "a b" } else { "dog" });
    let input: String = (1..=100).map(block).collect();
    for format in ["ptb", "discbracket", "export"] {
        for jobs in ["1", "3"] {
            let flags = ["parse", "--as", "constituents", "--from", "conllu", "--to", format, "--jobs", jobs];
            let output = run(&flags, &input);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && errors.contains("sentence 70: "), "{format}: {errors}");
            let written = String::from_utf8_lossy(&output.stdout);
            let n_written = written.matches("dog").count();
            assert_eq!(n_written, 69, "{format}, {jobs} jobs: {written}");
        }
    }
}

/// Threads read what they parse: their errors must have the lines and numbers of the whole file.
#[test]
fn bad_sentences_are_skipped_or_end_it_with_their_lines_and_numbers() {
    // Enough for several portions; every sentence has three lines.
    let block = |i: usize| {
        format!(
            "# sent_id = {i}\n{}\tdog\t_\tNOUN\tNN\t_\t0\troot\t_\t_\n\n",
            if i.is_multiple_of(1500) { "2" } else { "1" }
        )
    };
    let input: String = (1..=4000).map(block).collect();
    let expected = |i: usize| format!("stdin:{}:1: sentence {i}: the ID is \"2\"", 3 * i - 1);
    for jobs in ["1", "3"] {
        let skip = run(&["parse", "--model", model(), "--on-error", "skip", "--jobs", jobs], &input);
        let errors = String::from_utf8_lossy(&skip.stderr);
        assert!([1500, 3000].iter().all(|&i| errors.contains(&expected(i))), "{errors}");
        assert!(errors.contains("2 sentences were skipped") && skip.status.code() == Some(3), "{errors}");
        assert_eq!(String::from_utf8_lossy(&skip.stdout).matches("sent_id").count(), 3998);
        let fail = run(&["parse", "--model", model(), "--jobs", jobs], &input);
        let errors = String::from_utf8_lossy(&fail.stderr);
        assert!(errors.contains(&expected(1500)) && !errors.contains("sentence 3000"), "{errors}");
        assert_eq!(String::from_utf8_lossy(&fail.stdout).matches("sent_id").count(), 1499);
    }
    for empty in ["", "\n\n", "\n \n"] {
        let output = run(&["parse", "--model", model(), "--from", "conllu"], empty);
        assert!(String::from_utf8_lossy(&output.stderr).contains("the input is empty"));
    }
}

#[test]
fn documents_keep_their_ids() {
    let documents = "{\"id\": 7, \"text\": \"He ran. She ran.\"}\n{\"id\": 8, \"text\": \"\"}\n";
    let parsed = stdout(&["parse", "--model", model(), "--jsonl-field", "text", "--to", "json"], documents);
    let rows: Vec<Value> = parsed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((&rows[0]["id"], &rows[1]["id"]), (&7.into(), &8.into()));
    assert_eq!(rows[0]["text"], "He ran. She ran.");
    assert!(!rows[0]["trees"].as_array().expect("trees").is_empty());
    assert_eq!(rows[1]["trees"], Value::Array(Vec::new()));
    let table = stdout(&["parse", "--model", model(), "--text-column", "2"], "a\tHe ran.\tx\nb\t\ty\n");
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("a\tx\t1\t{") && *lines.last().expect("two rows") == "b\ty\t0\t", "{table}");
}

#[test]
fn bad_documents_say_where() {
    for (flags, input, part) in [
        (["--jsonl-field", "text"], "{\"text\": \"Hi.\"}\n{\"text\": 3}\n", "stdin:2:1"),
        (["--jsonl-field", "text"], "nonsense\n", "stdin:1:"),
        (["--text-column", "3"], "a\tb\n", "there are 2"),
    ] {
        let output = run(&[&["parse", "--model", model()], &flags[..]].concat(), input);
        let message = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn tokens_are_tagged_and_tags_are_kept() {
    let tagged = stdout(&["parse", "--model", model(), "--from", "tokens"], "The boy ran .\n");
    assert!(
        tagged.lines().filter(|line| line.contains('\t')).all(|line| line.split('\t').nth(3) != Some("_"))
    );
    let flags = ["parse", "--model", model(), "--from", "tokens", "--tagged", "--keep-tags"];
    let kept = stdout(&flags, "The/Q boy/Q\n");
    assert!(kept.lines().filter(|line| line.contains('\t')).all(|line| line.split('\t').nth(3) == Some("Q")));
}

#[test]
fn models_are_told_apart() {
    let info = stdout(&["info", model()], "");
    assert!(info.contains("segmenter") && info.contains("tagger") && info.contains("arc-hybrid"), "{info}");
    let output = run(&["parse", "--model", model(), "--as", "constituents"], TEXT);
    assert!(String::from_utf8_lossy(&output.stderr).contains("no parser for constituents"));
    let output = run(&["parse", "--model", "no-such-model"], TEXT);
    assert!(String::from_utf8_lossy(&output.stderr).contains("treewright models lists them"));
}

/// The program's own model.
#[test]
fn the_default_model_parses() {
    let names = stdout(&["models"], "");
    assert!(names.contains("in the program"), "{names}");
    let trees = stdout(&["parse", "--as", "constituents"], "The public is still cautious.\n");
    assert!(trees.starts_with('(') && trees.contains("cautious"), "{trees}");
    let words = stdout(&["parse"], "The public is still cautious.\n");
    assert_eq!(words.lines().filter(|line| line.contains('\t')).count(), 6, "{words}");
}

#[test]
fn recipes_are_settings_that_flags_override() {
    let print = |more: &[&str]| stdout(&[&["train", "--print-config"], more].concat(), "");
    let recipe = print(&["--recipe", "fast-dependencies"]);
    assert!(recipe.contains("system = \"arc-hybrid\"\nfeatures = \"dependency-fast\""), "{recipe}");
    let changed = print(&["--recipe", "fast-dependencies", "--epochs", "77"]);
    assert_eq!(changed, recipe.replace("epochs = 8", "epochs = 77"));
    assert_ne!(changed, recipe);
    for bad in [&["--recipe", "nonsense"][..], &["--recipe", "dependencies", "--config", "x.toml"]] {
        assert_eq!(run(&[&["train", "--print-config"], bad].concat(), "").status.code(), Some(2), "{bad:?}");
    }
}

#[test]
fn less_is_kept_where_less_is_asked_for() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/ud_english_ewt.conllu");
    let sample = sample.to_str().expect("a plain path");
    let path = scratch("beam.model").to_str().expect("a plain path").to_owned();
    let flags = ["train", "--system", "arc-hybrid", "--beam", "4", "--epochs", "2", "--dev", sample];
    stdout(&[&flags[..], &["--train", sample, "--quiet", "-o", &path]].concat(), "");
    let parse = |more: &[&str]| stdout(&[&["parse", "--model", &path, sample], more].concat(), "");
    assert_eq!(parse(&[]), parse(&["--prune-percentile", "95"]));
    // Its name of before.
    assert_eq!(parse(&["--keep", "1"]), parse(&["--prune-percentile", "1"]));
    assert_eq!(
        parse(&["--prune-percentile", "1"]),
        parse(&["--beam", "1"]),
        "the first percentile of score gaps is no gap"
    );
    assert_ne!(parse(&["--prune-percentile", "1"]), parse(&["--prune-percentile", "100"]));
    assert_eq!(
        run(&["parse", "--model", &path, sample, "--prune-percentile", "101"], "").status.code(),
        Some(2)
    );
}

/// `treewright info | head -1`: whoever reads may stop at any time.
#[test]
fn a_closed_pipe_is_no_error() {
    let commands: [&[&str]; 4] = [
        &["info"],
        &["models"],
        &["convert", "--list-transforms"],
        &["train", "--recipe", "constituents", "--print-config"],
    ];
    for arguments in commands {
        let mut command = Command::new(env!("CARGO_BIN_EXE_treewright"));
        let mut child =
            command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{arguments:?}: {errors}");
    }
}

#[test]
fn a_text_in_another_language_is_noticed() {
    let notes = |flags: &[&str], text: &str| {
        let output = run(&[&["parse"], flags].concat(), text);
        assert!(output.status.success());
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let dutch = "De hond slaapt in de tuin en droomt van een kat.\n".repeat(60);
    let note = notes(&[], &dutch);
    assert!(note.starts_with("note: the model knows only ") && note.contains("another language"), "{note}");
    assert_eq!(note.lines().count(), 1, "{note}");
    assert_eq!(notes(&["--quiet"], &dutch), "");
    assert_eq!(notes(&["--jobs", "1"], &dutch), notes(&["--jobs", "3"], &dutch));
    assert_eq!(notes(&[], &"The dog sleeps in the garden and dreams of a cat.\n".repeat(60)), "");
    assert_eq!(notes(&[], "Zaphod Beeblebrox saw Trillian.\n"), "", "a few names are no other language");
}
