//! Trains a lemmatiser, measures its speed and accuracy on a development set, with the tags of the treebank and, given a
//! model with a tagger, with those of the tagger.
//!
//! `cargo run --release --example lemmatise -- TRAIN DEV [MODEL]`

use std::time::Instant;

use treewright::Sentence;
use treewright::lemma::{LemmaConfig, Lemmatiser};
use treewright::pipeline::{Pipeline, Tagging};
use treewright::treebank::{self, Format, ReadOptions};

fn read(path: &str) -> Result<Vec<Sentence>, Box<dyn std::error::Error>> {
    let reader = treebank::reader(Format::Conllu, std::fs::File::open(path)?, &ReadOptions::default());
    Ok(reader.map(|entry| entry.map(|entry| entry.sentence)).collect::<Result<_, _>>()?)
}

/// Prints the share of right lemmas; words without a lemma in the treebank are left out.
fn report(name: &str, gold: &[Sentence], found: &[Sentence], is_verbose: bool) {
    let (mut right, mut all) = (0, 0);
    for (gold, found) in gold.iter().zip(found) {
        for (gold, found) in gold.tokens.iter().zip(&found.tokens).filter(|pair| !pair.0.lemma.is_empty()) {
            all += 1;
            right += usize::from(gold.lemma == found.lemma);
            if is_verbose && gold.lemma != found.lemma {
                println!(
                    "{name}\t{}\t{}\t{}\t{}\t{}",
                    gold.form, gold.tag, found.tag, gold.lemma, found.lemma
                );
            }
        }
    }
    println!("{name}: {:.2} % of {all} lemmas right", right as f64 * 100.0 / all as f64);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let is_verbose = args.last().is_some_and(|arg| arg == "--errors");
    args.truncate(args.len() - usize::from(is_verbose));
    let (train_file, dev_file, model) = match args.as_slice() {
        [train, dev] => (train, dev, None),
        [train, dev, model] => (train, dev, Some(model)),
        _ => return Err("usage: lemmatise TRAIN DEV [MODEL] [--errors]".into()),
    };
    let (train, gold) = (read(train_file)?, read(dev_file)?);
    let started = Instant::now();
    let lemmatiser = Lemmatiser::train(&train, &[], &LemmaConfig::default(), &mut |_| ())?;
    println!("trained in {:.1} s: {}", started.elapsed().as_secs_f64(), lemmatiser.summary());
    let bytes = lemmatiser.to_bytes();
    let started = Instant::now();
    let lemmatiser = Lemmatiser::from_bytes(&bytes)?;
    println!("{} bytes, loaded in {:.1} ms", bytes.len(), started.elapsed().as_secs_f64() * 1e3);
    let mut found = gold.clone();
    let n_tokens: usize = found.iter().map(Sentence::len).sum();
    let mut seconds = f64::MAX;
    for _ in 0..10 {
        // A new worker each time; the best time is the one least disturbed by other programs.
        let mut worker = lemmatiser.worker();
        let started = Instant::now();
        found.iter_mut().for_each(|sentence| worker.lemmatise(sentence));
        seconds = seconds.min(started.elapsed().as_secs_f64());
    }
    println!("{n_tokens} tokens in {seconds:.4} s: {:.0} tokens/s (best of 10)", n_tokens as f64 / seconds);
    report("gold tags", &gold, &found, is_verbose);
    if let Some(model) = model {
        let analyser = Pipeline::open(model)?.analyser(None)?;
        let (mut tagger, mut worker) = (analyser.worker(None, Tagging::Always), lemmatiser.worker());
        for sentence in &mut found {
            tagger.analyse(sentence)?;
            worker.lemmatise(sentence);
        }
        report("predicted tags", &gold, &found, is_verbose);
    }
    Ok(())
}
