//! How good and how fast is the tagger? Trains on one treebank, tags another (whose own tags it does not see), and
//! writes it with its trees kept, so that `treewright eval` can compare.
//!
//! `cargo run --release --example tag -- TRAIN DEV OUT [--vectors FILE] [--epochs N] [--seed N] [--jackknife FOLDS]`

use std::sync::Arc;
use std::time::Instant;

use treewright::Sentence;
use treewright::tag::{Progress, TagConfig, Tagger, jackknife};
use treewright::treebank::{self, Entry, Format, ReadOptions, WriteOptions};
use treewright::word_classes::WordVectors;

type Failure = Box<dyn std::error::Error>;

fn read(file: &str) -> Result<(Format, Vec<Entry>), Failure> {
    let bytes = std::fs::read(file)?;
    let options = ReadOptions { file: file.to_owned(), many_roots: true, ..ReadOptions::default() };
    let opened = treebank::open(&bytes[..], &options)?;
    Ok((opened.format, opened.reader.collect::<Result<_, _>>()?))
}

fn sentences(entries: &[Entry]) -> Vec<Sentence> {
    entries.iter().map(|entry| entry.sentence.clone()).collect()
}

/// The time this process has spent on a processor (Linux; elsewhere the time of day).
fn processor_seconds() -> f64 {
    let schedule = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds: Option<f64> = schedule.split(' ').next().and_then(|number| number.parse().ok());
    let day = || {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0.0, |t| t.as_secs_f64())
    };
    nanoseconds.map_or_else(day, |n| n / 1e9)
}

fn show(progress: &Progress) {
    match progress {
        Progress::Epoch { layer, epoch, errors, of, dev } => {
            let dev = dev.map_or(String::new(), |dev| format!(", dev {dev:.2}"));
            eprintln!("{layer} epoch {epoch}: {errors} of {of} wrong{dev}");
        }
        Progress::Fold { done, folds } => eprintln!("fold {done} of {folds}"),
    }
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [train_file, dev_file, out_file, options @ ..] = &arguments[..] else {
        return Err(
            "usage: tag TRAIN DEV OUT [--vectors FILE] [--epochs N] [--seed N] [--jackknife FOLDS]".into()
        );
    };
    let (mut config, mut vectors, mut folds, mut model_file) =
        (TagConfig::default(), None, None, String::new());
    for pair in options.chunks(2) {
        let [name, value] = pair else { return Err(format!("{} has no value", pair[0]).into()) };
        match name.as_str() {
            "--vectors" => vectors = Some(value),
            "--epochs" => config.epochs = value.parse()?,
            "--seed" => config.seed = value.parse()?,
            "--trust-tags" => config.trust_tags = value.parse()?,
            "--trust-readings" => config.trust_readings = value.parse()?,
            "--open-epochs" => config.open_epochs = value.parse()?,
            "--least-feature" => config.min_feature = value.parse()?,
            "--min-weight" => config.min_weight = value.parse()?,
            "--dropout" => config.dropout = value.parse()?,
            "--model" => model_file.clone_from(value),
            "--jackknife" => folds = Some(value.parse()?),
            _ => return Err(format!("there is no option {name}").into()),
        }
    }
    let train = sentences(&read(train_file)?.1);
    let (format, mut dev) = read(dev_file)?;
    if let Some(path) = vectors {
        let started = Instant::now();
        let source = flate2::read::MultiGzDecoder::new(std::fs::File::open(path)?);
        config.vectors = Arc::new(WordVectors::read(source, config.seed)?);
        eprintln!("vectors read in {:.1} s", started.elapsed().as_secs_f64());
    }
    if let Some(folds) = folds {
        let tagged = jackknife(&train, folds, &config, 2, &mut show)?;
        let (mut right, mut all) = (0, 0);
        for (gold, tagged) in train.iter().zip(&tagged) {
            for (gold, tagged) in gold.tokens.iter().zip(&tagged.tokens) {
                all += 1;
                right += usize::from(gold.tag == tagged.tag);
            }
        }
        println!("jack-knifed: {:.2} % of {all} tags right", right as f64 * 100.0 / all as f64);
    }
    let bytes = if std::fs::exists(&model_file)? {
        std::fs::read(&model_file)?
    } else {
        let started = processor_seconds();
        let tagger = Tagger::train(&train, &sentences(&dev), &config, &mut show)?;
        println!("trained in {:.1} s (CPU): {}", processor_seconds() - started, tagger.summary());
        tagger.to_bytes()
    };
    if !model_file.is_empty() {
        std::fs::write(&model_file, &bytes)?;
    }
    let started = Instant::now();
    let tagger = Tagger::from_bytes(&bytes)?;
    println!("{} bytes, loaded in {:.1} ms", bytes.len(), started.elapsed().as_secs_f64() * 1e3);
    for entry in &mut dev {
        for token in &mut entry.sentence.tokens {
            for column in [&mut token.tag, &mut token.xpos, &mut token.feats] {
                column.clear();
            }
        }
    }
    // A new worker each time, which knows no word yet; the best time is the one least disturbed by others.
    let n_tokens: usize = dev.iter().map(|entry| entry.sentence.len()).sum();
    let mut seconds = f64::MAX;
    for _ in 0..10 {
        let mut worker = tagger.worker();
        let started = processor_seconds();
        dev.iter_mut().for_each(|entry| worker.tag(&mut entry.sentence));
        seconds = seconds.min(processor_seconds() - started);
    }
    println!("{n_tokens} tokens in {seconds:.3} s: {:.0} tokens/s (best of 10)", n_tokens as f64 / seconds);
    let mut writer = treebank::writer(format, std::fs::File::create(out_file)?, &WriteOptions::default())?;
    for entry in &dev {
        writer.write(entry)?;
    }
    writer.finish()?;
    Ok(())
}
