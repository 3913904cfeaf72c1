//! Sums over sentences, and the figures they give.

use super::{SentenceScore, Status};

/// Matched, gold and predicted items of any kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Items on both sides.
    pub matched: u64,
    /// Items on the gold side.
    pub gold: u64,
    /// Items on the predicted side.
    pub predicted: u64,
}

impl Counts {
    /// The share of gold items that were found, in percent; `None` without gold items.
    pub fn recall(self) -> Option<f64> {
        percent(self.matched, self.gold)
    }

    /// The share of predicted items that are right, in percent; `None` without predicted items.
    pub fn precision(self) -> Option<f64> {
        percent(self.matched, self.predicted)
    }

    /// The harmonic mean of precision and recall, in percent; `None` where nothing matched.
    pub fn f1(self) -> Option<f64> {
        (self.matched > 0).then(|| 200.0 * self.matched as f64 / (self.gold + self.predicted) as f64)
    }

    /// As `f1`, but 0 where something could have matched and nothing did.
    pub fn f1_or_zero(self) -> Option<f64> {
        (self.gold + self.predicted > 0).then(|| self.f1().unwrap_or(0.0))
    }
}

/// Items that need not count on both sides: an arc may be non-projective on one side only, a label may be matched
/// by an equivalent one. So what was found and what is right are counted apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Items of the gold side.
    pub gold: u64,
    /// Those that the prediction has.
    pub found: u64,
    /// Items of the predicted side.
    pub predicted: u64,
    /// Those that gold has.
    pub right: u64,
}

impl Tally {
    /// The share of gold items that were found, in percent; `None` without gold items.
    pub fn recall(&self) -> Option<f64> {
        percent(self.found, self.gold)
    }

    /// The share of predicted items that are right, in percent; `None` without predicted items.
    pub fn precision(&self) -> Option<f64> {
        percent(self.right, self.predicted)
    }

    /// The harmonic mean of the two; 0 where both are 0, `None` where one is undefined.
    pub fn f1(&self) -> Option<f64> {
        let (p, r) = (self.precision()?, self.recall()?);
        Some(if p + r > 0.0 { 2.0 * p * r / (p + r) } else { 0.0 })
    }
}

/// Sums are added field by field.
macro_rules! sums {
    ($type:ident: $($field:ident),*) => {
        impl $type {
            /// Adds another sum.
            pub fn add(&mut self, other: $type) {
                $(self.$field += other.$field;)*
            }
        }
    };
}
pub(super) use sums;

sums!(Counts: matched, gold, predicted);
sums!(Tally: gold, found, predicted, right);

/// `100 * part / whole`; `None` for nothing of nothing.
pub(crate) fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

/// Whose conventions the figures follow where a figure has no value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// EVALB: 0 of 0 is 0, only F is undefined.
    #[default]
    Evalb,
    /// disco-dop: 0 of 0 is undefined.
    Disco,
}

/// Sums over the discontinuous constituents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiscTotals {
    /// Sentences with a discontinuous constituent on either side.
    pub sentences: u64,
    /// Those among them where both sides have the same ones.
    pub exact_sentences: u64,
    /// The constituents.
    pub brackets: Counts,
}

impl DiscTotals {
    /// The share of sentences whose discontinuous constituents are all right, in percent.
    pub fn exact(&self) -> Option<f64> {
        percent(self.exact_sentences, self.sentences)
    }
}

/// Sums over sentences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Whose conventions the figures follow.
    pub style: Style,
    /// Sentences seen; with disco-dop's "discontinuous only", those that have such a bracket.
    pub sentences: u64,
    /// Sentences left out because the two sides do not fit together.
    pub errors: u64,
    /// Sentences left out because the prediction has no words that count.
    pub skipped: u64,
    /// The brackets.
    pub brackets: Counts,
    /// Different brackets of the gold side, as disco-dop prints them.
    pub distinct_gold: u64,
    /// Different brackets of the predicted side, as disco-dop prints them.
    pub distinct_predicted: u64,
    /// Sentences without a wrong or missing bracket.
    pub exact_sentences: u64,
    /// Predicted brackets that cross a gold bracket.
    pub crossing: u64,
    /// Sentences without a crossing bracket.
    pub no_crossing: u64,
    /// Sentences with at most two crossing brackets.
    pub two_or_less: u64,
    /// Words that count.
    pub words: u64,
    /// Words that count and have the gold tag.
    pub correct_tags: u64,
    /// The longest sentence.
    pub longest: usize,
    /// The same over discontinuous constituents only.
    pub discontinuous: DiscTotals,
}

