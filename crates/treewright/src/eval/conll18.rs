//! The metrics of the CoNLL 2018 shared task on universal dependencies (Zeman et al. 2018).
//!
//! The two files must have the same text but for white space. Tokens and sentences are compared as ranges of that
//! text. Words are aligned by range, or, where a multiword token is involved on either side, by the longest common
//! subsequence of their forms within the smallest range that cuts no multiword token. Relation subtypes and
//! language-specific features are ignored. Deviation: a sentence may have several roots.

use super::totals::{Tally, percent};
use crate::ids::TokenIdx;
use crate::sentence::{Sentence, Str};
use crate::tree::Entry;
use crate::tree::Tree;

const CONTENT_RELATIONS: &[&str] = &[
    "acl",
    "advcl",
    "advmod",
    "amod",
    "appos",
    "ccomp",
    "compound",
    "conj",
    "csubj",
    "dep",
    "discourse",
    "dislocated",
    "expl",
    "fixed",
    "flat",
    "goeswith",
    "iobj",
    "list",
    "nmod",
    "nsubj",
    "nummod",
    "obj",
    "obl",
    "orphan",
    "parataxis",
    "reparandum",
    "root",
    "vocative",
    "xcomp",
];
const FUNCTIONAL_RELATIONS: &[&str] = &["aux", "case", "cc", "clf", "cop", "det", "mark"];
const UNIVERSAL_FEATURES: &[&str] = &[
    "Abbr", "Animacy", "Aspect", "Case", "Definite", "Degree", "Evident", "Foreign", "Gender", "Mood",
    "NumType", "Number", "Person", "Polarity", "Polite", "Poss", "PronType", "Reflex", "Tense", "VerbForm",
    "Voice",
];

/// The counts of one metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Right ones.
    pub correct: u64,
    /// All of the gold file.
    pub gold: u64,
    /// All of the system's file.
    pub system: u64,
    /// Those aligned with each other, where the metric is about aligned words.
    pub aligned: Option<u64>,
}

impl Score {
    /// In percent; 0 for nothing of nothing, as the official script has it.
    pub fn precision(&self) -> f64 {
        percent(self.correct, self.system).unwrap_or(0.0)
    }

    /// In percent; 0 for nothing of nothing.
    pub fn recall(&self) -> f64 {
        percent(self.correct, self.gold).unwrap_or(0.0)
    }

    /// In percent; 0 for nothing of nothing.
    pub fn f1(&self) -> f64 {
        percent(2 * self.correct, self.gold + self.system).unwrap_or(0.0)
    }

    /// In percent, over aligned words.
    pub fn aligned_accuracy(&self) -> Option<f64> {
        self.aligned.map(|aligned| percent(self.correct, aligned).unwrap_or(0.0))
    }
}

/// Every metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conll18 {
    /// In the official order: see [`Conll18::NAMES`].
    pub metrics: [Score; 13],
    /// Arcs that are non-projective in their own tree, over aligned words.
    pub nonprojective: Tally,
}

impl Conll18 {
    /// The official names, in the official order.
    pub const NAMES: [&'static str; 13] = [
        "Tokens",
        "Sentences",
        "Words",
        "UPOS",
        "XPOS",
        "UFeats",
        "AllTags",
        "Lemmas",
        "UAS",
        "LAS",
        "CLAS",
        "MLAS",
        "BLEX",
    ];

    /// A metric by its official name.
    pub fn metric(&self, name: &str) -> Option<&Score> {
        Self::NAMES.iter().position(|known| *known == name).map(|i| &self.metrics[i])
    }

    /// The metrics with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Score)> {
        Self::NAMES.into_iter().zip(&self.metrics)
    }
}

/// Why two files cannot be compared: the sentences (from 0) around the first difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incomparable {
    /// The texts differ.
    Text {
        /// The gold sentence; `None` if the gold text ends first.
        gold: Option<usize>,
        /// The system's sentence; `None` if its text ends first.
        system: Option<usize>,
    },
    /// A gold sentence without a dependency tree.
    NoGoldTree(usize),
    /// A sentence of the system without a dependency tree.
    NoSystemTree(usize),
}

