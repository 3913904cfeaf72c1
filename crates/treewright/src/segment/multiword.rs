//! Surface tokens that stand for several words: learned by heart, by their endings, and where that is not enough by
//! their neighbours.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::ambiguous::{Ambiguous, MIN_COUNT, Neighbours};
use super::chars::lower;
use crate::sentence::{Sentence, Str};

/// The longest ending looked at, in characters.
const MAX_ENDING: usize = 8;

/// How a surface token becomes words: its last `strip` characters give way to `first`, which ends the first word, and
/// to the words of `rest`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Split {
    strip: usize,
    first: String,
    rest: Vec<String>,
}

/// The multiword tokens of a treebank; keys are in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Multiwords {
    /// Whole tokens. None where the ending says otherwise than the treebank.
    tokens: BTreeMap<String, Option<Split>>,
    /// Endings, of tokens that are not listed.
    endings: BTreeMap<String, Split>,
    /// Tokens for which it depends on the neighbours.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    ambiguous: BTreeMap<String, Ambiguous>,
}

fn small(form: &str) -> String {
    form.chars().map(lower).collect()
}

impl Split {
    /// The shortest change that makes these words of the token.
    fn of(surface: &str, words: &[String]) -> Option<Self> {
        let (first, rest) = words.split_first()?;
        let stem = surface.chars().zip(first.chars()).take_while(|(a, b)| a == b).count();
        let is_word = |word: &String| !word.is_empty() && !word.contains(char::is_whitespace);
        if !words.iter().all(is_word) || rest.is_empty() {
            return None;
        }
        let strip = surface.chars().count() - stem;
        Some(Split { strip, first: first.chars().skip(stem).collect(), rest: rest.to_vec() })
    }

    /// The words of a token, written large and small as the token is.
    fn words(&self, surface: &str) -> Option<Vec<Str>> {
        let chars: Vec<char> = surface.chars().collect();
        let stem = chars.len().checked_sub(self.strip)?;
        if stem == 0 && self.first.is_empty() {
            return None;
        }
        let mut words = vec![chars[..stem].iter().collect::<Str>()];
        let pieces = std::iter::once(&self.first).chain(&self.rest);
        let tail = chars[stem..].iter().copied().map(lower);
        if tail.eq(pieces.clone().flat_map(|piece| piece.chars())) {
            // The words are parts of the token as it stands.
            let mut at = stem;
            for (i, piece) in pieces.enumerate() {
                let end = at + piece.chars().count();
                match i {
                    0 => words[0].extend(&chars[at..end]),
                    _ => words.push(chars[at..end].iter().collect()),
                }
                at = end;
            }
            return Some(words);
        }
        let is_large = chars.len() > 1 && chars.iter().all(|c| !c.is_lowercase()) && chars[0].is_uppercase();
        let large = |piece: &str| piece.chars().flat_map(char::to_uppercase).collect::<Str>();
        for (i, piece) in pieces.enumerate() {
            let text = if is_large { large(piece) } else { Str::new(piece) };
            match i {
                0 if stem == 0 && !is_large && chars[0].is_uppercase() => {
                    let mut letters = piece.chars();
                    words[0].extend(letters.by_ref().take(1).flat_map(char::to_uppercase));
                    words[0].push_str(letters.as_str());
                }
                0 => words[0].push_str(&text),
                _ => words.push(text),
            }
        }
        Some(words)
    }
}

/// What the treebank does with a token.
#[derive(Default)]
struct Seen {
    n: u32,
    splits: BTreeMap<Split, u32>,
}

impl Seen {
    /// The split of more than half of the occurrences.
    fn split(&self) -> Option<&Split> {
        self.splits.iter().find(|&(_, &n)| n * 2 > self.n).map(|(split, _)| split)
    }

    /// Was it split as often as not? Then it says nothing.
    fn is_even(&self) -> bool {
        self.splits.values().any(|&n| n * 2 == self.n)
    }

