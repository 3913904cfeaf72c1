//! `treewright eval` and `treewright compare` from outside: figures, messages, exit codes.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::scratch;

fn vector(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../treewright/tests/it/vectors");
    folder.join(name).to_str().expect("a plain path").to_owned()
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_treewright")).args(arguments).output().expect("the program runs")
}

/// `eval NAME.gold NAME.pred --json`: the exit code, the figures, the messages.
fn eval(name: &str, more: &[&str]) -> (Option<i32>, Value, String) {
    let (gold, predicted) = (vector(&format!("{name}.gold")), vector(&format!("{name}.pred")));
    let output = run(&[&["eval", &gold, &predicted, "--json"], more].concat());
    let json = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), json, String::from_utf8(output.stderr).expect("UTF-8"))
}

#[test]
fn brackets_under_each_set_of_parameters() {
    let (code, json, _) = eval("cont/many_mixed", &[]);
    assert_eq!(code, Some(0));
    assert_eq!((&json["all"]["recall"], &json["all"]["f1"]), (&72.73.into(), &69.57.into()));
    assert_eq!((&json["scorer"], &json["disc"]["f1"]), (&"evalb".into(), &Value::Null));
    let (_, json, _) = eval("cont/many_mixed", &["--params", "spmrl"]);
    assert_eq!((&json["cutoff"], &json["all"]["words"]), (&70.into(), &28.into()));
    let (_, json, _) = eval("cont/many_mixed", &["--params", "proper"]);
    assert_eq!((&json["scorer"], &json["all"]["average_crossing"]), (&"disco-dop".into(), &Value::Null));
}

#[test]
fn a_parameter_file_is_read_and_its_errors_are_told() {
    let path = scratch("own.prm");
    std::fs::write(&path, "LABELED 0\nDELETE_LABEL TOP\n").expect("written");
    let own = path.to_str().expect("a plain path");
    let (code, json, _) = eval("cont/many_mixed", &["--params", own]);
    assert_eq!((code, &json["all"]["words"]), (Some(0), &28.into()));
    std::fs::write(&path, "LABELLED 0\n").expect("written");
    let (code, json, message) = eval("cont/many_mixed", &["--params", own]);
    assert_eq!((code, json), (Some(1), Value::Null));
    assert!(message.contains("own.prm:1:1:") && message.contains("LABELLED"), "{message}");
    let (code, _, message) = eval("cont/many_mixed", &["--params", "colins"]);
    assert!(code == Some(1) && message.contains("collins, evalb"), "{message}");
}

#[test]
fn different_words_are_told_and_the_rest_is_scored() {
    let (code, json, message) = eval("cont/word_mismatch", &[]);
    assert_eq!((code, &json["all"]["errors"], &json["all"]["f1"]), (Some(1), &1.into(), &100.0.into()));
    assert!(
        message.contains("sentence 1:") && message.contains("The cat sat") && message.contains("The dog sat")
    );
    let (code, json, message) = eval("cont/word_mismatch", &["--on-error", "skip"]);
    assert_eq!((code, &json["all"]["errors"]), (Some(3), &1.into()));
    assert!(message.contains("skipped:"), "{message}");
    // A tag that makes the lengths differ is EVALB's everyday business.
    assert_eq!(eval("cont/punct_tag_mismatch_length", &[]).0, Some(0));
}

#[test]
fn evalb_gives_up_after_many_errors() {
    let (gold, predicted) = (scratch("many.gold"), scratch("many.pred"));
    let line = |tag: &str| format!("(TOP (S (NP (N a)) ({tag} .)))\n");
    for (n, code) in [(11, 0), (12, 1)] {
        std::fs::write(&gold, line(".").repeat(n)).expect("written");
        std::fs::write(&predicted, line("X").repeat(n)).expect("written");
        let paths = [&gold, &predicted].map(|path| path.to_str().expect("a plain path"));
        let output = run(&["eval", paths[0], paths[1], "--json", "--params", "collins"]);
        assert_eq!(output.status.code(), Some(code));
        assert_eq!(output.stdout.is_empty(), code == 1);
        let message = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(
            code == 0 || message.contains("MAX_ERROR 10") && message.contains("sentence 1:"),
            "{message}"
        );
        let output = run(&["eval", paths[0], paths[1], "--json", "--on-error", "skip"]);
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!((output.status.code(), &json["all"]["errors"]), (Some(0), &n.into()));
    }
}

