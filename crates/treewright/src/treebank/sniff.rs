//! Is a text clearly a treebank, or is it prose? Decided by as few bytes as possible, since the text may come slowly.

use super::Format;
use super::format::UPOS;
use super::lines::BYTE_ORDER_MARK;

/// What the first bytes of a text tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sniffed {
    /// It is clearly a treebank of this format, though perhaps one with mistakes.
    Treebank(Format),
    /// It is not.
    Prose,
    /// More bytes are needed.
    Unknown,
}

use Sniffed::{Prose, Treebank, Unknown};

/// Looks at the first bytes of a text; `is_all` if no more can be had. More bytes never change what was found but
/// [`Sniffed::Unknown`].
pub(super) fn sniff(bytes: &[u8], is_all: bool) -> Sniffed {
    if !is_all && (bytes.len() < 3 && BYTE_ORDER_MARK.starts_with(bytes)) {
        return Unknown;
    }
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes).trim_ascii_start();
    let found = match bytes.first() {
        None => Unknown,
        Some(b'<') => xml(bytes, is_all),
        Some(b'{') => json(bytes),
        Some(b'(') => brackets(bytes, is_all),
        Some(b'%') => export(bytes, is_all),
        Some(b'#') => match export(bytes, is_all) {
            Prose => columns(bytes, is_all),
            found => found,
        },
        Some(b'0'..=b'9') => columns(bytes, is_all),
        Some(_) => Prose,
    };
    if found == Unknown && is_all { Prose } else { found }
}

/// The lines that are known to be complete, without their ends.
fn lines(bytes: &[u8], is_all: bool) -> impl Iterator<Item = &[u8]> {
    let end = if is_all { Some(bytes.len()) } else { memchr::memrchr(b'\n', bytes) };
    let lines = bytes[..end.unwrap_or(0)].split(|&byte| byte == b'\n');
    lines
        .take(if end.is_some() { usize::MAX } else { 0 })
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// XML: a declaration or comment first, or one of the elements that treebanks begin with.
fn xml(bytes: &[u8], is_all: bool) -> Sniffed {
    let all = || if is_all { Format::detect(bytes).map_or(Prose, Treebank) } else { Unknown };
    let could_start = |word: &[u8]| word.starts_with(bytes) && !is_all;
    if bytes.starts_with(b"<?xml") || bytes.starts_with(b"<!--") || bytes.starts_with(b"<!DOCTYPE") {
        return all();
    }
    if could_start(b"<?xml") || could_start(b"<!--") || could_start(b"<!DOCTYPE") {
        return Unknown;
    }
    let name_end = bytes[1..].iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    let Some(name_end) = name_end else { return if bytes.len() > 20 { Prose } else { Unknown } };
    let (name, rest) = bytes[1..].split_at(name_end);
    if !matches!(rest[0], b'>' | b'/') && !rest[0].is_ascii_whitespace() {
        return Prose;
    }
    match name {
        b"alpino_ds" => Treebank(Format::Alpino),
        b"corpus" | b"subcorpus" => Treebank(Format::Tigerxml),
        b"treebank" | b"treebanks" => all(),
        // `<s id="..">`; anything else could be markup in a text.
        b"s" => {
            let attribute = rest.trim_ascii_start();
            let end = attribute.iter().position(|byte| !byte.is_ascii_alphanumeric());
            match end.map(|end| attribute[end..].trim_ascii_start()) {
                Some([b'=', ..]) => Treebank(Format::Tigerxml),
                Some([_, ..]) => Prose,
                Some([]) | None => Unknown,
            }
        }
        _ => Prose,
    }
}

/// `{"key":`, whatever follows.
fn json(bytes: &[u8]) -> Sniffed {
    let rest = bytes[1..].trim_ascii_start();
    let Some((&quote, rest)) = rest.split_first() else { return Unknown };
    if quote != b'"' {
        return Prose;
    }
    let Some(end) = rest.iter().position(|&byte| matches!(byte, b'"' | b'\n')) else { return Unknown };
    match (rest[end], rest[end + 1..].trim_ascii_start().first()) {
        (b'"', Some(b':')) => Treebank(Format::Json),
        (b'"', None) => Unknown,
        _ => Prose,
    }
}

/// A bracket that is open.
#[derive(Default)]
struct Open<'a> {
    label: Option<&'a [u8]>,
    n_words: usize,
    n_children: usize,
}

fn is_label(atom: &[u8]) -> bool {
    !atom.iter().any(u8::is_ascii_lowercase)
}

fn is_indexed(atom: &[u8]) -> bool {
    let n_digits = atom.iter().take_while(|byte| byte.is_ascii_digit()).count();
    n_digits > 0 && atom.get(n_digits) == Some(&b'=')
}

