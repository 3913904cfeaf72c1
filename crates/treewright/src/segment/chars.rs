//! Kinds of characters, as far as they matter for where words and sentences end.

/// The number of classes.
pub(super) const N_CLASSES: usize = 24;

/// The kind of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(super) enum Class {
    Lower,
    Upper,
    /// Letters without case: Arabic, Hebrew, Thai and many others.
    Letter,
    Digit,
    Han,
    Hiragana,
    Katakana,
    Hangul,
    /// Combining marks, joiners and variation selectors: never the start of a token.
    Mark,
    Stop,
    Comma,
    Colon,
    Semicolon,
    /// Question and exclamation marks, and the full stops of other scripts.
    Final,
    Apostrophe,
    Quote,
    Open,
    Close,
    Hyphen,
    Slash,
    Currency,
    Symbol,
    Other,
    /// A space inside a token.
    Space,
}

impl Class {
    /// Is it a letter, a digit or a mark on one?
    pub(super) fn is_word(self) -> bool {
        self <= Class::Mark
    }

    /// Is it a sign that stands beside words, not in them?
    pub(super) fn is_sign(self) -> bool {
        use Class::{Close, Comma, Final, Open, Quote, Semicolon};
        matches!(self, Comma | Semicolon | Final | Quote | Open | Close)
    }

    /// Is it a letter of a script with or without case, but with spaces between words (as a rule)?
    pub(super) fn is_letter(self) -> bool {
        self <= Class::Letter || self == Class::Hangul
    }
}

/// The classes of ASCII characters.
const ASCII: [Class; 128] = {
    let mut table = [Class::Other; 128];
    let mut i = 0;
    while i < 128 {
        table[i] = match i as u8 {
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            b'.' => Class::Stop,
            b',' => Class::Comma,
            b':' => Class::Colon,
            b';' => Class::Semicolon,
            b'?' | b'!' => Class::Final,
            b'\'' => Class::Apostrophe,
            b'"' | b'`' => Class::Quote,
            b'(' | b'[' | b'{' | b'<' => Class::Open,
            b')' | b']' | b'}' | b'>' => Class::Close,
            b'-' => Class::Hyphen,
            b'/' | b'\\' => Class::Slash,
            b'$' => Class::Currency,
            b' ' => Class::Space,
            b'#' | b'%' | b'&' | b'*' | b'+' | b'=' | b'@' | b'^' | b'_' | b'|' | b'~' => Class::Symbol,
            _ => Class::Other,
        };
        i += 1;
    }
    table
};

/// The class of a character.
#[inline]
pub(super) fn class(c: char) -> Class {
    if c.is_ascii() { ASCII[c as usize] } else { class_beyond_ascii(c) }
}

/// First and last code points of the runs of characters that belong to the one before them, ascending.
#[rustfmt::skip]
const MARKS: &[(u32, u32)] = &[
    (0x300, 0x36F), (0x483, 0x489), (0x591, 0x5BD), (0x610, 0x61A), (0x64B, 0x65F), (0x670, 0x670),
    (0x6D6, 0x6DC), (0x900, 0x903), (0x93A, 0x94F), (0xE31, 0xE31), (0xE34, 0xE3A), (0xE47, 0xE4E),
    (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x200B, 0x200F), (0x2060, 0x2060), (0x20D0, 0x20FF), (0xFE00, 0xFE0F),
    (0xFE20, 0xFE2F), (0x1F3FB, 0x1F3FF), (0xE0020, 0xE007F), (0xE0100, 0xE01EF),
];

fn is_mark(c: char) -> bool {
    let after = MARKS.partition_point(|&(first, _)| first <= c as u32);
    after > 0 && c as u32 <= MARKS[after - 1].1
}

fn class_beyond_ascii(c: char) -> Class {
    match c {
        c if is_mark(c) => Class::Mark,
        '…' => Class::Stop,
        '،' | '、' | '，' => Class::Comma,
        '：' => Class::Colon,
        '؛' | '；' | '·' => Class::Semicolon,
        '؟' | '。' | '！' | '？' | '।' | '॥' | '‽' | '։' | '።' | '\u{37E}' => Class::Final,
        '’' | '‘' | '‚' | '´' | '‛' => Class::Apostrophe,
        '“' | '”' | '„' | '«' | '»' | '‹' | '›' | '″' | '‟' => Class::Quote,
        '（' | '「' | '『' | '【' | '《' | '〈' | '¿' | '¡' => Class::Open,
        '）' | '」' | '』' | '】' | '》' | '〉' => Class::Close,
        '‐'..='―' | '−' | '－' => Class::Hyphen,
        '€' | '£' | '¥' | '¢' | '\u{20A0}'..='\u{20BF}' => Class::Currency,
        '\u{3040}'..='\u{309F}' => Class::Hiragana,
        '\u{30A0}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' => Class::Katakana,
        '\u{3005}'
        | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3134F}' => Class::Han,
        '\u{1100}'..='\u{11FF}' | '\u{AC00}'..='\u{D7AF}' => Class::Hangul,
        c if c.is_lowercase() => Class::Lower,
        c if c.is_uppercase() => Class::Upper,
        c if c.is_alphabetic() => Class::Letter,
        c if c.is_numeric() => Class::Digit,
        '\u{2000}'..='\u{2BFF}' | '\u{1F000}'..='\u{1FAFF}' | '§' | '°' | '©' | '®' | '±' | '×' | '÷' => {
            Class::Symbol
        }
        _ => Class::Other,
    }
}