type Span = (usize, usize);

struct Word<'a> {
    /// Of the whole multiword token, if it belongs to one.
    span: Span,
    is_multiword: bool,
    form: &'a str,
    upos: &'a str,
    xpos: &'a str,
    lemma: &'a str,
    feats: Str,
    relation: &'a str,
    /// Among all words of the file.
    head: Option<usize>,
    is_content: bool,
    is_functional: bool,
    is_nonprojective: bool,
}

#[derive(Default)]
struct Side<'a> {
    text: String,
    tokens: Vec<Span>,
    sentences: Vec<Span>,
    words: Vec<Word<'a>>,
    /// The functional children of word `i` are `children[first_child[i]..first_child[i + 1]]`.
    first_child: Vec<usize>,
    children: Vec<usize>,
}

/// A space of any kind (Unicode's category Zs).
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}')
}

/// A field as the file has it.
fn or_underscore(field: &str) -> &str {
    if field.is_empty() { "_" } else { field }
}

fn universal_features(feats: &str) -> Str {
    let is_universal = |feat: &&str| {
        let name = feat.split_once('=').map_or(*feat, |(name, _)| name);
        UNIVERSAL_FEATURES.binary_search(&name).is_ok()
    };
    let mut kept: Vec<&str> = feats.split('|').filter(is_universal).collect();
    if !kept.is_sorted() {
        kept.sort_unstable();
    }
    kept.join("|").into()
}

impl<'a> Side<'a> {
    /// Gathers a file; fails with the number of a sentence that has no dependency tree.
    fn read(entries: &[&'a Entry]) -> Result<Self, usize> {
        let mut side = Side::default();
        for (number, entry) in entries.iter().enumerate() {
            let sentence = &entry.sentence;
            let Some(Tree::Dependency(tree)) = &entry.tree else { return Err(number) };
            if tree.len() != sentence.len() {
                return Err(number);
            }
            let (start, offset) = (side.text.len(), side.words.len());
            let nonprojective = tree.nonprojective_arcs();
            let mut multiwords = sentence.multiwords.iter().peekable();
            let mut in_multiword: Option<(TokenIdx, Span)> = None;
            for (i, token) in sentence.tokens.iter().enumerate() {
                let here = TokenIdx::new(i);
                if let Some(multiword) = multiwords.next_if(|multiword| multiword.first == here) {
                    in_multiword = Some((multiword.last, side.token(&multiword.columns[0])));
                }
                let covering = in_multiword.filter(|(last, _)| here <= *last);
                let span = covering.map_or_else(|| side.token(&token.form), |(_, span)| span);
                let arc = &tree.arcs[i];
                let relation = or_underscore(arc.label.split(':').next().unwrap_or(""));
                side.words.push(Word {
                    span,
                    is_multiword: covering.is_some(),
                    form: &token.form,
                    upos: or_underscore(&token.tag),
                    xpos: or_underscore(&token.xpos),
                    lemma: or_underscore(&token.lemma),
                    feats: universal_features(&token.feats),
                    relation,
                    head: arc.head.map(|head| offset + head.index()),
                    is_content: CONTENT_RELATIONS.binary_search(&relation).is_ok(),
                    is_functional: FUNCTIONAL_RELATIONS.binary_search(&relation).is_ok(),
                    is_nonprojective: nonprojective[i],
                });
            }
            side.sentences.push((start, side.text.len()));
        }
        side.link_children();
        Ok(side)
    }

    fn token(&mut self, form: &str) -> Span {
        let start = self.text.len();
        self.text.extend(form.chars().filter(|&c| !is_space(c)));
        self.tokens.push((start, self.text.len()));
        (start, self.text.len())
    }

    fn link_children(&mut self) {
        let functional = |word: &Word| word.head.filter(|_| word.is_functional);
        self.first_child = vec![0; self.words.len() + 1];
        for head in self.words.iter().filter_map(functional) {
            self.first_child[head + 1] += 1;
        }
        for i in 0..self.words.len() {
            self.first_child[i + 1] += self.first_child[i];
        }
        self.children = vec![0; self.first_child[self.words.len()]];
        let mut fill = self.first_child.clone();
        for (i, word) in self.words.iter().enumerate() {
            if let Some(head) = functional(word) {
                self.children[fill[head]] = i;
                fill[head] += 1;
            }
        }
    }

    fn functional_children(&self, word: usize) -> &[usize] {
        &self.children[self.first_child[word]..self.first_child[word + 1]]
    }

    fn sentence_at(&self, position: usize) -> Option<usize> {
        let number = self.sentences.partition_point(|&(_, end)| end <= position);
        (number < self.sentences.len()).then_some(number)
    }
}

/// Gold and system words that stand for each other, counted through all sentences of their side, in order.
///
/// # Errors
/// As [`evaluate`].
pub fn aligned_words(gold: &[&Entry], system: &[&Entry]) -> Result<Vec<(usize, usize)>, Incomparable> {
    let (gold, system) = sides(gold, system)?;
    Ok(Alignment::new(&gold, &system).pairs)
}

/// The words of two files, of which some stand for each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// Per gold word, whether it is aligned with a word that has the right head.
    pub heads: Vec<bool>,
    /// The same, with the right relation, too; subtypes do not count.
    pub arcs: Vec<bool>,
    /// The number of words of the system.
    pub n_system: usize,
}

