//! Measures transforms on whole treebanks.
//!
//! ```text
//! transform_report compare TRANSFORMS RAW EXPECTED   which trees differ from a treebank prepared elsewhere
//! transform_report inverse TRANSFORMS INVERSES FILE  which trees come back from a transform and its inverse
//! ```

use std::fs::File;
use std::time::Instant;

use treewright::tree::Transform;
use treewright::treebank::{self, Entry, ReadOptions};
use treewright::{Code, Error, Result, Tree};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["compare", transforms, raw, expected] => compare(transforms, raw, expected),
        ["inverse", transforms, inverses, file] => inverse(transforms, inverses, file),
        _ => Err(Error::new(Code::BadRules, "expected compare or inverse with three arguments each")),
    }
}

fn read(file: &str) -> Result<Vec<Entry>> {
    let options = ReadOptions { file: file.to_owned(), many_roots: true, ..ReadOptions::default() };
    treebank::open(File::open(file)?, &options)?.reader.collect()
}

fn transforms(text: &str) -> Result<Vec<Transform>> {
    Transform::parse_list(text, &mut |file| Ok(std::fs::read_to_string(file)?))
}

fn words_of(entry: &Entry) -> Vec<(&str, &str)> {
    entry.sentence.tokens.iter().map(|token| (token.form.as_str(), token.tag.as_str())).collect()
}

fn compare(transforms_text: &str, raw: &str, expected: &str) -> Result<()> {
    let transforms = transforms(transforms_text)?;
    let (raw, expected) = (read(raw)?, read(expected)?);
    assert_eq!(raw.len(), expected.len(), "the files must have the same sentences");
    let mut n_same = 0;
    for (number, (raw, expected)) in raw.into_iter().zip(&expected).enumerate() {
        let made = Transform::apply_all(&transforms, raw)?;
        if made.tree == expected.tree && words_of(&made) == words_of(expected) {
            n_same += 1;
        } else {
            println!("sentence {} differs", number + 1);
        }
    }
    println!("{n_same} of {} trees are the same", expected.len());
    Ok(())
}

fn inverse(transforms_text: &str, inverses: &str, file: &str) -> Result<()> {
    let (transforms, inverses) = (transforms(transforms_text)?, transforms(inverses)?);
    let entries = read(file)?;
    let (mut n_same, mut n_changed, mut n_changed_same, mut n_arcs, mut n_wrong_arcs) = (0, 0, 0, 0, 0);
    let (mut n_nonprojective, mut n_still) = (0, 0);
    let mut seconds = 0.0;
    for entry in &entries {
        let start = Instant::now();
        let encoded = Transform::apply_all(&transforms, entry.clone())?;
        let back = Transform::apply_all(&inverses, encoded.clone())?;
        seconds += start.elapsed().as_secs_f64();
        let is_same = back == *entry;
        n_same += usize::from(is_same);
        n_changed += usize::from(encoded != *entry);
        n_changed_same += usize::from(encoded != *entry && is_same);
        if let (Some(Tree::Dependency(old)), Some(Tree::Dependency(mid)), Some(Tree::Dependency(new))) =
            (&entry.tree, &encoded.tree, &back.tree)
        {
            n_arcs += old.len();
            n_wrong_arcs += old.arcs.iter().zip(&new.arcs).filter(|(old, new)| old != new).count();
            n_nonprojective += old.nonprojective_arcs().iter().filter(|is| **is).count();
            n_still += usize::from(!mid.is_projective());
        }
    }
    let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    println!(
        "{} sentences, {:.2} % come back ({:.2} % of the {n_changed} that were changed); {seconds:.2} s",
        entries.len(),
        percent(n_same, entries.len()),
        percent(n_changed_same, n_changed),
    );
    if n_arcs > 0 {
        println!(
            "{n_arcs} arcs, {n_nonprojective} non-projective, {:.3} % come back; {n_still} trees still non-projective",
            100.0 - percent(n_wrong_arcs, n_arcs),
        );
    }
    Ok(())
}