    /// The commonest split, if the token was seen often enough both with it and as one word.
    fn ambiguous(&self) -> Option<&Split> {
        let n_whole = self.n - self.splits.values().sum::<u32>();
        let (split, &n) = self.splits.iter().max_by_key(|&(split, &n)| (n, std::cmp::Reverse(split)))?;
        (n >= MIN_COUNT && n_whole >= MIN_COUNT).then_some(split)
    }
}

/// Do this many tokens of `n` make a rule? (Of tokens, not of occurrences: a rule must hold for tokens never seen.)
fn is_rule(of: usize, n: usize) -> bool {
    of >= 3 && of * 5 >= n * 4
}

impl Multiwords {
    /// Learns from the surface tokens of a treebank.
    pub(super) fn train(sentences: &[Sentence]) -> Self {
        let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
        if sentences.iter().all(|sentence| sentence.multiwords.is_empty()) {
            return Multiwords::default();
        }
        for (form, _, words) in sentences.iter().flat_map(Sentence::surface) {
            let form = small(form);
            let words: Vec<String> = words.iter().map(|word| small(&word.form)).collect();
            let split = Split::of(&form, &words);
            let entry = seen.entry(form).or_default();
            entry.n += 1;
            if let Some(split) = split {
                *entry.splits.entry(split).or_default() += 1;
            }
        }
        Self::leave_apostrophes_out(&mut seen);
        let endings = Self::learn_endings(&seen);
        let ambiguous = Self::learn_ambiguous(&seen, sentences);
        let mut learned = Multiwords { tokens: BTreeMap::new(), endings, ambiguous };
        for (form, entry) in seen {
            let split = entry.split();
            if split != learned.by_ending(&form) && !entry.is_even() {
                learned.tokens.insert(form, split.cloned());
            }
        }
        learned
    }

    /// Adds what people make of tokens with an apostrophe in a hurry: if "dont" and "cant" are split like "don't" and
    /// "can't", then so is "havent". But not "shell" like "she'll", for "well" is not split like "we'll".
    fn leave_apostrophes_out(seen: &mut BTreeMap<String, Seen>) {
        let is_apostrophe = |c: char| c == '\'' || c == '\u{2019}';
        let bare = |text: &str| text.replace(is_apostrophe, "");
        // By the words after the first: tokens without apostrophe, each with its split if it were one.
        let mut by_rest: BTreeMap<Vec<String>, BTreeMap<String, Split>> = BTreeMap::new();
        for (form, entry) in seen.iter().filter(|(form, _)| form.contains(is_apostrophe)) {
            let Some(words) = entry.split().and_then(|split| split.words(form)) else { continue };
            let words: Vec<String> = words.iter().map(|word| bare(word)).collect();
            if let Some(split) = Split::of(&bare(form), &words) {
                by_rest.entry(words[1..].to_vec()).or_default().insert(bare(form), split);
            }
        }
        for forms in by_rest.into_values() {
            let known = forms.iter().filter_map(|(form, split)| Some((seen.get(form)?, split)));
            let (n, of) = known.fold((0, 0), |(n, of), (entry, split)| {
                (n + 1, of + usize::from(entry.split() == Some(split)))
            });
            if is_rule(of, n) {
                for (form, split) in forms {
                    seen.entry(form).or_insert(Seen { n: 1, splits: BTreeMap::from([(split, 1)]) });
                }
            }
        }
    }

