//! What `treewright parse` writes: no trees are lost, and several parses are told apart.

use crate::common::{constituents, dependencies, refusal, sample, scratch, stdout};
use serde_json::Value;

const TEXT: &str = "The boy saw a dog. He ran.\n";

fn path(name: &str) -> String {
    scratch(name).to_str().expect("a plain path").to_owned()
}

#[test]
fn an_output_that_cannot_hold_the_trees_is_refused() {
    for (model, name, parts) in [
        (dependencies(), "lost.txt", ["trees would be lost", "--to conllu"]),
        (dependencies(), "lost.tok.gz", ["trees would be lost", "--to tokens"]),
        (constituents(), "lost.text", ["trees would be lost", "--to ptb"]),
        (dependencies(), "wrong.mrg", ["holds constituents", "--to conllu"]),
        (constituents(), "wrong.conllu", ["holds dependencies", "--to ptb"]),
        (dependencies(), "picture.svg", ["treewright draw", "picture.svg"]),
        (dependencies(), "picture.PDF", ["treewright draw", "picture.PDF"]),
        (dependencies(), "picture.html.gz", ["treewright draw", "picture.html"]),
        (dependencies(), "wrong.csv", ["a table in CSV", "--to conllu"]),
        (constituents(), "wrong.tsv.gz", ["a table in TSV", "--to ptb"]),
        (dependencies(), "wrong.parquet", ["a table in Parquet", "--to conllu"]),
        (constituents(), "wrong.XML", ["is XML", "--to"]),
    ] {
        let file = path(name);
        // An earlier run that failed may have left it.
        let _ = std::fs::remove_file(&file);
        let message = refusal(2, &["parse", "--model", model, "-o", &file], TEXT);
        assert!(parts.iter().all(|part| message.contains(part)), "{name}: {message}");
        assert!(!std::path::Path::new(&file).exists(), "{name}");
    }
    // Words are written where words are asked for.
    let file = path("words.txt");
    stdout(&["parse", "--model", dependencies(), "-o", &file, "--to", "text"], "He ran.\n");
    assert_eq!(std::fs::read_to_string(&file).expect("written"), "He ran.\n");
    // What a format is asked for by name is written anywhere, and other endings promise nothing.
    for (model, name, flags) in [
        (dependencies(), "asked.csv", &["--to", "conllu"][..]),
        (constituents(), "asked.xml", &["--to", "tigerxml"]),
        (constituents(), "plain.parsed.gz", &[]),
        (dependencies(), "plain.out", &[]),
        (dependencies(), "plain.conll", &[]),
        (dependencies(), "plain.tsv", &[]),
        (dependencies(), "plain", &[]),
    ] {
        stdout(&[&["parse", "--model", model, "-o", &path(name)], flags].concat(), "He ran.\n");
    }
}

#[test]
fn documents_are_not_written_to_names_of_other_things() {
    for (flags, input, wrong, right) in [
        (
            &["--text-column", "text", "--csv"][..],
            "text\nHe ran.\n",
            &["d.parquet", "d.conllu", "d.json", "d.tsv", "d.xml", "d.svg"][..],
            &["d.csv", "d.csv.gz", "d.txt", "d.out", "d"][..],
        ),
        (&["--text-column", "text"], "text\nHe ran.\n", &["e.csv", "e.mrg"], &["e.tsv", "e.tab", "e"]),
        (
            &["--jsonl-field", "text", "--to", "conllu"],
            "{\"text\": \"He ran.\"}\n",
            &["f.csv", "f.conllu", "f.parquet", "f.pdf"],
            &["f.json", "f.jsonl.gz", "f.ndjson", "f.out"],
        ),
    ] {
        for name in wrong {
            let file = path(name);
            let parse = ["parse", "--model", dependencies(), "-o", &file];
            let message = refusal(2, &[&parse[..], flags].concat(), input);
            assert!(message.contains("by its name") && message.contains(name), "{name}: {message}");
            assert!(!std::path::Path::new(&file).exists(), "{name}");
        }
        for name in right {
            stdout(&[&["parse", "--model", dependencies(), "-o", &path(name)], flags].concat(), input);
        }
    }
}

