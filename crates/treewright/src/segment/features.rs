//! What the two classifiers look at: the characters around a place inside a piece, and the tokens around a token's
//! end.

use super::chars::{Class, class, lower, never_cut};
use super::linear::mix;
use super::scan::{Gap, GapKind, Piece, Rules};

/// The characters of a piece.
#[derive(Debug, Default)]
pub(super) struct Letters {
    pub chars: Vec<char>,
    pub classes: Vec<Class>,
    /// The place of each character in bytes, and the end.
    pub places: Vec<usize>,
    /// Hashes of the lower-cased text up to each place.
    prefixes: Vec<u64>,
    /// Is there anything in it that web and mail addresses have?
    is_address: bool,
}

impl Letters {
    /// Fills in a piece's text, which begins at `start`.
    pub(super) fn fill(&mut self, text: &str, start: usize) {
        self.chars.clear();
        self.classes.clear();
        self.places.clear();
        self.prefixes.clear();
        let mut hash = 1;
        for (i, c) in text.char_indices() {
            self.chars.push(c);
            self.classes.push(class(c));
            self.places.push(start + i);
            self.prefixes.push(hash);
            hash = mix(hash, lower(c) as u64);
        }
        self.places.push(start + text.len());
        self.prefixes.push(hash);
        self.is_address = text.contains("://") || text.contains('@') || text.starts_with("www.");
    }

    pub(super) fn len(&self) -> usize {
        self.chars.len()
    }

    #[inline]
    fn char(&self, at: isize) -> u64 {
        usize::try_from(at).ok().and_then(|at| self.chars.get(at)).map_or(1, |&c| c as u64)
    }

    #[inline]
    fn class(&self, at: isize) -> u64 {
        usize::try_from(at).ok().and_then(|at| self.classes.get(at)).map_or(31, |&class| class as u64)
    }

    /// A hash of the lower-cased characters of a range.
    fn slice(&self, from: usize, to: usize) -> u64 {
        self.chars[from..to].iter().fold(2, |hash, &c| mix(hash, lower(c) as u64))
    }
}

/// What is known of the pieces beside the one being cut.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside {
    /// The class and the hash of the last character before; 31 at the start of the text.
    pub before: u64,
    /// The next piece's first two classes.
    after: u64,
    /// Its first letters.
    after_word: u64,
}

impl Beside {
    /// Fills in what the next piece shows.
    pub(super) fn look_ahead(&mut self, next: Option<&str>) {
        let mut classes = 0;
        let mut word = 3;
        if let Some(text) = next {
            for (i, c) in text.chars().take(12).enumerate() {
                let class = class(c);
                if i < 2 {
                    classes = classes * 32 + class as u64 + 1;
                }
                if i > 0 && !class.is_word() {
                    break;
                }
                word = mix(word, c as u64);
            }
        }
        self.after = classes;
        self.after_word = word;
    }
}

