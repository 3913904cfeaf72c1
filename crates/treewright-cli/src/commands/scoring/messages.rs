//! Messages of `eval` and `compare` about sentences that do not fit, and remarks on how the scores came about.

use treewright::eval::{Collapsed, Params, Style, collapsed_labels, conll18};
use treewright::treebank::Entry;
use treewright::{Code, Error, Sentence};

use super::{Treebank, dependencies_of, tree_of};

/// The words of a sentence, cut if there are very many.
pub fn text_of(sentence: &Sentence) -> String {
    const SHOWN: usize = 40;
    let words: Vec<&str> = sentence.surface().map(|(form, ..)| form).collect();
    match words.len() {
        0 => "(nothing)".to_owned(),
        n if n > SHOWN => format!("{} ... ({n} words)", words[..SHOWN].join(" ")),
        _ => words.join(" "),
    }
}

/// A pair of sentences (counted from 0) that does not fit together, with both texts, one below the other.
pub fn mismatch(reason: &str, number: usize, gold: &Entry, predicted: &Entry) -> Error {
    let (gold, predicted) = (text_of(&gold.sentence), text_of(&predicted.sentence));
    let message = match gold == predicted {
        true => format!("{reason}\n  {gold}"),
        false => format!("{reason}\n  gold:      {gold}\n  predicted: {predicted}"),
    };
    Error::new(Code::Mismatch, message).in_sentence(number + 1)
}

/// True if the sentences differ in anything but tags. Traces are no words.
pub fn differ_in_words(gold: &Entry, predicted: &Entry) -> bool {
    fn words(entry: &Entry) -> impl Iterator<Item = &str> {
        entry.sentence.tokens.iter().filter(|token| !token.is_trace()).map(|token| &*token.form)
    }
    !words(gold).eq(words(predicted))
}

/// The error after which there are no figures. With EVALB's rules there is a limit on errors.
pub fn give_up(mut first: Error, n_errors: u64, n_by_tags: usize, limit: Option<usize>) -> Error {
    match limit {
        Some(limit) => first.message.push_str(&format!(
            "\nthis is the first of {n_errors} sentences that do not fit, more than MAX_ERROR {limit} allows; --on-error \
             skip scores the rest"
        )),
        None => first.message.push_str("\n--on-error skip scores the other sentences"),
    }
    if n_by_tags > 0 {
        first.message.push_str(&format!("\n{BY_GOLD_TAG}, so that other tags do no harm"));
    }
    first
}

/// The pair, unless its texts differ.
pub fn fits<'a>(
    i: usize,
    (gold, predicted): (&'a Entry, &'a Entry),
    problems: &mut Vec<Error>,
) -> Option<(&'a Entry, &'a Entry)> {
    let reason = if !conll18::same_text(&gold.sentence, &predicted.sentence) {
        "the texts differ"
    } else if dependencies_of(gold).is_none() || dependencies_of(predicted).is_none() {
        "there is no dependency tree"
    } else {
        return Some((gold, predicted));
    };
    problems.push(mismatch(reason, i, gold, predicted));
    None
}

/// The error for two files without scores.
pub fn incomparable(
    reason: &conll18::Incomparable,
    (gold, of_gold): (&Treebank, &[&Entry]),
    (predicted, of_predicted): (&Treebank, &[&Entry]),
) -> Error {
    let text = |entries: &[&Entry], number: Option<usize>| {
        number.map_or("(the end of the file)".to_owned(), |i| text_of(&entries[i].sentence))
    };
    match *reason {
        conll18::Incomparable::Text { gold: g, system: s } => {
            let place =
                g.map_or("the end of the gold file".to_owned(), |i| format!("gold sentence {}", i + 1));
            let message = format!(
                "the texts differ, first in {place}\n  gold:      {}\n  predicted: {}\n--on-error skip scores the other \
                 sentences",
                text(of_gold, g),
                text(of_predicted, s)
            );
            let error = Error::new(Code::Mismatch, message).in_file(&predicted.name);
            let mut error = s.map_or(error.clone(), |i| error.in_sentence(i + 1));
            if let Err(first) = super::units(gold, &[predicted]) {
                (error.location.line, error.location.column) = (first.location.line, first.location.column);
            }
            error
        }
        conll18::Incomparable::NoGoldTree(i) | conll18::Incomparable::NoSystemTree(i) => {
            let is_gold = matches!(reason, conll18::Incomparable::NoGoldTree(_));
            let file = if is_gold { gold } else { predicted };
            Error::new(Code::WrongTreeKind, "this sentence has no dependency tree")
                .in_file(&file.name)
                .in_sentence(i + 1)
        }
    }
}

/// The labels that count as one in all these files.
pub fn collapsed(files: &[&Treebank], params: &Params, style: Style) -> Vec<Collapsed> {
    let entries = files.iter().flat_map(|file| &file.entries);
    collapsed_labels(entries.filter_map(tree_of), params, style)
}

/// Says that labels collapse, if any do.
pub fn collapsed_note(collapsed: &[Collapsed]) -> Option<String> {
    const SHOWN: usize = 3;
    let example = collapsed.iter().max_by_key(|group| (!group.label.is_empty(), group.labels.len()))?;
    let n_labels: usize = collapsed.iter().map(|group| group.labels.len()).sum();
    let more = if example.labels.len() > SHOWN { ", ..." } else { "" };
    let shown = example.labels[..SHOWN.min(example.labels.len())].join(", ");
    Some(format!(
        "labels are compared up to their first - or =, so that {n_labels} labels count as {} ({shown}{more} as {}); \
         --functions keep compares them whole",
        collapsed.len(),
        if example.label.is_empty() { "nothing" } else { &example.label }
    ))
}

/// The way out where EVALB takes out punctuation by tags that differ.
pub const BY_GOLD_TAG: &str = "--params proper takes punctuation out by the gold tags and by the words";

/// Says that sentences are left out because of their tags, if any are; `first` is the first of them.
pub fn tags_note(n_sentences: usize, first: Option<&Error>) -> Option<String> {
    let first = first?;
    let reason = first.message.lines().next().unwrap_or_default();
    let sentences = if n_sentences == 1 {
        "1 sentence counts".to_owned()
    } else {
        format!("{n_sentences} sentences count")
    };
    Some(format!(
        "{}: {sentences} as an error, as in EVALB, because the tags of the two sides take out different words, first in \
         sentence {}: {reason}; {BY_GOLD_TAG}",
        first.location.file, first.location.sentence
    ))
}

/// Says that words are taken out by the gold tags because there are more errors by tags than EVALB allows, of which this
/// is the first.
pub fn by_gold_tags_note(first: &Error) -> String {
    let reason = first.message.lines().next().unwrap_or_default();
    format!(
        "{}: by the tags of each side, as in EVALB, too many sentences would be errors, first sentence {}: {reason}; so words \
         are taken out by the gold tags here (--params proper does that, too; --params collins insists on EVALB's way)",
        first.location.file, first.location.sentence
    )
}

/// Says that constituents are aligned by characters.
pub fn aligned_note(name: &str) -> String {
    format!(
        "{name}: its words or sentences are not those of the gold file, but its characters are: brackets are aligned by \
         characters"
    )
}
