//! Jack-knifing: every sentence of a treebank tagged by a tagger that has not seen it, so that a parser is trained on
//! tags like those it will meet.

use super::{Log, Progress, TagConfig, Tagger};
use crate::error::{Code, Error, Result};
use crate::parallel;
use crate::sentence::Sentence;

/// Folds are trained for at most this many epochs. Later epochs mainly make a tagger smaller, and those of folds are thrown
/// away; accuracy is within a few tenths of a percent by then.
const MAX_EPOCHS: usize = 4;

/// Tags each of `folds` parts of a treebank with a tagger trained on the others. The parts are blocks of neighbouring
/// sentences, so that a document is hardly ever in two of them. `jobs` taggers are trained at a time, which does not
/// change the result.
///
/// # Errors
/// When there are fewer than two folds, fewer sentences than folds, or a part of the treebank has no tags.
pub fn jackknife(
    train: &[Sentence],
    folds: usize,
    config: &TagConfig,
    jobs: usize,
    log: Log<'_>,
) -> Result<Vec<Sentence>> {
    if folds < 2 || folds > train.len() {
        let message = format!(
            "{} sentences cannot be tagged in {folds} parts, each by a tagger trained on the others: there must be at least \
             2 parts, and a sentence for each",
            train.len()
        );
        return Err(Error::new(Code::BadTraining, message));
    }
    let config = &TagConfig { epochs: config.epochs.min(MAX_EPOCHS), ..config.clone() };
    let bounds = |fold: usize| fold * train.len() / folds..(fold + 1) * train.len() / folds;
    let tag_fold = |fold: usize| -> Result<Vec<Sentence>> {
        let held_out = bounds(fold);
        let others: Vec<Sentence> = [&train[..held_out.start], &train[held_out.end..]].concat();
        let tagger = Tagger::train(&others, &[], config, &mut |_| ())?;
        let mut worker = tagger.worker();
        let mut tagged = train[held_out].to_vec();
        tagged.iter_mut().for_each(|sentence| worker.tag(sentence));
        Ok(tagged)
    };
    let (mut tagged, mut done) = (Vec::with_capacity(train.len()), 0);
    parallel::map(
        jobs.min(folds),
        0..folds,
        || tag_fold,
        |part| {
            tagged.extend(part?);
            done += 1;
            log(&Progress::Fold { done, folds });
            Ok(())
        },
    )?;
    Ok(tagged)
}
