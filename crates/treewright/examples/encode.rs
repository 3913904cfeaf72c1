//! Prints the vectors that a pre-trained encoder gives the words of a text, or how fast it is.
//!
//! `cargo run --release --example encode -- DIR LAYERS < SENTENCES`: for each line of standard input, words apart by spaces,
//! a line of JSON with the vector of each word. DIR has the files of the encoder, LAYERS are numbers (`2,3,4`).
//! `--eight-bits` computes in 8 bits; `--speed` prints words a second instead of vectors.

use std::io::{Read, Write};
use std::time::Instant;

use treewright::Sentence;
use treewright::config::EncoderFiles;
use treewright::score::neural::Encoder;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, layers, rest @ ..] = &args[..] else {
        return Err("usage: encode DIR LAYERS [--eight-bits] [--speed] < SENTENCES".into());
    };
    let has = |flag: &str| rest.iter().any(|arg| arg == flag);
    let layers: Vec<usize> = layers.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let files = EncoderFiles {
        config: std::fs::read_to_string(format!("{folder}/config.json"))?,
        vocabulary: std::fs::read_to_string(format!("{folder}/vocab.txt"))?,
        weights: std::fs::read(format!("{folder}/model.safetensors"))?,
    };
    let encoder = Encoder::read(&files, layers.iter().copied().max().unwrap_or(1))?;
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let sentences: Vec<Sentence> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| Sentence::from_tagged(line.split_whitespace().map(|word| (word, ""))))
        .collect();
    let all: Vec<&Sentence> = sentences.iter().collect();
    let started = Instant::now();
    let vectors = encoder.vectors(&all, &layers, has("--eight-bits"));
    let seconds = started.elapsed().as_secs_f64();
    let n_words: usize = all.iter().map(|sentence| sentence.len()).sum();
    if has("--speed") {
        println!("{n_words} words, {:.0} words/s", n_words as f64 / seconds);
        return Ok(());
    }
    let mut out = std::io::BufWriter::new(std::io::stdout());
    let mut rows = vectors.chunks_exact(vectors.len() / n_words.max(1));
    for sentence in &all {
        let rows: Vec<&[f32]> = rows.by_ref().take(sentence.len()).collect();
        writeln!(out, "{}", serde_json::to_string(&rows)?)?;
    }
    Ok(())
}