impl Totals {
    pub(super) fn new(style: Style) -> Self {
        Totals { style, ..Totals::default() }
    }

    /// Adds one sentence as EVALB and disco-dop do; one that is left out adds its words only.
    pub(super) fn add(&mut self, score: &SentenceScore, leaves_out: bool) {
        self.sentences += u64::from(!leaves_out);
        self.longest = self.longest.max(score.length);
        match score.status {
            Status::Error(_) => self.errors += 1,
            Status::Skipped => self.skipped += 1,
            Status::Valid => {
                self.brackets.add(score.brackets);
                self.exact_sentences += u64::from(score.is_exact() && !leaves_out);
                self.distinct_gold += score.distinct[0];
                self.distinct_predicted += score.distinct[1];
                self.crossing += score.crossing;
                self.no_crossing += u64::from(score.crossing == 0);
                self.two_or_less += u64::from(score.crossing <= 2);
                self.words += score.words;
                self.correct_tags += score.correct_tags;
                let disc = score.discontinuous;
                self.discontinuous.brackets.add(disc);
                self.discontinuous.sentences += u64::from(disc.gold + disc.predicted > 0);
                self.discontinuous.exact_sentences += u64::from(
                    disc.matched > 0 && disc.matched == disc.gold && disc.matched == disc.predicted,
                );
            }
        }
    }

    /// Adds a unit of several sentences on either side, which counts as its gold sentences; it is exact only if it is one
    /// sentence on both sides.
    pub(super) fn add_unit(
        &mut self,
        score: &SentenceScore,
        [n_gold, n_predicted]: [usize; 2],
        leaves_out: bool,
    ) {
        let before = self.exact_sentences;
        self.add(score, leaves_out);
        if leaves_out || (n_gold, n_predicted) == (1, 1) {
            return;
        }
        self.exact_sentences = before;
        self.sentences += n_gold as u64 - 1;
    }

    /// Sentences that were scored.
    pub fn valid(&self) -> u64 {
        self.sentences - self.errors - self.skipped
    }

    fn share(&self, part: u64, whole: u64) -> Option<f64> {
        match self.style {
            Style::Evalb => Some(percent(part, whole).unwrap_or(0.0)),
            Style::Disco => percent(part, whole),
        }
    }

    /// Labelled recall in percent.
    pub fn recall(&self) -> Option<f64> {
        self.share(self.brackets.matched, self.brackets.gold)
    }

    /// Labelled precision in percent.
    pub fn precision(&self) -> Option<f64> {
        self.share(self.brackets.matched, self.brackets.predicted)
    }

    /// Labelled F1 in percent; `None` where no bracket matches (the tools print "nan").
    pub fn f1(&self) -> Option<f64> {
        match self.style {
            // From the percentages, in this order of operations, so that the last digit agrees.
            Style::Evalb => match (self.precision(), self.recall()) {
                (Some(p), Some(r)) if p + r > 0.0 => Some(2.0 * p * r / (p + r)),
                _ => None,
            },
            Style::Disco => self.brackets.f1(),
        }
    }

    /// The share of sentences without a wrong or missing bracket, in percent.
    pub fn exact(&self) -> Option<f64> {
        self.share(self.exact_sentences, self.valid())
    }

    /// Crossing brackets per sentence; `None` with disco-dop, which has no such figure.
    pub fn average_crossing(&self) -> Option<f64> {
        let valid = self.valid();
        (self.style == Style::Evalb)
            .then(|| if valid == 0 { 0.0 } else { self.crossing as f64 / valid as f64 })
    }

    /// The share of sentences without crossing brackets, in percent; `None` with disco-dop.
    pub fn no_crossing(&self) -> Option<f64> {
        (self.style == Style::Evalb).then(|| percent(self.no_crossing, self.valid()).unwrap_or(0.0))
    }

    /// The share of sentences with at most two crossing brackets, in percent; `None` with disco-dop.
    pub fn two_or_less_crossing(&self) -> Option<f64> {
        (self.style == Style::Evalb).then(|| percent(self.two_or_less, self.valid()).unwrap_or(0.0))
    }

    /// The share of words that count whose tag is right, in percent.
    pub fn tag_accuracy(&self) -> Option<f64> {
        self.share(self.correct_tags, self.words)
    }
}
