//! Edit scripts: how a lemma is made from a form, in a way that fits other words too.
//!
//! A script has two parts that are chosen separately. The edit changes the beginning and the end of the form and ignores
//! case; all that lies between is copied. The casing then says which letters are capitals. Where form and lemma have
//! nothing in common, the edit is the lemma itself.

use crate::error::Result;
use crate::sentence::Str;
use crate::tag::bytes::{Reader, Writer, damaged};

/// Which letters of a lemma are capitals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Casing {
    /// None.
    Lower,
    /// Those that are capitals in the form.
    Keep,
    /// The first one.
    Capitalise,
    /// All.
    Upper,
}

impl Casing {
    /// In the order in which they are preferred where several give the same lemma.
    pub(super) const ALL: [Casing; 4] = [Casing::Lower, Casing::Keep, Casing::Capitalise, Casing::Upper];
}

/// The small letter; a character that has none, or whose small form is several characters, stays as it is.
pub(super) fn lower(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let mut lowered = c.to_lowercase();
    match (lowered.next(), lowered.next()) {
        (Some(only), None) => only,
        _ => c,
    }
}

/// The capital letter, under the same condition.
fn upper(c: char) -> char {
    let mut raised = c.to_uppercase();
    match (raised.next(), raised.next()) {
        (Some(only), None) => only,
        _ => c,
    }
}

/// Copies some characters, leaves some out, and inserts others.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Step {
    copy: u32,
    delete: u32,
    insert: Str,
}

/// How the letters of a form are changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Edit {
    /// The ends change, the middle is copied.
    Ends(Ends),
    /// The lemma has nothing to do with the form.
    Replace(Str),
}

/// Changes at the beginning and at the end of a form.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Ends {
    prefix: Vec<Step>,
    suffix: Vec<Step>,
    /// How many characters the steps of either end use up.
    n_prefix: u32,
    n_suffix: u32,
}

/// Larger words are not compared letter by letter: the work grows with the product of the lengths.
const MAX_PRODUCT: usize = 1 << 20;
/// No end of a script is longer; a larger number is damage.
const MAX_END: usize = 1 << 20;