    /// Learns from their neighbours when tokens are split that are not always.
    fn learn_ambiguous(seen: &BTreeMap<String, Seen>, sentences: &[Sentence]) -> BTreeMap<String, Ambiguous> {
        let mut all: BTreeMap<&str, Vec<(String, String, bool)>> = seen
            .iter()
            .filter(|(_, entry)| entry.ambiguous().is_some())
            .map(|(form, _)| (form.as_str(), Vec::new()))
            .collect();
        for sentence in sentences {
            let tokens: Vec<(String, bool)> =
                sentence.surface().map(|(form, _, words)| (small(form), !words.is_empty())).collect();
            for (i, (form, is_split)) in tokens.iter().enumerate() {
                if let Some(occurrences) = all.get_mut(form.as_str()) {
                    let before = i.checked_sub(1).map(|j| tokens[j].0.clone());
                    let after = tokens.get(i + 1).map(|(form, _)| form.clone());
                    occurrences.push((before.unwrap_or_default(), after.unwrap_or_default(), *is_split));
                }
            }
        }
        let learn = |(form, occurrences): (&str, Vec<(String, String, bool)>)| {
            let occurrences: Vec<(Neighbours<'_>, bool)> = occurrences
                .iter()
                .map(|(before, after, is_split)| (Neighbours { before, after }, *is_split))
                .collect();
            let split = seen[form].ambiguous()?.clone();
            Some((form.to_owned(), Ambiguous::train(split, &occurrences)))
        };
        all.into_iter().filter_map(learn).collect()
    }

    /// Endings that several tokens share and that nearly always mean the same split.
    fn learn_endings(seen: &BTreeMap<String, Seen>) -> BTreeMap<String, Split> {
        let mut by_ending: FxHashMap<&str, (usize, BTreeMap<&Split, usize>)> = FxHashMap::default();
        for (form, entry) in seen.iter().filter(|(_, entry)| !entry.is_even()) {
            let split = entry.split();
            let n_chars = form.chars().count();
            for (i, (at, _)) in form.char_indices().enumerate().skip(1) {
                let length = n_chars - i;
                if length > MAX_ENDING {
                    continue;
                }
                let (n, splits) = by_ending.entry(&form[at..]).or_default();
                *n += 1;
                if let Some(split) = split.filter(|split| split.strip <= length) {
                    *splits.entry(split).or_default() += 1;
                }
            }
        }
        let mut endings: Vec<(&str, &Split)> = by_ending
            .iter()
            .filter_map(|(&ending, (n, splits))| {
                let (split, &of) =
                    splits.iter().max_by_key(|&(split, &of)| (of, std::cmp::Reverse(*split)))?;
                is_rule(of, *n).then_some((ending, *split))
            })
            .collect();
        endings.sort_unstable_by_key(|&(ending, _)| (ending.len(), ending));
        let mut learned = Multiwords::default();
        for (ending, split) in endings {
            // Only what a shorter ending does not say already.
            if learned.by_ending(&format!("x{ending}")) != Some(split) {
                learned.endings.insert(ending.to_owned(), split.clone());
            }
        }
        learned.endings
    }

    /// The split by the longest known ending.
    fn by_ending(&self, form: &str) -> Option<&Split> {
        if self.endings.is_empty() {
            return None;
        }
        let n_chars = form.chars().count();
        let longest = form.char_indices().skip(n_chars.saturating_sub(MAX_ENDING).max(1));
        longest.into_iter().find_map(|(at, _)| self.endings.get(&form[at..]))
    }

    /// Is there no multiword token at all?
    pub(super) fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.endings.is_empty() && self.ambiguous.is_empty()
    }

    /// The words of a token between its neighbours, if it has several.
    pub(super) fn words(&self, surface: &str, [before, after]: [&str; 2]) -> Option<Vec<Str>> {
        // Longer than any token worth learning; and looking would cost as much as it is long.
        if self.is_empty() || surface.len() > 100 {
            return None;
        }
        let form = small(surface);
        if let Some(ambiguous) = self.ambiguous.get(&form) {
            let (before, after) = (small(before), small(after));
            let neighbours = Neighbours { before: &before, after: &after };
            return ambiguous.is_split(neighbours).then(|| ambiguous.split.words(surface))?;
        }
        let split = match self.tokens.get(&form) {
            Some(split) => split.as_ref()?,
            None => self.by_ending(&form)?,
        };
        split.words(surface)
    }

