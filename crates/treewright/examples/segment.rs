//! From text to sentences: trains a segmenter on a treebank, cuts text with it, and tells how fast.
//!
//! - `segment raw TREEBANK [WIDTH]` prints the text of a treebank: an empty line between paragraphs, sentences one after
//!   the other, perhaps with lines of WIDTH bytes at most;
//! - `segment train TREEBANK MODEL` trains;
//! - `segment cut MODEL TEXT` prints CoNLL-U. Each word but the first hangs on the first, so that `treewright eval`
//!   takes it.
//!
//! `cargo run --release --example segment -- train train.conllu segmenter.bin`

use std::io::{BufReader, BufWriter, Write};
use std::time::Instant;

use treewright::segment::{SegmentConfig, SegmentOptions, Segmenter, raw_text};
use treewright::tree::Arc;
use treewright::treebank::{self, Entry, Format, ReadOptions, WriteOptions};
use treewright::{DependencyTree, Sentence, TokenIdx, Tree};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["raw", file] => print!("{}", raw_text(&sentences(file)?, None)),
        ["raw", file, width] => print!("{}", raw_text(&sentences(file)?, Some(width.parse()?))),
        ["train", file, model] => train(file, model)?,
        ["cut", model, file] => cut(model, file)?,
        _ => return Err("expected: raw TREEBANK [WIDTH] | train TREEBANK MODEL | cut MODEL TEXT".into()),
    }
    Ok(())
}

/// The sentences of a treebank, without their trees.
fn sentences(file: &str) -> Fallible<Vec<Sentence>> {
    let options = ReadOptions { file: file.to_owned(), ..ReadOptions::default() };
    let opened = treebank::open(std::fs::File::open(file)?, &options)?;
    Ok(opened.reader.map(|entry| Ok(entry?.sentence)).collect::<treewright::Result<_>>()?)
}

fn train(file: &str, model: &str) -> Fallible<()> {
    let sentences = sentences(file)?;
    let start = Instant::now();
    let segmenter = Segmenter::train(&sentences, &SegmentConfig::default(), &mut |epoch| {
        eprintln!("{}: epoch {}, loss {:.5}", epoch.part, epoch.epoch + 1, epoch.loss);
    })?;
    let bytes = segmenter.to_bytes();
    eprintln!("trained in {:.1} s, {} bytes", start.elapsed().as_secs_f64(), bytes.len());
    Ok(std::fs::write(model, bytes)?)
}

fn cut(model: &str, file: &str) -> Fallible<()> {
    let segmenter = Segmenter::from_bytes(&std::fs::read(model)?)?;
    let mut writer =
        treebank::writer(Format::Conllu, BufWriter::new(std::io::stdout()), &WriteOptions::default())?;
    let source = BufReader::with_capacity(1 << 16, std::fs::File::open(file)?);
    let (mut n_words, mut seconds) = (0, 0.0);
    let mut reader = segmenter.read(source, &SegmentOptions::default());
    loop {
        let start = Instant::now();
        let Some(sentence) = reader.next() else { break };
        seconds += start.elapsed().as_secs_f64();
        let sentence = sentence?;
        n_words += sentence.len();
        let head = |i: usize| (i > 0).then(|| TokenIdx::new(0));
        let label = |i: usize| if i > 0 { "dep" } else { "root" };
        let arcs = (0..sentence.len()).map(|i| Arc { head: head(i), label: label(i).into() }).collect();
        writer.write(&Entry { sentence, tree: Some(Tree::Dependency(DependencyTree { arcs })) })?;
    }
    writer.finish()?;
    drop(writer);
    eprintln!("{n_words} words in {seconds:.3} s: {:.0} words/s", n_words as f64 / seconds);
    std::io::stdout().flush()?;
    Ok(())
}
