//! Drawings as SVG: one self-contained file, text as text, light or dark as the reader's screen is.

use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

use crate::draw::is_rtl;
use crate::draw::layout::Layout;
use crate::draw::scene::{Line, Metrics, Role, Scene, Shape, Text};
use crate::error::Result;

/// Wider than this, words are set below one another.
pub(super) const MAX_PIXELS: i32 = 1600;

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
    step: 16,
    pitch: 24,
    edge_marks: ("", ""),
};

/// The style sheet, for a file of its own or once for a page.
pub(super) const STYLE: &str = "\
.tw{--ink:#1b1f24;--line:#8a94a0;--paper:#fff;--tag:#2e7d4f;--label:#1f5fa8;--mark:#b4560a;--soft:#66707c;\
font-family:system-ui,-apple-system,'Segoe UI','Noto Sans','Noto Sans Arabic','Noto Sans Hebrew',\
'Noto Sans CJK SC','Helvetica Neue',Arial,sans-serif}\
@media (prefers-color-scheme:dark){.tw{--ink:#e8eaed;--line:#7b8591;--paper:#16191d;--tag:#7fcf9f;--label:#8ab8f0;\
--mark:#f0a35c;--soft:#9aa4b0}}\
.tw .paper{fill:var(--paper)}\
.tw path{fill:none;stroke-linecap:round;stroke-linejoin:round}\
.tw .halo{stroke:var(--paper);stroke-width:6;stroke-linecap:butt}\
.tw .line{stroke:var(--line);stroke-width:1.5}\
.tw .mark{stroke:var(--mark)}\
.tw .tip{fill:var(--line);stroke:none}.tw .tip.mark{fill:var(--mark);stroke:none}\
.tw text{fill:var(--ink);stroke:var(--paper);stroke-width:4;stroke-linejoin:round;paint-order:stroke;\
unicode-bidi:isolate}\
.tw .word{font-size:16px}.tw .tag{font-size:12px;fill:var(--tag)}\
.tw .label{font-size:14px;font-weight:600;fill:var(--label)}.tw .gap{fill:var(--mark)}\
.tw .edge{font-size:12px;font-style:italic;fill:var(--soft)}\
.tw .rel{font-size:12px;fill:var(--label)}.tw .rel.gap{fill:var(--mark)}\
.tw .num,.tw .note{font-size:12px;fill:var(--soft)}";

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
        writeln!(out, "<style>{STYLE}</style>")?;
        writeln!(
            out,
            "<rect class=\"paper\" x=\"{0}\" y=\"{0}\" width=\"{width}\" height=\"{height}\"/>",
            -BORDER
        )?;
    }
    // What crosses goes on top. Within a group the halos come first: they must not cut its own lines.
    let mut lines: Vec<&Line> = scene.lines.iter().collect();
    lines.sort_by_key(|line| (line.is_marked, line.group));
    for group in lines.chunk_by(|a, b| (a.is_marked, a.group) == (b.is_marked, b.group)) {
        for line in group {
            writeln!(out, "<path class=\"halo\" d=\"{}\"/>", Path(line))?;
        }
        for line in group {
            let mark = if line.is_marked { " mark" } else { "" };
            writeln!(out, "<path class=\"line{mark}\" d=\"{}\"/>", Path(line))?;
            if line.has_arrow {
                writeln!(out, "<path class=\"tip{mark}\" d=\"{}\"/>", Tip(line))?;
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
    // The widths are estimates; centring spreads the error to both sides.
    let x = f64::from(text.x) + f64::from(text.width) / 2.0;
    let direction = if text.content.chars().any(is_rtl) { " direction=\"rtl\"" } else { "" };
    let y = text.y + 15;
    writeln!(
        out,
        "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\"{direction}>{}</text>",
        Escaped(&text.content)
    )
}

/// The way of a line, bent as its shape allows.
struct Path<'a>(&'a Line);

impl std::fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let points = &self.0.points;
        let (x0, y0) = points[0];
        write!(f, "M{x0} {y0}")?;
        if self.0.shape == Shape::Branch {
            let (bend, (x, end)) = (branch_bend(points), points[3]);
            let middle = (y0 + bend) / 2;
            write!(f, "C{x0} {middle} {x} {middle} {x} {bend}")?;
            return if end > bend { write!(f, "V{end}") } else { Ok(()) };
        }
        for corner in points.windows(3) {
            let ((xa, ya), (x, y), (xb, yb)) = (corner[0], corner[1], corner[2]);
            let radius =
                12.min(((xa - x).abs() + (ya - y).abs()) / 2).min(((xb - x).abs() + (yb - y).abs()) / 2);
            let (before_x, before_y) = (x + (xa - x).signum() * radius, y + (ya - y).signum() * radius);
            let (after_x, after_y) = (x + (xb - x).signum() * radius, y + (yb - y).signum() * radius);
            write!(f, "L{before_x} {before_y}Q{x} {y} {after_x} {after_y}")?;
        }
        let (x, y) = points[points.len() - 1];
        write!(f, "L{x} {y}")
    }
}

/// Where a branch has reached its child's column: the lower edge of the band around its bar.
pub(super) fn branch_bend(points: &[(i32, i32)]) -> i32 {
    let band = 2 * (points[1].1 - points[0].1);
    (points[0].1 + band).min(points[3].1)
}

/// The arrow head at the end of a line.
struct Tip<'a>(&'a Line);

impl std::fmt::Display for Tip<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let n = self.0.points.len();
        let ((xa, ya), (x, y)) = (self.0.points[n - 2], self.0.points[n - 1]);
        let (dx, dy) = ((x - xa).signum(), (y - ya).signum());
        let (back_x, back_y) = (x - 6 * dx, y - 6 * dy);
        let (side_x, side_y) = (4 * dy, 4 * dx);
        write!(f, "M{x} {y}L{} {}L{} {}Z", back_x + side_x, back_y + side_y, back_x - side_x, back_y - side_y)
    }
}

/// Text in XML.
pub(super) struct Escaped<'a>(pub &'a str);

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
