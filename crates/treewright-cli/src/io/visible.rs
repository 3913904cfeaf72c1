//! Control characters made visible, so that a treebank can neither move the cursor nor talk to the terminal.

use std::io::{self, Write};

/// The text with control characters replaced by pictures of them; line ends and tabs stay.
pub fn visible(text: &str) -> String {
    let show = |c: char| match c {
        '\n' | '\t' => c,
        '\0'..='\x1f' => {
            char::from_u32(0x2400 + c as u32).expect("control pictures follow the control codes")
        }
        '\x7f' => '\u{2421}',
        '\u{80}'..='\u{9f}' => char::REPLACEMENT_CHARACTER,
        _ => c,
    };
    text.chars().map(show).collect()
}

/// A sink that does the same to UTF-8 on its way.
pub(super) struct Visible<W> {
    sink: W,
    /// The first byte of a character whose second decides whether it is a control character.
    has_c2: bool,
}

impl<W: Write> Visible<W> {
    pub(super) fn new(sink: W) -> Self {
        Visible { sink, has_c2: false }
    }
}

impl<W: Write> Write for Visible<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut out = Vec::with_capacity(bytes.len() + 3);
        for &byte in bytes {
            match (std::mem::take(&mut self.has_c2), byte) {
                (true, 0x80..=0x9f) => out.extend("\u{fffd}".bytes()),
                (true, _) => out.extend([0xc2, byte]),
                (false, 0xc2) => self.has_c2 = true,
                (false, b'\n' | b'\t') => out.push(byte),
                (false, 0..=0x1f) => out.extend([0xe2, 0x90, 0x80 + byte]),
                (false, 0x7f) => out.extend("\u{2421}".bytes()),
                (false, _) => out.push(byte),
            }
        }
        self.sink.write_all(&out)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_however_the_bytes_come() {
        let text = "a\x1b[31m\u{9b}2J\r\u{7f}\u{a0}é\tb\0\n";
        let expected = "a␛[31m\u{fffd}2J␍␡\u{a0}é\tb␀\n";
        assert_eq!(visible(text), expected);
        for size in [1, 2, 3, 100] {
            let mut out = Vec::new();
            let mut sink = Visible::new(&mut out);
            text.as_bytes().chunks(size).for_each(|bytes| sink.write_all(bytes).expect("memory"));
            assert_eq!(String::from_utf8(out).expect("UTF-8"), expected, "{size}");
        }
    }
}
