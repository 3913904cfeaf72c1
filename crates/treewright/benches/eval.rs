//! How long scoring takes, reading included and apart: a treebank against itself.
//!
//! `TREEWRIGHT_BENCH=FILE cargo bench --bench eval` measures that file; without it, the CoNLL-U and Penn vectors of
//! the tests, repeated to 200 copies.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use treewright::eval::{ConstituentScorer, Params, Parsed, conll18};
use treewright::treebank::{self, Entry, ReadOptions};
use treewright::{ConstituentTree, Tree};

fn read(name: &str, text: &[u8]) -> Vec<Entry> {
    let options =
        ReadOptions { file: name.to_owned(), no_parse: true, many_roots: true, ..ReadOptions::default() };
    let opened = treebank::open(text, &options).expect("a known format");
    opened.reader.collect::<Result<_, _>>().expect("a readable treebank")
}

fn tree(entry: &Entry) -> Option<&ConstituentTree> {
    match &entry.tree {
        Some(Tree::Constituent(tree)) => Some(tree),
        _ => None,
    }
}

/// Scores the entries against themselves.
fn score(entries: &[Entry]) -> Option<f64> {
    if entries.iter().any(|entry| matches!(entry.tree, Some(Tree::Dependency(_)))) {
        let all: Vec<&Entry> = entries.iter().collect();
        return conll18::evaluate(&all, &all)
            .ok()
            .and_then(|scores| scores.metric("LAS").map(conll18::Score::f1));
    }
    let discontinuous = entries.iter().filter_map(tree).any(ConstituentTree::is_discontinuous);
    let params = Params::named(if discontinuous { "proper" } else { "collins" }).expect("a known name");
    let mut scorer = ConstituentScorer::new(&params, discontinuous);
    for entry in entries {
        let side = Parsed { sentence: &entry.sentence, tree: tree(entry) };
        scorer.add(side, side);
    }
    scorer.all().f1()
}

fn scoring(criterion: &mut Criterion) {
    let files = match std::env::var("TREEWRIGHT_BENCH") {
        Ok(path) => vec![(path.clone(), std::fs::read(&path).expect("a readable file"))],
        Err(_) => {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/vectors/");
            let vector = |name: &str| {
                let text =
                    std::fs::read(format!("{folder}{name}")).expect("the vectors are in the repository");
                (name.to_owned(), text.repeat(200))
            };
            vec![vector("conllu/en_heads.gold"), vector("cont/many_mixed.gold")]
        }
    };
    for (name, text) in files {
        let mut group = criterion.benchmark_group(name.rsplit('/').next().unwrap_or(&name));
        group.sample_size(10);
        group.throughput(Throughput::Bytes(2 * text.len() as u64));
        // Both files are read, as the command does.
        group.bench_function("read and score", |bencher| {
            bencher.iter(|| {
                black_box(read(&name, &text));
                score(black_box(&read(&name, &text)))
            });
        });
        let entries = read(&name, &text);
        group.bench_function("score", |bencher| bencher.iter(|| score(black_box(&entries))));
        group.finish();
    }
}

criterion_group!(benches, scoring);
criterion_main!(benches);
