//! Exact search from outside: `parse --decoder astar` and `search-errors`.

use serde_json::Value;

use crate::common::{constituents, folder, refusal, searchable, short_trees, stdout};

fn parse(flags: &[&str], input: &str) -> String {
    let base = ["parse", "--model", searchable(), "--from", "ptb", "--quiet"];
    stdout(&[&base[..], flags].concat(), input)
}

fn rows(flags: &[&str], input: &str) -> Vec<Value> {
    let json = parse(&[flags, &["--to", "json"]].concat(), input);
    json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn scores(rows: &[Value]) -> Vec<f64> {
    rows.iter().map(|row| row["score"].as_f64().expect("a score")).collect()
}

#[test]
fn trees_say_whether_they_are_the_best() {
    let input = short_trees();
    let folder = folder("exact-parse");
    let stats = folder.join("stats.json");
    let stats = stats.to_str().expect("a plain path");
    let exact = rows(&["--decoder", "astar", "--json-stats", stats], &input);
    assert!(exact.len() > 5 && exact.iter().all(|row| row["exact"] == true), "{exact:?}");
    let stats: Value = serde_json::from_str(&std::fs::read_to_string(stats).expect("written")).expect("JSON");
    assert_eq!((&stats["exact"], &stats["not_exact"]), (&exact.len().into(), &0.into()));
    assert!(stats["items"].is_u64() && stats["sentences_per_second"].is_f64(), "{stats}");
    assert!(stats["work"].as_u64() > Some(0) && stats["max_search_bytes"].as_u64() > Some(0), "{stats}");
    // The heuristic changes the time, and nothing else.
    for heuristic in ["less-constituent", "projection"] {
        assert_eq!(scores(&rows(&["--decoder", "astar", "--heuristic", heuristic], &input)), scores(&exact));
    }
    let greedy = scores(&rows(&["--decoder", "greedy"], &input));
    assert!(greedy.iter().zip(scores(&exact)).all(|(greedy, exact)| *greedy <= exact));
    assert_ne!(greedy, scores(&exact), "a greedy parser misses some of the best trees");
    let brackets = parse(&["--decoder", "astar"], &input);
    assert_eq!(brackets.matches("# exact = true\n").count(), exact.len(), "{brackets}");
}

#[test]
fn a_search_that_was_stopped_gives_the_beam_and_a_bound() {
    let input = short_trees();
    let stopped = rows(&["--decoder", "best-first", "--max-items", "1", "--beam", "2"], &input);
    let bounded: Vec<&Value> = stopped.iter().filter(|row| row["exact"] == false).collect();
    assert!(!bounded.is_empty());
    for row in bounded {
        assert!(row["upper_bound"].as_f64().expect("a bound") >= row["score"].as_f64().expect("a score"));
    }
    let beam = rows(&["--decoder", "beam", "--beam", "2", "--prune-percentile", "100"], &input);
    let best = rows(&["--decoder", "astar"], &input);
    let pairs = stopped.iter().zip(beam.iter().zip(&best));
    for (stopped, (beam, best)) in pairs.filter(|(stopped, _)| stopped["exact"] == false) {
        assert_eq!(stopped["score"], beam["score"]);
        assert!(stopped["upper_bound"].as_f64() >= best["score"].as_f64(), "{stopped} {best}");
    }
}

/// Every limit leaves the beam's tree or a better one, and says how much better the best could be.
#[test]
fn long_sentences_are_not_searched_to_the_end() {
    let words = |n: usize| vec!["dog"; n].join(" ") + "\n";
    let input: String = [1, 30, 300, 3000].map(words).concat();
    let base = ["parse", "--model", searchable(), "--quiet", "--from", "tokens", "--to", "json"];
    for flags in [&["--decoder", "astar", "--max-memory", "1"][..], &["--decoder", "best-first"]] {
        let [one, two] =
            ["1", "2"].map(|jobs| stdout(&[&base[..], flags, &["--jobs", jobs]].concat(), &input));
        assert_eq!(one, two, "threads change nothing");
        let rows: Vec<Value> = one.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(rows.len(), 4);
        assert_eq!(rows[0]["exact"], true);
        assert_eq!(rows[3]["exact"], false);
        for row in rows.iter().filter(|row| row["exact"] == false) {
            assert!(row["upper_bound"].as_f64().expect("a bound") >= row["score"].as_f64().expect("a score"));
        }
    }
}

#[test]
fn several_best_trees_have_shares() {
    let input = short_trees();
    for decoder in ["astar", "dp"] {
        let [two, four] = ["2", "4"].map(|k| rows(&["--decoder", decoder, "--k-best", k], &input));
        let of = |rows: &[Value]| -> Vec<(Value, Value)> {
            let some = rows.iter().filter(|row| row["parse"].as_u64() <= Some(2));
            some.map(|row| (row["score"].clone(), row["share_of_kept"].clone())).collect()
        };
        // Where very many derivations were kept, each has next to nothing.
        let is_share = |share: f64| (0.0..=1.0).contains(&share);
        assert!(two.iter().all(|row| row["share_of_kept"].as_f64().is_some_and(is_share)), "{two:?}");
        assert_eq!(of(&two), of(&four), "{decoder}");
    }
}

#[test]
fn flags_without_effect_and_other_models_are_refused() {
    let astar = ["--decoder", "astar"];
    for (model, flags, part) in [
        (searchable(), &["--heuristic", "cascade"][..], "--heuristic has no effect"),
        (searchable(), &["--decoder", "dp", "--max-items", "5"], "--max-items has no effect"),
        (searchable(), &["--decoder", "beam", "--timeout", "1"], "--timeout has no effect"),
        (searchable(), &["--decoder", "beam", "--max-memory", "1"], "--max-memory has no effect"),
        (searchable(), &["--decoder", "astar", "--max-memory", "0"], "--max-memory"),
        (searchable(), &["--open-rules"], "--open-rules has no effect"),
        (searchable(), &["--decoder", "best-first", "--heuristic", "cascade"], "has no heuristic"),
        (
            searchable(),
            &["--decoder", "astar", "--prune-percentile", "5"],
            "--prune-percentile has no effect",
        ),
        (searchable(), &["--decoder", "astar", "--timeout=-1"], "--timeout"),
        (searchable(), &["--decoder", "astar", "--timeout", "0"], "above 0"),
        (searchable(), &["--decoder", "astar", "--max-items", "0"], "--max-items"),
        (constituents(), &astar, "bottom-up-2n"),
    ] {
        let message = refusal(2, &[&["parse", "--model", model], flags].concat(), "");
        assert!(message.contains(part), "{flags:?}: {message}");
    }
    let message = refusal(2, &["search-errors", "--model", constituents()], "");
    assert!(message.contains("bottom-up-2n"), "{message}");
}

#[test]
fn beams_are_compared_with_the_best_trees() {
    let input = short_trees();
    let flags = ["search-errors", "--model", searchable(), "--from", "ptb", "--beams", "1,16"];
    let found = stdout(&[&flags[..], &["--json"]].concat(), &input);
    let found: Value = serde_json::from_str(&found).expect("JSON");
    let exact = scores(&rows(&["--decoder", "astar"], &input));
    let greedy = scores(&rows(&["--decoder", "greedy"], &input));
    let lost: Vec<f64> = exact.iter().zip(&greedy).map(|(exact, greedy)| exact - greedy).collect();
    let n_missed = lost.iter().filter(|lost| **lost > 0.0).count();
    assert_eq!((&found["sentences"], &found["exact"]), (&exact.len().into(), &exact.len().into()));
    let beam = &found["beams"][0];
    assert_eq!((&beam["beam"], &beam["missed"]), (&1.into(), &n_missed.into()));
    let near = |figure: &Value, expected: f64| (figure.as_f64().expect("a number") - expected).abs() < 0.006;
    assert!(near(&beam["missed_percent"], 100.0 * n_missed as f64 / exact.len() as f64), "{beam}");
    assert!(near(&beam["score_lost"], lost.iter().sum::<f64>() / exact.len() as f64), "{beam}");
    assert!(beam["f1"].is_number() && found["exact_f1"].is_number(), "{found}");
    assert!(found["beams"][1]["missed"].as_u64() <= beam["missed"].as_u64(), "{found}");
    let table = stdout(&flags, &input);
    assert!(table.contains("missed %") && table.contains("\nexact"), "{table}");
}

#[test]
fn training_may_search_exactly() {
    let folder = folder("exact-train");
    let path = |name: &str| folder.join(name).to_str().expect("a plain path").to_owned();
    let (treebank, model) = (path("t.mrg"), path("m.model"));
    std::fs::write(&treebank, short_trees()).expect("room");
    let flags = ["train", "--decoder", "astar", "--features", "simplified", "--epochs", "1", "--quiet"];
    let files = ["--train", &treebank, "-o", &model, "--system"];
    stdout(&[&flags[..], &files, &["bottom-up-2n"]].concat(), "");
    // What it was trained with, it parses with.
    let parsed = stdout(&["parse", "--model", &model, "--max-items", "100000", &treebank], "");
    assert!(parsed.contains("# exact = "), "{parsed}");
    let message = refusal(1, &[&flags[..], &files, &["in-order"]].concat(), "");
    assert!(message.contains("bottom-up-2n"), "{message}");
}
