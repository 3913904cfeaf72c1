//! From a layout to coordinates: texts and lines in a back end's own units.
//!
//! Coordinates are whole numbers; y grows downwards. On a terminal a unit is a character cell and a line passes
//! through the middle of cells, so a box of width w that starts at x is centred on cell x + (w - 1) / 2; elsewhere
//! the centre is x + w / 2. `Metrics::unit` (1 or 0) makes the difference.

mod constituents;
mod dependencies;

use crate::draw::layout::{Layout, Structure, Word};
use crate::draw::{Orientation, too_large};
use crate::error::Result;

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Word,
    Tag,
    /// A constituent's label.
    Label,
    /// A constituent's label, where the constituent has a gap.
    GapLabel,
    /// The label on the edge to a parent.
    Edge,
    /// A dependency relation.
    Relation,
    /// A relation on a non-projective arc.
    CrossingRelation,
    /// The number of a word.
    Number,
    /// A line below the drawing.
    Note,
}

/// Where a text stays in its box when its true width differs from the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Centre,
    Right,
}

#[derive(Clone, Debug)]
pub(super) struct Text {
    pub x: i32,
    pub y: i32,
    pub width: i32,
    pub role: Role,
    pub align: Align,
    pub content: String,
}

/// How a back end may bend a line. The points always make right angles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// From a parent down, along its bar, down to a child: four points.
    Branch,
    /// A dependency arc.
    Arc,
    /// From a parent's vertical line to a child beside it.
    Elbow,
}

#[derive(Clone, Debug)]
pub(super) struct Line {
    pub points: Vec<(i32, i32)>,
    pub shape: Shape,
    /// Lines of one group join where they meet; lines of different groups cross.
    pub group: usize,
    /// Does it end in an arrow head?
    pub has_arrow: bool,
    /// Is it part of what crosses: an arc that is not projective, a branch of a constituent with a gap?
    pub is_marked: bool,
}

impl Line {
    /// The corners of the arrow head at its end.
    pub fn tip(&self) -> [(i32, i32); 3] {
        let n = self.points.len();
        let ((xa, ya), (x, y)) = (self.points[n - 2], self.points[n - 1]);
        let (dx, dy) = ((x - xa).signum(), (y - ya).signum());
        let (back_x, back_y) = (x - 6 * dx, y - 6 * dy);
        let (side_x, side_y) = (4 * dy, 4 * dx);
        [(x, y), (back_x + side_x, back_y + side_y), (back_x - side_x, back_y - side_y)]
    }
}

/// Everything to be drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct Scene {
    pub width: i32,
    pub height: i32,
    pub texts: Vec<Text>,
    pub lines: Vec<Line>,
}

/// The sizes of a back end.
#[derive(Clone, Copy)]
pub(super) struct Metrics {
    /// 1 if lines run through cells, else 0.
    pub unit: i32,
    /// How wide a text is.
    pub text_width: fn(&str, Role) -> i32,
    /// Between the columns of neighbouring words.
    pub gap: i32,
    /// The height of a text.
    pub line: i32,
    /// Between the rows of constituents, for the bar.
    pub band: i32,
    /// Between a text and a line that ends there.
    pub margin: i32,
    /// Between the levels of arcs.
    pub level: i32,
    /// Between the lowest arc and the words.
    pub arrow: i32,
    /// Between lines that start at one word.
    pub anchor: i32,
    /// On both sides of a relation on its arc.
    pub pad: i32,
    /// From a parent to a child when words stand below one another.
    pub indent: i32,
    /// From a parent to its only child after it, a space on either side not counted.
    pub link: i32,
    /// Between the levels of arcs when words stand below one another.
    pub step: i32,
    /// From one word to the next when words stand below one another.
    pub pitch: i32,
    /// Put around edge labels.
    pub edge_marks: (&'static str, &'static str),
}

impl Metrics {
    fn width(&self, text: &str, role: Role) -> i32 {
        (self.text_width)(text, role)
    }

    fn centre(&self, start: i32, size: i32) -> i32 {
        start + (size - self.unit) / 2
    }

    fn edge(&self, label: &str) -> String {
        format!("{}{label}{}", self.edge_marks.0, self.edge_marks.1)
    }
}

impl Scene {
    /// Places everything. With `Orientation::Auto` the words stand side by side if that is at most `max_width`
    /// wide and `fits`, else below one another if that `fits`.
    ///
    /// # Errors
    /// When nothing fits.
    pub fn of(
        layout: &Layout,
        metrics: &Metrics,
        max_width: i32,
        fits: impl Fn(&Scene) -> bool,
    ) -> Result<Scene> {
        let (mut across, mut down) = (None, None);
        if layout.orientation != Orientation::Down {
            let scene = Scene::placed(layout, metrics, false);
            if fits(&scene) {
                if scene.width <= max_width || layout.orientation == Orientation::Across {
                    return Ok(scene);
                }
                across = Some(scene);
            }
        }
        if layout.orientation != Orientation::Across {
            down = Some(Scene::placed(layout, metrics, true)).filter(fits);
        }
        let n = layout.words.len();
        down.or(across).ok_or_else(|| too_large(format!("a drawing of these {n} words would be too large")))
    }