/// The gold words that UAS and LAS count as right.
///
/// # Errors
/// As [`evaluate`].
pub fn words(gold: &[&Entry], system: &[&Entry]) -> Result<Words, Incomparable> {
    let (gold, system) = sides(gold, system)?;
    let pairs = Alignment::new(&gold, &system).pairs;
    let gold_of = gold_of(&pairs, system.words.len());
    let scorer = Scorer { gold: &gold, system: &system, pairs: &pairs, gold_of: &gold_of };
    let nothing = vec![false; gold.words.len()];
    let mut words = Words { heads: nothing.clone(), arcs: nothing, n_system: system.words.len() };
    for &(g, s) in &pairs {
        words.heads[g] = scorer.same_head(g, s);
        words.arcs[g] = words.heads[g] && gold.words[g].relation == system.words[s].relation;
    }
    Ok(words)
}

/// The gold word of each system word.
fn gold_of(pairs: &[(usize, usize)], n_system: usize) -> Vec<Option<usize>> {
    let mut gold_of = vec![None; n_system];
    pairs.iter().for_each(|&(g, s)| gold_of[s] = Some(g));
    gold_of
}

/// The metrics over two files.
///
/// # Errors
/// When the texts differ, or a sentence has no dependency tree.
pub fn evaluate(gold: &[&Entry], system: &[&Entry]) -> Result<Conll18, Incomparable> {
    let (gold, system) = sides(gold, system)?;
    let pairs = Alignment::new(&gold, &system).pairs;
    let gold_of = gold_of(&pairs, system.words.len());
    let scorer = Scorer { gold: &gold, system: &system, pairs: &pairs, gold_of: &gold_of };
    Ok(Conll18 { metrics: scorer.metrics(), nonprojective: scorer.nonprojective() })
}

/// Reads both sides, which must have the same text.
fn sides<'a>(gold: &[&'a Entry], system: &[&'a Entry]) -> Result<(Side<'a>, Side<'a>), Incomparable> {
    let gold = Side::read(gold).map_err(Incomparable::NoGoldTree)?;
    let system = Side::read(system).map_err(Incomparable::NoSystemTree)?;
    if gold.text != system.text {
        let differ = |(a, b): (u8, u8)| a != b;
        let at = gold.text.bytes().zip(system.text.bytes()).position(differ);
        let at = at.unwrap_or(gold.text.len().min(system.text.len()));
        return Err(Incomparable::Text { gold: gold.sentence_at(at), system: system.sentence_at(at) });
    }
    Ok((gold, system))
}

/// Do both sentences have the same text but for white space?
pub fn same_text(a: &Sentence, b: &Sentence) -> bool {
    let text = |sentence: &Sentence| {
        let mut side = Side::default();
        for (form, ..) in sentence.surface() {
            side.token(form);
        }
        side.text
    };
    text(a) == text(b)
}

