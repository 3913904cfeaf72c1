//! Training: scripts from forms and lemmas, the lexicon from their counts, the classifiers from distinct words.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::edit::{Casing, Edit};
use super::features::Word;
use super::lexicon::{Counts, Script};
use super::{LemmaConfig, Lemmatiser, Log, MAX_LEARNT, Progress, Tables};
use crate::error::{Code, Error, Result};
use crate::sentence::{Sentence, Token};
use crate::tag::train::{Scratchpad, shuffled};
use crate::tag::weights::{TrainingWeights, Weights};

/// A distinct word: form, tags, whether it begins a sentence, and its script.
struct Type<'a> {
    token: &'a Token,
    is_first: bool,
    times: u64,
    script: Script,
}

/// What one classifier learns from a word.
struct Example {
    keys: Vec<u32>,
    candidates: Vec<u16>,
    gold: u16,
}

/// Distinct words with lemmas, in a fixed order.
fn types(train: &[Sentence]) -> (Vec<Type<'_>>, Vec<(Edit, u64)>) {
    let mut counts: BTreeMap<[&str; 5], [(u64, Option<&Token>); 2]> = BTreeMap::new();
    for sentence in train {
        for (i, token) in sentence.tokens.iter().enumerate() {
            if token.lemma.is_empty() || token.lemma == "_" || token.form.is_empty() {
                continue;
            }
            let key = [&*token.form, &*token.tag, &*token.xpos, &*token.feats, &*token.lemma];
            let count = &mut counts.entry(key).or_default()[usize::from(i == 0)];
            *count = (count.0 + 1, Some(token));
        }
    }
    // Frequent edits come first, so that they have small numbers.
    let mut scripts = Vec::new();
    let mut edits: BTreeMap<Edit, u64> = BTreeMap::new();
    for key in counts.keys() {
        let form: Vec<char> = key[0].chars().collect();
        let script = Edit::derive(&form, key[4]);
        *edits.entry(script.1.clone()).or_default() += 1;
        scripts.push(script);
    }
    let mut edits: Vec<(Edit, u64)> = edits.into_iter().collect();
    edits.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let numbers: BTreeMap<&Edit, u32> =
        edits.iter().enumerate().map(|(i, (edit, _))| (edit, i as u32)).collect();
    let mut types = Vec::new();
    for (places, (casing, edit)) in counts.values().zip(&scripts) {
        let script = Script { edit: numbers[edit], casing: *casing };
        for (is_first, &(times, token)) in [false, true].into_iter().zip(places) {
            types.extend(token.map(|token| Type { token, is_first, times, script }));
        }
    }
    drop(numbers);
    (types, edits)
}

/// Trains a classifier; every distinct word counts once, because those it will be asked about are rare.
fn classifier(
    part: &'static str,
    examples: &[Example],
    n_labels: usize,
    config: &LemmaConfig,
    log: Log<'_>,
) -> Result<Weights> {
    let mut weights = TrainingWeights::default();
    let mut scratch = Scratchpad { scores: vec![0.0; n_labels], ..Scratchpad::default() };
    for epoch in 1..=config.epochs {
        let (mut rng, order) = shuffled(examples.len(), config.seed, epoch);
        let mut errors = 0;
        for i in order {
            let Example { keys, candidates, gold } = &examples[i];
            scratch.keys.clear();
            scratch.keys.extend(keys.iter().filter(|_| rng.unit() >= config.dropout));
            scratch.candidates.clone_from(candidates);
            errors += u64::from(scratch.learn(*gold, &mut weights) != *gold);
        }
        if epoch == config.open_epochs && epoch < config.epochs {
            weights.close(config.min_feature, config.min_weight);
        }
        log(&Progress::Epoch { part, epoch, errors, of: examples.len() as u64 });
    }
    weights.averaged(n_labels)
}

