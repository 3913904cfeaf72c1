//! The scorers print, figure by figure, what EVALB, disco-dop and the CoNLL 2018 script print.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use treewright::eval::pairing::pair;
use treewright::eval::{ConstituentScorer, Params, Parsed, Status, Totals, conll18};
use treewright::treebank::{self, Entry, Format, ReadOptions};
use treewright::{ConstituentTree, Tree};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/vectors").join(name)
}

/// The names of the vectors in a folder.
fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).expect("the vectors are in the repository");
    let name = |file: std::io::Result<fs::DirEntry>| {
        let name = file.expect("a readable folder").file_name().into_string().expect("a plain name");
        name.strip_suffix(".gold").map(str::to_owned)
    };
    let mut names: Vec<String> = files.filter_map(name).collect();
    names.sort();
    assert!(!names.is_empty());
    names
}

fn read(path: &Path, format: Format) -> Vec<Entry> {
    let bytes = fs::read(path).expect("a readable file");
    let options = ReadOptions { no_parse: true, ..ReadOptions::default() };
    treebank::reader(format, bytes.as_slice(), &options)
        .collect::<Result<_, _>>()
        .expect("a readable treebank")
}

fn parsed(entry: &Entry) -> Parsed<'_> {
    let tree: Option<&ConstituentTree> = match &entry.tree {
        Some(Tree::Constituent(tree)) => Some(tree),
        _ => None,
    };
    Parsed { sentence: &entry.sentence, tree }
}

/// Compares word by word, with "nan" whatever its sign, and names the line that differs.
#[track_caller]
fn assert_same(name: &str, found: &str, expected: &str) {
    let words =
        |line: &str| line.replace("-nan", "nan").split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines = |text: &str| text.lines().map(words).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    let (found, expected) = (lines(found), lines(expected));
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected, "{name}");
    }
    assert_eq!(found.len(), expected.len(), "{name}");
}

fn figure(value: Option<f64>) -> String {
    value.map_or("nan".into(), |value| format!("{value:.2}"))
}

/// What EVALB prints, heading lines left out.
fn evalb(params: &Params, gold: &Path, predicted: &Path) -> String {
    let mut scorer = ConstituentScorer::evalb(params);
    let (gold, predicted) = (read(gold, Format::Ptb), read(predicted, Format::Ptb));
    let mut out = String::new();
    for (i, (gold, predicted)) in pair(&gold, &predicted).pairs.into_iter().enumerate() {
        let score = scorer.add(parsed(gold), parsed(predicted));
        let status = match score.status {
            Status::Valid => 0,
            Status::Error(_) => 1,
            Status::Skipped => 2,
        };
        let (recall, precision) = (score.brackets.recall(), score.brackets.precision());
        let tags = score.correct_tags as f64 / score.words.max(1) as f64 * 100.0;
        writeln!(
            out,
            "{} {} {status} {:.2} {:.2} {} {} {} {} {} {} {tags:.2}",
            i + 1,
            score.length,
            recall.unwrap_or(0.0),
            precision.unwrap_or(0.0),
            score.brackets.matched,
            score.brackets.gold,
            score.brackets.predicted,
            score.crossing,
            score.words,
            score.correct_tags,
        )
        .expect("text grows");
    }
    let all = scorer.all();
    if all.brackets.gold > 0 && all.brackets.predicted > 0 {
        let counts = all.brackets;
        write!(out, "{} {} ", figure(all.recall()), figure(all.precision())).expect("text grows");
        write!(out, "{} {} {} {} ", counts.matched, counts.gold, counts.predicted, all.crossing)
            .expect("text grows");
    }
    writeln!(out, "{} {} {}", all.words, all.correct_tags, figure(all.tag_accuracy())).expect("text grows");
    for (title, totals) in
        [("All".to_owned(), all), (format!("len<={}", params.cutoff_len), scorer.up_to_cutoff())]
    {
        evalb_summary(&mut out, &title, totals);
    }
    out
}

fn evalb_summary(out: &mut String, title: &str, totals: &Totals) {
    let lines = [
        ("Number of sentence", totals.sentences.to_string()),
        ("Number of Error sentence", totals.errors.to_string()),
        ("Number of Skip sentence", totals.skipped.to_string()),
        ("Number of Valid sentence", totals.valid().to_string()),
        ("Bracketing Recall", figure(totals.recall())),
        ("Bracketing Precision", figure(totals.precision())),
        ("Bracketing FMeasure", figure(totals.f1())),
        ("Complete match", figure(totals.exact())),
        ("Average crossing", figure(totals.average_crossing())),
        ("No crossing", figure(totals.no_crossing())),
        ("2 or less crossing", figure(totals.two_or_less_crossing())),
        ("Tagging accuracy", figure(totals.tag_accuracy())),
    ];
    writeln!(out, "-- {title} --").expect("text grows");
    lines.iter().for_each(|(key, value)| writeln!(out, "{key} = {value}").expect("text grows"));
}

#[test]
fn bracket_scores_are_evalbs() {
    let folder = folder("cont");
    for name in names(&folder) {
        for (params, extension) in [("collins", "COLLINS"), ("evalb", "new")] {
            let params = Params::named(params).expect("a known name");
            let file = |extension: &str| folder.join(format!("{name}.{extension}"));
            let expected = fs::read_to_string(file(&format!("{extension}.out"))).expect("a readable file");
            let is_heading =
                |line: &&str| line.starts_with("===") || line.contains("Sent.") || line.contains("ID ");
            let expected: Vec<&str> = expected.lines().filter(|line| !is_heading(line)).collect();
            assert_same(&name, &evalb(&params, &file("gold"), &file("pred")), &expected.join("\n"));
        }
    }
}

