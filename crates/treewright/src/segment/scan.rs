//! Cuts text into pieces: what stands between white space, and the white space after it.
//!
//! The scanner takes the text in portions and gives the same pieces however it is portioned.

use serde::{Deserialize, Serialize};

use super::chars::{Class, N_CLASSES, class, is_space};

/// The longest piece, in characters; what is longer is cut, so that text without spaces needs no more memory.
pub(super) const MAX_PIECE: u32 = 4096;

/// What stands after a piece or a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum GapKind {
    /// Nothing: the next token follows at once.
    #[default]
    None,
    /// One space.
    Space,
    /// White space without a line end.
    Spaces,
    /// One line end.
    Newline,
    /// An empty line, or several.
    Blank,
    /// The end of the text, perhaps after white space.
    End,
}

/// The white space after a piece or a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Gap {
    pub kind: GapKind,
    /// Where it ends, in bytes from the start of the document.
    pub end: usize,
    pub n_chars: usize,
    /// Does it end with the line, whatever white space may follow? See [`Scanner::by_lines`].
    pub ends_line: bool,
}

/// A run of text without white space, or with single spaces where tokens may hold them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Piece {
    /// In bytes from the start of the document.
    pub start: usize,
    pub end: usize,
    pub n_chars: u32,
    /// Is there a place inside where a token might end?
    pub is_complex: bool,
    pub gap: Gap,
}

/// Between which classes of characters tokens may end, and where a token may go on after a space. A row holds a
/// bit for each class on the right.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rules {
    pub cuts: [u32; N_CLASSES],
    /// Where a token ends without asking, since the treebank has nothing to learn from.
    pub always: [u32; N_CLASSES],
    pub joins: [u32; N_CLASSES],
}

impl Rules {
    #[inline]
    pub(super) fn may_cut(&self, left: Class, right: Class) -> bool {
        self.cuts[left as usize] >> right as u32 & 1 == 1
    }

    pub(super) fn must_cut(&self, left: Class, right: Class) -> bool {
        self.always[left as usize] >> right as u32 & 1 == 1
    }

    #[inline]
    fn may_join(&self, left: Class, right: Class) -> bool {
        self.joins[left as usize] >> right as u32 & 1 == 1
    }
}

/// White space being read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spaces {
    pub n_chars: usize,
    n_newlines: u32,
    after_return: bool,
    is_plain: bool,
}

impl Spaces {
    pub(super) fn push(&mut self, c: char) {
        self.is_plain = self.n_chars == 0 && c == ' ';
        self.n_chars += 1;
        let is_line_end = match c {
            '\n' => !self.after_return,
            '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' => true,
            '\u{2029}' => {
                self.n_newlines = self.n_newlines.saturating_add(1);
                true
            }
            _ => false,
        };
        self.n_newlines = self.n_newlines.saturating_add(u32::from(is_line_end));
        self.after_return = c == '\r';
    }