#[test]
fn a_tree_that_cannot_be_read_is_an_error_among_others() {
    let (gold, predicted) = (scratch("broken.gold"), scratch("broken.pred"));
    let line = "(TOP (S (NP (N a)) (VP (V b))))\n";
    std::fs::write(&gold, line.repeat(3)).expect("written");
    std::fs::write(&predicted, format!("{line}(TOP (S (NP (N a)) (VP (V b))\n{line}")).expect("written");
    let paths = [&gold, &predicted].map(|path| path.to_str().expect("a plain path"));
    let output = run(&["eval", paths[0], paths[1], "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (output.status.code(), &json["all"]["errors"], &json["all"]["sentences"]),
        (Some(1), &1.into(), &3.into())
    );
    let message = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(message.contains("broken.pred:2:") && message.contains("TW201"), "{message}");
}

#[test]
fn different_numbers_of_sentences_are_told() {
    let (code, json, message) = eval("cont/pred_fewer_lines", &[]);
    assert_eq!((code, &json["all"]["sentences"]), (Some(1), &2.into()));
    assert!(message.contains("3 gold and 2 predicted") && message.contains("sentence 3"), "{message}");
}

#[test]
fn failed_parses_are_skipped_by_evalbs_rules_and_errors_by_disco_dops() {
    for name in ["cont/empty_pred_blank_line", "cont/empty_pred_top_only"] {
        let (code, json, _) = eval(name, &[]);
        assert_eq!(
            (code, &json["all"]["skipped"], &json["all"]["errors"]),
            (Some(0), &1.into(), &0.into()),
            "{name}"
        );
    }
    let (code, json, message) = eval("disc/empty_line_pred", &[]);
    assert_eq!((code, json), (Some(1), Value::Null));
    assert!(message.contains("sentence 1:") && message.contains("no predicted tree"), "{message}");
    let (code, json, _) = eval("disc/empty_line_pred", &["--on-error", "skip"]);
    assert_eq!((code, &json["all"]["errors"], &json["all"]["f1"]), (Some(3), &1.into(), &100.0.into()));
}

#[test]
fn discontinuous_constituents_only() {
    let (_, json, _) = eval("disc/mixed", &["--disc-only"]);
    assert_eq!(
        (&json["all"]["gold"], &json["all"]["predicted"], &json["all"]["recall"]),
        (&3.into(), &2.into(), &0.0.into())
    );
    let (_, json, _) = eval("disc/mixed", &[]);
    assert_eq!(
        (&json["all"]["gold"], &json["disc"]["gold"], &json["disc"]["f1"]),
        (&11.into(), &3.into(), &Value::Null)
    );
}

#[test]
fn dependencies() {
    let (code, json, _) = eval("conllu/pt_all", &[]);
    assert_eq!(
        (code, &json["Sentences"]["f1"], &json["LAS"]["aligned_accuracy"]),
        (Some(0), &82.35.into(), &87.43.into())
    );
    assert_eq!((&json["Words"]["aligned_accuracy"], json.get("conllx")), (&Value::Null, None));
    let (_, json, _) = eval("conllu/en_heads", &[]);
    assert_eq!(json["conllx"]["all"]["uas"], json["UAS"]["f1"]);
}

#[test]
fn wrong_kinds_and_different_texts_are_told() {
    let output = run(&["eval", &vector("conllu/en_heads.gold"), &vector("cont/identical.pred")]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && message.contains("holds constituents"), "{message}");
    let output = run(&["eval", &vector("conllu/en_heads.gold"), &vector("conllu/nl_identical.pred")]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && message.contains("gold sentence 1\n  gold:"), "{message}");
}

#[test]
fn breakdowns_curves_and_worst_sentences() {
    let plot = scratch("curve.svg");
    let (gold, predicted) = (vector("cont/many_mixed.gold"), vector("cont/many_mixed.pred"));
    let plot_path = plot.to_str().expect("a plain path");
    let output = run(&[
        "eval",
        &gold,
        &predicted,
        &gold,
        "--by",
        "label,distance",
        "--plot",
        plot_path,
        "--errors",
        "1",
    ]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(output.status.code(), Some(0));
    assert!(text.contains("words in the constituent") && text.contains("precision"));
    // The third sentence has the lowest F1 of the first prediction, the second prediction has no error.
    assert!(text.contains("sentence 3: 25.00  a b c d e\n  missing: NP 1-2; VP 3-5\n"), "{text}");
    assert!(text.contains("NP✗") && text.matches("\nsentence ").count() == 1, "{text}");
    let svg = std::fs::read_to_string(plot).expect("written");
    assert!(svg.starts_with("<svg") && svg.contains("many_mixed.pred") && svg.contains("many_mixed.gold"));
}

#[test]
fn a_parse_compared_with_itself_is_no_better() {
    for name in ["cont/many_mixed", "disc/mixed", "conllu/en_heads"] {
        let (gold, predicted) = (vector(&format!("{name}.gold")), vector(&format!("{name}.pred")));
        let output = run(&["compare", &gold, &predicted, &predicted, "--json", "--shuffles", "200"]);
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(json["p"].as_object().expect("p-values").values().all(|p| *p == 1.0), "{json}");
        assert!(json["verdict"].as_str().expect("a sentence").starts_with("No significant difference"));
    }
}

#[test]
fn a_clear_difference_is_told_in_one_line() {
    let (gold, predicted) = (vector("conllu/en_heads.gold"), vector("conllu/en_heads.pred"));
    let run_it = || run(&["compare", &gold, &gold, &predicted, "--shuffles", "1000"]).stdout;
    let text = String::from_utf8(run_it()).expect("UTF-8");
    assert!(text.contains("McNemar on LAS:"), "{text}");
    let verdict = text.lines().last().expect("a verdict");
    assert!(
        verdict.starts_with("en_heads.gold is better than en_heads.pred: 100.00 LAS against"),
        "{verdict}"
    );
    assert_eq!(run_it(), text.as_bytes());
}
/// Two files, and what the command says of them: exit code, figures, messages.
fn scored(command: &str, name: &str, files: &[&str], more: &[&str]) -> (Option<i32>, Value, String) {
    let paths: Vec<String> = files
        .iter()
        .enumerate()
        .map(|(i, text)| {
            let path = scratch(&format!("{name}.{i}"));
            std::fs::write(&path, text).expect("written");
            path.to_str().expect("a plain path").to_owned()
        })
        .collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let output = run(&[&[command], &paths[..], &["--json"], more].concat());
    let json = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), json, String::from_utf8(output.stderr).expect("UTF-8"))
}

