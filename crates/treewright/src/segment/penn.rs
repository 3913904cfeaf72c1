//! The conventions of Penn treebanks: escaped brackets, two kinds of quotes, and where spaces were lost.

use crate::sentence::{Sentence, Str};

/// How escaped tokens are written in text.
const ESCAPES: [(&str, &str); 8] = [
    ("-LRB-", "("),
    ("-RRB-", ")"),
    ("-LSB-", "["),
    ("-RSB-", "]"),
    ("-LCB-", "{"),
    ("-RCB-", "}"),
    ("``", "\""),
    ("''", "\""),
];

/// A word of a Penn treebank as it stands in text: `-LRB-` is `(`, and both kinds of double quotes are `"`.
pub fn unescape(form: &str) -> Str {
    if let Some(&(_, text)) = ESCAPES.iter().find(|(escaped, _)| *escaped == form) {
        return Str::const_new(text);
    }
    if form.contains('\\') && form.len() > 1 {
        return Str::new(form.replace("\\/", "/").replace("\\*", "*"));
    }
    if form.contains("-LRB-") || form.contains("-RRB-") {
        return Str::new(form.replace("-LRB-", "(").replace("-RRB-", ")"));
    }
    Str::new(form)
}

/// Writes the words of a sentence as a Penn treebank has them: brackets escaped, and straight double quotes as
/// ` `` ` or `''`, opening where one is open and where a space or nothing stands before. The text can no longer be
/// rebuilt from the forms, so this is for a copy that a parser reads.
pub fn escape(sentence: &mut Sentence) {
    let mut is_open = false;
    for token in &mut sentence.tokens {
        if matches!(&*token.form, "\"" | "“" | "”") {
            let opens = token.form == "“" || (token.form == "\"" && !is_open);
            token.form = Str::const_new(if opens { "``" } else { "''" });
            is_open = opens;
        } else if let Some(&(escaped, _)) = ESCAPES[..6].iter().find(|(_, text)| *text == token.form) {
            token.form = Str::const_new(escaped);
        }
    }
}

/// Is a space expected between two tokens? `quote_is_open` tells of the left one, if it is a double quote.
fn is_spaced(left: (&str, &str), right: (&str, &str), quote_is_open: bool, right_closes: bool) -> bool {
    let joins_right = |form: &str, tag: &str| {
        matches!(
            form,
            "(" | "[" | "{" | "$" | "#" | "£" | "€" | "“" | "«" | "„" | "‘" | "`" | "¿" | "¡" | "/"
        ) || tag == "HYPH"
    };
    let joins_left = |form: &str, tag: &str| {
        matches!(
            form,
            "." | "," | ";" | ":" | "!" | "?" | ")" | "]" | "}" | "%" | "..." | "…" | "”" | "»" | "’" | "/"
        ) || matches!(form, "،" | "؛" | "؟" | "·" | "。" | "，" | "、" | "！" | "？" | "\u{387}")
            || form.eq_ignore_ascii_case("n't")
            || matches!(&*form.to_ascii_lowercase(), "'" | "'s" | "'m" | "'d" | "'re" | "'ve" | "'ll")
            || tag == "HYPH"
    };
    let after_quote = left.0 == "\"" && quote_is_open;
    !(after_quote || right_closes || joins_right(left.0, left.1) || joins_left(right.0, right.1))
}

/// The text of a sentence whose spaces are not known, and where each token ends in it.
pub(super) fn detokenize<'a>(tokens: impl Iterator<Item = (&'a str, &'a str)>) -> (String, Vec<usize>) {
    let mut text = String::new();
    let mut ends = Vec::new();
    let mut is_open = false;
    let mut left: Option<(Str, Str)> = None;
    for (form, tag) in tokens {
        let plain = unescape(form);
        let is_quote = plain == "\"";
        // Penn's quotes tell which they are; the straight ones take turns.
        let closes = is_quote && (form == "''" || (form == "\"" && is_open));
        if let Some((left, left_tag)) = &left
            && is_spaced((left, left_tag), (&plain, tag), is_open, closes)
        {
            text.push(' ');
        }
        text.push_str(&plain);
        ends.push(text.len());
        if is_quote {
            is_open = !closes;
        }
        left = Some((plain, Str::new(tag)));
    }
    (text, ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tokens: &str, expected: &str) {
        let (text, ends) = detokenize(tokens.split(' ').map(|form| (form, "")));
        assert_eq!(text, expected);
        assert_eq!(ends.len(), tokens.split(' ').count());
        assert_eq!(ends.last(), Some(&text.len()));
    }

    #[test]
    fn text_from_penn_tokens() {
        check("`` I do n't , '' he said .", "\"I don't,\" he said.");
        check("John 's -LRB- old -RRB- car", "John's (old) car");
        check("about $ 5 million , or 3 % ...", "about $5 million, or 3%...");
        check("\" yes \" and \" no \"", "\"yes\" and \"no\"");
        check("1\\/2 of -- it", "1/2 of -- it");
        check("either / or", "either/or");
    }

    #[test]
    fn a_hyphen_by_tag_joins_both_sides() {
        let tokens = [("Eye", "NN"), ("-", "HYPH"), ("Tracking", "NN"), ("-", ":"), ("x", "X")];
        assert_eq!(detokenize(tokens.into_iter()).0, "Eye-Tracking - x");
    }

    #[test]
    fn escaping_is_undone_by_unescaping() {
        let words = "\" ( yes ) \" [ { x } ]";
        let mut sentence = Sentence::from_tagged(words.split(' ').map(|form| (form, "")));
        escape(&mut sentence);
        let forms: Vec<_> = sentence.tokens.iter().map(|token| &*token.form).collect();
        assert_eq!(forms.join(" "), "`` -LRB- yes -RRB- '' -LSB- -LCB- x -RCB- -RSB-");
        let again: Vec<_> = forms.iter().map(|form| unescape(form)).collect();
        assert_eq!(again.join(" "), words);
    }
}
