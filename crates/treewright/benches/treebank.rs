//! How fast treebanks are read and written, in bytes of text per second on one core.
//!
//! `TREEWRIGHT_BENCH=FILE cargo bench --bench treebank` measures the format of that file; without it, the CoNLL-U
//! sample in `data/`, repeated, is measured as it is and in the other formats that hold dependencies.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use treewright::treebank::{self, Entry, Format, ReadOptions, WriteOptions};

fn written(format: Format, entries: &[Entry], into: Vec<u8>) -> Vec<u8> {
    let mut out = into;
    let mut writer = treebank::writer(format, &mut out, &WriteOptions::default()).expect("can be written");
    for entry in entries {
        writer.write(entry).expect("fits the format");
    }
    writer.finish().expect("memory does not fail");
    drop(writer);
    out
}

fn read(format: Format, text: &[u8]) -> Vec<Entry> {
    treebank::reader(format, text, &ReadOptions::default()).collect::<Result<_, _>>().expect("valid")
}

/// Reads and writes one text; reading drops each sentence before the next, as a streaming user does.
fn measure(criterion: &mut Criterion, format: Format, text: &[u8]) {
    let mut group = criterion.benchmark_group(format.as_str());
    group.throughput(Throughput::Bytes(text.len() as u64)).sample_size(20);
    group.bench_function("read", |bencher| {
        bencher.iter(|| {
            for entry in treebank::reader(format, text, &ReadOptions::default()) {
                black_box(entry.expect("valid"));
            }
        });
    });
    let entries = read(format, text);
    let n_bytes = written(format, &entries, Vec::new()).len();
    group.throughput(Throughput::Bytes(n_bytes as u64));
    group.bench_function("write", |bencher| {
        let mut out = Vec::with_capacity(n_bytes);
        bencher.iter(|| {
            out.clear();
            out = written(format, &entries, std::mem::take(&mut out));
            black_box(&out);
        });
    });
    group.finish();
}

fn benches(criterion: &mut Criterion) {
    if let Some(path) = std::env::var_os("TREEWRIGHT_BENCH") {
        let file = path.to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).expect("TREEWRIGHT_BENCH names a readable file");
        let options = ReadOptions { file, ..ReadOptions::default() };
        let opened = treebank::open(&bytes[..], &options).expect("a known format");
        let (format, gzip) = (opened.format, opened.gzip);
        drop(opened);
        assert!(!gzip, "unzip the file first: this measures the formats");
        measure(criterion, format, &bytes);
        return;
    }
    let text = include_bytes!("../../../data/ud_english_ewt.conllu").repeat(200);
    measure(criterion, Format::Conllu, &text);
    let entries = read(Format::Conllu, &text);
    for format in [Format::Conllx, Format::Json, Format::Tokens] {
        measure(criterion, format, &written(format, &entries, Vec::new()));
    }
}

criterion_group!(treebank_benches, benches);
criterion_main!(treebank_benches);