struct Scorer<'a> {
    gold: &'a Side<'a>,
    system: &'a Side<'a>,
    pairs: &'a [(usize, usize)],
    /// The gold word of each system word.
    gold_of: &'a [Option<usize>],
}

impl Scorer<'_> {
    fn metrics(&self) -> [Score; 13] {
        let tags = |g: &Word, s: &Word| g.upos == s.upos && g.xpos == s.xpos && g.feats == s.feats;
        let lemma = |g: &Word, s: &Word| g.lemma == "_" || g.lemma == s.lemma;
        let relation = |g: &Word, s: &Word| g.relation == s.relation;
        let head = |g: usize, s: usize| self.same_head(g, s);
        let (gold, system) = (&self.gold.words, &self.system.words);
        let words = self.aligned(false, |_, _| true);
        [
            spans(&self.gold.tokens, &self.system.tokens),
            spans(&self.gold.sentences, &self.system.sentences),
            Score { aligned: None, ..words },
            self.aligned(false, |g, s| gold[g].upos == system[s].upos),
            self.aligned(false, |g, s| gold[g].xpos == system[s].xpos),
            self.aligned(false, |g, s| gold[g].feats == system[s].feats),
            self.aligned(false, |g, s| tags(&gold[g], &system[s])),
            self.aligned(false, |g, s| lemma(&gold[g], &system[s])),
            self.aligned(false, head),
            self.aligned(false, |g, s| head(g, s) && relation(&gold[g], &system[s])),
            self.aligned(true, |g, s| head(g, s) && relation(&gold[g], &system[s])),
            self.aligned(true, |g, s| {
                let (a, b) = (&gold[g], &system[s]);
                let same = head(g, s) && relation(a, b) && a.upos == b.upos && a.feats == b.feats;
                same && self.same_functional_children(g, s)
            }),
            self.aligned(true, |g, s| {
                head(g, s) && relation(&gold[g], &system[s]) && lemma(&gold[g], &system[s])
            }),
        ]
    }

    /// Counts aligned pairs that are right; with `content`, of content words only.
    fn aligned(&self, content: bool, is_right: impl Fn(usize, usize) -> bool) -> Score {
        let counts = |word: &&Word| !content || word.is_content;
        let pairs = || self.pairs.iter().filter(|&&(g, _)| counts(&&self.gold.words[g]));
        Score {
            correct: pairs().filter(|&&(g, s)| is_right(g, s)).count() as u64,
            gold: self.gold.words.iter().filter(counts).count() as u64,
            system: self.system.words.iter().filter(counts).count() as u64,
            aligned: Some(pairs().count() as u64),
        }
    }

    fn same_head(&self, g: usize, s: usize) -> bool {
        match (self.gold.words[g].head, self.system.words[s].head) {
            (None, None) => true,
            (Some(gold), Some(system)) => self.gold_of[system] == Some(gold),
            _ => false,
        }
    }

    fn same_functional_children(&self, g: usize, s: usize) -> bool {
        let (of_gold, of_system) = (self.gold.functional_children(g), self.system.functional_children(s));
        of_gold.len() == of_system.len()
            && of_gold.iter().zip(of_system).all(|(&g, &s)| {
                let (a, b) = (&self.gold.words[g], &self.system.words[s]);
                self.gold_of[s] == Some(g)
                    && a.relation == b.relation
                    && a.upos == b.upos
                    && a.feats == b.feats
            })
    }

    fn nonprojective(&self) -> Tally {
        let count = |words: &[Word]| words.iter().filter(|word| word.is_nonprojective).count() as u64;
        let mut arcs =
            Tally { gold: count(&self.gold.words), predicted: count(&self.system.words), ..Tally::default() };
        for &(g, s) in self.pairs {
            let same = self.same_head(g, s);
            arcs.found += u64::from(same && self.gold.words[g].is_nonprojective);
            arcs.right += u64::from(same && self.system.words[s].is_nonprojective);
        }
        arcs
    }
}