/// A first tree of at least two words that are `(TAG word)`, or whose labels all look like labels; nothing but another
/// tree may follow in its line.
fn brackets(bytes: &[u8], is_all: bool) -> Sniffed {
    let mut open: Vec<Open> = Vec::new();
    // Of the tree: words, and is any of them, or any label, unlike those of treebanks?
    let (mut n_words, mut n_pairs) = (0, 0);
    let (mut has_bare_words, mut has_odd_labels, mut is_indexed_tree) = (false, false, false);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'(' => {
                if let Some(parent) = open.last_mut() {
                    parent.n_children += 1;
                }
                open.push(Open::default());
                at += 1;
            }
            b')' => {
                let Some(Open { label, n_words: n, n_children }) = open.pop() else { return Prose };
                let label = label.unwrap_or_default();
                if n + n_children == 0 {
                    return Prose;
                }
                let is_pair = n == 1 && n_children == 0;
                n_words += n;
                n_pairs += usize::from(is_pair && is_label(label));
                has_bare_words |= n > 0 && !is_pair;
                has_odd_labels |= !is_label(label);
                at += 1;
            }
            b'\n' if open.len() == 1 && open[0].n_words > 0 && open[0].n_children == 0 => return Prose,
            byte if byte.is_ascii_whitespace() => at += 1,
            _ => {
                let Some(bracket) = open.last_mut() else { return Prose };
                let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'(' | b')');
                let Some(length) = bytes[at..].iter().position(is_end) else { break };
                let atom = &bytes[at..at + length];
                if bracket.label.is_none() && bracket.n_children == 0 {
                    bracket.label = Some(atom);
                } else if bracket.label.is_none() {
                    return Prose;
                } else {
                    bracket.n_words += 1;
                    is_indexed_tree |= is_indexed(atom);
                    let label = bracket.label.unwrap_or_default();
                    if bracket.n_words > 1 && !is_label(label) {
                        return Prose;
                    }
                }
                at += length;
            }
        }
        if open.is_empty() && at > 0 && bytes[at - 1] == b')' {
            let format = if is_indexed_tree { Format::Discbracket } else { Format::Ptb };
            let rest = bytes[at..].trim_ascii_start();
            let in_line = !bytes[at..at + (bytes.len() - at - rest.len())].contains(&b'\n');
            let is_tree = is_indexed_tree || n_words >= 2 && !(has_bare_words && has_odd_labels);
            match rest.first() {
                None if is_tree && (is_all || !in_line) => return Treebank(format),
                Some(b'(') if is_tree => return Treebank(format),
                Some(_) if is_tree && !in_line => return Treebank(format),
                // One word may be a tree; the next one will tell.
                Some(b'(') => {}
                None if !is_all => return Unknown,
                _ => return Prose,
            }
        }
    }
    // A tree that does not end: with enough words that look like a treebank's, it is one with a mistake.
    if !is_all {
        Unknown
    } else if is_indexed_tree {
        Treebank(Format::Discbracket)
    } else if n_pairs >= 2 && !has_odd_labels {
        Treebank(Format::Ptb)
    } else {
        Prose
    }
}

/// `#FORMAT 4`, `#BOS 1` or `#BOT ORIGIN`, perhaps after comments.
fn export(bytes: &[u8], is_all: bool) -> Sniffed {
    for line in lines(bytes, is_all).filter(|line| !line.trim_ascii().is_empty()) {
        if line.starts_with(b"%%") {
            continue;
        }
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let is_number = second.first().is_some_and(u8::is_ascii_digit);
        return match first {
            b"#FORMAT" | b"#BOS" if is_number => Treebank(Format::Export),
            b"#BOT" if !second.is_empty() => Treebank(Format::Export),
            _ => Prose,
        };
    }
    Unknown
}

