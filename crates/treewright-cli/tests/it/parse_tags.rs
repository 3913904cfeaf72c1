//! Tags in the input of `treewright parse`: which are believed.

use crate::common::{constituents, dependencies, few_sentences, refusal, run, sample, scratch, stdout};

/// Column `number` (from 1) of each word in CoNLL-U.
fn column(conllu: &str, number: usize) -> Vec<String> {
    let words = conllu.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    words
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .filter(|columns| columns[0].bytes().all(|byte| byte.is_ascii_digit()))
        .map(|columns| columns[number - 1].to_owned())
        .collect()
}

/// The sample as `word/TAG`, the tag taken from a column.
fn tagged_tokens(number: usize) -> String {
    let treebank = std::fs::read_to_string(sample("ud_english_ewt.conllu")).expect("a sample");
    let sentence = |block: &str| {
        let words = column(block, 2).into_iter().zip(column(block, number));
        words.map(|(word, tag)| format!("{word}/{tag}")).collect::<Vec<_>>().join(" ")
    };
    // The tag X stands only in a sentence that this system cannot be trained on.
    let known = treebank.trim().split("\n\n").filter(|block| !block.contains("\tX\t"));
    known.map(sentence).collect::<Vec<_>>().join("\n") + "\n"
}

const TAGGED: [&str; 4] = ["parse", "--from", "tokens", "--tagged"];

fn notes(arguments: &[&str], input: &str) -> String {
    String::from_utf8(run(arguments, input).stderr).expect("UTF-8")
}

#[test]
fn penn_tags_are_the_xpos_of_a_ud_model() {
    let flags = [&TAGGED[..], &["--model", dependencies()]].concat();
    let input = tagged_tokens(5);
    let parsed = stdout(&flags, &input);
    let given: Vec<String> =
        input.split_whitespace().map(|word| word.rsplit_once('/').expect("a tag").1.to_owned()).collect();
    assert_eq!(column(&parsed, 5), given, "what is known is kept");
    let gold = tagged_tokens(4);
    let expected: Vec<&str> =
        gold.split_whitespace().map(|word| word.rsplit_once('/').expect("a tag").1).collect();
    let upos = column(&parsed, 4);
    let n_right = upos.iter().zip(&expected).filter(|(one, other)| one == *other).count();
    assert!(n_right * 100 >= expected.len() * 95, "{n_right} of {}", expected.len());
    assert_eq!(notes(&flags, &input), "", "nothing to remark");
    // Fitting tags are left alone.
    let kept = stdout(&flags, &gold);
    assert_eq!(column(&kept, 4), expected);
    assert!(column(&kept, 5).iter().all(|xpos| xpos == "_"));
}

#[test]
fn tags_of_another_tagset_are_replaced_and_the_user_is_told_once() {
    let flags = [&TAGGED[..], &["--model", dependencies()]].concat();
    let input = "The/art boy/subst ran/verbum ./.\n".repeat(100);
    let parsed = stdout(&flags, &input);
    assert!(
        column(&parsed, 4).iter().all(|tag| tag.bytes().all(|byte| byte.is_ascii_uppercase())),
        "{parsed}"
    );
    let note = notes(&flags, &input);
    assert_eq!(note.lines().count(), 1, "{note}");
    assert!(note.contains("100 of 100 sentences"), "{note}");
    assert!(note.contains("(such as art, subst, verbum)") && note.contains("--keep-tags"), "{note}");
    for jobs in ["1", "3"] {
        assert_eq!(notes(&[&flags[..], &["--jobs", jobs]].concat(), &input), note);
    }
    assert_eq!(notes(&[&flags[..], &["--quiet"]].concat(), &input), "");
    let kept = [&flags[..], &["--keep-tags"]].concat();
    assert_eq!(column(&stdout(&kept, &input), 4)[..3], ["art", "subst", "verbum"]);
    assert_eq!(notes(&kept, &input), "");
    let both = [&kept[..], &["--retag"]].concat();
    assert_eq!(run(&both, &input).status.code(), Some(2));
}

