//! Drawings as SVG: one self-contained file, text as text, light or dark as the reader's screen is, unless one is chosen.

use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

use crate::draw::layout::Layout;
use crate::draw::scene::{Align, Line, Metrics, Role, Scene, Text};
use crate::draw::{Theme, is_rtl};
use crate::error::Result;

/// Wider than this, words are set below one another.
pub(super) const MAX_PIXELS: i32 = 1600;

/// The greatest radius of a corner.
const ROUNDING: i32 = 12;

/// Around the drawing.
const BORDER: i32 = 14;

pub(super) const PIXELS: Metrics = Metrics {
    unit: 0,
    text_width,
    gap: 16,
    line: 20,
    band: 28,
    margin: 2,
    level: 26,
    arrow: 4,
    anchor: 10,
    pad: 10,
    indent: 22,
    link: 10,
    step: 16,
    pitch: 24,
    edge_marks: ("", ""),
};

/// The style sheet on paper. No variables: several viewers do not know them.
const LIGHT: &str = "\
.tw{font-family:system-ui,-apple-system,'Segoe UI','Noto Sans','Noto Sans Arabic','Noto Sans Hebrew',\
'Noto Sans CJK SC','Helvetica Neue',Arial,sans-serif}\
.tw path{fill:none;stroke-linecap:round;stroke-linejoin:round}.tw .line{stroke-width:1.5}\
.tw .halo{stroke-width:6;stroke-linecap:butt}.tw .tip{stroke:none}\
.tw text{stroke-width:4;stroke-linejoin:round;paint-order:stroke;unicode-bidi:isolate}\
.tw .word{font-size:16px}.tw .label{font-size:14px;font-weight:600}.tw .edge{font-style:italic}\
.tw .tag,.tw .edge,.tw .rel,.tw .num,.tw .note{font-size:12px}\
.tw .paper{fill:#fff}.tw .halo{stroke:#fff}.tw .line{stroke:#8a94a0}\
.tw .tip{fill:#8a94a0}.tw .line.mark{stroke:#b4560a}.tw .tip.mark{fill:#b4560a}\
.tw text{fill:#1b1f24;stroke:#fff}.tw .tag{fill:#2e7d4f}.tw .label,.tw .rel{fill:#1f5fa8}\
.tw .gap{fill:#b4560a}.tw .edge,.tw .num,.tw .note{fill:#66707c}";

/// The styles that differ in dark mode.
const DARK: &str = "\
.tw .paper{fill:#16191d}.tw .halo{stroke:#16191d}.tw .line{stroke:#7b8591}\
.tw .tip{fill:#7b8591}.tw .line.mark{stroke:#f0a35c}.tw .tip.mark{fill:#f0a35c}\
.tw text{fill:#e8eaed;stroke:#16191d}.tw .tag{fill:#7fcf9f}.tw .label,.tw .rel{fill:#8ab8f0}\
.tw .gap{fill:#f0a35c}.tw .edge,.tw .num,.tw .note{fill:#9aa4b0}";

/// The style sheet, for a file of its own or once for a page.
pub(super) fn style(theme: Theme) -> String {
    match theme {
        Theme::Auto => format!("{LIGHT}@media (prefers-color-scheme:dark){{{DARK}}}"),
        Theme::Light => LIGHT.to_owned(),
        Theme::Dark => format!("{LIGHT}{DARK}"),
    }
}

/// Draws one sentence as a whole SVG file. It is drawn with the words below one another where it would be wider
/// than a large screen.
///
/// # Errors
/// When it would be too large.
pub fn svg(layout: &Layout) -> Result<String> {
    picture(layout, true)
}

/// The `svg` element; `alone` if it is a file of its own, and not in a page that has the style already.
pub(super) fn picture(layout: &Layout, alone: bool) -> Result<String> {
    let scene = Scene::of(layout, &PIXELS, MAX_PIXELS, |_| true)?;
    let (width, height) = (scene.width + 2 * BORDER, scene.height + 2 * BORDER);
    let mut out = String::new();
    let text = layout.text();
    write_svg(&mut out, layout, &scene, alone, (width, height), &text).expect("a String takes everything");
    Ok(out)
}