#[test]
fn labels_that_collapse_are_told_and_can_be_kept() {
    let gold = "(TOP (IP-MAT (NP (N a)) (IP-SUB (V b))))\n";
    let exchanged = gold.replace("-MAT", "-X").replace("-SUB", "-MAT").replace("-X", "-SUB");
    for command in ["eval", "compare"] {
        let files = [gold, &exchanged, &exchanged];
        let files = if command == "eval" { &files[..2] } else { &files };
        let f1 = |json: &Value| json[if command == "eval" { "all" } else { "a" }]["f1"].clone();
        let (code, json, message) = scored(command, "collapsed", files, &["--from", "ptb"]);
        assert_eq!((code, f1(&json)), (Some(0), 100.0.into()));
        assert_eq!(
            json["collapsed_labels"],
            serde_json::json!([{ "label": "IP", "labels": ["IP-MAT", "IP-SUB"] }])
        );
        assert!(
            message.contains("IP-MAT, IP-SUB as IP") && message.contains("--functions keep"),
            "{message}"
        );
        let (_, json, message) =
            scored(command, "collapsed", files, &["--from", "ptb", "--functions", "keep"]);
        assert_eq!((f1(&json), message.as_str()), (33.33.into(), ""));
        assert_eq!(json["collapsed_labels"], serde_json::json!([]));
        let (_, _, message) = scored(command, "collapsed", files, &["--from", "ptb", "--quiet"]);
        assert_eq!(message, "");
    }
    let by = ["--from", "ptb", "--functions", "keep", "--by", "label"];
    let (_, json, _) = scored("eval", "collapsed", &[gold, &exchanged], &by);
    assert_eq!(json["by"][0]["groups"][0]["group"], "IP-MAT");
}