/// The features of the place before character `at` of a piece, of which a token begins at character `start`.
pub(super) fn token_features(
    letters: &Letters,
    start: usize,
    at: usize,
    gap: GapKind,
    beside: &Beside,
    out: &mut Vec<u64>,
) {
    out.clear();
    let i = at as isize;
    let n = letters.len();
    let c = |offset: isize| letters.char(i + offset);
    let k = |offset: isize| letters.class(i + offset);
    let pair = c(-1) << 32 | c(0);
    let classes = |from: isize, to: isize| (from..to).fold(0, |all, offset| all * 32 + k(offset));
    let to_end = (n - at).min(5) as u64;
    let from_start = at.min(5) as u64;
    let from_token = (at - start).min(6) as u64;

    // The run of letters, digits or equal signs on either side.
    let kind = |class: Class| if class.is_letter() { 0 } else { class as u8 + 1 };
    let (left, right) = (kind(letters.classes[at - 1]), kind(letters.classes[at]));
    let left_start =
        (start..at).rev().take(16).take_while(|&j| kind(letters.classes[j]) == left).last().unwrap_or(at - 1);
    let right_end =
        (at..n).take(16).take_while(|&j| kind(letters.classes[j]) == right).last().unwrap_or(at) + 1;
    let left_run = letters.slice(left_start, at);
    let right_run = letters.slice(at, right_end);
    let token = letters.slice(start.max(at.saturating_sub(16)), at);
    let rest = if n - at <= 16 { letters.slice(at, n) } else { 0 };
    let whole = letters.prefixes[n];
    let gap = gap as u64;
    let mut add = |template: u64, value: u64| out.push(mix(mix(template, value), 0x5EED));

    add(1, pair);
    add(2, mix(pair, c(-2)));
    add(3, mix(pair, c(1)));
    add(4, mix(mix(pair, c(-2)), c(1)));
    add(5, mix(mix(pair, c(-2)), c(-3)));
    add(6, mix(mix(pair, c(1)), c(2)));
    add(7, classes(-1, 1) * 64 + from_token * 8 + to_end);
    add(8, classes(-2, 2));
    add(9, classes(-4, 4));
    add(10, classes(-3, 1) << 16 | classes(1, 3));
    add(11, classes(-1, 5));
    add(12, mix(left_run, c(0)));
    add(13, mix(right_run, c(-1)));
    add(14, mix(left_run, right_run));
    add(15, mix(token, c(0)));
    add(16, mix(token, mix(c(0), beside.after)));
    add(17, mix(rest, c(-1)));
    add(18, mix(rest, classes(-3, 0)));
    add(19, mix(whole, at as u64));
    add(20, mix(pair, gap << 16 | beside.after));
    add(21, mix(classes(-3, 1), gap << 16 | beside.after) ^ to_end);
    add(22, mix(token, mix(rest, gap << 16 | beside.after)));
    add(23, mix(pair, beside.after_word));
    add(24, mix(pair, beside.before) ^ from_start);
    add(25, mix(pair, u64::from(letters.is_address)) ^ to_end);
    add(26, mix(classes(-1, 1), u64::from(letters.is_address)));
    add(27, mix(pair, from_start * 8 + to_end));
    add(28, mix(left_run, from_token * 8 + to_end));
    add(29, mix(mix(c(0), right_run), to_end));
    add(30, mix(mix(token, rest), beside.after_word));
}

/// What a dictionary knows of a word, by how often it has a capital inside sentences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Case(pub(super) u8);

impl Case {
    /// By how often it was seen with a small letter and with a capital.
    pub(super) fn of(n_lower: u32, n_upper: u32) -> Self {
        Case(match (n_lower, n_upper) {
            (0, 0) => 0,
            (_, 0) => 1,
            (0, _) => 2,
            (small, large) if small > large * 10 => 3,
            (small, large) if large > small * 10 => 4,
            _ => 5,
        })
    }
}

/// A token, and what is looked at in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tok {
    /// In bytes from the start of the document.
    pub start: usize,
    pub end: usize,
    pub n_chars: u32,
    pub gap: Gap,
    form: u64,
    /// The hash of the lower-cased form: the key of the dictionary.
    pub lower: u64,
    shape: u64,
    suffix: u64,
    piece: u64,
    pub first: Class2,
    last: Class2,
    pub case: Case,
    bracket: i8,
    is_quote: bool,
}

/// A class, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class2(pub(super) u8);

impl Default for Class2 {
    fn default() -> Self {
        Class2(31)
    }
}

impl Tok {
    /// A token of this form in this piece; the dictionary's word comes later.
    pub(super) fn new(form: &str, start: usize, gap: Gap, piece: u64) -> Self {
        let mut tok = Tok { start, end: start + form.len(), gap, piece, form: 5, lower: 6, ..Tok::default() };
        let (mut shape, mut n_shape, mut before) = (7, 0, u64::MAX);
        let mut tail = [0u64; 3];
        for c in form.chars() {
            let class = class(c);
            tok.n_chars += 1;
            let small = lower(c) as u64;
            tok.form = mix(tok.form, c as u64);
            tok.lower = mix(tok.lower, small);
            tail = [tail[1], tail[2], small];
            // A shape is the sequence of kinds, repeated ones once; signs stand for themselves.
            let kind = if class.is_word() { class as u64 } else { c as u64 + 32 };
            if kind != before && n_shape < 8 {
                shape = mix(shape, kind);
                n_shape += 1;
                before = kind;
            }
            if tok.n_chars == 1 {
                tok.first = Class2(class as u8);
            }
            tok.last = Class2(class as u8);
        }
        tok.shape = mix(shape, u64::from(tok.n_chars.min(3)));
        tok.suffix = mix(mix(tail[0], tail[1]), tail[2]);
        if tok.n_chars == 1 {
            tok.bracket = match form {
                "(" | "[" | "{" => 1,
                ")" | "]" | "}" => -1,
                _ => 0,
            };
        }
        tok.is_quote = form == "\"" || form == "''" || form == "``";
        tok
    }