#[test]
fn conversions_are_not_written_to_names_of_other_things() {
    for (name, part) in [
        ("c.pdf", "treewright draw"),
        ("c.svg.gz", "treewright draw"),
        ("c.xml", "--to"),
        ("c.csv", "--to ptb"),
        ("c.parquet", "--to ptb"),
    ] {
        let message = refusal(2, &["convert", &sample("gum.mrg"), &path(name)], "");
        assert!(message.contains(part) && message.contains(name), "{name}: {message}");
    }
    stdout(&["convert", &sample("gum.mrg"), &path("tiger.xml"), "--to", "tigerxml"], "");
    // XML stays XML.
    stdout(&["convert", &path("tiger.xml"), &path("tiger2.xml")], "");
    for name in ["c.out", "c.conll", "c"] {
        stdout(&["convert", &sample("gum.mrg"), &path(name)], "");
    }
}

/// The model in the program has parsers of both kinds.
#[test]
fn the_other_kind_of_trees_is_named_where_there_is_one() {
    assert!(stdout(&["models"], "").contains("in the program"), "this test is about that model");
    let message = refusal(2, &["parse", "-o", &path("both.mrg")], TEXT);
    assert!(message.contains("--as constituents"), "{message}");
}

#[test]
fn a_search_that_makes_no_sense_is_a_usage_error() {
    for (flags, part) in [
        (&["--k-best", "5"][..], "--beam 5"),
        (&["--k-best", "1000000", "--beam", "4"], "1000000"),
        (&["--k-best", "5", "--beam", "4"], "--beam 5"),
        (&["--k-best", "5", "--decoder", "greedy"], "--decoder greedy"),
        (&["--k-best", "0"], "--k-best"),
        (&["--beam", "0"], "--beam"),
        (&["--beam", "100000"], "--beam"),
        (&["--k-best", "2", "--beam", "4", "--to", "conllx"], "--to conllu"),
    ] {
        let message = refusal(2, &[&["parse", "--model", dependencies()], flags].concat(), TEXT);
        assert!(message.contains(part), "{flags:?}: {message}");
    }
}

/// A beam of merged states parses where states can be merged, and finds more parses than it has states.
#[test]
fn merged_states_are_searched_or_refused() {
    let message = refusal(2, &["parse", "--model", constituents(), "--decoder", "dp"], TEXT);
    assert!(
        ["cannot be merged", "bottom-up-2n", "--decoder beam"].iter().all(|part| message.contains(part)),
        "{message}"
    );
    let flags = ["parse", "--model", dependencies(), "--decoder", "dp", "--beam", "2"];
    let message = refusal(2, &[&flags[..], &["--prune-percentile", "50"]].concat(), TEXT);
    assert!(message.contains("--prune-percentile has no effect"), "{message}");
    let wide = ["parse", "--model", dependencies(), "--decoder", "dp", "--beam", "32", "--k-best", "6"];
    let many = stdout(&wide, TEXT);
    check_ranking(&comments(&many, "parse"), &comments(&many, "score"), &comments(&many, "share_of_kept"));
    assert!(comments(&many, "parse").contains(&6.0), "{many}");
    // A beam of one state is greedy.
    let one = ["parse", "--model", dependencies(), "--decoder", "dp", "--beam", "1"];
    let one = stdout(&one, TEXT);
    let is_said = |line: &&str| line.starts_with("# score = ") || line.starts_with("# exact = ");
    assert!(one.lines().filter(is_said).count() >= 2, "{one}");
    let greedy = stdout(&["parse", "--model", dependencies(), "--decoder", "greedy"], TEXT);
    assert!(one.lines().filter(|line| !is_said(line)).eq(greedy.lines()), "{one}{greedy}");
}

/// The values of comments with this name.
fn comments(text: &str, name: &str) -> Vec<f64> {
    let prefix = format!("# {name} = ");
    text.lines().filter_map(|line| line.strip_prefix(&prefix)).map(|v| v.parse().expect("a number")).collect()
}

/// Checks ranks, scores and shares, sentence by sentence.
#[track_caller]
fn check_ranking(ranks: &[f64], scores: &[f64], shares: &[f64]) {
    assert!(ranks.len() == scores.len() && ranks.len() == shares.len());
    assert!(ranks.contains(&2.0), "some sentence has an alternative");
    let mut at = 0;
    while at < ranks.len() {
        let n = ranks[at + 1..].iter().take_while(|&&rank| rank > 1.0).count() + 1;
        assert_eq!(ranks[at..at + n], (1..=n).map(|rank| rank as f64).collect::<Vec<_>>());
        assert!(scores[at..at + n].windows(2).all(|pair| pair[0] >= pair[1]));
        let sum: f64 = shares[at..at + n].iter().sum();
        assert!(sum < 1.0 + 1e-4 && shares[at] > 0.0, "{sum}");
        at += n;
    }
}