/// Does this character stand between tokens rather than in one?
///
/// Besides what Unicode calls white space: the byte order mark, and the control characters that other programs
/// take for ends of lines or of strings, since CoNLL-U holds one token a line.
#[inline]
pub(super) fn is_space(c: char) -> bool {
    if c.is_ascii() {
        matches!(c, ' ' | '\t' | '\n' | '\r' | '\0' | '\u{B}' | '\u{C}' | '\u{1C}'..='\u{1F}')
    } else {
        c.is_whitespace() || c == '\u{FEFF}'
    }
}

/// Is this place, before character `at`, inside a token whatever the treebank shows? That is, inside an emoji, a hashtag
/// or the name of a user, or a name like O'Neil. Treebanks have too few of these to learn them from.
///
/// Only `O` counts as the start of a name: before other letters an apostrophe may end a word, as in French `l'Italie`.
pub(super) fn never_cut(chars: &[char], at: usize) -> bool {
    const JOINER: char = '\u{200D}';
    let is_apostrophe = |c: char| class(c) == Class::Apostrophe;
    // `at` is the place after the O of O'Neil.
    let is_in_name = |at: usize| {
        matches!(chars[at..], [apostrophe, capital, ..] if is_apostrophe(apostrophe) && class(capital) == Class::Upper)
            && chars[at - 1] == 'O'
            && !(at >= 2 && class(chars[at - 2]).is_word())
    };
    match (chars[at - 1], chars[at]) {
        ('#' | '@', right) => {
            class(right).is_letter() || matches!(class(right), Class::Han | Class::Hiragana | Class::Katakana)
        }
        ('O', right) if is_apostrophe(right) => is_in_name(at),
        (left, _) if is_apostrophe(left) => at >= 2 && is_in_name(at - 1),
        (JOINER, right) => {
            let joined = chars[..at - 1].iter().rev().find(|&&c| class(c) != Class::Mark);
            class(right) == Class::Symbol && joined.is_some_and(|&c| class(c) == Class::Symbol)
        }
        (left, right) if is_regional(left) && is_regional(right) => {
            // Two of them are a flag.
            chars[..at].iter().rev().take_while(|&&c| is_regional(c)).count() % 2 == 1
        }
        _ => false,
    }
}

/// Is it one of the letters that flags are written with?
fn is_regional(c: char) -> bool {
    matches!(c, '\u{1F1E6}'..='\u{1F1FF}')
}

/// One character in lower case; of those that become several, the first.
#[inline]
pub(super) fn lower(c: char) -> char {
    if c.is_ascii() { c.to_ascii_lowercase() } else { c.to_lowercase().next().unwrap_or(c) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(characters: &str, expected: Class) {
        for c in characters.chars() {
            assert_eq!(class(c), expected, "{c:?}");
        }
    }

    #[test]
    fn classes_of_many_scripts() {
        check("azéß", Class::Lower);
        check("AZÉ", Class::Upper);
        check("عบ", Class::Letter);
        check("07٣", Class::Digit);
        check("漢字", Class::Han);
        check("。؟!", Class::Final);
        check("\u{301}\u{200D}\u{FE0F}", Class::Mark);
        check("😀→", Class::Symbol);
        check("—–-", Class::Hyphen);
    }

    /// The text with a bar at each place that may not be cut.
    fn with_bars(text: &str) -> String {
        let chars: Vec<char> = text.chars().collect();
        let mut out = String::new();
        for (at, &c) in chars.iter().enumerate() {
            if at > 0 && never_cut(&chars, at) {
                out.push('|');
            }
            out.push(c);
        }
        out
    }

    #[test]
    fn places_inside_tokens() {
        assert_eq!(with_bars("(#fail,@user)#1 me@x #東京"), "(#|fail,@|user)#1 me@|x #|東京");
        assert_eq!(with_bars("O'Neil's (O’Brien's)"), "O|'|Neil's (O|’|Brien's)");
        assert_eq!(
            with_bars("John's DON'T GO'X O'clock l'Italie 'Oh' O'"),
            "John's DON'T GO'X O'clock l'Italie 'Oh' O'"
        );
        assert_eq!(with_bars("👨\u{200D}👩\u{200D}👧!"), "👨\u{200D}|👩\u{200D}|👧!");
        assert_eq!(
            with_bars("❤\u{FE0F}\u{200D}🔥a\u{200D}b\u{200D}🔥"),
            "❤\u{FE0F}\u{200D}|🔥a\u{200D}b\u{200D}🔥"
        );
        assert_eq!(with_bars("🇩🇪🇫🇷"), "🇩|🇪🇫|🇷");
        check("\u{1F3FD}\u{20E3}\u{E0067}\u{E007F}", Class::Mark);
    }

    #[test]
    fn a_token_never_holds_a_line_end() {
        for c in "\t\n\r\u{B}\u{C}\u{85}\u{2028}\u{2029}\0\u{1C}\u{A0}\u{FEFF}".chars() {
            assert!(is_space(c), "{c:?}");
        }
        assert!(!is_space('\u{200B}') && !is_space('\u{7F}'));
    }
}