#[test]
fn constituents_over_other_words_and_sentences_are_aligned_by_characters() {
    let gold = "(TOP (S (NP (N We)) (VP (V cannot) (V go)) (. .)))\n(TOP (NP (-LRB- -LRB-) (N ice) (N cream) (-RRB- -RRB-)))\n";
    let predicted = "(TOP (S (NP (N We)) (VP (V can) (ADV not) (V go)) (. .)) (NP (: -) (N LRB) (: -) (N icecream) (-RRB- -RRB-)))\n";
    let (code, json, message) =
        scored("eval", "raw", &[gold, predicted], &["--from", "ptb", "--per-sentence"]);
    assert_eq!(code, Some(0), "{message}");
    assert_eq!((&json["aligned_by"], &json["scorer"]), (&"characters".into(), &"characters".into()));
    let all = &json["all"];
    assert_eq!([&all["sentences"], &all["matched"], &all["gold"], &all["predicted"]], [2, 4, 4, 4]);
    assert_eq!(
        [&json["Tokens"]["matched"], &json["Tokens"]["gold"], &json["Tokens"]["predicted"]],
        [4, 8, 10]
    );
    assert_eq!((&json["Sentences"]["f1"], &json["Sentences"]["gold"]), (&0.0.into(), &2.into()));
    assert_eq!(json["sentences"][0]["gold_sentences"], serde_json::json!([1, 2]));
    assert!(message.contains("raw.1: ") && message.contains("aligned by characters"), "{message}");
    // Over the same words nothing changes.
    let (_, json, message) = scored("eval", "raw", &[gold, gold], &["--from", "ptb"]);
    assert_eq!((&json["aligned_by"], message.as_str()), (&"words".into(), ""));
    // Error analysis and comparison work, too.
    let more = ["--from", "ptb", "--by", "label,length", "--errors", "2"];
    let wrong = predicted.replace("(NP (N We))", "(X (N We))");
    let (_, json, _) = scored("eval", "raw", &[gold, &wrong], &more);
    assert_eq!(json["by"][0]["groups"][0]["group"], "NP");
    assert_eq!(json["worst"][0]["missing"], serde_json::json!(["NP 1:1"]));
    assert_eq!(json["worst"][0]["gold_sentences"], serde_json::json!([1, 2]));
    let (code, json, message) = scored("compare", "raw", &[gold, predicted, gold], &["--from", "ptb"]);
    assert_eq!(
        (code, &json["a"]["f1"], &json["b"]["f1"]),
        (Some(0), &100.0.into(), &100.0.into()),
        "{message}"
    );
    assert_eq!((&json["aligned_by"], &json["sentences"]), (&"characters".into(), &1.into()));
}

#[test]
fn discontinuous_constituents_over_other_words_are_aligned_by_characters() {
    let gold = "(S (VP (V 0=gives) (P 2=up)) (NP (N 1=it)))\n";
    let predicted = "(S (VP (V 0=gives) (P 2=u) (P 3=p)) (NP (N 1=it)))\n";
    let (code, json, message) = scored("eval", "raw-disc", &[gold, predicted], &["--from", "discbracket"]);
    assert_eq!(
        (code, &json["disc"]["f1"], &json["aligned_by"]),
        (Some(0), &100.0.into(), &"characters".into()),
        "{message}"
    );
}

#[test]
fn the_first_difference_of_two_texts_has_a_line() {
    let gold = "(TOP (S (N a) (V b)))\n(TOP (S (N c) (V d)))\n";
    let predicted = "(TOP (S (N a)\n  (V b) (N c) (V x)))\n";
    let (code, _, message) = scored("eval", "texts", &[gold, predicted], &["--from", "ptb"]);
    assert_eq!(code, Some(1));
    assert!(message.contains("texts.1:2:18: the texts differ"), "{message}");
    assert!(
        message.contains("\"d\" (word 2 of sentence 2)") && message.contains("\"x\" (word 4 of sentence 1)"),
        "{message}"
    );
    let row = |i: usize, form: &str| format!("{i}\t{form}\t_\tX\t_\t_\t{}\tx\t_\t_\n", i - 1);
    let (gold, predicted) =
        (format!("{}{}\n", row(1, "a"), row(2, "b")), format!("{}{}\n", row(1, "a"), row(2, "c")));
    let (code, _, message) = scored("eval", "texts", &[&gold, &predicted], &["--from", "conllu"]);
    assert!(code == Some(1) && message.contains("texts.1:2:3: sentence 1: the texts differ"), "{message}");
}

