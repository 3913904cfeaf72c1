//! White space in MISC, in UDPipe's way of writing it, and the text back from it.

use crate::sentence::{Sentence, Str};

/// Adds white space to a MISC value: `\s \t \r \n \p \\` for what would break the column, and `\0` for NUL.
pub(super) fn escape_spaces(spaces: &str, out: &mut String) {
    for c in spaces.chars() {
        match c {
            ' ' => out.push_str("\\s"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\n' => out.push_str("\\n"),
            '|' => out.push_str("\\p"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            c => out.push(c),
        }
    }
}

fn unescape_spaces(value: &str, out: &mut String) {
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('s') => out.push(' '),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('n') => out.push('\n'),
            Some('p') => out.push('|'),
            Some('0') => out.push('\0'),
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
}

/// The value of a key in MISC.
fn value<'a>(misc: &'a str, key: &str) -> Option<&'a str> {
    misc.split('|').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
}

/// Adds the text that sentences were cut from: forms, and white space by `SpaceAfter=No`, `SpacesAfter`,
/// `SpacesBefore` and `SpacesInToken`; one space where MISC says nothing.
pub fn write_text(sentence: &Sentence, out: &mut String) {
    for (form, misc, _) in sentence.surface() {
        if misc.is_empty() || misc == "_" {
            out.push_str(form);
            out.push(' ');
            continue;
        }
        if let Some(spaces) = value(misc, "SpacesBefore") {
            unescape_spaces(spaces, out);
        }
        match value(misc, "SpacesInToken") {
            Some(text) => unescape_spaces(text, out),
            None => out.push_str(form),
        }
        match value(misc, "SpacesAfter") {
            Some(spaces) => unescape_spaces(spaces, out),
            None if value(misc, "SpaceAfter") == Some("No") => {}
            None => out.push(' '),
        }
    }
}

/// The text that sentences were cut from, byte for byte.
///
/// ```
/// use treewright::segment::text_of;
/// use treewright::{Sentence, Token};
/// let mut sentence = Sentence { tokens: vec![Token::new("Yes", ""), Token::new("!", "")], ..Sentence::default() };
/// sentence.tokens[0].misc = "SpaceAfter=No".into();
/// sentence.tokens[1].misc = "SpacesAfter=\\n\\n".into();
/// assert_eq!(text_of(&[sentence]), "Yes!\n\n");
/// ```
pub fn text_of(sentences: &[Sentence]) -> String {
    let mut text = String::new();
    sentences.iter().for_each(|sentence| write_text(sentence, &mut text));
    text
}

/// The white space around a token, and its place, as MISC holds them.
pub(super) fn misc(before: &str, after: &str, range: std::ops::Range<usize>, buffer: &mut String) -> Str {
    use std::fmt::Write;
    buffer.clear();
    match after {
        "" => buffer.push_str("SpaceAfter=No|"),
        " " => {}
        _ => {
            buffer.push_str("SpacesAfter=");
            escape_spaces(after, buffer);
            buffer.push('|');
        }
    }
    if !before.is_empty() {
        buffer.push_str("SpacesBefore=");
        escape_spaces(before, buffer);
        buffer.push('|');
    }
    write!(buffer, "TokenRange={}:{}", range.start, range.end).expect("a string takes all");
    Str::new(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expected: &str) {
        let found = misc(before, after, 3..5, &mut String::new());
        assert_eq!(found, expected);
        let mut back = String::new();
        unescape_spaces(value(&found, "SpacesAfter").unwrap_or_default(), &mut back);
        assert_eq!(back, if after == " " { "" } else { after });
    }

    #[test]
    fn spaces_in_misc() {
        check("", " ", "TokenRange=3:5");
        check("", "", "SpaceAfter=No|TokenRange=3:5");
        check("", "\r\n\t ", "SpacesAfter=\\r\\n\\t\\s|TokenRange=3:5");
        check(" ", " ", "SpacesBefore=\\s|TokenRange=3:5");
        check("", "\u{A0}|\\\0", "SpacesAfter=\u{A0}\\p\\\\\\0|TokenRange=3:5");
    }
}
