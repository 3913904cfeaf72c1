//! Checks that parsers over one encoder, which keeps what it has read, never mix sentences up.
//!
//! `cargo run --release --example shared_encoder -- MODEL [N]`: N sentences (10,000 if it is not said) of few words, many of them
//! joined by line ends and tabs to single words, are parsed by each parser of the model on its own, then by all of them and by
//! a vote of the first with itself over one encoder: one by one, in batches, from the last to the first, with one thread and
//! with two. The trees must be the same.

use treewright::model::Parser;
use treewright::pipeline::Pipeline;
use treewright::rng::Rng;
use treewright::tree::TreeKind;
use treewright::{Result, Sentence, Token, Tree, parallel};

type Trees = Vec<Option<Tree>>;

const KINDS: [TreeKind; 2] = [TreeKind::Dependencies, TreeKind::Constituents];

/// Sentences that would be the same if line ends or tabs stood between words.
fn sentences(n: usize) -> Vec<Sentence> {
    let words = ["the", "cat", "sat", "on", "mats", ".", "", "\n", "\t", "a\n", "\tb", "unhappily", "1,000"];
    let mut rng = Rng::new(31);
    let mut all = Vec::with_capacity(n);
    while all.len() < n {
        let plain: Vec<&str> = (0..1 + rng.below(9)).map(|_| words[rng.below(words.len())]).collect();
        // Each series of words comes several times, joined elsewhere.
        for _ in 0..1 + rng.below(5) {
            let mut forms = vec![plain[0].to_owned()];
            for word in &plain[1..] {
                let joint = ["\n", "\t", " "].get(rng.below(6));
                match (joint, forms.last_mut()) {
                    (Some(joint), Some(last)) => *last = format!("{last}{joint}{word}"),
                    _ => forms.push((*word).to_owned()),
                }
            }
            let tokens = forms.iter().map(|form| Token::new(form.as_str(), "")).collect();
            all.push(Sentence { tokens, ..Sentence::default() });
        }
    }
    all.truncate(n);
    all
}

/// The trees, by several threads that take a batch of sentences at a time; a batch of one is parsed by itself.
fn parse(parser: &Parser, sentences: &[&Sentence], jobs: usize, batch: usize) -> Result<Trees> {
    let mut trees = Vec::with_capacity(sentences.len());
    let worker = || {
        let mut worker = parser.worker();
        move |batch: &[&Sentence]| match batch {
            [one] => vec![worker.parse(one)],
            _ => worker.parse_all(batch),
        }
    };
    parallel::map(jobs, sentences.chunks(batch), worker, |batch| {
        trees.extend(batch);
        Ok(())
    })?;
    Ok(trees)
}

/// The parsers of a model file.
fn parsers(model: &str) -> Result<Vec<Parser>> {
    let pipeline = Pipeline::open(model)?;
    let of = |kind| pipeline.analyser(Some(kind)).ok()?.parser;
    Ok(KINDS.into_iter().filter_map(of).collect())
}

/// Parses `n` sentences in every way, and says which of them differ.
///
/// # Errors
/// When the model cannot be read, or trees differ.
pub fn check(model: &str, n: usize) -> Result<(), Box<dyn std::error::Error>> {
    let sentences = sentences(n);
    let forwards: Vec<&Sentence> = sentences.iter().collect();
    let backwards: Vec<&Sentence> = sentences.iter().rev().collect();
    let mut apart = Vec::new();
    for i in 0..parsers(model)?.len() {
        // The others are gone, and nothing is kept for them.
        let parser = parsers(model)?.swap_remove(i);
        apart.push(Some(parse(&parser, &forwards, 1, 1)?));
    }
    let (mut together, other) = (parsers(model)?, parsers(model)?);
    let first = |parsers: &[Parser]| parsers.first().cloned().ok_or("the model has no parser");
    together.push(Parser::ensemble(&[first(&together)?, first(&other)?], &[])?);
    apart.push(None);
    for (i, (parser, expected)) in together.iter().zip(&mut apart).enumerate() {
        for (sentences, jobs, batch) in [
            (&forwards, 1, 1),
            (&backwards, 1, 1),
            (&forwards, 1, 64),
            (&backwards, 2, 1),
            (&backwards, 2, 64),
        ] {
            let mut trees = parse(parser, sentences, jobs, batch)?;
            if std::ptr::eq(sentences, &backwards) {
                trees.reverse();
            }
            let expected = expected.get_or_insert_with(|| trees.clone());
            let n_others = trees.iter().zip(&*expected).filter(|(tree, expected)| tree != expected).count();
            if n_others > 0 {
                return Err(format!(
                    "parser {}, {jobs} jobs, {batch} together: {n_others} of {n} trees differ",
                    i + 1
                )
                .into());
            }
        }
    }
    Ok(())
}

#[allow(dead_code)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (model, n) = match &args[..] {
        [model] => (model, 10_000),
        [model, n] => (model, n.parse()?),
        _ => return Err("usage: shared_encoder MODEL [N]".into()),
    };
    check(model, n)?;
    println!("{n} sentences: the same trees in every way");
    Ok(())
}