#[test]
fn a_penn_model_takes_xpos_from_conllu() {
    let parse = ["parse", "--model", constituents(), "--from", "conllu"];
    let input = "1\tHe\the\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n2\tran\trun\tVERB\tVBD\t_\t0\troot\t_\t_\n\
                 3\t(\t(\tPUNCT\t-LRB-\t_\t4\tpunct\t_\t_\n4\tfast\tfast\tADV\tRB\t_\t2\tadvmod\t_\t_\n\
                 5\t)\t)\tPUNCT\t-RRB-\t_\t4\tpunct\t_\t_\n\n";
    let tree = stdout(&parse, input);
    for leaf in ["(PRP He)", "(VBD ran)", "(-LRB- -LRB-)", "(RB fast)"] {
        assert!(tree.contains(leaf), "{tree}");
    }
    let note = notes(&parse, input);
    assert!(note.starts_with("note: the tags of the input were kept") && note.lines().count() == 1, "{note}");
    // Without XPOS, the tagger's tags are better than UPOS.
    let bare = input.replace("\tPRP\t", "\t_\t").replace("\tVBD\t", "\t_\t").replace("\tRB\t", "\t_\t");
    let bare = bare.replace("\t-LRB-\t", "\t_\t").replace("\t-RRB-\t", "\t_\t");
    let tree = stdout(&parse, &bare);
    assert!(!tree.contains("PRON") && !tree.contains("VERB") && !tree.contains("ADV "), "{tree}");
    assert!(notes(&parse, &bare).contains("(such as PRON, VERB, PUNCT)"));
}

/// A shipped network, which finds tags itself.
const NETWORK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/english-neural.model.gz");

#[test]
fn a_network_fills_in_tags_around_those_it_is_given() {
    let flags = [&TAGGED[..], &["--model", NETWORK]].concat();
    let input = "The/DT dogs/NNS are/VBP barking/VBG ./.\n";
    let parsed = stdout(&flags, input);
    assert_eq!(column(&parsed, 4), ["DET", "NOUN", "AUX", "VERB", "PUNCT"]);
    assert_eq!(column(&parsed, 5), ["DT", "NNS", "VBP", "VBG", "."]);
    assert_eq!(column(&parsed, 3), ["the", "dog", "be", "bark", "."]);
    assert_eq!(notes(&flags, input), "");
    // Tags that it does not know are replaced, and the user is told so.
    let other = "The/art dogs/subst are/verbum barking/verbum ./.\n";
    assert_eq!(column(&stdout(&flags, other), 4), ["DET", "NOUN", "AUX", "VERB", "PUNCT"]);
    assert!(notes(&flags, other).contains("(such as art, subst, verbum)"));
    assert_eq!(column(&stdout(&[&flags[..], &["--keep-tags"]].concat(), other), 4)[0], "art");
}

#[test]
fn words_without_a_tag_among_others_get_one() {
    for model in [NETWORK, dependencies()] {
        let flags = ["parse", "--model", model, "--from", "conllu"];
        let input = "1\tThe\t_\tPRON\t_\t_\t_\t_\t_\t_\n2\tdogs\t_\t_\t_\t_\t_\t_\t_\t_\n3\tbark\t_\tVERB\t_\t_\t_\t_\t_\t_\n\n";
        let upos = column(&stdout(&flags, input), 4);
        assert_eq!((&*upos[0], &*upos[2]), ("PRON", "VERB"), "{model}: what is given stays");
        assert!(upos[1] != "_", "{model}: {upos:?}");
        let kept = [&flags[..], &["--keep-tags"]].concat();
        assert_eq!(column(&stdout(&kept, input), 4), ["PRON", "_", "VERB"], "{model}");
    }
}

#[test]
fn retag_is_refused_without_a_tagger() {
    let treebank = sample("ud_english_ewt.conllu");
    let model = scratch("untagged.model");
    let model = model.to_str().expect("a plain path");
    let train = ["train", "--system", "arc-hybrid", "--beam", "1", "--epochs", "1", "--quiet"];
    stdout(&[&train[..], &["--train", &treebank, "-o", model]].concat(), "");
    let error = refusal(2, &["parse", "--model", model, "--retag", &treebank], "");
    assert!(error.contains("needs a model with a tagger"), "{error}");
    stdout(&["parse", "--model", NETWORK, "--retag", "-", "--from", "conllu"], &few_sentences(3));
}