    pub(super) fn kind(&self) -> GapKind {
        match self.n_newlines {
            0 if self.is_plain => GapKind::Space,
            0 => GapKind::Spaces,
            1 => GapKind::Newline,
            _ => GapKind::Blank,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Before the first piece.
    #[default]
    Before,
    InPiece,
    InGap,
}

/// Is it a character that ends a line?
pub(super) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Reads pieces from text that comes in portions.
#[derive(Clone, Debug, Default)]
pub(super) struct Scanner {
    /// The place of the next character to look at.
    at: usize,
    state: State,
    piece: Piece,
    last: Option<Class>,
    spaces: Spaces,
    /// Does a line feed complete the piece before it?
    by_lines: bool,
}

impl Scanner {
    /// A scanner for text whose lines are known to end sentences: a piece is complete at the first line feed after it,
    /// and further white space stands before the next piece.
    pub(super) fn by_lines() -> Self {
        Scanner { by_lines: true, ..Scanner::default() }
    }

    /// The same for text that begins at a later place of the document.
    pub(super) fn starting_at(self, at: usize) -> Self {
        Scanner { at, ..self }
    }

    /// Reads on in `text`, which begins at `base`, to its end, and adds the pieces that are complete.
    pub(super) fn scan(&mut self, text: &str, base: usize, rules: &Rules, out: &mut Vec<Piece>) {
        let bytes = text.as_bytes();
        let mut at = self.at - base;
        while let Some(&byte) = bytes.get(at) {
            let c = if byte < 128 {
                char::from(byte)
            } else {
                text[at..].chars().next().expect("the scanner stands at a character")
            };
            if is_space(c) {
                if self.state == State::InPiece {
                    self.piece.end = base + at;
                    self.state = State::InGap;
                    self.spaces = Spaces::default();
                }
                self.spaces.push(c);
                if c == '\n' && self.by_lines && self.state == State::InGap {
                    let (kind, end) = (self.spaces.kind(), base + at + 1);
                    self.piece.gap = Gap { kind, end, n_chars: self.spaces.n_chars, ends_line: true };
                    self.start(end, out);
                    self.state = State::Before;
                }
            } else {
                self.add(c, base + at, rules, out);
            }
            at += c.len_utf8();
        }
        self.at = base + at;
    }

    /// Adds a character of a piece.
    #[inline]
    fn add(&mut self, c: char, at: usize, rules: &Rules, out: &mut Vec<Piece>) {
        let right = class(c);
        match self.state {
            State::InPiece if self.piece.n_chars < MAX_PIECE => {}
            State::InGap
                if self.spaces.kind() == GapKind::Space
                    && self.piece.n_chars < MAX_PIECE
                    && self.last.is_some_and(|left| rules.may_join(left, right)) =>
            {
                self.piece.n_chars += 1;
                self.piece.is_complex = true;
            }
            State::InPiece => {
                self.piece.end = at;
                self.piece.gap = Gap { end: at, ..Gap::default() };
                self.start(at, out);
            }
            State::InGap => {
                let Spaces { n_chars, .. } = self.spaces;
                self.piece.gap = Gap { kind: self.spaces.kind(), end: at, n_chars, ends_line: false };
                self.start(at, out);
            }
            State::Before => self.piece.start = at,
        }
        if let Some(left) = self.last
            && self.piece.n_chars > 0
        {
            self.piece.is_complex |= rules.may_cut(left, right);
        }
        self.state = State::InPiece;
        self.piece.n_chars += 1;
        self.last = Some(right);
    }

    fn start(&mut self, at: usize, out: &mut Vec<Piece>) {
        out.push(self.piece);
        self.piece = Piece { start: at, ..Piece::default() };
    }

    /// The text is over: adds the last piece.
    pub(super) fn finish(&mut self, out: &mut Vec<Piece>) {
        let n_chars = match self.state {
            State::Before => return,
            State::InPiece => {
                self.piece.end = self.at;
                0
            }
            State::InGap => self.spaces.n_chars,
        };
        self.piece.gap = Gap { kind: GapKind::End, end: self.at, n_chars, ends_line: true };
        out.push(self.piece);
        self.state = State::Before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of a text, each with what is after it.
    fn pieces(text: &str, rules: &Rules) -> Vec<(String, GapKind, usize)> {
        let (mut scanner, mut out) = (Scanner::default(), Vec::new());
        scanner.scan(text, 0, rules, &mut out);
        scanner.finish(&mut out);
        out.iter()
            .map(|piece| (text[piece.start..piece.end].to_owned(), piece.gap.kind, piece.gap.n_chars))
            .collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&str, GapKind, usize)]) {
        let expected: Vec<_> = expected.iter().map(|&(word, kind, n)| (word.to_owned(), kind, n)).collect();
        assert_eq!(pieces(text, &Rules::default()), expected);
    }

    #[test]
    fn white_space_of_every_kind() {
        check("", &[]);
        check(" \n", &[]);
        check(" a b", &[("a", GapKind::Space, 1), ("b", GapKind::End, 0)]);
        check("a  b\tc ", &[("a", GapKind::Spaces, 2), ("b", GapKind::Spaces, 1), ("c", GapKind::End, 1)]);
        check("a\r\nb", &[("a", GapKind::Newline, 2), ("b", GapKind::End, 0)]);
        check("a\r\n\r\nb", &[("a", GapKind::Blank, 4), ("b", GapKind::End, 0)]);
        check("a \n \n b", &[("a", GapKind::Blank, 5), ("b", GapKind::End, 0)]);
        check("a\u{A0}b", &[("a", GapKind::Spaces, 1), ("b", GapKind::End, 0)]);
        check(
            "a\rb\u{2029}c",
            &[("a", GapKind::Newline, 1), ("b", GapKind::Blank, 1), ("c", GapKind::End, 0)],
        );
    }

    #[test]
    fn a_space_between_digits_may_be_inside() {
        let mut rules = Rules::default();
        rules.joins[Class::Digit as usize] |= 1 << Class::Digit as u32;
        let words = |text| pieces(text, &rules).into_iter().map(|(word, ..)| word).collect::<Vec<_>>();
        assert_eq!(words("34 470 km"), ["34 470", "km"]);
        assert_eq!(words("34  470"), ["34", "470"]);
        assert_eq!(words("34\n470"), ["34", "470"]);
    }

    #[test]
    fn what_is_too_long_is_cut() {
        let text = "é".repeat(MAX_PIECE as usize * 2 + 1) + " b";
        let found = pieces(&text, &Rules::default());
        let lengths: Vec<_> = found.iter().map(|(word, kind, _)| (word.chars().count(), *kind)).collect();
        let whole = (MAX_PIECE as usize, GapKind::None);
        assert_eq!(lengths, [whole, whole, (1, GapKind::Space), (1, GapKind::End)]);
        let exact = "x".repeat(MAX_PIECE as usize) + " b";
        assert_eq!(pieces(&exact, &Rules::default())[0].1, GapKind::Space);
    }
}