#[test]
fn words_that_count_by_one_tag_only_are_named_with_the_way_out() {
    let gold = "(TOP (S (NP (N a)) (: -)))\n";
    let retagged = "(TOP (S (NP (N a)) (SYM -)))\n";
    let told =
        "word 2, \"-\", counts with its predicted tag \"SYM\" but is taken out with its gold tag \":\"";
    for command in ["eval", "compare"] {
        let sides = |n: usize| {
            let (gold, retagged) = (gold.repeat(n), retagged.repeat(n) + gold);
            let files = [gold.clone() + "(TOP (S (NP (N a)) (: -)))\n", retagged.clone(), retagged];
            files[..if command == "eval" { 2 } else { 3 }].to_vec()
        };
        let run = |n: usize, more: &[&str]| {
            let files = sides(n);
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            scored(command, "retagged", &files, &[&["--from", "ptb"], more].concat())
        };
        // A few are errors, as in EVALB.
        let (code, json, message) = run(2, &[]);
        assert_eq!((code, &json["aligned_by"]), (Some(0), &"words".into()), "{message}");
        assert!(message.contains("2 sentences count as an error"), "{message}");
        assert!(message.contains(told) && message.contains("--params proper"), "{message}");
        // Many end EVALB, so gold tags decide, unless its rules are asked for.
        let (code, json, message) = run(12, &[]);
        assert_eq!((code, &json["aligned_by"]), (Some(0), &"characters".into()), "{message}");
        assert!(message.contains(told) && message.contains("--params proper"), "{message}");
        let (code, json, message) = run(12, &["--params", "collins"]);
        assert_eq!((code, json), (Some(1), Value::Null));
        assert!(message.contains(told) && message.contains("--params proper"), "{message}");
        let (code, _, message) = run(12, &["--params", "proper"]);
        assert_eq!((code, message.as_str()), (Some(0), ""));
    }
}

#[test]
fn compare_gives_the_figures_of_eval() {
    for name in ["conllu/en_heads", "conllu/pt_all", "cont/many_mixed", "disc/mixed"] {
        let (gold, predicted) = (vector(&format!("{name}.gold")), vector(&format!("{name}.pred")));
        let (_, of_eval, _) = eval(name, &[]);
        let output = run(&["compare", &gold, &predicted, &gold, "--json", "--shuffles", "10"]);
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let pairs = match name.starts_with("conllu") {
            true => [("las", &of_eval["LAS"]["f1"]), ("uas", &of_eval["UAS"]["f1"])],
            false => [("f1", &of_eval["all"]["f1"]), ("recall", &of_eval["all"]["recall"])],
        };
        for (figure, expected) in pairs {
            assert_eq!(&json["a"][figure], expected, "{name} {figure}");
        }
    }
}

#[test]
fn parses_of_raw_text_can_be_explained() {
    let more = ["--by", "label,length", "--errors", "2", "--per-sentence"];
    let (code, json, message) = eval("conllu/pt_all", &more);
    assert_eq!(code, Some(0), "{message}");
    let groups = json["by"][0]["groups"].as_array().expect("groups");
    let sum = |key: &str| groups.iter().map(|group| group[key].as_u64().expect("a count")).sum::<u64>();
    assert_eq!(
        (sum("gold"), sum("predicted")),
        (json["Words"]["gold"].as_u64().unwrap(), json["Words"]["predicted"].as_u64().unwrap())
    );
    assert_eq!(json["worst"].as_array().map(Vec::len), Some(2));
    let sentences = json["sentences"].as_array().expect("one for each unit");
    let of_words = sentences.iter().map(|unit| unit["words"].as_u64().expect("a count")).sum::<u64>();
    assert_eq!(of_words, sum("gold"));
    assert!(sentences.iter().any(|unit| unit["gold_sentences"] != unit["predicted_sentences"]));
}

#[test]
fn only_one_file_can_be_stdin() {
    for arguments in [&["eval", "-", "-"][..], &["compare", "a.mrg", "-", "-"]] {
        let message = crate::common::refusal(2, arguments, "(S (N a))");
        assert!(message.contains("only one of the files can be stdin"), "{message}");
    }
}

#[test]
fn one_side_may_be_compressed_or_stdin() {
    use std::io::Write;
    let path = scratch("one-side.mrg.gz");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"(S (NP (N a)) (VP (V b)))\n").expect("memory");
    std::fs::write(&path, gzip.finish().expect("memory")).expect("written");
    let path = path.to_str().expect("a plain path");
    for arguments in [["eval", path, "-"], ["eval", "-", path]] {
        let text = crate::common::stdout(&arguments, "(S (NP (N a)) (VP (V b)))\n");
        assert!(text.contains("F1                     100.00"), "{text}");
    }
}
