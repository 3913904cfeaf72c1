//! Lemmas on the command line: trained with a model, joined to one, and filled in where they are missing.

use crate::common::{data, folder, refusal, run, stdout};

/// LEMMA of each word, with other lines left out.
fn lemmas(conllu: &str) -> Vec<String> {
    let words = conllu.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    words.filter_map(|line| line.split('\t').nth(2)).map(str::to_owned).collect()
}

/// Trains parts on the English sample, without a parser.
fn train(parts: &str, path: &str) {
    let sample = data("ud_english_ewt.conllu").display().to_string();
    stdout(&["train", "--no-parser", "--with", parts, "--train", &sample, "-o", path, "--quiet"], "");
}

#[test]
fn raw_text_gets_lemmas_whatever_the_number_of_threads() {
    let folder = folder("lemmas-raw");
    let path = |name: &str| folder.join(name).display().to_string();
    train("segmenter,tagger", &path("tags.model"));
    train("lemmatiser", &path("lemmas.model"));
    stdout(&["join", &path("tags.model"), &path("lemmas.model"), "-o", &path("both.model")], "");
    let info = stdout(&["info", &path("both.model"), "--json"], "");
    assert!(info.find("\"tagger\"") < info.find("\"lemmatiser\"") && info.contains("lemmatiser"), "{info}");
    let text = "The boy was here. She saw the dogs, and they saw her.\n".repeat(50);
    let parse = |jobs: &str| {
        stdout(&["parse", "-m", &path("both.model"), "--to", "conllu", "--jobs", jobs, "--quiet"], &text)
    };
    let one = parse("1");
    assert_eq!(parse("3"), one);
    let lemmas = lemmas(&one);
    assert!(lemmas.len() > 400 && lemmas.iter().all(|lemma| lemma != "_"), "{lemmas:?}");
    assert_eq!(lemmas[0], "the");
}

#[test]
fn lemmas_of_the_input_are_kept() {
    let folder = folder("lemmas-kept");
    let path = folder.join("parts.model").display().to_string();
    train("tagger,lemmatiser", &path);
    let input = "1\tThe\tgiven\tDET\tDT\t_\t_\t_\t_\t_\n2\twas\t_\tAUX\tVBD\t_\t_\t_\t_\t_\n\n";
    let parse = |flags: &[&str]| {
        let all = [&["parse", "-m", &path, "--from", "conllu", "--to", "conllu", "--quiet"], flags].concat();
        lemmas(&stdout(&all, input))
    };
    assert_eq!(parse(&[]), ["given", "be"]);
    assert_eq!(parse(&["--retag"])[0], "the");
}

#[test]
fn a_treebank_without_lemmas_trains_no_lemmatiser() {
    let folder = folder("lemmas-none");
    let path = folder.join("none.model").display().to_string();
    let sample = data("agdt_ancient_greek.conllu").display().to_string();
    let message = refusal(
        1,
        &["train", "--no-parser", "--with", "lemmatiser", "--train", &sample, "-o", &path, "--quiet"],
        "",
    );
    assert!(message.contains("no word of the training data has a lemma"), "{message}");
    assert!(!folder.join("none.model").exists());
}

#[test]
fn a_damaged_lemmatiser_is_named() {
    let folder = folder("lemmas-damaged");
    let path = folder.join("damaged.model");
    train("lemmatiser", &path.display().to_string());
    let mut bytes = std::fs::read(&path).expect("a model");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).expect("a file");
    let output =
        run(&["parse", "-m", &path.display().to_string(), "--from", "tokens", "--to", "conllu"], "a b\n");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("TW801") && message.contains("lemmatiser"), "{message}");
}

/// Such a word once had itself as its lemma, which CoNLL-U cannot tell from a missing one, and nothing was written.
#[test]
fn an_underscore_is_a_word_like_others() {
    let parsed = stdout(&["parse", "--quiet", "--to", "conllu"], "Samuel _ Global Data _\n");
    assert_eq!(lemmas(&parsed)[1], "_", "{parsed}");
}
