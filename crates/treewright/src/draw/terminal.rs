//! Drawings in characters: box-drawing lines on a grid of cells.
//!
//! Where a vertical line crosses a horizontal one of another constituent or arc, the horizontal line is broken and
//! the vertical goes through (`──│──`); every character with three or four arms is a true junction.

use unicode_width::UnicodeWidthStr;

use crate::draw::layout::Layout;
use crate::draw::scene::{Metrics, Role, Scene, Shape};
use crate::draw::{MAX_CELLS, is_rtl};
use crate::error::Result;

/// How to draw in characters.
#[derive(Clone, Debug)]
pub struct TerminalOptions {
    /// The width to stay within, by setting words below one another if need be.
    pub width: usize,
    /// Use colours (ANSI escape codes).
    pub color: bool,
    /// Draw lines with `+ - |` only. Words and labels stay as they are.
    pub ascii: bool,
}

impl Default for TerminalOptions {
    fn default() -> Self {
        TerminalOptions { width: 100, color: false, ascii: false }
    }
}

pub(super) const CELLS: Metrics = Metrics {
    unit: 1,
    text_width: |text, _| (text.width() as i32).max(1),
    gap: 2,
    line: 1,
    band: 1,
    margin: 0,
    level: 1,
    arrow: 1,
    anchor: 2,
    pad: 2,
    indent: 3,
    link: 1,
    step: 2,
    pitch: 1,
    edge_marks: ("[", "]"),
};

const NORTH: u8 = 1;
const EAST: u8 = 2;
const SOUTH: u8 = 4;
const WEST: u8 = 8;
const ROUND: u8 = 16;

/// Draws one sentence. The drawing ends with a line break.
///
/// # Errors
/// When it would fill more than [`MAX_CELLS`] cells.
pub fn terminal(layout: &Layout, options: &TerminalOptions) -> Result<String> {
    let max_width = i32::try_from(options.width).unwrap_or(i32::MAX);
    let fits = |scene: &Scene| scene.width as usize * scene.height as usize <= MAX_CELLS;
    let scene = Scene::of(layout, &CELLS, max_width, fits)?;
    let mut out = String::new();
    if !layout.title.is_empty() {
        paint(&mut out, &layout.title, Role::Note, options);
        out.push('\n');
    }
    Grid::of(&scene).write(&scene, options, &mut out);
    Ok(out)
}

/// What passes through a cell.
#[derive(Clone, Copy, Default)]
struct Cell {
    arms: u8,
    has_arrow: bool,
    is_marked: bool,
    group: u32,
}

struct Grid {
    width: usize,
    cells: Vec<Cell>,
}

impl Grid {
    fn of(scene: &Scene) -> Self {
        let width = scene.width as usize;
        let mut grid = Grid { width, cells: vec![Cell::default(); width * scene.height as usize] };
        for line in &scene.lines {
            let shape = if line.shape == Shape::Arc { ROUND } else { 0 };
            let mut add = |x: i32, y: i32, arms: u8| {
                grid.add(
                    x,
                    y,
                    Cell {
                        arms: arms | shape,
                        has_arrow: false,
                        is_marked: line.is_marked,
                        group: line.group as u32,
                    },
                );
            };
            for pair in line.points.windows(2) {
                let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
                for x in x0.min(x1)..x0.max(x1) {
                    add(x, y0, EAST);
                    add(x + 1, y0, WEST);
                }
                for y in y0.min(y1)..y0.max(y1) {
                    add(x0, y, SOUTH);
                    add(x0, y + 1, NORTH);
                }
            }
            // A vertical line runs on through its end cells, up to the texts there.
            let (first, last) = (line.points[0], line.points[line.points.len() - 1]);
            match line.shape {
                Shape::Branch => {
                    add(first.0, first.1, NORTH);
                    add(last.0, last.1, SOUTH);
                }
                Shape::Elbow if line.points.len() == 3 => add(first.0, first.1, NORTH),
                Shape::Elbow => {
                    add(first.0, first.1, if first.1 == last.1 { EAST | WEST } else { NORTH | SOUTH });
                }
                Shape::Arc if line.points[0].1 == line.points[1].1 => add(first.0, first.1, WEST),
                Shape::Arc => add(first.0, first.1, SOUTH),
            }
            if line.has_arrow {
                grid.cells[last.1 as usize * width + last.0 as usize].has_arrow = true;
            }
        }
        grid
    }

