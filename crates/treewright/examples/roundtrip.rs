//! Does a treebank come out as it went in? Reads each file, writes it again in the same format and compares the
//! bytes; tells how long reading took.
//!
//! `cargo run --release --example roundtrip -- FILES`

use std::time::Instant;

use treewright::treebank::{self, Entry, ReadOptions, WriteOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut all_same = true;
    for file in std::env::args().skip(1) {
        let bytes = std::fs::read(&file)?;
        let start = Instant::now();
        let options = ReadOptions { file: file.clone(), ..ReadOptions::default() };
        let opened = treebank::open(&bytes[..], &options)?;
        let format = opened.format;
        let entries: Vec<Entry> = opened.reader.collect::<Result<_, _>>()?;
        let seconds = start.elapsed().as_secs_f64();
        let mut out = Vec::new();
        let mut writer = treebank::writer(format, &mut out, &WriteOptions::default())?;
        for entry in &entries {
            writer.write(entry)?;
        }
        writer.finish()?;
        drop(writer);
        let verdict = if out == bytes { "same bytes" } else { "DIFFERENT" };
        all_same &= out == bytes;
        let n_words: usize = entries.iter().map(|entry| entry.sentence.len()).sum();
        let n = entries.len();
        println!("{verdict}  {file}  {format}: {n} sentences, {n_words} words, read in {seconds:.3} s");
    }
    if all_same { Ok(()) } else { Err("some file did not come back as it was".into()) }
}