fn write_svg(
    out: &mut String,
    layout: &Layout,
    scene: &Scene,
    alone: bool,
    (width, height): (i32, i32),
    text: &str,
) -> std::fmt::Result {
    let namespace = if alone { " xmlns=\"http://www.w3.org/2000/svg\"" } else { "" };
    writeln!(
        out,
        "<svg{namespace} class=\"tw\" role=\"img\" viewBox=\"{} {} {width} {height}\" width=\"{width}\" height=\"{height}\">",
        -BORDER, -BORDER
    )?;
    let colon = if layout.title().is_empty() { "" } else { ": " };
    writeln!(out, "<title>{}{colon}{}</title>", Escaped(layout.title()), Escaped(text))?;
    if alone {
        writeln!(out, "<style>{}</style>", style(layout.theme))?;
        writeln!(
            out,
            "<rect class=\"paper\" x=\"{0}\" y=\"{0}\" width=\"{width}\" height=\"{height}\"/>",
            -BORDER
        )?;
    }
    for group in scene.groups() {
        for line in &group {
            writeln!(out, "<path class=\"halo\" d=\"{}\"/>", Path(line))?;
        }
        for line in group {
            let mark = if line.is_marked { " mark" } else { "" };
            writeln!(out, "<path class=\"line{mark}\" d=\"{}\"/>", Path(line))?;
            if line.has_arrow {
                let [(x, y), (x1, y1), (x2, y2)] = line.tip();
                writeln!(out, "<path class=\"tip{mark}\" d=\"M{x} {y}L{x1} {y1}L{x2} {y2}Z\"/>")?;
            }
        }
    }
    for text in &scene.texts {
        write_text(out, text)?;
    }
    writeln!(out, "</svg>")
}

fn write_text(out: &mut String, text: &Text) -> std::fmt::Result {
    let class = match text.role {
        Role::Word => "word",
        Role::Tag => "tag",
        Role::Label => "label",
        Role::GapLabel => "label gap",
        Role::Edge => "edge",
        Role::Relation => "rel",
        Role::CrossingRelation => "rel gap",
        Role::Number => "num",
        Role::Note => "note",
    };
    let is_rtl = text.content.chars().any(is_rtl);
    let direction = if is_rtl { " direction=\"rtl\"" } else { "" };
    let x = aligned_x(text);
    let anchor = match (text.align, is_rtl) {
        (Align::Centre, _) => " text-anchor=\"middle\"",
        // The text starts at its own starting side.
        (Align::Left, false) | (Align::Right, true) => "",
        (Align::Left, true) | (Align::Right, false) => " text-anchor=\"end\"",
    };
    let y = text.y + 15;
    writeln!(
        out,
        "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}{direction}>{}</text>",
        Escaped(&text.content)
    )
}

/// The point of its box at which a text is held.
pub(super) fn aligned_x(text: &Text) -> f64 {
    match text.align {
        Align::Left => f64::from(text.x),
        Align::Centre => f64::from(text.x) + f64::from(text.width) / 2.0,
        Align::Right => f64::from(text.x + text.width),
    }
}

/// The way of a line, bent as its shape allows.
struct Path<'a>(&'a Line);

impl std::fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let points = &self.0.points;
        let (x0, y0) = points[0];
        write!(f, "M{x0} {y0}")?;
        for (i, corner) in points.windows(3).enumerate() {
            let ((xa, ya), (x, y), (xb, yb)) = (corner[0], corner[1], corner[2]);
            let radius = corner_radius(points, i + 1);
            let (before_x, before_y) = (x + (xa - x).signum() * radius, y + (ya - y).signum() * radius);
            let (after_x, after_y) = (x + (xb - x).signum() * radius, y + (yb - y).signum() * radius);
            write!(f, "L{before_x} {before_y}Q{x} {y} {after_x} {after_y}")?;
        }
        let (x, y) = points[points.len() - 1];
        write!(f, "L{x} {y}")
    }
}

/// How round the corner at `points[i]` is: two corners share the stretch between them, an end is all of one corner.
pub(super) fn corner_radius(points: &[(i32, i32)], i: usize) -> i32 {
    let length = |a: usize, b: usize| (points[a].0 - points[b].0).abs() + (points[a].1 - points[b].1).abs();
    let before = length(i - 1, i) / if i == 1 { 1 } else { 2 };
    let after = length(i, i + 1) / if i + 2 == points.len() { 1 } else { 2 };
    before.min(after).min(ROUNDING)
}

/// Text in XML.
pub(crate) struct Escaped<'a>(pub &'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// An estimate, on the generous side, from the class of each character: no font is at hand.
fn text_width(text: &str, role: Role) -> i32 {
    let size = match role {
        Role::Word => 16.0,
        // Semi-bold runs wider.
        Role::Label | Role::GapLabel => 14.8,
        _ => 12.0,
    };
    let ems: f64 = text.chars().map(char_width).sum();
    (ems * size).ceil() as i32 + 1
}

/// In ems.
fn char_width(c: char) -> f64 {
    match (c.width(), c) {
        (None | Some(0), _) => 0.0,
        (Some(2..), _) => 1.0,
        (_, 'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '`' | 'ι' | 'ا') => 0.32,
        (_, 'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '{' | '}' | ' ' | '/' | '\\' | '-' | '"') => 0.41,
        (_, 'm' | 'w' | 'M' | 'W' | '@' | '%' | 'ω' | 'س' | 'ش' | 'ص' | 'ض') => 0.92,
        (_, c) if c.is_uppercase() => 0.70,
        _ => 0.58,
    }
}