    fn add(&mut self, x: i32, y: i32, new: Cell) {
        let cell = &mut self.cells[y as usize * self.width + x as usize];
        let is_vertical = |arms: u8| arms & (EAST | WEST) == 0;
        if cell.arms == 0 || cell.group == new.group {
            *cell = Cell { arms: cell.arms | new.arms, is_marked: cell.is_marked || new.is_marked, ..new };
        } else if is_vertical(new.arms) && !is_vertical(cell.arms) {
            // The vertical goes through; what was there stays broken.
            *cell = new;
        }
    }

    fn write(&self, scene: &Scene, options: &TerminalOptions, out: &mut String) {
        let mut texts: Vec<_> = scene.texts.iter().collect();
        texts.sort_by_key(|text| (text.y, text.x));
        let mut texts = texts.into_iter().peekable();
        for y in 0..scene.height {
            let mut x = 0;
            let mut spaces = 0;
            while x < scene.width {
                if let Some(text) = texts.next_if(|text| text.y == y && text.x <= x) {
                    pad(out, &mut spaces);
                    paint(out, &text.content, text.role, options);
                    spaces += (text.width - text.content.width() as i32).max(0);
                    x += text.width.max(1);
                    continue;
                }
                let cell = self.cells[y as usize * self.width + x as usize];
                x += 1;
                if cell.arms == 0 {
                    spaces += 1;
                    continue;
                }
                pad(out, &mut spaces);
                let horizontal_arrow = cell.arms & (EAST | WEST) != 0;
                let line = match (cell.has_arrow, options.ascii) {
                    (true, false) => {
                        if horizontal_arrow {
                            '◄'
                        } else {
                            '▼'
                        }
                    }
                    (true, true) => {
                        if horizontal_arrow {
                            '<'
                        } else {
                            'v'
                        }
                    }
                    (false, false) => box_character(cell.arms),
                    (false, true) => ascii_character(cell.arms),
                };
                let code = if cell.is_marked { "\x1b[33m" } else { "\x1b[2m" };
                if options.color {
                    out.push_str(code);
                    out.push(line);
                    out.push_str("\x1b[0m");
                } else {
                    out.push(line);
                }
            }
            out.push('\n');
        }
    }
}

fn pad(out: &mut String, spaces: &mut i32) {
    out.extend(std::iter::repeat_n(' ', *spaces as usize));
    *spaces = 0;
}

fn paint(out: &mut String, text: &str, role: Role, options: &TerminalOptions) {
    let code = match role {
        Role::Word => "\x1b[1m",
        Role::Tag => "\x1b[32m",
        Role::Label => "\x1b[34m",
        Role::Relation => "\x1b[36m",
        Role::GapLabel | Role::CrossingRelation => "\x1b[33m",
        Role::Edge | Role::Number | Role::Note => "\x1b[2m",
    };
    // Isolated, a right-to-left word cannot reorder the columns around it.
    let isolate = text.chars().any(is_rtl);
    for (wanted, piece) in [
        (options.color, code),
        (isolate, "\u{2068}"),
        (true, text),
        (isolate, "\u{2069}"),
        (options.color, "\x1b[0m"),
    ] {
        if wanted {
            out.push_str(piece);
        }
    }
}

fn box_character(arms: u8) -> char {
    let corner = |sharp, round| if arms & ROUND != 0 { round } else { sharp };
    match arms & !ROUND {
        a if a & (EAST | WEST) == 0 => '│',
        a if a & (NORTH | SOUTH) == 0 => '─',
        a if a == EAST | SOUTH => corner('┌', '╭'),
        a if a == WEST | SOUTH => corner('┐', '╮'),
        a if a == NORTH | EAST => corner('└', '╰'),
        a if a == NORTH | WEST => corner('┘', '╯'),
        a if a & WEST == 0 => '├',
        a if a & EAST == 0 => '┤',
        a if a & NORTH == 0 => '┬',
        a if a & SOUTH == 0 => '┴',
        _ => '┼',
    }
}

fn ascii_character(arms: u8) -> char {
    match arms & !ROUND {
        a if a & (EAST | WEST) == 0 => '|',
        a if a & (NORTH | SOUTH) == 0 => '-',
        _ => '+',
    }
}