/// The rows and the summary of disco-dop, or the first sentence that does not fit.
fn disco(params: &Params, gold: &Path, predicted: &Path) -> Result<String, Status> {
    let mut scorer = ConstituentScorer::disco(params);
    let (gold, predicted) = (read(gold, Format::Discbracket), read(predicted, Format::Discbracket));
    let mut out = String::new();
    for (i, (gold, predicted)) in pair(&gold, &predicted).pairs.into_iter().enumerate() {
        let score = scorer.add(parsed(gold), parsed(predicted));
        if score.status != Status::Valid {
            return Err(score.status);
        }
        let counts = score.brackets;
        let tags = match score.words {
            0 => "0DIV!".to_owned(),
            words => format!("{:.2}", 100.0 * score.correct_tags as f64 / words as f64),
        };
        writeln!(
            out,
            "{} {} {} {} {} {} {} {} {} {tags}",
            i + 1,
            score.length,
            figure(counts.recall()),
            figure(counts.precision()),
            counts.matched,
            counts.gold,
            counts.predicted,
            score.words,
            score.correct_tags,
        )
        .expect("text grows");
    }
    let (all, short) = (scorer.all(), scorer.up_to_cutoff());
    let disc = all.discontinuous.brackets;
    let has_disc = disc.gold + disc.predicted > 0;
    // One column if no sentence is longer than the cut-off, else two.
    let columns = if all.longest <= params.cutoff_len { vec![all] } else { vec![short, all] };
    let mut line = |key: &str, value: &dyn Fn(&Totals) -> String| {
        let values: Vec<String> = columns.iter().map(|totals| value(totals)).collect();
        writeln!(out, "{key}: {}", values.join(" ")).expect("text grows");
    };
    line("number of sentences", &|t| t.sentences.to_string());
    line("longest sentence", &|t| t.longest.to_string());
    if has_disc && columns.len() == 1 {
        line("gold brackets (disc.)", &|t| {
            format!("{} ({})", t.distinct_gold, t.discontinuous.brackets.gold)
        });
        line("cand. brackets (disc.)", &|t| {
            format!("{} ({})", t.distinct_predicted, t.discontinuous.brackets.predicted)
        });
    } else {
        line("gold brackets", &|t| t.distinct_gold.to_string());
        line("cand. brackets", &|t| t.distinct_predicted.to_string());
        if has_disc {
            line("disc. gold brackets", &|t| t.discontinuous.brackets.gold.to_string());
            line("disc. cand. brackets", &|t| t.discontinuous.brackets.predicted.to_string());
        }
    }
    line("labeled recall", &|t| figure(t.recall()));
    line("labeled precision", &|t| figure(t.precision()));
    line("labeled f-measure", &|t| figure(t.f1()));
    line("exact match", &|t| t.exact().map_or("0DIV!".into(), |value| format!("{value:.2}")));
    line("pos accuracy", &|t| t.tag_accuracy().map_or("0DIV!".into(), |value| format!("{value:.2}")));
    Ok(out)
}

#[test]
fn discontinuous_scores_are_disco_dops() {
    let folder = folder("disc");
    for name in names(&folder) {
        for (disc_only, extension) in [(false, "proper"), (true, "disconly")] {
            let params = Params { disc_only, ..Params::named("proper").expect("a known name") };
            let file = |extension: &str| folder.join(format!("{name}.{extension}"));
            let expected = fs::read_to_string(file(&format!("{extension}.out"))).expect("a readable file");
            let has_failed = file(&format!("{extension}.rc")).exists();
            let found = disco(&params, &file("gold"), &file("pred"));
            // disco-dop also fails when there is no gold bracket at all; here that is an undefined recall.
            match (found, has_failed) {
                (Ok(found), false) => {
                    let lines: Vec<&str> = expected.lines().filter(|line| !line.starts_with('_')).collect();
                    assert_same(&name, &found, &lines.join("\n"));
                }
                (Ok(found), true) => {
                    let rows: Vec<&str> = found.lines().filter(|line| !line.contains(':')).collect();
                    assert_same(&name, &rows.join("\n"), &expected);
                    assert!(found.contains("labeled recall: nan"), "{name}: disco-dop fails");
                }
                (Err(_), true) => {}
                (Err(status), false) => panic!("{name}: {status:?}"),
            }
        }
    }
}

fn conll18_table(gold: &Path, predicted: &Path) -> String {
    let (gold, predicted) = (read(gold, Format::Conllu), read(predicted, Format::Conllu));
    let all = |entries| -> Vec<&Entry> { Vec::from_iter(entries) };
    let scores = conll18::evaluate(&all(gold.iter()), &all(predicted.iter())).expect("the same text");
    let mut out = String::new();
    for (name, score) in scores.iter() {
        let aligned = score.aligned_accuracy().map_or(String::new(), |value| format!("{value:.2}"));
        let (precision, recall, f1) = (score.precision(), score.recall(), score.f1());
        writeln!(out, "{name} | {precision:.2} | {recall:.2} | {f1:.2} | {aligned}").expect("text grows");
    }
    out
}

#[test]
fn dependency_scores_are_the_shared_tasks() {
    let folder = folder("conllu");
    for name in names(&folder) {
        let file = |extension: &str| folder.join(format!("{name}.{extension}"));
        let expected = fs::read_to_string(file("out")).expect("a readable file");
        let rows: Vec<&str> = expected.lines().skip(2).collect();
        assert_same(&name, &conll18_table(&file("gold"), &file("pred")), &rows.join("\n"));
    }
}