    /// What [`History`] needs of a line, if a sentence ends with it.
    pub(super) fn of_line(n_chars: usize, last: Class, kind: GapKind) -> Self {
        Tok {
            n_chars: u32::try_from(n_chars).unwrap_or(u32::MAX),
            last: Class2(last as u8),
            gap: Gap { kind, ..Gap::default() },
            ..Tok::default()
        }
    }

    /// Does it begin with a capital letter?
    pub(super) fn is_capital(&self) -> bool {
        self.first.0 == Class::Upper as u8
    }

    /// Does it begin with a letter that has case?
    pub(super) fn has_case(&self) -> bool {
        self.first.0 <= Class::Upper as u8
    }
}

/// How the text went on so far: lines, and the sentence that is open.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    n_tokens: u32,
    depth: i8,
    in_quote: bool,
    first: u64,
    first_shape: u64,
    /// The class of the character that ended the last sentence, and how that sentence was set off.
    ended_by: u8,
    ended_at: u8,
    /// The characters of the line so far, and of the lines before.
    line: usize,
    lines: [usize; 4],
}

impl History {
    /// Takes in the next token.
    pub(super) fn add(&mut self, tok: &Tok) {
        if self.n_tokens == 0 {
            self.first = tok.lower;
            self.first_shape = tok.shape;
        }
        self.n_tokens += 1;
        self.depth = (self.depth + tok.bracket).clamp(0, 3);
        self.in_quote ^= tok.is_quote;
        self.line += tok.n_chars as usize;
    }

    /// The token just taken in ended its sentence, or did not.
    pub(super) fn decide(&mut self, tok: &Tok, is_end: bool) {
        match tok.gap.kind {
            GapKind::Newline | GapKind::Blank => {
                self.lines = [self.line, self.lines[0], self.lines[1], self.lines[2]];
                self.line = 0;
            }
            _ => self.line += tok.gap.n_chars,
        }
        if is_end {
            self.n_tokens = 0;
            self.depth = 0;
            self.in_quote = false;
            self.ended_by = tok.last.0;
            self.ended_at = tok.gap.kind as u8;
        }
    }

    /// A sentence was cut because it was too long; this many of its tokens begin the next.
    pub(super) fn restart(&mut self, n_tokens: usize) {
        self.n_tokens = n_tokens as u32;
    }

    /// Would the next word have had room on the line, as long as the lines before were?
    fn room(&self, next: &Tok) -> u64 {
        let longest = self.lines.iter().copied().max().unwrap_or(0);
        let line = (self.line / 10).min(12) as u64;
        let fits = match longest {
            0 => 0,
            _ if self.line + 1 + next.n_chars as usize <= longest => 1,
            _ if self.line > longest * 2 => 2,
            _ => 3,
        };
        fits * 16 + line
    }
}

/// The features of a token's end: may a sentence end here? `before` and `after` hold the neighbours, nearest first.
pub(super) fn sentence_features(
    history: &History,
    tok: &Tok,
    before: [&Tok; 2],
    after: [&Tok; 2],
    out: &mut Vec<u64>,
) {
    out.clear();
    let [t1, t2] = before;
    let [u0, u1] = after;
    let gap = match tok.gap.kind {
        GapKind::None => 0,
        GapKind::Space | GapKind::Spaces => 1,
        GapKind::Newline => 2,
        GapKind::Blank | GapKind::End => 3,
    };
    let length = match history.n_tokens {
        n @ 0..=4 => u64::from(n),
        5..=7 => 5,
        8..=12 => 6,
        13..=20 => 7,
        21..=35 => 8,
        _ => 9,
    };
    let inside = history.depth.min(2) as u64 * 2 + u64::from(history.in_quote);
    // How a word is written, and how it is written elsewhere.
    let look = |tok: &Tok| mix(tok.shape, u64::from(tok.case.0));
    let (last, first) = (u64::from(tok.last.0), u64::from(u0.first.0));
    let mut add = |template: u64, value: u64| out.push(mix(mix(template + 100, value), 0x5EED));

    add(1, gap);
    if gap >= 2 {
        let room = history.room(u0);
        add(2, gap << 32 | room);
        add(3, mix(gap << 32 | (room >> 4), look(u0)) ^ last);
        add(4, mix(gap << 32 | (room >> 4), tok.form));
    }
    add(5, tok.form);
    add(6, mix(tok.form, gap));
    add(7, mix(tok.form, t1.form));
    add(8, mix(tok.form, u0.lower));
    add(9, mix(tok.form, u0.form));
    add(10, u0.form);
    add(11, mix(u0.form, gap << 8 | last));
    add(12, mix(u0.form, u1.lower));
    add(13, mix(mix(tok.shape, u0.shape), gap));
    add(14, mix(mix(tok.form, u0.shape), gap));
    add(15, mix(mix(tok.form, u0.shape), t1.shape));
    add(16, mix(t1.lower, tok.shape));
    add(17, mix(mix(tok.form, look(u0)), t1.lower));
    add(18, mix(mix(tok.form, look(u0)), gap));
    add(19, mix(mix(mix(last, look(u0)), u1.shape), gap));
    add(20, mix(tok.form, length << 8 | first));
    add(21, mix(mix(tok.form, u0.shape), inside));
    add(22, mix(mix(history.first, length), last));
    add(23, mix(mix(mix(tok.form, u0.shape), u1.shape), gap));
    add(24, mix(mix(mix(t2.shape, t1.shape), tok.shape), u0.shape));
    add(25, mix(u0.suffix, look(u0)) ^ last << 8);
    add(26, mix(tok.suffix, u0.shape));
    add(27, mix(tok.lower, look(u0)));
    add(28, mix(mix(look(t1), look(tok)), mix(look(u0), look(u1))));
    add(29, mix(tok.piece, look(u0)));
    add(30, mix(mix(look(u0), length), last));
    add(31, mix(look(u0), u64::from(history.ended_by) << 16 | u64::from(history.ended_at) << 8 | last));
    add(32, mix(mix(tok.shape, u64::from(tok.n_chars.min(12))), u0.shape));
    add(33, mix(history.first_shape, length << 8 | last));
    add(34, mix(mix(u0.form, look(u1)), last));
    add(35, mix(mix(tok.lower, t1.lower), look(u0)));
}