/// Rows of columns, after comments: CoNLL-U if anything in them is peculiar to it, or all tags of the first sentence are
/// its tags.
fn columns(bytes: &[u8], is_all: bool) -> Sniffed {
    let (mut has_comment, mut has_conllu_comment, mut n_rows) = (false, false, 0);
    for line in lines(bytes, is_all) {
        if line.trim_ascii().is_empty() {
            if n_rows > 0 {
                return Treebank(Format::Conllu);
            }
        } else if line[0] == b'#' {
            has_comment = true;
            let comment = line[1..].trim_ascii_start();
            let keys: [&[u8]; 5] = [b"sent_id", b"text", b"newdoc", b"newpar", b"global.columns"];
            has_conllu_comment |= keys.iter().any(|key| comment.starts_with(key));
        } else {
            let mut columns = line.split(|&byte| byte == b'\t');
            let id = columns.next().unwrap_or_default();
            let tag = columns.nth(2);
            let n_columns = 1 + line.iter().filter(|&&byte| byte == b'\t').count();
            let starts_with_number = id.first().is_some_and(u8::is_ascii_digit);
            // Rows with a mistake are rows all the same.
            let is_row = starts_with_number && (n_columns >= 8 || has_conllu_comment);
            if !is_row && n_rows == 0 {
                return Prose;
            }
            n_rows += 1;
            if has_comment || id.iter().any(|byte| matches!(byte, b'-' | b'.')) {
                return Treebank(Format::Conllu);
            }
            if is_row && !tag.is_some_and(|tag| tag == b"_" || UPOS.contains(&tag)) {
                return Treebank(Format::Conllx);
            }
        }
    }
    if is_all && n_rows > 0 { Treebank(Format::Conllu) } else { Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "1\tSleep\t_\tVERB\t_\t_\t0\troot\t_\t_\n";

    /// However much of it is seen at first, the answer is the same.
    #[track_caller]
    fn check(text: &str, expected: Sniffed) {
        assert_eq!(sniff(text.as_bytes(), true), expected, "{text:?}");
        for end in 0..text.len() {
            let found = sniff(&text.as_bytes()[..end], false);
            assert!(found == Unknown || found == expected, "{:?}: {found:?}", &text[..end]);
        }
    }

    /// Known without waiting for more than its first line.
    #[track_caller]
    fn check_line(line: &str, expected: Sniffed) {
        check(line, expected);
        assert_eq!(sniff(line.as_bytes(), false), expected, "{line:?}");
    }

    #[test]
    fn prose_is_prose_by_its_first_line() {
        for line in [
            "Hello there.\n",
            "(Reuters) Stocks fell.\n",
            "(1) First things first.\n",
            "(Applause) (Laughter)\n",
            "(see (Smith 2000) for more) and so on\n",
            "(See also (Smith 2000).)\n",
            "((Smith 2000) was wrong.)\n",
            "(IBM said\n",
            "(a sentence (in brackets) is no tree)\n",
            "(NN dog) is how it is written\n",
            ":) hello\n",
            "{curly} brackets\n",
            "{\"quoted\" text}\n",
            "{ }\n",
            "<s >struck</s>\n",
            "<s>struck</s> out\n",
            "<b>bold</b> words\n",
            "<3 this\n",
            "< less than\n",
            "%% a comment in some language\nand more\n",
            "% cat file\n",
            "# heading\ntext\n",
            "# text of all sorts\n\nMore\n",
            "1\tTwo columns\n",
            "1. First\n",
            "2026 was a year\n",
            "\u{FEFF}(Reuters) Stocks fell.\n",
        ] {
            check_line(line, Prose);
        }
        // These might be comments before rows.
        for line in ["# heading\n", "#FORMAT is a word\n", "#BOSTON is great\n", "#BOS\n"] {
            check(line, Prose);
        }
        check("(the (broken bracket\n", Prose);
        check("(NN dog)\n", Prose);
        check("", Prose);
        check("  \n", Prose);
    }

    #[test]
    fn treebanks_are_recognised() {
        for (text, format) in [
            ("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))\n", Format::Ptb),
            ("( (S\n    (NP (DT the)\n (NN dog)) (VP (VBZ barks))))\n", Format::Ptb),
            ("(TOP (FRAG (no (x y)) (z w)))\n", Format::Ptb),
            ("(S (NP the dog) (VP barks))\n", Format::Ptb),
            ("(NN dog) (S (NN dog) (VB runs))\n", Format::Ptb),
            ("(S (VP (VB 0=is) (JJ 2=rich)) (NP 1=John))\n", Format::Discbracket),
            ("(NN 0=dog)\n", Format::Discbracket),
            ("{\"tokens\": []}\n", Format::Json),
            ("{\n  \"text\": 3\n", Format::Json),
            ("<corpus id=\"x\">\n", Format::Tigerxml),
            ("<s id=\"s1\">\n", Format::Tigerxml),
            ("<alpino_ds version=\"1.3\">\n", Format::Alpino),
            ("#FORMAT 4\n", Format::Export),
            ("#BOT ORIGIN\n", Format::Export),
            ("%% by hand\n#BOS 1 0 0\n", Format::Export),
            ("# sent_id = 1\n1\tA broken row\n", Format::Conllu),
            (&format!("# a\n{ROW}"), Format::Conllu),
            (&format!("{ROW}\n"), Format::Conllu),
            (&format!("{ROW}2\tbroken\n\n"), Format::Conllu),
            (&format!("1-2\t{}", &ROW[2..]), Format::Conllu),
            (&ROW.replace("VERB", "VVFIN"), Format::Conllx),
        ] {
            check_line(text, Treebank(format));
        }
        check("<?xml version=\"1.0\"?>\n<corpus>", Treebank(Format::Tigerxml));
        check("<treebank>\n<alpino_ds>", Treebank(Format::Alpino));
        check("<?xml version=\"1.0\"?>\n<html>", Prose);
        check("(S (NP (DT the) (NN dog)) (VP (VBZ barks))", Treebank(Format::Ptb));
        check(ROW, Treebank(Format::Conllu));
    }
}
