//! A survey of the templates: those that never find anything in the training data are reported.

use super::{AnyTask, Example};
use crate::error::{Code, Error, Result};
use crate::features::{Extractor, TemplateSet, Vocabulary};

/// Derivations that are looked at; those of longer treebanks are like these.
const MAX_EXAMPLES: usize = 2_000;

/// Goes through the derivations with templates of the user's own. Gives those that never find anything.
///
/// # Errors
/// With line and column, when a template looks only at a deque that the system has not, or when in most configurations no
/// template finds anything, so that nothing could be learnt.
pub(super) fn survey(
    task: &dyn AnyTask,
    set: &TemplateSet,
    vocabulary: &Vocabulary,
    examples: &[Example],
) -> Result<Vec<String>> {
    let whole = Extractor::new(set);
    let deque = TemplateSet::parse("d0.w d0.c d0.len").expect("these are templates");
    let deque = Extractor::new(&deque);
    let mut idle: Vec<usize> = (0..set.len()).collect();
    let alone: Vec<Extractor> = idle.iter().map(|&number| Extractor::new(&set.alone(number).0)).collect();
    let (mut has_deque, mut n_views, mut n_blank) = (false, 0u64, 0u64);
    let (mut encoded, mut keys) = (whole.encoded(), Vec::new());
    for example in examples.iter().take(MAX_EXAMPLES) {
        vocabulary.encode(&example.sentence, &mut encoded);
        task.each_view(example, &mut |forest, view| {
            let mut finds = |extractor: &Extractor| {
                extractor.extract(forest, view, &encoded, &mut keys);
                !keys.is_empty()
            };
            n_views += 1;
            n_blank += u64::from(!finds(&whole));
            has_deque = has_deque || finds(&deque);
            idle.retain(|&number| !finds(&alone[number]));
        });
    }
    let refuse = |number: usize, why: &dyn Fn(&str) -> String| {
        let (_, (line, column), name) = set.alone(number);
        Err(Error::at(Code::BadRules, line, column, why(name)))
    };
    if !has_deque && let Some(&number) = idle.iter().find(|&&number| set.is_of_deque(number)) {
        return refuse(number, &|name| {
            format!(
                "template {name} can never fire: it looks at the deque, which this transition system has not"
            )
        });
    }
    if 2 * n_blank > n_views {
        let percent = (100.0 * n_blank as f64 / n_views as f64).floor();
        return refuse(idle.first().copied().unwrap_or(0), &|name| {
            format!(
                "nothing could be learnt with these templates: in {percent} % of the configurations of the training data \
                 none of them, such as {name}, finds anything"
            )
        });
    }
    let named = |&number: &usize| {
        let (_, (line, column), name) = set.alone(number);
        format!("{name} ({line}:{column})")
    };
    Ok(idle.iter().map(named).collect())
}