/// Cuts pieces into tokens; what the caller decides, in training and in use alike.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    letters: Letters,
    features: Vec<u64>,
    pub beside: Beside,
}

impl Cutter {
    /// Adds the tokens of a piece, whose text is given with that of the next piece. `decide` gets the features of a
    /// place and where it is, in bytes from the start of the document.
    pub(super) fn cut(
        &mut self,
        rules: &Rules,
        piece: &Piece,
        text: &str,
        next: Option<&str>,
        mut decide: impl FnMut(&[u64], usize) -> bool,
        out: &mut Vec<Tok>,
    ) {
        if !piece.is_complex {
            let tok = Tok::new(text, piece.start, piece.gap, 0);
            self.beside.before = u64::from(tok.last.0) + 1;
            out.push(tok);
            return;
        }
        let Cutter { letters, features, beside } = self;
        letters.fill(text, piece.start);
        beside.look_ahead(next);
        let hash = letters.prefixes[letters.len()];
        let mut start = 0;
        let mut at = 1;
        let mut token = |from: usize, to: usize, gap: Gap| {
            let (from, to) = (letters.places[from], letters.places[to]);
            out.push(Tok::new(&text[from - piece.start..to - piece.start], from, gap, hash));
        };
        while at < letters.len() {
            let is_space = letters.classes[at] == Class::Space;
            let (left, right) = (letters.classes[at - 1], letters.classes[at]);
            if is_space || rules.may_cut(left, right) && !never_cut(&letters.chars, at) {
                let place = letters.places[at];
                let is_end = rules.must_cut(left, right) || {
                    token_features(letters, start, at, piece.gap.kind, beside, features);
                    decide(features, place)
                };
                if is_end {
                    let gap = match is_space {
                        true => Gap { kind: GapKind::Space, end: place + 1, n_chars: 1, ends_line: false },
                        false => Gap { end: place, ..Gap::default() },
                    };
                    token(start, at, gap);
                    start = at + usize::from(is_space);
                }
            }
            // No token begins with a space, so what follows one is no place of its own.
            at += 1 + usize::from(is_space);
        }
        token(start, letters.len(), piece.gap);
        beside.before = letters.classes.last().map_or(0, |&class| class as u64 + 1);
    }
}

/// The features of the end of token `at`, in a sentence that begins with token `first`.
pub(super) fn end_features(history: &History, tokens: &[Tok], first: usize, at: usize, out: &mut Vec<u64>) {
    let none = Tok::default();
    let back = |n: usize| if at >= first + n { &tokens[at - n] } else { &none };
    let ahead = |n: usize| tokens.get(at + n).unwrap_or(&none);
    sentence_features(history, &tokens[at], [back(1), back(2)], [ahead(1), ahead(2)], out);
}