    /// The words side by side, or below one another.
    fn placed(layout: &Layout, metrics: &Metrics, is_down: bool) -> Scene {
        let mut scene = Scene::default();
        match (&layout.structure, is_down) {
            (Structure::Constituents(tree), false) => scene.constituents_across(layout, tree, metrics),
            (Structure::Constituents(tree), true) => scene.constituents_down(layout, tree, metrics),
            (Structure::Dependencies(tree), false) => scene.dependencies_across(layout, tree, metrics),
            (Structure::Dependencies(tree), true) => scene.dependencies_down(layout, tree, metrics),
        }
        scene.measure(metrics);
        if layout.rtl && !is_down {
            scene.mirror(metrics);
        }
        for note in &layout.notes {
            scene.text(0, scene.height, Role::Note, note, metrics);
            scene.measure(metrics);
        }
        scene
    }

    /// The lines in the order in which they are drawn: what crosses goes on top. The halos of a group come before its
    /// lines, which they must not cut.
    pub fn groups(&self) -> Vec<Vec<&Line>> {
        let mut lines: Vec<&Line> = self.lines.iter().collect();
        lines.sort_by_key(|line| (line.is_marked, line.group));
        let groups = lines.chunk_by(|a, b| (a.is_marked, a.group) == (b.is_marked, b.group));
        groups.map(<[&Line]>::to_vec).collect()
    }

    fn measure(&mut self, metrics: &Metrics) {
        for text in &self.texts {
            self.width = self.width.max(text.x + text.width);
            self.height = self.height.max(text.y + metrics.line);
        }
        for &(x, y) in self.lines.iter().flat_map(|line| &line.points) {
            self.width = self.width.max(x + metrics.unit);
            self.height = self.height.max(y + metrics.unit);
        }
    }

    fn mirror(&mut self, metrics: &Metrics) {
        for text in &mut self.texts {
            text.x = self.width - text.x - text.width;
        }
        for point in self.lines.iter_mut().flat_map(|line| &mut line.points) {
            point.0 = self.width - metrics.unit - point.0;
        }
    }

    /// A text that starts at `x`. Gives its width.
    fn text(&mut self, x: i32, y: i32, role: Role, content: &str, metrics: &Metrics) -> i32 {
        let width = metrics.width(content, role);
        self.texts.push(Text { x, y, width, role, align: Align::Left, content: content.to_owned() });
        width
    }

    /// A text around `centre`, kept inside `start..end`, which is at least as wide.
    fn centred(
        &mut self,
        centre: i32,
        (start, end): (i32, i32),
        y: i32,
        role: Role,
        content: &str,
        metrics: &Metrics,
    ) {
        let width = metrics.width(content, role);
        let x = (centre - (width - metrics.unit) / 2).min(end - width).max(start);
        self.texts.push(Text { x, y, width, role, align: Align::Centre, content: content.to_owned() });
    }
}

/// The columns of words side by side.
struct Columns {
    left: Vec<i32>,
    width: Vec<i32>,
}

/// A demand on two columns: from the start of column `first` to the start of column `last` there is at least this much.
#[derive(Clone)]
struct Apart {
    first: usize,
    last: usize,
    at_least: i32,
}

impl Columns {
    /// As narrow as the widths, the gap and the demands allow, in one sweep from left to right.
    fn new(width: Vec<i32>, mut apart: Vec<Apart>, metrics: &Metrics) -> Self {
        apart.sort_by_key(|demand| demand.last);
        let mut demands = apart.iter().peekable();
        let mut left: Vec<i32> = Vec::with_capacity(width.len());
        for i in 0..width.len() {
            let mut x = if i == 0 { 0 } else { left[i - 1] + width[i - 1] + metrics.gap };
            while let Some(demand) = demands.next_if(|demand| demand.last == i) {
                if demand.first < i {
                    x = x.max(left[demand.first] + demand.at_least);
                }
            }
            left.push(x);
        }
        Columns { left, width }
    }

    fn centre(&self, column: usize, metrics: &Metrics) -> i32 {
        metrics.centre(self.left[column], self.width[column])
    }

    fn extent(&self, (first, last): (usize, usize)) -> (i32, i32) {
        (self.left[first], self.left[last] + self.width[last])
    }
}

fn word_widths(layout: &Layout, metrics: &Metrics) -> Vec<i32> {
    let width = |word: &Word| {
        let tag = word.tag.as_ref().map_or(0, |tag| metrics.width(tag, Role::Tag));
        metrics.width(&word.form, Role::Word).max(tag)
    };
    layout.words.iter().map(width).collect()
}
