//! Drawings as LaTeX: a document that compiles on its own with plain TikZ, one page per sentence.
//!
//! pdfLaTeX sets Latin text. For other scripts compile with LuaLaTeX or XeLaTeX, which take the fonts named in the
//! document's head.

use std::fmt::Write;

use crate::draw::is_rtl;
use crate::draw::layout::Layout;
use crate::draw::scene::{Align, Line, Role, Scene};
use crate::draw::svg::{MAX_PIXELS, PIXELS, aligned_x, corner_radius};
use crate::error::Result;

/// A pixel of the scene in points; the `x` and `y` of the style below.
const SCALE: f64 = 0.6;

const HEAD: &str = r"\documentclass[tikz,border=6pt]{standalone}
% Latin text: any LaTeX. Other scripts: lualatex or xelatex, with a font that has them.
\ifdefined\Umathcode
  \usepackage{fontspec}
  \IfFontExistsTF{Noto Sans}{\setmainfont{Noto Sans}}{\IfFontExistsTF{DejaVu Sans}{\setmainfont{DejaVu Sans}}{}}
  \IfFontExistsTF{Noto Sans Arabic}{\newfontfamily\rtlfont{Noto Sans Arabic}[Script=Arabic]}{\newcommand\rtlfont{}}
  \ifdefined\XeTeXversion
    \TeXXeTstate=1 \newcommand\rtl[1]{{\rtlfont\beginR #1\endR}}
  \else
    \newcommand\rtl[1]{{\rtlfont\textdir TRT #1}}
  \fi
\else
  \usepackage[T1]{fontenc}
  \renewcommand\familydefault{\sfdefault}
  \newcommand\rtl[1]{#1}
\fi
\definecolor{twline}{HTML}{8A94A0}
\definecolor{twtag}{HTML}{2E7D4F}
\definecolor{twlabel}{HTML}{1F5FA8}
\definecolor{twmark}{HTML}{B4560A}
\definecolor{twsoft}{HTML}{66707C}
\tikzset{
  tw/.style={x=0.6pt, y=-0.6pt, every node/.style={inner sep=0pt, anchor=base}},
  tw line/.style={draw=twline, line width=0.7pt, line cap=round},
  tw mark/.style={draw=twmark},
  tw halo/.style={draw=white, line width=3pt},
  tw tip/.style={fill=twline},
  tw marked tip/.style={fill=twmark},
  tw word/.style={font=\fontsize{9.6}{11}\selectfont},
  tw tag/.style={font=\fontsize{7.2}{8}\selectfont, text=twtag},
  tw label/.style={font=\fontsize{8.4}{10}\bfseries, text=twlabel},
  tw gap/.style={text=twmark},
  tw edge/.style={font=\fontsize{7.2}{8}\itshape, text=twsoft},
  tw rel/.style={font=\fontsize{7.2}{8}\selectfont, text=twlabel, fill=white, inner sep=1pt},
  tw small/.style={font=\fontsize{7.2}{8}\selectfont, text=twsoft},
}
\begin{document}
";

/// The beginning of a document.
pub fn tex_head() -> &'static str {
    HEAD
}

/// The end of a document.
pub fn tex_tail() -> &'static str {
    "\\end{document}\n"
}

/// One sentence: a `tikzpicture`, for the document of [`tex_head`] and [`tex_tail`].
///
/// # Errors
/// When it would be too large.
pub fn tex_picture(layout: &Layout) -> Result<String> {
    let scene = Scene::of(layout, &PIXELS, MAX_PIXELS, |_| true)?;
    let mut out = String::new();
    write_picture(&mut out, layout, &scene).expect("a String takes everything");
    Ok(out)
}

fn write_picture(out: &mut String, layout: &Layout, scene: &Scene) -> std::fmt::Result {
    if !layout.title().is_empty() {
        writeln!(out, "% {}", layout.title())?;
    }
    writeln!(out, "\\begin{{tikzpicture}}[tw]")?;
    for group in scene.groups() {
        for line in &group {
            write_path(out, "halo", line)?;
        }
        for line in group {
            write_path(out, if line.is_marked { "line, tw mark" } else { "line" }, line)?;
            if line.has_arrow {
                let style = if line.is_marked { "marked tip" } else { "tip" };
                let [(x, y), (x1, y1), (x2, y2)] = line.tip();
                writeln!(out, "\\path[tw {style}] ({x},{y}) -- ({x1},{y1}) -- ({x2},{y2}) -- cycle;")?;
            }
        }
    }
    for text in &scene.texts {
        let style = match text.role {
            Role::Word => "word",
            Role::Tag => "tag",
            Role::Label => "label",
            Role::GapLabel => "label, tw gap",
            Role::Edge => "edge",
            Role::Relation => "rel",
            Role::CrossingRelation => "rel, tw gap",
            Role::Number | Role::Note => "small",
        };
        let anchor = match text.align {
            Align::Centre => "",
            Align::Left => ", anchor=base west",
            Align::Right => ", anchor=base east",
        };
        let x = aligned_x(text);
        writeln!(out, "\\node[tw {style}{anchor}] at ({x},{}) {{{}}};", text.y + 15, escaped(&text.content))?;
    }
    writeln!(out, "\\end{{tikzpicture}}")
}

fn write_path(out: &mut String, style: &str, line: &Line) -> std::fmt::Result {
    let points = &line.points;
    let (x0, y0) = points[0];
    write!(out, "\\path[tw {style}] ({x0},{y0})")?;
    // Rounding applies to the corner at the end of the stretch it stands before.
    for (i, (x, y)) in points.iter().enumerate().skip(1) {
        if i + 1 < points.len() {
            let radius = f64::from(corner_radius(points, i)) * SCALE;
            write!(out, " {{[rounded corners={radius:.1}pt] -- ({x},{y})}}")?;
        } else {
            write!(out, " -- ({x},{y})")?;
        }
    }
    writeln!(out, ";")
}

/// Text in LaTeX: nothing in it is a command.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            // Without the braces -- would become a dash and `` a quotation mark.
            '-' | '`' | '\'' | ',' | '<' | '>' | '"' => out.extend(['{', c, '}']),
            c => out.push(c),
        }
    }
    if text.chars().any(is_rtl) { format!("\\rtl{{{out}}}") } else { out }
}