/// Steps from one string to another that copy as many characters as can be.
fn steps(from: &[char], to: &[char]) -> Vec<Step> {
    let width = to.len() + 1;
    // The length of the longest common subsequence of the rests.
    let mut common = vec![0u32; (from.len() + 1) * width];
    for i in (0..from.len()).rev() {
        for j in (0..to.len()).rev() {
            common[i * width + j] = if from[i] == to[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let (mut steps, mut step) = (Vec::new(), Step::default());
    while i < from.len() || j < to.len() {
        if i < from.len() && j < to.len() && from[i] == to[j] {
            if step.delete > 0 || !step.insert.is_empty() {
                steps.push(std::mem::take(&mut step));
            }
            step.copy += 1;
            (i, j) = (i + 1, j + 1);
        } else if j == to.len() || i < from.len() && common[(i + 1) * width + j] >= common[i * width + j + 1]
        {
            step.delete += 1;
            i += 1;
        } else {
            step.insert.push(to[j]);
            j += 1;
        }
    }
    if step != Step::default() {
        steps.push(step);
    }
    steps
}

/// Where the longest common substring begins in each string, and its length; ties go to the leftmost.
fn common_substring(a: &[char], b: &[char]) -> (usize, usize, usize) {
    let mut best = (0, 0, 0);
    let (mut last, mut now) = (vec![0usize; b.len() + 1], vec![0usize; b.len() + 1]);
    for (i, of_a) in a.iter().enumerate() {
        for (j, of_b) in b.iter().enumerate() {
            now[j + 1] = if of_a == of_b { last[j] + 1 } else { 0 };
            if now[j + 1] > best.2 {
                best = (i + 1 - now[j + 1], j + 1 - now[j + 1], now[j + 1]);
            }
        }
        std::mem::swap(&mut last, &mut now);
    }
    best
}

impl Ends {
    fn new(prefix: Vec<Step>, suffix: Vec<Step>) -> Self {
        let used = |steps: &[Step]| steps.iter().map(|step| step.copy + step.delete).sum();
        let (n_prefix, n_suffix) = (used(&prefix), used(&suffix));
        Ends { prefix, suffix, n_prefix, n_suffix }
    }

    /// The change from one string to another, if they have anything in common.
    fn between(form: &[char], lemma: &[char]) -> Option<Self> {
        if form == lemma {
            return Some(Ends::default());
        }
        if form.len().saturating_mul(lemma.len()) > MAX_PRODUCT {
            return None;
        }
        let (i, j, n) = common_substring(form, lemma);
        (n > 0).then(|| Ends::new(steps(&form[..i], &lemma[..j]), steps(&form[i + n..], &lemma[j + n..])))
    }

    fn apply(&self, form: &[char], mut push: impl FnMut(char)) {
        let (start, end) = (self.n_prefix as usize, form.len() - self.n_suffix as usize);
        let mut run = |steps: &[Step], mut rest: &[char]| {
            for step in steps {
                let (copied, after) = rest.split_at(step.copy as usize);
                copied.iter().copied().for_each(&mut push);
                step.insert.chars().for_each(&mut push);
                rest = &after[step.delete as usize..];
            }
            rest.iter().copied().for_each(&mut push);
        };
        run(&self.prefix, &form[..start]);
        run(&[], &form[start..end]);
        run(&self.suffix, &form[end..]);
    }
}

impl Edit {
    /// Can it be applied to a form of this many characters?
    #[inline]
    pub(super) fn fits(&self, n_chars: usize) -> bool {
        match self {
            Edit::Ends(ends) => (ends.n_prefix + ends.n_suffix) as usize <= n_chars,
            Edit::Replace(_) => true,
        }
    }

    /// Makes the lemma of a form that the edit fits.
    pub(super) fn apply(&self, casing: Casing, form: &[char], out: &mut String) {
        out.clear();
        match self {
            Edit::Replace(lemma) => out.push_str(lemma),
            Edit::Ends(ends) => match casing {
                Casing::Lower => ends.apply(form, |c| out.push(lower(c))),
                Casing::Keep => ends.apply(form, |c| out.push(c)),
                Casing::Upper => ends.apply(form, |c| out.push(upper(c))),
                Casing::Capitalise => {
                    ends.apply(form, |c| out.push(if out.is_empty() { upper(c) } else { lower(c) }));
                }
            },
        }
    }

    /// The script that makes a lemma from a form.
    pub(super) fn derive(form: &[char], lemma: &str) -> (Casing, Edit) {
        let letters: Vec<char> = lemma.chars().collect();
        let lowered = |word: &[char]| word.iter().map(|&c| lower(c)).collect::<Vec<_>>();
        let mut made = String::new();
        let blind = Ends::between(&lowered(form), &lowered(&letters));
        // A lemma whose capitals follow none of the rules has them in the script.
        let seeing = || Ends::between(form, &letters);
        for ends in blind.into_iter().chain(std::iter::once_with(seeing).flatten()) {
            let edit = Edit::Ends(ends);
            for casing in Casing::ALL {
                edit.apply(casing, form, &mut made);
                if made == lemma {
                    return (casing, edit);
                }
            }
        }
        (Casing::Keep, Edit::Replace(lemma.into()))
    }

    pub(super) fn to_bytes(&self, out: &mut Writer) {
        match self {
            Edit::Replace(lemma) => {
                out.number(0);
                out.string(lemma);
            }
            Edit::Ends(ends) => {
                out.number(1);
                for steps in [&ends.prefix, &ends.suffix] {
                    out.number(steps.len() as u64);
                    for step in steps {
                        out.number(u64::from(step.copy));
                        out.number(u64::from(step.delete));
                        out.string(&step.insert);
                    }
                }
            }
        }
    }

    pub(super) fn from_bytes(input: &mut Reader<'_>) -> Result<Self> {
        if input.below(2, "a kind of edit")? == 0 {
            let lemma = text(input)?;
            if lemma.is_empty() || lemma == "_" {
                return Err(damaged("a lemma is empty"));
            }
            return Ok(Edit::Replace(lemma));
        }
        let mut steps = || -> Result<Vec<Step>> {
            let n = input.count()?;
            let mut used = 0;
            let mut steps = Vec::new();
            for _ in 0..n {
                let copy = input.below(MAX_END - used, "a number of characters")?;
                used += copy;
                let delete = input.below(MAX_END - used, "a number of characters")?;
                used += delete;
                steps.push(Step { copy: copy as u32, delete: delete as u32, insert: text(input)? });
            }
            Ok(steps)
        };
        let (prefix, suffix) = (steps()?, steps()?);
        Ok(Edit::Ends(Ends::new(prefix, suffix)))
    }
}

/// A string that may stand in a column of a treebank.
fn text(input: &mut Reader<'_>) -> Result<Str> {
    let text = input.string()?;
    if text.chars().any(char::is_control) {
        return Err(damaged("a lemma has control characters"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(form: &str, lemma: &str, casing: Casing) -> Edit {
        let form: Vec<char> = form.chars().collect();
        let (found, edit) = Edit::derive(&form, lemma);
        let mut made = String::new();
        assert!(edit.fits(form.len()));
        edit.apply(found, &form, &mut made);
        assert_eq!((made.as_str(), found), (lemma, casing), "{edit:?}");
        edit
    }

    /// Makes the lemma of another form with an edit.
    fn apply(edit: &Edit, casing: Casing, form: &str) -> String {
        let mut made = String::new();
        edit.apply(casing, &form.chars().collect::<Vec<_>>(), &mut made);
        made
    }

    #[test]
    fn scripts_fit_other_words() {
        let ies = check("cities", "city", Casing::Lower);
        assert_eq!(apply(&ies, Casing::Lower, "Ponies"), "pony");
        assert_eq!(apply(&ies, Casing::Keep, "McCarthies"), "McCarthy");
        let separable = check("aangekomen", "aan_komen", Casing::Lower);
        assert_eq!(apply(&separable, Casing::Lower, "Uitgegeven"), "uit_geven");
        let short = check("running", "run", Casing::Lower);
        assert!(!short.fits(3) && short.fits(4));
        assert_eq!(check("dog", "dog", Casing::Lower), check("Cat", "Cat", Casing::Keep));
    }

    #[test]
    fn casing_is_separate_from_the_edit() {
        let same = check("the", "the", Casing::Lower);
        assert_eq!(check("The", "the", Casing::Lower), same);
        assert_eq!(check("NASA", "NASA", Casing::Keep), same);
        assert_eq!(check("LISA", "Lisa", Casing::Capitalise), same);
        assert_eq!(check("usa", "USA", Casing::Upper), same);
        assert_eq!(check("ÉCOLE", "école", Casing::Lower), same);
        assert_eq!(
            check("mcdonalds", "McDonald", Casing::Keep),
            check("mcdonalds", "McDonald", Casing::Keep)
        );
        assert_eq!(
            check("İstanbul", "İstanbul", Casing::Lower),
            same,
            "a letter with no single small letter"
        );
        check("ΛΌΓΟΣ", "λόγος", Casing::Lower);
    }

    #[test]
    fn words_with_nothing_in_common_are_replaced() {
        assert_eq!(check("is", "be", Casing::Keep), Edit::Replace("be".into()));
        assert_eq!(check("", "x", Casing::Keep), Edit::Replace("x".into()));
    }

    #[test]
    fn what_no_treebank_can_hold_is_refused() {
        let bytes = |edit: &Edit| {
            let mut out = Writer::default();
            edit.to_bytes(&mut out);
            out.0
        };
        let good = check("cities", "city", Casing::Lower);
        assert_eq!(Edit::from_bytes(&mut Reader::new(&bytes(&good))).expect("whole"), good);
        for bad in ["", "_", "a\tb", "a\nb"] {
            assert!(
                Edit::from_bytes(&mut Reader::new(&bytes(&Edit::Replace(bad.into())))).is_err(),
                "{bad:?}"
            );
        }
        let step = |copy: u32| Step { copy, delete: copy, insert: "\t".into() };
        for ends in [Ends::new(vec![step(1)], vec![]), Ends::new(vec![], vec![step(1 << 19)])] {
            assert!(Edit::from_bytes(&mut Reader::new(&bytes(&Edit::Ends(ends)))).is_err());
        }
    }

    proptest! {
        #[test]
        fn applying_what_was_derived_gives_the_lemma(
            form in "[a-cA-CéÉßİıσςΣǅ\u{300}\u{64e}κفق]{0,8}",
            lemma in "[a-cA-CéÉßİıσςΣǅ\u{300}\u{64e}κفق_]{1,8}",
        ) {
            let form: Vec<char> = form.chars().collect();
            let (casing, edit) = Edit::derive(&form, &lemma);
            let mut made = String::new();
            prop_assert!(edit.fits(form.len()));
            edit.apply(casing, &form, &mut made);
            prop_assert_eq!(&made, &lemma);
        }

        #[test]
        fn any_script_can_be_applied_where_it_fits(
            form in "\\PC{0,6}", lemma in "\\PC{1,6}", other in "\\PC{0,8}",
        ) {
            let (casing, edit) = Edit::derive(&form.chars().collect::<Vec<_>>(), &lemma);
            let other: Vec<char> = other.chars().collect();
            if edit.fits(other.len()) {
                edit.apply(casing, &other, &mut String::new());
            }
            let mut out = Writer::default();
            edit.to_bytes(&mut out);
            if lemma != "_" {
                prop_assert_eq!(Edit::from_bytes(&mut Reader::new(&out.0)).ok(), Some(edit));
            }
        }
    }
}