fn spans(gold: &[Span], system: &[Span]) -> Score {
    let (mut correct, mut g, mut s) = (0, 0, 0);
    while g < gold.len() && s < system.len() {
        match gold[g].0.cmp(&system[s].0) {
            std::cmp::Ordering::Less => g += 1,
            std::cmp::Ordering::Greater => s += 1,
            std::cmp::Ordering::Equal => {
                correct += u64::from(gold[g].1 == system[s].1);
                g += 1;
                s += 1;
            }
        }
    }
    Score { correct, gold: gold.len() as u64, system: system.len() as u64, aligned: None }
}

/// Gold and system words that stand for each other.
struct Alignment<'a> {
    gold: &'a [Word<'a>],
    system: &'a [Word<'a>],
    pairs: Vec<(usize, usize)>,
}

impl<'a> Alignment<'a> {
    fn new(gold: &'a Side<'a>, system: &'a Side<'a>) -> Self {
        let mut alignment = Alignment { gold: &gold.words, system: &system.words, pairs: Vec::new() };
        let (mut g, mut s) = (0, 0);
        while g < alignment.gold.len() && s < alignment.system.len() {
            let (a, b) = (&alignment.gold[g], &alignment.system[s]);
            if a.is_multiword || b.is_multiword {
                (g, s) = alignment.align_multiword_span(g, s);
            } else if a.span == b.span {
                alignment.pairs.push((g, s));
                g += 1;
                s += 1;
            } else if a.span.0 <= b.span.0 {
                g += 1;
            } else {
                s += 1;
            }
        }
        alignment
    }

    /// Aligns the words of the smallest range from here that cuts no multiword token; gives the words after it.
    fn align_multiword_span(&mut self, mut g: usize, mut s: usize) -> (usize, usize) {
        let (gold, system) = (self.gold, self.system);
        let mut end;
        if gold[g].is_multiword {
            end = gold[g].span.1;
            s += usize::from(!system[s].is_multiword && system[s].span.0 < gold[g].span.0);
        } else {
            end = system[s].span.1;
            g += usize::from(!gold[g].is_multiword && gold[g].span.0 < system[s].span.0);
        }
        let (first_g, first_s) = (g, s);
        let is_beyond = |words: &[Word], i: usize, end: usize| match words.get(i) {
            None => true,
            Some(word) if word.is_multiword => word.span.0 >= end,
            Some(word) => word.span.1 > end,
        };
        while !is_beyond(gold, g, end) || !is_beyond(system, s, end) {
            let take_gold = g < gold.len() && (s >= system.len() || gold[g].span.0 <= system[s].span.0);
            let word = if take_gold { &gold[g] } else { &system[s] };
            if word.is_multiword {
                end = end.max(word.span.1);
            }
            *(if take_gold { &mut g } else { &mut s }) += 1;
        }
        self.align_forms(first_g..g, first_s..s);
        (g, s)
    }

    /// Aligns by the longest common subsequence of lower-cased forms, the first one from the left.
    fn align_forms(&mut self, gold: std::ops::Range<usize>, system: std::ops::Range<usize>) {
        // Forms of words outside multiword tokens lose their spaces, as tokens do.
        let form = |word: &Word| {
            let keep = |c: &char| word.is_multiword || !is_space(*c);
            word.form.chars().filter(keep).collect::<String>().to_lowercase()
        };
        let of_gold: Vec<String> = self.gold[gold.clone()].iter().map(form).collect();
        let of_system: Vec<String> = self.system[system.clone()].iter().map(form).collect();
        // An equal beginning needs no table: equal heads are always aligned.
        let (mut g, mut s) = (0, 0);
        let mut table: Option<Lcs> = None;
        while g < of_gold.len() && s < of_system.len() {
            if of_gold[g] == of_system[s] {
                self.pairs.push((gold.start + g, system.start + s));
                g += 1;
                s += 1;
                continue;
            }
            let lcs = table.get_or_insert_with(|| Lcs::new(&of_gold, &of_system, g, s));
            if lcs.of(g, s) == lcs.of(g + 1, s) {
                g += 1;
            } else {
                s += 1;
            }
        }
    }
}