#[test]
fn parses_in_conllu_are_ranked_and_documents_start_once() {
    let input = std::fs::read_to_string(sample("ud_english_ewt.conllu")).expect("a sample");
    let input = format!("# newdoc id = d\n# newpar id = p\n{input}");
    let flags = ["parse", "--model", dependencies(), "--from", "conllu", "--beam", "4"];
    let (best, several) =
        (stdout(&flags, &input), stdout(&[&flags[..], &["--k-best", "3"]].concat(), &input));
    check_ranking(
        &comments(&several, "parse"),
        &comments(&several, "score"),
        &comments(&several, "share_of_kept"),
    );
    assert!(!several.contains("# probability = "), "the beam had no room for everything");
    for start in ["# newdoc", "# newpar"] {
        let count = |text: &str| text.lines().filter(|line| line.starts_with(start)).count();
        assert_eq!(count(&several), count(&best), "{start}");
    }
    // The first parses are what there is without the flag.
    let said = |line: &str| {
        ["parse", "score", "share_of_kept", "exact"].iter().any(|n| line.starts_with(&format!("# {n} = ")))
    };
    let first: Vec<&str> = several.split("\n\n").filter(|block| block.contains("# parse = 1\n")).collect();
    let first: Vec<String> =
        first.iter().map(|b| b.lines().filter(|l| !said(l)).collect::<Vec<_>>().join("\n")).collect();
    assert_eq!(first.join("\n\n"), best.trim_end());
}

