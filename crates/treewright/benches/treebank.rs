//! How fast treebanks are read and written, in bytes of text per second on one core.
//!
//! `TREEWRIGHT_BENCH=FILE cargo bench --bench treebank` measures the format of that file; without it, the CoNLL-U
//! sample in `data/`, repeated, is measured as it is and in the other formats that hold dependencies, then samples of
//! constituents in the formats that hold these.
//!
//! On Linux the time is that which the thread spent on a processor, so that a busy machine does not matter.

use std::hint::black_box;
use std::time::Instant;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use treewright::treebank::{self, Entry, Format, ReadOptions, WriteOptions};

/// Nanoseconds on a processor, or since the start where the system does not tell.
struct ProcessorTime {
    start: Instant,
}

impl ProcessorTime {
    fn now(&self) -> u64 {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let nanoseconds = stat.split(' ').next().and_then(|field| field.parse().ok());
        nanoseconds.unwrap_or_else(|| self.start.elapsed().as_nanos() as u64)
    }
}

impl Measurement for ProcessorTime {
    type Intermediate = u64;
    type Value = u64;

    fn start(&self) -> u64 {
        self.now()
    }

    fn end(&self, start: u64) -> u64 {
        self.now() - start
    }

    fn add(&self, a: &u64, b: &u64) -> u64 {
        a + b
    }

    fn zero(&self) -> u64 {
        0
    }

    fn to_f64(&self, value: &u64) -> f64 {
        *value as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

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
fn measure(criterion: &mut Criterion<ProcessorTime>, format: Format, text: &[u8]) {
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

fn benches(criterion: &mut Criterion<ProcessorTime>) {
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
    measure(criterion, Format::Ptb, &include_bytes!("../../../data/craft.mrg").repeat(300));
    let text = include_bytes!("../../../data/greek_nt.export").repeat(200);
    let entries = read(Format::Export, &text);
    for format in [Format::Discbracket, Format::Export, Format::Tigerxml] {
        measure(criterion, format, &written(format, &entries, Vec::new()));
    }
}

criterion_group! {
    name = treebank_benches;
    config = Criterion::default().with_measurement(ProcessorTime { start: Instant::now() });
    targets = benches
}
criterion_main!(treebank_benches);
