//! `treewright train` from outside: the choice that the data makes, and flags that do not go together.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::few_sentences;
use treewright::train::Checkpoint;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_treewright")).args(arguments).output().expect("the program runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// A sample treebank.
fn data(name: &str) -> String {
    format!("{}/../../data/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A file in a folder of the test's own.
fn scratch(test: &str, name: &str) -> String {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder.join(name).to_str().expect("a plain path").to_owned()
}

/// Flags that are a usage error, and what the message must say.
#[track_caller]
fn check_refused(flags: &str, expected: &[&str]) {
    let model = scratch("refused", "m.model");
    // An earlier run that failed may have left it.
    let _ = std::fs::remove_file(&model);
    let mut arguments = vec!["train", "-o", &model];
    arguments.extend(flags.split(' '));
    let output = run(&arguments);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{flags}: {message}");
    for part in expected {
        assert!(message.contains(part), "{flags}: {message}");
    }
    assert!(!Path::new(&model).exists(), "{flags}");
}

#[test]
fn flags_without_effect_are_usage_errors_that_name_the_way_out() {
    // None of these files is there: a mistake in the flags is found before anything is read.
    let in_a_beam = ["in global training", "--beam 1"];
    check_refused("--train x --system in-order --oracle dynamic", &in_a_beam);
    check_refused("--train x --recipe dependencies --explore 0.5", &in_a_beam);
    check_refused("--train x --recipe constituents --explore-after 2", &in_a_beam);
    check_refused("--train x --system sr-gap --beam 1 --oracle static --explore 0.5", &["static oracle"]);
    for system in ["bottom-up", "bottom-up-2n", "sr-cgap", "sr-swap", "sr-cswap", "arc-standard-swap"] {
        let lacking = format!("{system} has no dynamic oracle: leave --oracle out");
        let flags = format!("--train x --system {system} --beam 1 --oracle dynamic");
        check_refused(
            &flags,
            &[&lacking, "(top-down, in-order, sr-gap, arc-hybrid, arc-hybrid-swap, arc-eager)"],
        );
    }
    check_refused("--train x --system arc-eager --beam 1 --oracle paper", &["arc-eager has no paper oracle"]);
    check_refused("--train x --system in-order --beam 1 --explore 0 --explore-after 3", &["--explore-after"]);
    check_refused("--train x --system in-order --pseudo-projective", &["constituents", "arc-hybrid"]);
    check_refused("--train x --system arc-hybrid-swap --pseudo-projective path", &["crossing arcs"]);
    check_refused("--train x --system arc-hybrid --head-rules dutch", &["--head-rules", "binary trees"]);
    check_refused("--train x --system top-down --markov-order 1", &["--markov-order", "binary trees"]);
    check_refused("--train x --system in-order --several-roots", &["--several-roots", "leave it out"]);
    check_refused("--train x --system in-order --jackknife 3", &["--jackknife", "--with tagger"]);
    check_refused("--train x --system in-order --text-seed 3", &["--text-seed", "--with"]);
    check_refused("--train x --system in-order --vectors v", &["--vectors", "--with tagger"]);
    check_refused("--train x --no-parser --with tagger --beam 8", &["--no-parser", "--beam"]);
    check_refused("--train x --system in-order --with tagger --without tagger", &["leave one of them out"]);
}

#[test]
fn numbers_and_names_that_make_no_sense_are_usage_errors() {
    check_refused("--train x --system in-order --min-weight nan", &["not negative"]);
    check_refused("--train x --system in-order --least-weight=-1", &["not negative"]);
    check_refused("--train x --system in-order --epochs 0", &["from 1"]);
    check_refused("--train x --system in-order --beam 0", &["from 1"]);
    check_refused("--train x --system in-order --explore 2", &["from 0 to 1"]);
    check_refused("--train x --system in-order --features nosuch", &["nosuch", "spans-plus", "in-order"]);
    check_refused("--train x --recipe nosuch", &["fast-dependencies"]);
    check_refused("--system in-order", &["--train FILE is missing"]);
    let output = run(&["train", "--train", "x", "--system", "in-order"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("-o MODEL is missing"), "{}", stderr(&output));
}

#[test]
fn a_flag_that_does_not_suit_the_choice_is_refused() {
    check_refused(
        &format!("--train {} --head-rules dutch", data("ud_english_ewt.conllu")),
        &["which was chosen for the data"],
    );
}

#[test]
fn old_names_of_flags_still_work() {
    let flags =
        ["train", "--system", "in-order", "--rare-actions", "3", "--least-weight", "0.5", "--print-config"];
    let output = run(&flags);
    let settings = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(settings.contains("min-action-count = 3\nmin-weight = 0.5\n"), "{settings}");
}

/// Trains on a sample, with the sample as development data.
#[track_caller]
fn train(test: &str, treebank: &str, flags: &[&str]) -> (String, String) {
    let (model, treebank) = (scratch(test, "m.model"), data(treebank));
    let flags =
        [&["train", "--train", &treebank, "--dev", &treebank, "--epochs", "1", "-o", &model], flags].concat();
    let output = run(&flags);
    assert!(output.status.success(), "{}", stderr(&output));
    (model, stderr(&output))
}

#[test]
fn the_data_decides_and_the_last_line_can_be_typed() {
    let (model, said) = train("automatic", "ud_english_ewt.conllu", &["--jackknife", "2"]);
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].contains("recipe non-projective-dependencies (arc-hybrid-swap, greedy)."), "{said}");
    assert!(said.contains("Training: segmenter, tagger, lemmatiser, parser."), "{said}");
    assert!(said.contains("UPOS") && said.contains("lemmas"), "{said}");
    let command = lines.last().unwrap().strip_prefix("Try: treewright ").expect("what to type next");
    let text = scratch("automatic", "text.txt");
    std::fs::write(&text, "The dog barks.\n").expect("a text");
    let arguments: Vec<&str> =
        command.split(' ').map(|word| if word == "text.txt" { text.as_str() } else { word }).collect();
    let output = run(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let parsed = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(parsed.lines().filter(|line| line.contains('\t')).count(), 4, "{parsed}");
    assert!(Path::new(&model).exists());
}

#[test]
fn parts_can_be_left_out() {
    let (model, said) =
        train("without", "greek_nt.discbracket", &["--without", "segmenter,tagger,lemmatiser"]);
    assert!(said.contains("recipe discontinuous (sr-gap, beam 8)"), "{said}");
    assert!(said.contains("(leftmost)"), "{said}");
    let info = run(&["info", &model]);
    let info = String::from_utf8(info.stdout).expect("UTF-8");
    assert!(!info.contains("tagger") && !info.contains("segmenter"), "{info}");
}

#[test]
fn any_part_can_come_alone() {
    for part in ["segmenter", "tagger", "lemmatiser"] {
        let flags = ["--recipe", "fast-dependencies", "--min-action-count", "1", "--with", part];
        let (model, said) = train(&format!("alone-{part}"), "ud_english_ewt.conllu", &flags);
        let info = String::from_utf8(run(&["info", &model]).stdout).expect("UTF-8");
        assert!(info.contains(part), "{info}");
        assert!(said.lines().last().unwrap().starts_with("Try: treewright parse --model "), "{said}");
    }
}

#[test]
fn a_treebank_with_several_roots_needs_no_flag() {
    let treebank = scratch("roots", "t.conllu");
    let sentence = "1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n2\tb\t_\tX\t_\t_\t0\troot\t_\t_\n\n";
    std::fs::write(&treebank, sentence.repeat(3)).expect("a treebank");
    let model = scratch("roots", "m.model");
    let flags = [
        "train",
        "--train",
        &treebank,
        "--without",
        "segmenter,tagger,lemmatiser",
        "--epochs",
        "3",
        "-o",
        &model,
    ];
    let output = run(&flags);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("several roots"), "{}", stderr(&output));
    let parsed = run(&["parse", "--model", &model, "--many-roots", &treebank]);
    let parsed = String::from_utf8(parsed.stdout).expect("UTF-8");
    assert_eq!(parsed.matches("\t0\troot\t").count(), 6, "{parsed}");
}

/// Development data on which the parser cannot be scored, and what the message must say.
#[track_caller]
fn check_dev(dev: &str, expected: &str) {
    let model = scratch("dev", "m.model");
    // An earlier run that failed may have left it.
    let _ = std::fs::remove_file(&model);
    for system in [&["--system", "arc-hybrid", "--beam", "1"][..], &[]] {
        let train = data("ud_english_ewt.conllu");
        let output = run(&[&["train", "--train", &train, "--dev", dev, "-o", &model][..], system].concat());
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
        assert!(!Path::new(&model).exists());
    }
}

#[test]
fn development_data_must_have_trees_of_the_same_kind() {
    check_dev(&data("gum.mrg"), "the development set has constituents, but the parser builds dependencies");
    let without_trees = scratch("dev", "no-trees.conllu");
    std::fs::write(&without_trees, "1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n\n").expect("a treebank");
    check_dev(&without_trees, "no sentence of the development set has a tree");
}

#[test]
fn resuming_without_a_checkpoint_says_what_that_means() {
    let (model, train) = (scratch("resume", "m.model"), data("ud_english_ewt.conllu"));
    let output =
        run(&["train", "--train", &train, "--recipe", "fast-dependencies", "-o", &model, "--resume"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("there is no such checkpoint"), "{}", stderr(&output));
    assert!(stderr(&output).contains("without --resume"), "{}", stderr(&output));
}

/// Killed after some epochs, training without a recipe goes on to the model of a run that nobody stopped.
#[test]
fn automatic_training_goes_on_to_the_same_model() {
    let treebank = scratch("resumed", "t.conllu");
    std::fs::write(&treebank, few_sentences(10)).expect("a treebank");
    let (whole, resumed) = (scratch("resumed", "whole.model"), scratch("resumed", "resumed.model"));
    let checkpoint = format!("{resumed}.checkpoint");
    for old in [&whole, &resumed, &checkpoint] {
        // An earlier run that failed may have left it.
        let _ = std::fs::remove_file(old);
    }
    let data = ["train", "--train", &treebank, "--dev", &treebank, "--jackknife", "2", "--quiet"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_treewright"));
    let mut child =
        command.args(data).args(["--epochs", "100000", "-o", &resumed]).spawn().expect("it starts");
    while !Path::new(&checkpoint).exists() {
        assert_eq!(child.try_wait().expect("it runs"), None, "it ended without a checkpoint");
        std::thread::yield_now();
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let n_done = Checkpoint::from_bytes(&std::fs::read(&checkpoint).expect("there")).expect("whole").epochs();
    let epochs = (n_done + 2).to_string();
    for (model, resume) in [(&whole, None), (&resumed, Some("--resume"))] {
        let flags = ["--epochs", &epochs, "-o", model];
        let output = run(&data.into_iter().chain(flags).chain(resume).collect::<Vec<_>>());
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let model = |path: &str| std::fs::read(path).expect("a model");
    assert!(model(&whole) == model(&resumed), "after {n_done} epochs and two more");
    assert!(!Path::new(&checkpoint).exists());
}

/// Sentences of words with tags and one label, as brackets.
fn brackets(n: usize) -> String {
    (0..n).map(|i| format!("(TOP (S (NP (DT the) (NN dog{})) (VP (VB barks))))\n", i % 3)).collect()
}

#[test]
fn a_training_that_is_refused_keeps_the_log_of_the_model() {
    let (model, treebank) = (scratch("log", "k.model"), scratch("log", "t.mrg"));
    std::fs::write(&treebank, brackets(12)).expect("a treebank");
    let log = format!("{model}.log.jsonl");
    let part = format!("{log}.part");
    for old in [&model, &log, &part] {
        // An earlier run that failed may have left it.
        let _ = std::fs::remove_file(old);
    }
    let flags = ["train", "--train", &treebank, "--system", "in-order", "-o", &model, "--epochs"];
    let output = run(&[&flags[..], &["2"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let first = std::fs::read_to_string(&log).expect("a log");
    assert_eq!(first.matches("\"epoch\":").count(), 2, "{first}");
    // Exact search needs another system, which is known only when training begins.
    let output = run(&[&flags[..], &["2", "--decoder", "astar"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(&log).expect("a log"), first);
    assert!(!Path::new(&part).exists());
    let output = run(&[&flags[..], &["3"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(&log).expect("a log").matches("\"epoch\":").count(), 3);
    assert!(!Path::new(&part).exists());
}

#[cfg(unix)]
#[test]
fn a_model_that_cannot_be_written_is_refused_before_training() {
    let (model, treebank) = (scratch("unwritable", "no/k.model"), scratch("unwritable", "t.mrg"));
    // The treebank is read later: a mistake in it would be named first otherwise.
    std::fs::write(&treebank, "(TOP (S\n").expect("a treebank");
    let output = run(&["train", "--train", &treebank, "--system", "in-order", "-o", &model]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("no/k.model: No such file"), "{}", stderr(&output));
}

/// The log of a training as text.
fn log_of(model: &str) -> String {
    std::fs::read_to_string(format!("{model}.log.jsonl")).expect("a log")
}

#[test]
fn small_treebanks_are_tagged_in_as_many_parts_as_they_have_sentences() {
    for (n, expected) in [(1, "learns only from the tags of the treebank"), (5, "in 5 parts instead of 10")] {
        let (model, treebank) = (scratch("small", &format!("{n}.model")), scratch("small", "t.mrg"));
        std::fs::write(&treebank, brackets(n)).expect("a treebank");
        let output = run(&["train", "--train", &treebank, "--epochs", "1", "-o", &model]);
        assert!(output.status.success(), "{n} sentences: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
    check_refused("--train x --system in-order --with tagger --jackknife 1", &["at least 2 parts"]);
}

#[test]
fn a_recipe_takes_head_rules_that_fit_the_labels() {
    let treebank = scratch("heads", "t.mrg");
    let sentence =
        "(top (smain (np (det de) (noun hond)) (verb blaft) (pp (prep in) (np (det het) (noun bos)))))\n";
    std::fs::write(&treebank, sentence.repeat(4)).expect("a treebank");
    let model = scratch("heads", "m.model");
    for flags in [&["--recipe", "discontinuous", "--min-action-count", "1"][..], &["--system", "bottom-up"]] {
        let output =
            run(&[&["train", "--train", &treebank, "--epochs", "1", "-o", &model][..], flags].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(stderr(&output).contains("head rules \"dutch\" fit"), "{}", stderr(&output));
        assert!(log_of(&model).contains("{\"head_rules\":\"dutch\"}"));
    }
}

#[test]
fn empty_elements_are_removed_from_training_and_development_trees() {
    let treebank = scratch("traces", "t.mrg");
    let sentence = "( (S (NP-SBJ-1 (DT the) (NN dog)) (VP (VB wants) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB bark)))))))\n";
    std::fs::write(&treebank, sentence.repeat(4)).expect("a treebank");
    let (model, kept) = (scratch("traces", "m.model"), scratch("traces", "kept.model"));
    let data = ["train", "--train", &treebank, "--dev", &treebank, "--epochs", "3"];
    let output = run(&[&data[..], &["-o", &model]].concat());
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("8 trees have empty elements") && said.contains("--keep-traces"), "{said}");
    assert!(said.contains("remove-traces,strip-functions,collapse-same,root"), "{said}");
    assert!(log_of(&model).contains("remove-traces,strip-functions"));
    let info = String::from_utf8(run(&["info", &model]).stdout).expect("UTF-8");
    assert!(info.contains("traces"), "{info}");
    let text = scratch("traces", "tokens.txt");
    std::fs::write(&text, "the dog wants to bark\n").expect("tokens");
    let parsed = |model: &str| {
        let output = run(&["parse", "--model", model, "--from", "tokens", "--to", "ptb", &text]);
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert!(parsed(&model).contains("(TOP (S (NP (DT the) (NN dog))"), "{}", parsed(&model));
    let output = run(&[&data[..], &["--keep-traces", "-o", &kept]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(parsed(&kept).contains("NP-SBJ-1"), "{}", parsed(&kept));
}

#[test]
fn scripts_without_spaces_are_segmented_without_them() {
    let treebank = scratch("spaces", "t.mrg");
    let words = ["猫", "犬", "鳥", "魚", "私"];
    let sentence = |i: usize| {
        let (a, b) = (words[i % 5], words[(i / 5) % 5]);
        format!("(IP-MAT (PP (NP (N {a})) (P-ROLE が)) (PP (NP (N {b})) (P-ROLE を)) (VB 見た) (PU 。))\n")
    };
    std::fs::write(&treebank, (0..50).map(sentence).collect::<String>()).expect("a treebank");
    let text = scratch("spaces", "text.txt");
    std::fs::write(&text, "猫が犬を見た。鳥が魚を見た。\n").expect("a text");
    let model = scratch("spaces", "m.model");
    let n_words = |flags: &[&str], expected: &str| {
        let data = ["train", "--train", &treebank, "--epochs", "1", "--jackknife", "2", "-o", &model];
        let output = run(&[&data[..], flags].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
        let parsed = run(&["parse", "--model", &model, "--to", "tokens", &text]);
        let parsed = String::from_utf8(parsed.stdout).expect("UTF-8");
        parsed.lines().map(|line| line.split(' ').count()).collect::<Vec<_>>()
    };
    assert_eq!(n_words(&[], "Its script puts none between words"), [6, 6]);
    assert_eq!(n_words(&["--spaces", "no"], "expects none between words"), [6, 6]);
    assert_ne!(n_words(&["--spaces", "yes"], "expects them between words"), [6, 6]);
    check_refused("--train x --system in-order --spaces no", &["--spaces", "--with segmenter"]);
}

/// Trains with templates of the user's own.
fn train_with_templates(name: &str, templates: &str, system: &str) -> (Output, String) {
    let (model, treebank) = (scratch("templates", "m.model"), scratch("templates", "t.mrg"));
    let file = scratch("templates", name);
    std::fs::write(&treebank, brackets(12)).expect("a treebank");
    std::fs::write(&file, templates).expect("templates");
    let data = ["train", "--train", &treebank, "--epochs", "1", "-o", &model, "--features", &file];
    (run(&[&data[..], &["--system", system]].concat()), file)
}

#[test]
fn templates_that_can_never_fire_are_refused() {
    let check = |templates: &str, place: &str, expected: &str| {
        let (output, file) = train_with_templates("bad.txt", templates, "in-order");
        assert_eq!(output.status.code(), Some(1), "{templates}: {}", stderr(&output));
        let said = stderr(&output);
        assert!(said.contains(&format!("{file}:{place}")) && said.contains(expected), "{templates}: {said}");
    };
    check("# mine\n  s9.t\n", "2:3", "s9.t");
    check("s0.c b0.w\nd0.c\n", "2:1", "template d0.c can never fire");
    check("s0.lable\n", "1:1", "there are w t x f p k");
    let (output, _) = train_with_templates("idle.txt", "s0.c b0.w s9.t", "in-order");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("s9.t (1:11)"), "{}", stderr(&output));
}

#[test]
fn a_feature_set_that_is_printed_can_be_read() {
    let listed = String::from_utf8(run(&["features"]).stdout).expect("UTF-8");
    for (set, system) in [("in-order", "in-order"), ("spans-plus", "sr-gap"), ("simplified", "bottom-up-2n")]
    {
        assert!(listed.contains(&format!("  {set} ")), "{listed}");
        let text = String::from_utf8(run(&["features", set]).stdout).expect("UTF-8");
        assert_eq!(treewright::features::shipped(set).expect("a set").text(), text);
        let (output, _) = train_with_templates("printed.txt", &text, system);
        assert!(output.status.success(), "{set}: {}", stderr(&output));
        let (model, own) = (scratch("templates", "m.model"), scratch("templates", "own.model"));
        std::fs::copy(&model, &own).expect("a model");
        let treebank = scratch("templates", "t.mrg");
        let data = ["train", "--train", &treebank, "--epochs", "1", "-o", &model, "--features", set];
        assert!(run(&[&data[..], &["--system", system]].concat()).status.success());
        let parsed = |model: &str| run(&["parse", "--model", model, &treebank]).stdout;
        assert_eq!(parsed(&model), parsed(&own), "{set}");
    }
}

#[test]
fn a_beam_on_a_model_that_was_trained_step_by_step_gets_a_note() {
    let (model, treebank) = (scratch("beam", "m.model"), scratch("beam", "t.mrg"));
    std::fs::write(&treebank, brackets(12)).expect("a treebank");
    for (trained, expected) in [("1", true), ("4", false)] {
        let data = ["train", "--train", &treebank, "--epochs", "1", "--system", "in-order", "-o", &model];
        let output = run(&[&data[..], &["--beam", trained]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let said = |flags: &[&str]| stderr(&run(&[&["parse", "--model", &model, &treebank], flags].concat()));
        assert_eq!(said(&["--beam", "8"]).contains("trained step by step"), expected);
        assert!(!said(&[]).contains("trained step by step"));
        assert!(!said(&["--beam", "8", "--quiet"]).contains("trained step by step"));
    }
}

#[test]
fn a_checkpoint_that_cannot_be_written_does_not_end_the_training() {
    let (model, treebank) = (scratch("no-checkpoint", "m.model"), scratch("no-checkpoint", "t.mrg"));
    std::fs::write(&treebank, brackets(12)).expect("a treebank");
    std::fs::create_dir_all(format!("{model}.checkpoint")).expect("a folder in its place");
    let output = run(&["train", "--train", &treebank, "--system", "in-order", "--epochs", "2", "-o", &model]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("this epoch has no checkpoint"), "{}", stderr(&output));
    assert!(Path::new(&model).is_file());
}
