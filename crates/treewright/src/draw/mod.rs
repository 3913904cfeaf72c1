//! Drawings of trees: for the terminal, as SVG, as an HTML page and as LaTeX.
//!
//! One engine serves all four. `Layout` decides what stands where in abstract terms: which row a constituent gets,
//! how high an arc runs. `scene` gives those decisions coordinates, in a back end's own units and text widths, as
//! texts and lines. The back ends only turn texts and lines into characters, paths or TikZ commands.

mod html;
mod layout;
mod scene;
mod svg;
mod terminal;
mod tex;

#[cfg(test)]
mod tests;

pub use html::{html_head, html_section, html_tail};
pub use layout::Layout;
pub(crate) use svg::Escaped;
pub use svg::svg;
pub use terminal::{TerminalOptions, terminal};
pub use tex::{tex_head, tex_picture, tex_tail};

use crate::error::{Code, Error};

/// The most words and constituents one drawing may hold. Beyond this no picture helps anyone.
pub const MAX_PARTS: usize = 10_000;

/// The most character cells one terminal drawing may fill.
pub const MAX_CELLS: usize = 4_000_000;

/// Where the first word stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// At the right if most letters of the sentence are of a right-to-left script.
    #[default]
    Auto,
    /// At the left.
    LeftToRight,
    /// At the right.
    RightToLeft,
}

/// Which way the words run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Orientation {
    /// Across if that is not too wide, else down.
    #[default]
    Auto,
    /// Side by side, the tree above them.
    Across,
    /// One below the other, the tree beside them: for long sentences.
    Down,
}

/// The colours of SVG and HTML.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Light or dark, as the reader's screen is.
    #[default]
    Auto,
    /// Dark on white, also on a dark screen.
    Light,
    /// Light on black, also on a light screen.
    Dark,
}

/// What to draw, whatever the back end.
#[derive(Clone, Debug)]
pub struct Options {
    /// Show the part-of-speech tags.
    pub tags: bool,
    /// Where the first word stands.
    pub direction: Direction,
    /// Which way the words run.
    pub orientation: Orientation,
    /// The colours of an SVG file.
    pub theme: Theme,
}

impl Default for Options {
    fn default() -> Self {
        Options { tags: true, direction: Direction::Auto, orientation: Orientation::Auto, theme: Theme::Auto }
    }
}

fn too_large(message: impl Into<String>) -> Error {
    Error::new(Code::TooLargeToDraw, message)
}

/// The text as it can be shown: control characters become visible, so that a treebank can neither move the cursor
/// nor turn the line around.
fn visible(text: &str) -> String {
    if text.is_empty() {
        return "_".to_owned();
    }
    let show = |c: char| match c {
        '\0'..='\x1f' => {
            char::from_u32(0x2400 + c as u32).expect("control pictures follow the control codes")
        }
        '\x7f' => '\u{2421}',
        '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        _ => c,
    };
    text.chars().map(show).collect()
}

/// Is this a character of a script that runs from right to left?
fn is_rtl(c: char) -> bool {
    matches!(c,
        '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}