    /// May a stored table be used? No word of it may be empty or hold white space.
    pub(super) fn is_sound(&self) -> bool {
        let is_word = |word: &String| !word.is_empty() && !word.contains(super::chars::is_space);
        let is_split = |split: &Split| {
            !split.first.contains(super::chars::is_space)
                && !split.rest.is_empty()
                && split.rest.iter().all(is_word)
        };
        let ambiguous = self.ambiguous.values().map(|ambiguous| &ambiguous.split);
        self.tokens.values().flatten().chain(self.endings.values()).chain(ambiguous).all(is_split)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::TokenIdx;
    use crate::sentence::{Multiword, Token};

    /// Sentences of one token each: `form=word+word` or `form`.
    fn treebank(tokens: &str) -> Vec<Sentence> {
        let sentence = |token: &str| {
            let (form, words) = token.split_once('=').unwrap_or((token, token));
            let tokens: Vec<Token> = words.split('+').map(|word| Token::new(word, "")).collect();
            let mut columns: [Str; 9] = std::array::from_fn(|_| Str::const_new("_"));
            columns[0] = Str::new(form);
            let last = TokenIdx::new(tokens.len() - 1);
            let range = Multiword { first: TokenIdx::new(0), last, columns };
            let multiwords = if tokens.len() > 1 { vec![range] } else { Vec::new() };
            Sentence { tokens, multiwords, ..Sentence::default() }
        };
        tokens.split(' ').map(sentence).collect()
    }

    const TOKENS: &str = "do=de+o do=de+o Do=De+o à=a+a nos=em+os nos nos don't=do+n't isn't=is+n't can't=ca+n't \
                          it's=it+'s Bush's=Bush+'s he's=he+'s she's=she+'s let's its cannot=can+not o a os dá-lo=dá+lo \
                          vê-lo=vê+lo pô-lo=pô+lo dá-la=dá+la vê-la=vê+la pô-la=pô+la gala-la vila-la";

    #[track_caller]
    fn check(surface: &str, expected: &str) {
        let learned = Multiwords::train(&treebank(TOKENS));
        assert!(learned.is_sound());
        let words =
            learned.words(surface, ["", ""]).map_or_else(|| surface.to_owned(), |words| words.join("+"));
        assert_eq!(words, expected);
    }

    #[test]
    fn tokens_by_heart_in_any_case() {
        check("do", "de+o");
        check("Do", "De+o");
        check("DO", "DE+O");
        check("à", "a+a");
        check("À", "A+a");
        check("cannot", "can+not");
        check("Cannot", "Can+not");
        check("CANNOT", "CAN+NOT");
        check("nos", "nos");
        check("x", "x");
    }

    #[test]
    fn tokens_never_seen_by_their_ending() {
        check("wouldn't", "would+n't");
        check("WOULDN'T", "WOULD+N'T");
        check("Clinton's", "Clinton+'s");
        check("fazê-lo", "fazê+lo");
        check("n't", "n't");
        check("vê-la", "vê+la");
        check("fazê-la", "fazê-la");
        check("lado", "lado");
    }

    #[test]
    fn apostrophes_are_left_out_where_the_treebank_does_so() {
        let words = |tokens: &str, surface: &str| {
            let learned = Multiwords::train(&treebank(tokens));
            learned.words(surface, ["", ""]).map_or_else(|| surface.to_owned(), |words| words.join("+"))
        };
        let apart = "don't=do+n't can't=ca+n't isn't=is+n't haven’t=have+n’t we'll=we+'ll he'll=he+'ll she'll=she+'ll";
        let all = format!("{apart} dont=do+nt cant=ca+nt isnt=is+nt well hell");
        assert_eq!(words(&all, "havent"), "have+nt");
        assert_eq!(words(&all, "Havent"), "Have+nt");
        assert_eq!(words(&all, "shell"), "shell");
        // Two are too few, and one of four that says otherwise is too much.
        assert_eq!(words(&format!("{apart} dont=do+nt cant=ca+nt"), "havent"), "havent");
        assert_eq!(words(&format!("{all} didn't=did+n't didnt"), "havent"), "havent");
        // What was seen is what was seen.
        assert_eq!(words(&format!("{all} havent"), "havent"), "havent");
    }

    #[test]
    fn the_treebank_has_the_last_word() {
        check("let's", "let's");
        check("its", "its");
    }

    #[test]
    fn a_token_seen_as_often_split_as_whole_goes_by_its_ending() {
        check("she's", "she+'s");
        let even = format!("{TOKENS} Joe's=Joe+'s Ann's=Ann+'s she's");
        let learned = Multiwords::train(&treebank(&even));
        assert_eq!(learned.words("she's", ["", ""]).map(|words| words.len()), Some(2));
        let learned = Multiwords::train(&treebank(&format!("{even} she's")));
        assert_eq!(learned.words("she's", ["", ""]), None);
    }

    /// Sentences of the form "BEFORE its AFTER"; those before the bar have "it+s".
    fn with_neighbours(sentences: &str) -> Multiwords {
        let (split, whole) = sentences.split_once('|').expect("a bar");
        let sentence = |text: &str, its: &str| {
            let tokens: Vec<&str> = text.split_whitespace().collect();
            let [before, after] = tokens[..] else { panic!("two neighbours") };
            let mut sentence = treebank(its).remove(0);
            let range = sentence.multiwords.pop();
            sentence.tokens.insert(0, Token::new(before, ""));
            sentence.tokens.push(Token::new(after, ""));
            if let Some(range) = range {
                let (first, last) = (TokenIdx::new(1), TokenIdx::new(2));
                sentence.multiwords.push(Multiword { first, last, ..range });
            }
            sentence
        };
        let split = split.split(',').map(|text| sentence(text, "its=it+s"));
        Multiwords::train(
            &split.chain(whole.split(',').map(|text| sentence(text, "its"))).collect::<Vec<_>>(),
        )
    }

    #[test]
    fn neighbours_decide_where_a_token_is_sometimes_split() {
        let learned =
            with_neighbours("think a, say going, and raining | on own, by colour, of face, in house");
        let words = |before, after| {
            learned.words("Its", [before, after]).map_or_else(|| "Its".to_owned(), |words| words.join("+"))
        };
        assert!(learned.is_sound());
        assert_eq!(words("think", "own"), words("Think", "OWN"));
        assert_eq!(words("that", "a"), "It+s");
        assert_eq!(words("that", "own"), "Its");
        assert_eq!(words("think", "x"), "It+s");
        assert_eq!(words("by", "x"), "Its");
        // Never seen, but it ends like a word that was.
        assert_eq!(words("x", "snowing"), "It+s");
        assert_eq!(words("x", ""), words("x", &"y".repeat(1000)));
        // Seen too rarely as several words: the majority counts, whatever stands beside.
        let learned = with_neighbours("think a, say going | on own, by colour, of face, in house");
        assert_eq!(learned.words("its", ["think", "a"]), None);
    }

    #[test]
    fn what_is_stored_is_what_was_learned() {
        let learned = with_neighbours("think a, say going, and raining | on own, by colour, of face");
        let json = serde_json::to_string(&learned).expect("strings and numbers");
        assert_eq!(serde_json::from_str::<Multiwords>(&json).expect("what was written"), learned);
        // Segmenters stored before there were ambiguous tokens have no such field.
        let old: Multiwords = serde_json::from_str(r#"{"tokens":{},"endings":{}}"#).expect("an older table");
        assert!(old.is_empty());
    }

    #[test]
    fn an_unusable_split_is_noticed() {
        let mut learned = Multiwords::train(&treebank(TOKENS));
        let split = Split { strip: 1, first: String::new(), rest: vec!["a b".to_owned()] };
        learned.endings.insert("q".to_owned(), split);
        assert!(!learned.is_sound());
    }
}