impl Lemmatiser {
    /// Trains a lemmatiser for the tags that the training data has; words without a lemma are passed over. Development
    /// data is only measured on. The result depends on the training data and the settings alone.
    ///
    /// # Errors
    /// When no word has a lemma, or the settings make no sense.
    pub fn train(train: &[Sentence], dev: &[Sentence], config: &LemmaConfig, log: Log<'_>) -> Result<Self> {
        let bad = |message: &str| Err(Error::new(Code::BadTraining, message));
        if config.epochs == 0 {
            return bad("a lemmatiser needs at least one epoch");
        }
        let (types, edits) = types(train);
        if types.is_empty() {
            return bad(
                "no word of the training data has a lemma: there is nothing to learn for a lemmatiser",
            );
        }
        let n_learnt =
            edits.iter().take(MAX_LEARNT).take_while(|(_, times)| *times >= config.min_words).count().max(1);
        let edits: Vec<Edit> = edits.into_iter().map(|(edit, _)| edit).collect();
        let mut word = Word::default();
        let mut counts = Counts::default();
        let mut seen: BTreeMap<u32, Vec<u16>> = BTreeMap::new();
        for Type { token, is_first, times, script } in &types {
            word.set(token, *is_first);
            counts.add(&word, *script, *times);
            let of_tag = seen.entry(word.tag).or_default();
            if (script.edit as usize) < n_learnt {
                of_tag.push(script.edit as u16);
            }
        }
        let (tags, mut candidates): (Vec<u32>, Vec<Vec<u16>>) = seen.into_iter().unzip();
        for of_tag in &mut candidates {
            of_tag.sort_unstable();
            of_tag.dedup();
        }
        // Words with unknown tags can have any edit.
        candidates.push((0..n_learnt as u16).collect());
        let lexicon = counts.lexicon();
        let (mut of_edits, mut of_casing) = (Vec::new(), Vec::new());
        for Type { token, is_first, script, .. } in &types {
            word.set(token, *is_first);
            let mut keys = Vec::new();
            if (script.edit as usize) < n_learnt {
                word.edit_keys(&mut keys);
                let tag = tags.binary_search(&word.tag).expect("a tag of the training data");
                let fits = |&&edit: &&u16| edits[usize::from(edit)].fits(word.chars.len());
                let fitting = candidates[tag].iter().filter(fits).copied().collect();
                of_edits.push(Example { keys, candidates: fitting, gold: script.edit as u16 });
            }
            if word.has_case() && matches!(edits[script.edit as usize], Edit::Ends(_)) {
                let mut keys = Vec::new();
                word.casing_keys(&mut keys);
                let all = (0..Casing::ALL.len() as u16).collect();
                of_casing.push(Example { keys, candidates: all, gold: script.casing as u16 });
            }
        }
        let edit_weights = classifier("edits", &of_edits, n_learnt, config, log)?;
        let casing_weights = classifier("casing", &of_casing, Casing::ALL.len(), config, log)?;
        let columns = columns(&types);
        let tables = Tables { columns, tags, edits, candidates, lexicon, edit_weights, casing_weights };
        let lemmatiser = Lemmatiser(Arc::new(tables));
        if let Some(dev) = accuracy(&lemmatiser, dev) {
            log(&Progress::Done { dev });
        }
        Ok(lemmatiser)
    }
}

/// Which of UPOS, XPOS and FEATS the words have.
fn columns(types: &[Type<'_>]) -> [bool; 3] {
    let has = |column: fn(&Token) -> &str| types.iter().any(|word| !column(word.token).is_empty());
    [has(|token| &token.tag), has(|token| &token.xpos), has(|token| &token.feats)]
}

/// The share of words that get the lemma of the treebank, in percent; nothing if there are none.
fn accuracy(lemmatiser: &Lemmatiser, dev: &[Sentence]) -> Option<f64> {
    let mut worker = lemmatiser.worker();
    let (mut right, mut all) = (0u64, 0u64);
    for gold in dev {
        let mut sentence = gold.clone();
        worker.lemmatise(&mut sentence);
        for (gold, found) in
            gold.tokens.iter().zip(&sentence.tokens).filter(|(gold, _)| !gold.lemma.is_empty())
        {
            all += 1;
            right += u64::from(gold.lemma == found.lemma);
        }
    }
    (all > 0).then(|| right as f64 * 100.0 / all as f64)
}
