//! The place of a word of a treebank in its file. Trees do not know it; this reads the file again, line by line, for
//! the one message that needs it.

use std::io::{Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use treewright::treebank::{self, ReadOptions};

/// Hands out one line at a time and counts them, so that it is known how far a reader has come.
struct LineByLine {
    text: Cursor<Vec<u8>>,
    n_lines: Arc<AtomicUsize>,
}

impl Read for LineByLine {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let at = usize::try_from(self.text.position()).expect("it is in memory");
        let rest = &self.text.get_ref()[at..];
        let line = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |end| end + 1);
        let n = line.min(out.len());
        if n == line && n > 0 {
            self.n_lines.fetch_add(1, Ordering::Relaxed);
        }
        self.text.read(&mut out[..n])
    }
}

/// The line and column, from 1, of the last of these words, which begin the sentence with this number (from 0). The
/// options name the format. `(0, 0)` if the file does not show it.
pub fn of_word(bytes: &[u8], options: &ReadOptions, sentence: usize, words: &[&str]) -> (usize, usize) {
    let mut text = Vec::new();
    let Ok(recognised) = treebank::recognise(bytes, options) else { return (0, 0) };
    let mut source = recognised.source;
    if source.read_to_end(&mut text).is_err() {
        return (0, 0);
    }
    let shown = String::from_utf8_lossy(&text).into_owned();
    let n_lines = Arc::new(AtomicUsize::new(0));
    let source = LineByLine { text: Cursor::new(text), n_lines: Arc::clone(&n_lines) };
    let mut reader = treebank::reader(recognised.format, source, options);
    for _ in 0..sentence {
        reader.next();
    }
    let before = n_lines.load(Ordering::Relaxed);
    // A reader may have had to look at the next line to know that a sentence had ended.
    let found = [before, before.saturating_sub(1)].into_iter().find_map(|first| find(&shown, first, words));
    found.unwrap_or((before + 1, 1))
}

/// Looks for words in their order, from a line on.
fn find(text: &str, first_line: usize, words: &[&str]) -> Option<(usize, usize)> {
    let mut words = words.iter();
    let mut word = words.next()?;
    for (i, line) in text.lines().enumerate().skip(first_line) {
        // In comments the words stand, too.
        if line.starts_with("# ") || line.starts_with("%%") {
            continue;
        }
        let mut from = 0;
        while let Some(at) = line[from..].find(word).map(|at| from + at) {
            let end = at + word.len();
            let opens =
                line[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || "=\"'(>".contains(c));
            let closes = line[end..].chars().next().is_none_or(|c| c.is_whitespace() || "\"')<".contains(c));
            if !opens || !closes {
                from = at + line[at..].chars().next().map_or(1, char::len_utf8);
                continue;
            }
            from = end;
            match words.next() {
                Some(next) => word = next,
                None => return Some((i + 1, line[..at].chars().count() + 1)),
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use treewright::treebank::{Format, InputFormat};

    use super::*;

    #[track_caller]
    fn check(format: Format, text: &str, sentence: usize, words: &[&str], expected: (usize, usize)) {
        let options = ReadOptions { format: InputFormat::Given(format), ..ReadOptions::default() };
        assert_eq!(of_word(text.as_bytes(), &options, sentence, words), expected);
    }

    #[test]
    fn words_are_found_where_they_stand() {
        let brackets = "(S (NP (D the) (N cat))\n  (V sees) (D the))\n(S (N a))\n(S (N cat) (N b))\n";
        check(Format::Ptb, brackets, 0, &["the", "cat", "sees", "the"], (2, 15));
        check(Format::Ptb, brackets, 1, &["a"], (3, 7));
        check(Format::Ptb, brackets, 2, &["cat", "b"], (4, 15));
        let row = |i: usize, form: &str| format!("{i}\t{form}\t_\tX\t_\t_\t{}\tx\t_\t_\n", i - 1);
        let rows = format!("# text = a b\n{}{}\n# text = b\n{}\n", row(1, "a"), row(2, "b"), row(1, "b"));
        check(Format::Conllu, &rows, 0, &["a", "b"], (3, 3));
        check(Format::Conllu, &rows, 1, &["b"], (6, 3));
        check(Format::Discbracket, "(S (N 0=a) (N 1=b))\n(S (N 0=b))\n", 1, &["b"], (2, 9));
    }
}