/// The figure of a parse is its share of what the beam kept, not of what is written; and pruning leaves as many parses as are
/// asked for where the beam has them.
#[test]
fn shares_do_not_depend_on_how_many_parses_are_wanted() {
    let input = std::fs::read_to_string(sample("ud_english_ewt.conllu")).expect("a sample");
    let rows = |k: &str, flags: &[&str]| -> Vec<Value> {
        let base = ["parse", "--model", dependencies(), "--from", "conllu", "--beam", "8", "--to", "json"];
        let json = stdout(&[&base[..], &["--k-best", k], flags].concat(), &input);
        json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let all = rows("8", &[]);
    for k in [2, 3, 5] {
        let expected: Vec<&Value> = all.iter().filter(|row| row["parse"].as_u64() <= Some(k)).collect();
        assert_eq!(rows(&k.to_string(), &[]).iter().collect::<Vec<_>>(), expected, "{k}");
    }
    // The first parse is found with pruning, the others are not pruned.
    let hard = rows("3", &["--prune-percentile", "50"]);
    let n_sentences = |rows: &[Value]| rows.iter().filter(|row| row["parse"] == 1).count();
    assert!(hard.len() > 2 * n_sentences(&hard), "{} parses", hard.len());
}

#[test]
fn probabilities_are_given_where_all_parses_are() {
    let flags = ["parse", "--model", dependencies(), "--from", "tokens", "--beam", "4096", "--k-best"];
    let whole = stdout(&[&flags[..], &["4096"]].concat(), "Go\n");
    let sum: f64 = comments(&whole, "probability").iter().sum();
    assert!((sum - 1.0).abs() < 1e-3 && !whole.contains("share_of_kept"), "{whole}");
    let n = comments(&whole, "parse").len();
    if n > 2 {
        let some = stdout(&[&flags[..], &["2"]].concat(), "Go\n");
        assert!(!some.contains("# probability = "), "not all are given: {some}");
        let figures = comments(&whole, "probability");
        assert_eq!(comments(&some, "share_of_kept"), figures[..2]);
    }
}

#[test]
fn parses_in_brackets_and_json_say_the_same() {
    let flags = ["parse", "--model", constituents(), "--k-best", "4", "--prune-percentile", "100"];
    let brackets = stdout(&flags, TEXT);
    let (ranks, scores, shares) =
        (comments(&brackets, "parse"), comments(&brackets, "score"), comments(&brackets, "share_of_kept"));
    check_ranking(&ranks, &scores, &shares);
    let json = stdout(&[&flags[..], &["--to", "json"]].concat(), TEXT);
    let rows: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let field = |name: &str| rows.iter().map(|row| row[name].as_f64().expect(name)).collect::<Vec<_>>();
    assert_eq!((field("parse"), field("score"), field("share_of_kept")), (ranks, scores, shares));
    assert!(rows.iter().all(|row| row["exact"] == Value::Bool(false)));
    // How much likelier the best is than the next follows from their scores and the number of words.
    for pair in rows.windows(2).filter(|pair| pair[0]["parse"] == 1 && pair[1]["parse"] == 2) {
        let [[first, second], [p_first, p_second]] = ["score", "share_of_kept"]
            .map(|name| [&pair[0], &pair[1]].map(|row| row[name].as_f64().expect(name)));
        let n_words = pair[0]["tokens"].as_array().expect("tokens").len() as f64;
        let odds = ((second - first) * 10.0 * n_words / first.abs()).exp();
        assert!((p_second - p_first * odds).abs() < 1e-5, "{p_first} {p_second} {odds}");
    }
    let trees: Vec<&str> = brackets.lines().filter(|line| line.starts_with('(')).collect();
    assert_eq!(trees.len(), rows.len());
    // Brackets with comments are recognised, and come back.
    let again = stdout(&["convert", "-", "-", "--to", "ptb"], &brackets);
    assert_eq!(again, brackets);
    // Within a sentence no tree comes twice.
    for (i, tree) in trees.iter().enumerate() {
        let first = i + 1 - rows[i]["parse"].as_u64().expect("a number") as usize;
        assert!(!trees[first..i].contains(tree), "{tree}");
    }
}

#[test]
fn json_has_the_score_also_of_a_single_parse() {
    for (model, beam) in [(dependencies(), "1"), (dependencies(), "4"), (constituents(), "8")] {
        let flags = ["parse", "--model", model, "--beam", beam, "--to", "json"];
        for line in stdout(&flags, TEXT).lines() {
            let row: Value = serde_json::from_str(line).expect("JSON");
            assert!(row["score"].is_number() && row["exact"] == Value::Bool(false), "{line}");
            assert!(row.get("parse").is_none() && row.get("share_of_kept").is_none(), "{line}");
        }
        let plain = stdout(&["parse", "--model", model, "--beam", beam], TEXT);
        assert!(!plain.contains("# score"), "{plain}");
    }
    let file = path("stats.json");
    stdout(&["parse", "--model", dependencies(), "--json-stats", &file], TEXT);
    let stats: Value = serde_json::from_str(&std::fs::read_to_string(&file).expect("written")).expect("JSON");
    assert!(stats["sentences_per_second"].as_f64().expect("a number") > 0.0);
}

#[test]
fn every_parse_of_a_document_has_its_own_place() {
    let flags = ["parse", "--model", constituents(), "--k-best", "3", "--prune-percentile", "100"];
    let table = stdout(&[&flags[..], &["--text-column", "2", "--to", "ptb"]].concat(), "a\tHe ran.\n");
    assert!(table.lines().count() > 1, "{table}");
    assert!(table.lines().all(|line| line.starts_with("a\t1\t(") && line.ends_with(')')), "{table}");
    let documents = "{\"text\": \"He ran.\"}\n";
    let json = stdout(&[&flags[..], &["--jsonl-field", "text", "--to", "json"]].concat(), documents);
    let row: Value = serde_json::from_str(&json).expect("JSON");
    let trees = row["trees"].as_array().expect("trees");
    assert!(trees.len() > 1 && trees.iter().all(|tree| tree["share_of_kept"].is_number()), "{json}");
}

#[test]
fn examples_fit_on_a_terminal() {
    let help = stdout(&["parse", "--help"], "");
    let (_, examples) = help.split_once("Examples:\n").expect("there are examples");
    let lines: Vec<&str> = examples.lines().collect();
    assert!(lines.len() > 3);
    for line in lines {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn what_a_parser_said_of_the_trees_of_the_input_is_replaced() {
    let input = "# text = Dogs bark\n# parse = 2\n# score = 7\n# probability = 0.5\n# share_of_kept = 0.25\n\
                 1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n\
                 2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n\n";
    let parsed = stdout(
        &["parse", "--model", dependencies(), "--from", "conllu", "--k-best", "2", "--beam", "4"],
        input,
    );
    assert!(parsed.starts_with("# text = Dogs bark\n# parse = 1\n"), "{parsed}");
    assert!(!parsed.contains("# score = 7\n") && !parsed.contains("# probability = 0.5\n"), "{parsed}");
    assert!(!parsed.contains("# share_of_kept = 0.25\n"), "{parsed}");
}