/// Lengths of the longest common subsequences of all pairs of endings.
struct Lcs {
    from: (usize, usize),
    width: usize,
    lengths: Vec<u32>,
}

impl Lcs {
    fn new(a: &[String], b: &[String], from_a: usize, from_b: usize) -> Self {
        let width = b.len() - from_b + 1;
        let mut lcs = Lcs { from: (from_a, from_b), width, lengths: vec![0; (a.len() - from_a + 1) * width] };
        for i in (from_a..a.len()).rev() {
            for j in (from_b..b.len()).rev() {
                let mut best = lcs.of(i + 1, j).max(lcs.of(i, j + 1));
                if a[i] == b[j] {
                    best = best.max(1 + lcs.of(i + 1, j + 1));
                }
                lcs.lengths[(i - from_a) * width + j - from_b] = best;
            }
        }
        lcs
    }

    fn of(&self, i: usize, j: usize) -> u32 {
        self.lengths[(i - self.from.0) * self.width + j - self.from.1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sentence::{Multiword, Token};
    use crate::tree::DependencyTree;

    /// Sentences separated by `/`; `ab=a+b` is a multiword token. The first word is the root, the others hang on it.
    fn entries(text: &str) -> Vec<Entry> {
        text.split('/').map(entry).collect()
    }

    fn entry(text: &str) -> Entry {
        let mut sentence = Sentence::default();
        for token in text.split_whitespace() {
            let (form, words) = token.split_once('=').unwrap_or((token, token));
            let first = TokenIdx::new(sentence.len());
            sentence.tokens.extend(words.split('+').map(|word| Token::new(word, "X")));
            if token.contains('=') {
                let mut columns: [Str; 9] = Default::default();
                columns[0] = form.into();
                let last = TokenIdx::new(sentence.len() - 1);
                sentence.multiwords.push(Multiword { first, last, columns });
            }
        }
        let mut tree = DependencyTree::from_heads((0..sentence.len()).map(|i| (i > 0).then_some(0)));
        tree.arcs
            .iter_mut()
            .for_each(|arc| arc.label = if arc.head.is_none() { "root" } else { "nmod" }.into());
        Entry { sentence, tree: Some(tree.into()) }
    }

    fn scores(gold: &[Entry], system: &[Entry]) -> Result<Conll18, Incomparable> {
        evaluate(&gold.iter().collect::<Vec<_>>(), &system.iter().collect::<Vec<_>>())
    }

    /// Aligned words.
    #[track_caller]
    fn check(gold: &str, system: &str, aligned: u64) {
        for (gold, system) in [(gold, system), (system, gold)] {
            let found = scores(&entries(gold), &entries(system)).expect("the same text");
            assert_eq!(
                found.metric("Words").map(|score| score.correct),
                Some(aligned),
                "{gold} and {system}"
            );
        }
    }

    #[test]
    fn words_are_aligned_by_place_or_by_form() {
        check("a b c", "a b c", 3);
        check("ab c", "a b c", 1);
        check("a bcd e", "ab c de", 0);
        // A multiword token on either side: by form, whatever the case.
        check("abc=a+b+c", "a b c", 3);
        check("abc=A+x+c", "a b c", 2);
        check("ab=a+b cd=c+d", "a bc=b+c d", 4);
        check("x abc=a+b+c y", "xa b cy", 1);
        check("du=de+le chat", "du chat", 1);
        // Without a multiword token the form does not matter, only the place.
        check("a b/c d", "a b c d", 4);
    }

    #[test]
    fn tokens_and_sentences_are_ranges() {
        let found = scores(&entries("a bc/d"), &entries("a b c d")).expect("the same text");
        let counts = |name| found.metric(name).map(|score| (score.correct, score.gold, score.system));
        assert_eq!(counts("Tokens"), Some((2, 3, 4)));
        assert_eq!(counts("Sentences"), Some((0, 2, 1)));
        assert_eq!(counts("Words"), Some((2, 3, 4)));
        // a is the root on both sides; d was a root and hangs on a.
        assert_eq!(counts("UAS"), Some((1, 3, 4)));
        assert_eq!(found.metric("Tokens").and_then(Score::aligned_accuracy), None);
        assert_eq!(found.metric("UAS").and_then(Score::aligned_accuracy), Some(50.0));
    }

    #[test]
    fn spaces_of_any_kind_are_no_text() {
        let mut gold = entries("ab c");
        gold[0].sentence.tokens[0].form = "a\u{a0}b".into();
        assert!(scores(&gold, &entries("a b c")).is_ok());
        assert!(same_text(&gold[0].sentence, &entries("a b c")[0].sentence));
    }

    #[test]
    fn different_texts_are_told_by_sentence() {
        let text = |gold, system| scores(&entries(gold), &entries(system)).expect_err("different texts");
        assert_eq!(text("a b/c d", "a b/c x"), Incomparable::Text { gold: Some(1), system: Some(1) });
        assert_eq!(text("a b/c d", "a b"), Incomparable::Text { gold: Some(1), system: None });
        assert_eq!(text("a b", "a/b c"), Incomparable::Text { gold: None, system: Some(1) });
        let without = [Entry { tree: None, ..entry("a") }];
        assert_eq!(scores(&entries("a"), &without), Err(Incomparable::NoSystemTree(0)));
        assert_eq!(scores(&without, &entries("a")), Err(Incomparable::NoGoldTree(0)));
    }

    /// The metrics that a change to the second word of three costs.
    #[track_caller]
    fn check_change(change: fn(&mut Token, &mut crate::tree::Arc), expected: &[&str]) {
        let base = || {
            let mut entries = entries("a b c");
            for token in &mut entries[0].sentence.tokens {
                token.lemma = token.form.clone();
                token.feats = "Case=Nom|Foo=Bar|Number=Sing".into();
            }
            let Some(Tree::Dependency(tree)) = &mut entries[0].tree else { unreachable!("made above") };
            tree.arcs[1].label = "case:of".into();
            entries
        };
        let (gold, mut system) = (base(), base());
        let Entry { sentence, tree: Some(Tree::Dependency(tree)) } = &mut system[0] else {
            unreachable!("made above")
        };
        change(&mut sentence.tokens[1], &mut tree.arcs[1]);
        let found = scores(&gold, &system).expect("the same text");
        let wrong: Vec<&str> =
            found.iter().filter(|(_, score)| score.f1() < 100.0).map(|(name, _)| name).collect();
        assert_eq!(wrong, expected);
    }

    #[test]
    fn every_column_counts_where_it_should() {
        check_change(|_, _| {}, &[]);
        check_change(|token, _| token.tag = "Y".into(), &["UPOS", "AllTags", "MLAS"]);
        check_change(|token, _| token.xpos = "Y".into(), &["XPOS", "AllTags"]);
        check_change(|token, _| token.feats = "Case=Acc|Number=Sing".into(), &["UFeats", "AllTags", "MLAS"]);
        // The order of features, and features that are not universal, do not count.
        check_change(|token, _| token.feats = "Number=Sing|Case=Nom|Foo=Baz".into(), &[]);
        check_change(|token, _| token.lemma = "z".into(), &["Lemmas"]);
        check_change(|_, arc| arc.head = Some(TokenIdx::new(2)), &["UAS", "LAS", "MLAS"]);
        // Subtypes do not count.
        check_change(|_, arc| arc.label = "case:by".into(), &[]);
        check_change(|_, arc| arc.label = "det".into(), &["LAS", "MLAS"]);
        // A function word turned into a content word.
        check_change(|_, arc| arc.label = "nmod".into(), &["LAS", "CLAS", "MLAS", "BLEX"]);
    }

    #[test]
    fn a_missing_gold_lemma_is_always_right() {
        let (mut gold, mut system) = (entries("a b"), entries("a b"));
        system[0].sentence.tokens[0].lemma = "z".into();
        assert_eq!(
            scores(&gold, &system).expect("the same text").metric("Lemmas").map(Score::f1),
            Some(100.0)
        );
        std::mem::swap(&mut gold, &mut system);
        assert_eq!(
            scores(&gold, &system).expect("the same text").metric("Lemmas").map(Score::f1),
            Some(50.0)
        );
    }
}
