//! From a layout to coordinates: texts and lines in a back end's own units.
//!
//! Coordinates are whole numbers; y grows downwards. On a terminal a unit is a character cell and a line passes
//! through the middle of cells, so a box of width w that starts at x is centred on cell x + (w - 1) / 2; elsewhere
//! the centre is x + w / 2. `Metrics::unit` (1 or 0) makes the difference.

use crate::draw::layout::{Constituents, Dependencies, Layout, Structure};
use crate::draw::{Orientation, too_large};
use crate::error::Result;
use crate::tree::Child;

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

#[derive(Clone, Debug)]
pub(super) struct Text {
    pub x: i32,
    pub y: i32,
    pub width: i32,
    pub role: Role,
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
            let scene = Scene::across(layout, metrics);
            if fits(&scene) {
                if scene.width <= max_width || layout.orientation == Orientation::Across {
                    return Ok(scene);
                }
                across = Some(scene);
            }
        }
        if layout.orientation != Orientation::Across {
            down = Some(Scene::down(layout, metrics)).filter(fits);
        }
        let n = layout.words.len();
        down.or(across).ok_or_else(|| too_large(format!("a drawing of these {n} words would be too large")))
    }

    fn across(layout: &Layout, metrics: &Metrics) -> Scene {
        let mut scene = Scene::default();
        match &layout.structure {
            Structure::Constituents(tree) => scene.constituents_across(layout, tree, metrics),
            Structure::Dependencies(tree) => scene.dependencies_across(layout, tree, metrics),
        }
        scene.measure(metrics);
        if layout.rtl {
            scene.mirror(metrics);
        }
        scene.add_notes(layout, metrics);
        scene
    }

    fn down(layout: &Layout, metrics: &Metrics) -> Scene {
        let mut scene = Scene::default();
        match &layout.structure {
            Structure::Constituents(tree) => scene.constituents_down(layout, tree, metrics),
            Structure::Dependencies(tree) => scene.dependencies_down(layout, tree, metrics),
        }
        scene.measure(metrics);
        scene.add_notes(layout, metrics);
        scene
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

    fn add_notes(&mut self, layout: &Layout, metrics: &Metrics) {
        for note in &layout.notes {
            self.text(0, self.height, Role::Note, note.clone(), metrics);
            self.measure(metrics);
        }
    }

    fn text(&mut self, x: i32, y: i32, role: Role, content: String, metrics: &Metrics) {
        let width = metrics.width(&content, role);
        self.texts.push(Text { x, y, width, role, content });
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
        self.texts.push(Text { x, y, width, role, content: content.to_owned() });
    }

    fn constituents_across(&mut self, layout: &Layout, tree: &Constituents, metrics: &Metrics) {
        let columns = constituent_columns(layout, tree, metrics);
        let mut xs: Vec<i32> = Vec::with_capacity(tree.nodes.len());
        for node in &tree.nodes {
            let x = |child: Child| match child {
                Child::Token(token) => columns.centre(token.index(), metrics),
                Child::Node(node) => xs[node.index()],
            };
            let (left, right) = (x(node.between.0), x(node.between.1));
            xs.push((left + right) / 2);
        }
        let edge_height = if tree.has_edges { metrics.line } else { 0 };
        let row_height = edge_height + metrics.line + metrics.band;
        let root_has_edge = tree.nodes.last().is_some_and(|root| root.edge.is_some());
        let top = if root_has_edge { 0 } else { -edge_height };
        let row_y = |row: usize| top + row as i32 * row_height;
        let words_y = row_y(tree.n_rows);
        let tag_height = if layout.has_tags { metrics.line } else { 0 };
        // Where the line from above ends, for a word or a constituent.
        let top_of = |child: Child| match child {
            Child::Node(node) => {
                let node = &tree.nodes[node.index()];
                row_y(node.row) + if node.edge.is_some() { 0 } else { edge_height }
            }
            Child::Token(token) => {
                let above = if layout.words[token.index()].tag.is_some() { 0 } else { tag_height };
                words_y + if tree.token_edges[token.index()].is_some() { 0 } else { edge_height + above }
            }
        };
        for (i, node) in tree.nodes.iter().enumerate() {
            let y = row_y(node.row);
            let extent = columns.extent(node.block);
            if let Some(edge) = &node.edge {
                self.centred(xs[i], extent, y, Role::Edge, &metrics.edge(edge), metrics);
            }
            let role = if node.is_discontinuous { Role::GapLabel } else { Role::Label };
            self.centred(xs[i], extent, y + edge_height, role, &node.label, metrics);
            let bottom = y + edge_height + metrics.line;
            let bar = metrics.centre(bottom, metrics.band);
            for &child in &node.children {
                let x = match child {
                    Child::Token(token) => columns.centre(token.index(), metrics),
                    Child::Node(node) => xs[node.index()],
                };
                let end = top_of(child) - metrics.unit - metrics.margin;
                self.lines.push(Line {
                    points: vec![(xs[i], bottom + metrics.margin), (xs[i], bar), (x, bar), (x, end)],
                    shape: Shape::Branch,
                    group: i,
                    has_arrow: false,
                    is_marked: node.is_discontinuous,
                });
            }
        }
        for (i, word) in layout.words.iter().enumerate() {
            let (x, extent) = (columns.centre(i, metrics), columns.extent((i, i)));
            if let Some(edge) = &tree.token_edges[i] {
                self.centred(x, extent, words_y, Role::Edge, &metrics.edge(edge), metrics);
                // From the edge label to the word, where no tag stands between.
                if word.tag.is_none() && layout.has_tags && metrics.unit == 1 {
                    let y = words_y + edge_height;
                    let line = vec![(x, y), (x, y + tag_height - 1)];
                    let group = tree.token_parents[i];
                    self.lines.push(Line {
                        points: line,
                        shape: Shape::Elbow,
                        group,
                        has_arrow: false,
                        is_marked: false,
                    });
                }
            }
            if let Some(tag) = &word.tag {
                self.centred(x, extent, words_y + edge_height, Role::Tag, tag, metrics);
            }
            self.centred(x, extent, words_y + edge_height + tag_height, Role::Word, &word.form, metrics);
        }
    }

    /// Every constituent and word on a line of its own, further right the deeper it is. A bar runs down from each
    /// constituent to its last child; texts stand right of every bar that passes them.
    fn constituents_down(&mut self, layout: &Layout, tree: &Constituents, metrics: &Metrics) {
        let (n, n_nodes) = (layout.words.len(), tree.nodes.len());
        // Nodes that start with the same word stand above it, the outermost first: reversed post-order.
        let mut starting: Vec<Vec<usize>> = vec![Vec::new(); n];
        for (i, node) in tree.nodes.iter().enumerate().rev() {
            starting[node.first_word].push(i);
        }
        let (mut node_lines, mut word_lines, mut count) = (vec![0; n_nodes], vec![0; n], 0);
        for word in 0..n {
            for &node in &starting[word] {
                node_lines[node] = count;
                count += 1;
            }
            word_lines[word] = count;
            count += 1;
        }
        let line_of = |child: Child| match child {
            Child::Token(token) => word_lines[token.index()],
            Child::Node(node) => node_lines[node.index()],
        };
        let last_line: Vec<i32> = tree
            .nodes
            .iter()
            .map(|node| node.children.iter().map(|&child| line_of(child)).max().unwrap_or(0))
            .collect();
        // The bars that pass the current line, as (column, last line).
        let mut bars: Vec<(i32, i32)> = Vec::new();
        let mut node_columns = vec![0; n_nodes];
        let y_of = |line: i32| line * metrics.pitch;
        for word in 0..n {
            let nodes = starting[word].iter().map(|&node| (Some(node), node_lines[node]));
            for (item, line) in nodes.chain([(None, word_lines[word])]) {
                bars.retain(|&(_, last)| last >= line);
                let parent = item.map_or(Some(tree.token_parents[word]), |node| tree.nodes[node].parent);
                let passing = bars.iter().map(|&(column, _)| column).max();
                let column =
                    passing.max(parent.map(|parent| node_columns[parent])).map_or(0, |column| column + 1);
                let mut x = column * metrics.indent;
                let y = y_of(line);
                if let Some(parent) = parent {
                    let bar = node_columns[parent] * metrics.indent;
                    let parent_bottom = y_of(node_lines[parent]) + metrics.line;
                    let middle = metrics.centre(y, metrics.line);
                    self.lines.push(Line {
                        points: vec![
                            (bar + metrics.anchor / 2 * (1 - metrics.unit), parent_bottom),
                            (bar + metrics.anchor / 2 * (1 - metrics.unit), middle),
                            (x - 2 * metrics.unit - metrics.margin, middle),
                        ],
                        shape: Shape::Elbow,
                        group: parent,
                        has_arrow: false,
                        is_marked: tree.nodes[parent].is_discontinuous,
                    });
                }
                let space = metrics.width(" ", Role::Word).max(metrics.margin);
                let mut put = |scene: &mut Scene, role: Role, content: String| {
                    scene.text(x, y, role, content, metrics);
                    x += scene.texts.last().map_or(0, |text| text.width) + space;
                };
                match item {
                    Some(i) => {
                        let node = &tree.nodes[i];
                        let role = if node.is_discontinuous { Role::GapLabel } else { Role::Label };
                        put(self, role, node.label.clone());
                        if let Some(edge) = &node.edge {
                            put(self, Role::Edge, metrics.edge(edge));
                        }
                        node_columns[i] = column;
                        bars.push((column, last_line[i]));
                    }
                    None => {
                        if let Some(tag) = &layout.words[word].tag {
                            put(self, Role::Tag, tag.clone());
                        }
                        if let Some(edge) = &tree.token_edges[word] {
                            put(self, Role::Edge, metrics.edge(edge));
                        }
                        put(self, Role::Word, layout.words[word].form.clone());
                    }
                }
            }
        }
    }

    fn dependencies_across(&mut self, layout: &Layout, tree: &Dependencies, metrics: &Metrics) {
        let anchors = Anchors::of(tree);
        let verticals = verticals_of(tree);
        let columns = dependency_columns(layout, tree, &anchors, &verticals, metrics);
        let x_of =
            |word: usize, side: Side| columns.centre(word, metrics) + anchors.offset(word, side, metrics);
        let is_root = |word: usize| tree.arcs[word].as_ref().is_some_and(|arc| arc.head.is_none());
        let root_height = if (0..tree.arcs.len()).any(is_root) { metrics.line + metrics.margin } else { 0 };
        let n_levels = tree.n_levels as i32;
        let level_y = |level: usize| {
            root_height + (n_levels - level as i32) * metrics.level + metrics.level / 2 * (1 - metrics.unit)
        };
        let words_y = match tree.arcs.iter().flatten().next() {
            Some(_) => root_height + n_levels * metrics.level + metrics.arrow,
            None => 0,
        };
        let end = words_y - metrics.unit - metrics.margin;
        for (word, arc) in tree.arcs.iter().enumerate() {
            let Some(arc) = arc else { continue };
            let x = x_of(word, Side::In);
            let role = if arc.is_nonprojective { Role::CrossingRelation } else { Role::Relation };
            let Some(head) = arc.head else {
                let label = arc.label.as_deref().unwrap_or("root");
                self.centred(x, columns.extent((word, word)), 0, role, label, metrics);
                self.lines.push(Line {
                    points: vec![(x, metrics.line + metrics.margin), (x, end)],
                    shape: Shape::Arc,
                    group: 3 * word,
                    has_arrow: true,
                    is_marked: false,
                });
                continue;
            };
            let side = Side::towards(head, word);
            let (from, y) = (x_of(head, side), level_y(arc.level));
            self.lines.push(Line {
                points: vec![(from, end), (from, y), (x, y), (x, end)],
                shape: Shape::Arc,
                group: 3 * head + side as usize,
                has_arrow: true,
                is_marked: arc.is_nonprojective,
            });
            if let Some(label) = &arc.label {
                let crossed: Vec<i32> = crossed_by(tree, &verticals, word)
                    .into_iter()
                    .map(|(word, side)| x_of(word, side))
                    .collect();
                let width = metrics.width(label, role);
                let (start, end) = free_stretch(&crossed, width, metrics);
                let centre = metrics.centre(start, end - start);
                self.centred(
                    centre,
                    (start, end),
                    y - (metrics.line - metrics.unit) / 2,
                    role,
                    label,
                    metrics,
                );
            }
        }
        for (i, word) in layout.words.iter().enumerate() {
            let (x, extent) = (columns.centre(i, metrics), columns.extent((i, i)));
            self.centred(x, extent, words_y, Role::Word, &word.form, metrics);
            if let Some(tag) = &word.tag {
                self.centred(x, extent, words_y + metrics.line, Role::Tag, tag, metrics);
            }
        }
    }

    /// One word a line: number, word, tag, relation, and the arcs at their right.
    fn dependencies_down(&mut self, layout: &Layout, tree: &Dependencies, metrics: &Metrics) {
        let mut x = 0;
        let mut column =
            |scene: &mut Scene, right: bool, role: Role, content: &dyn Fn(usize) -> Option<String>| {
                let first = scene.texts.len();
                for i in 0..layout.words.len() {
                    if let Some(content) = content(i) {
                        scene.text(x, i as i32 * metrics.pitch, role, content, metrics);
                    }
                }
                let width = scene.texts[first..].iter().map(|text| text.width).max();
                for text in &mut scene.texts[first..] {
                    text.x += if right { width.unwrap_or(0) - text.width } else { 0 };
                }
                x += width.map_or(0, |width| width + metrics.gap);
            };
        column(self, true, Role::Number, &|i| Some((i + 1).to_string()));
        column(self, layout.rtl, Role::Word, &|i| Some(layout.words[i].form.clone()));
        column(self, false, Role::Tag, &|i| layout.words[i].tag.clone());
        let relation = |i: usize, marked: bool| {
            let arc = tree.arcs[i].as_ref().filter(|arc| arc.is_nonprojective == marked)?;
            arc.label.clone().or_else(|| arc.head.is_none().then(|| "root".to_owned()))
        };
        let before = self.texts.len();
        column(self, false, Role::Relation, &|i| relation(i, false).or_else(|| relation(i, true)));
        for text in &mut self.texts[before..] {
            let word = (text.y / metrics.pitch) as usize;
            if tree.arcs[word].as_ref().is_some_and(|arc| arc.is_nonprojective) {
                text.role = Role::CrossingRelation;
            }
        }
        let y_of = |word: usize| metrics.centre(word as i32 * metrics.pitch, metrics.line);
        let level_x = |level: usize| x + level as i32 * metrics.step;
        let mut outermost = vec![0; tree.arcs.len()];
        for arc in tree.arcs.iter().flatten() {
            if let Some(head) = arc.head {
                outermost[head] = outermost[head].max(arc.down_level);
            }
        }
        for (word, arc) in tree.arcs.iter().enumerate() {
            let Some(arc) = arc else { continue };
            let Some(head) = arc.head else { continue };
            let at = level_x(arc.down_level);
            // The arrow head stands behind the arcs out of the word, so that it is seen to belong to none of them.
            let tip = if outermost[word] == 0 { x } else { level_x(outermost[word]) + metrics.step / 2 };
            self.lines.push(Line {
                points: vec![(x, y_of(head)), (at, y_of(head)), (at, y_of(word)), (tip, y_of(word))],
                shape: Shape::Arc,
                group: head,
                has_arrow: true,
                is_marked: arc.is_nonprojective,
            });
        }
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
    let width = |word: &crate::draw::layout::Word| {
        let tag = word.tag.as_ref().map_or(0, |tag| metrics.width(tag, Role::Tag));
        metrics.width(&word.form, Role::Word).max(tag)
    };
    layout.words.iter().map(width).collect()
}

fn constituent_columns(layout: &Layout, tree: &Constituents, metrics: &Metrics) -> Columns {
    let mut width = word_widths(layout, metrics);
    for (width, edge) in width.iter_mut().zip(&tree.token_edges) {
        *width =
            edge.as_ref().map_or(*width, |edge| metrics.width(&metrics.edge(edge), Role::Edge).max(*width));
    }
    let label_width = |node: &crate::draw::layout::Placed| {
        let edge = node.edge.as_ref().map_or(0, |edge| metrics.width(&metrics.edge(edge), Role::Edge));
        metrics.width(&node.label, Role::Label).max(edge)
    };
    for node in tree.nodes.iter().filter(|node| node.block.0 == node.block.1) {
        width[node.block.0] = width[node.block.0].max(label_width(node));
    }
    let apart = |node: &crate::draw::layout::Placed| Apart {
        first: node.block.0,
        last: node.block.1,
        at_least: label_width(node) - width[node.block.1],
    };
    let apart = tree.nodes.iter().map(apart).collect();
    Columns::new(width, apart, metrics)
}

/// Where a line meets a word: arcs to dependents on the left share one place, arcs to dependents on the right
/// another, and the arc from the head comes down between them, so that nested arcs never cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    In,
    Left,
    Right,
}

impl Side {
    fn towards(head: usize, dependent: usize) -> Side {
        if dependent < head { Side::Left } else { Side::Right }
    }
}

struct Anchors {
    has_left: Vec<bool>,
    has_right: Vec<bool>,
}

impl Anchors {
    fn of(tree: &Dependencies) -> Self {
        let n = tree.arcs.len();
        let (mut has_left, mut has_right) = (vec![false; n], vec![false; n]);
        for (word, arc) in tree.arcs.iter().enumerate() {
            if let Some(head) = arc.as_ref().and_then(|arc| arc.head) {
                let side = if word < head { &mut has_left } else { &mut has_right };
                side[head] = true;
            }
        }
        Anchors { has_left, has_right }
    }

    fn n_beside(&self, word: usize) -> i32 {
        i32::from(self.has_left[word]) + i32::from(self.has_right[word])
    }

    /// From the middle of the word to the place.
    fn offset(&self, word: usize, side: Side, metrics: &Metrics) -> i32 {
        let place = match side {
            Side::Left => 0,
            Side::In => i32::from(self.has_left[word]),
            Side::Right => i32::from(self.has_left[word]) + 1,
        };
        place * metrics.anchor - self.n_beside(word) * metrics.anchor / 2
    }
}

/// The vertical lines above every word from left to right: where, and the level they reach.
fn verticals_of(tree: &Dependencies) -> Vec<Vec<(Side, usize)>> {
    let mut highest = vec![[0; 3]; tree.arcs.len()];
    for (word, arc) in tree.arcs.iter().enumerate() {
        let Some(arc) = arc else { continue };
        let level = if arc.head.is_some() { arc.level } else { usize::MAX };
        highest[word][Side::In as usize] = level;
        if let Some(head) = arc.head {
            let highest = &mut highest[head][Side::towards(head, word) as usize];
            *highest = level.max(*highest);
        }
    }
    let sides = [Side::Left, Side::In, Side::Right];
    let of_word = |highest: &[usize; 3]| {
        sides.iter().map(|&side| (side, highest[side as usize])).filter(|&(_, level)| level > 0).collect()
    };
    highest.iter().map(of_word).collect()
}

/// The verticals that the bar of the arc into `dependent` meets, from left to right: its own two ends, and between
/// them those that reach higher.
fn crossed_by(tree: &Dependencies, verticals: &[Vec<(Side, usize)>], dependent: usize) -> Vec<(usize, Side)> {
    let Some((arc, head)) = tree.arcs[dependent].as_ref().and_then(|arc| Some((arc, arc.head?))) else {
        return Vec::new();
    };
    let ends = [(head, Side::towards(head, dependent)), (dependent, Side::In)];
    let [left, right] = if head < dependent { ends } else { [ends[1], ends[0]] };
    let mut crossed = vec![left];
    let place = |(word, side): (usize, Side)| (word, [1, 0, 2][side as usize]);
    for word in left.0..=right.0 {
        for &(side, level) in &verticals[word] {
            let at = (word, side);
            if level > arc.level && place(at) > place(left) && place(at) < place(right) {
                crossed.push(at);
            }
        }
    }
    crossed.push(right);
    crossed
}

fn dependency_columns(
    layout: &Layout,
    tree: &Dependencies,
    anchors: &Anchors,
    verticals: &[Vec<(Side, usize)>],
    metrics: &Metrics,
) -> Columns {
    let mut width = word_widths(layout, metrics);
    for (word, arc) in tree.arcs.iter().enumerate() {
        width[word] = width[word].max(anchors.n_beside(word) * metrics.anchor + metrics.unit);
        if let Some(None) = arc.as_ref().map(|arc| arc.head) {
            let label = arc.as_ref().and_then(|arc| arc.label.as_deref()).unwrap_or("root");
            width[word] = width[word].max(metrics.width(label, Role::Relation));
        }
    }
    // Every label needs one stretch of its bar that nothing crosses. Which one has room is known only when the
    // columns stand, so ask for the bars first, then widen the longest stretch where none has room. The last round
    // asks nothing more; a label that still has no room will cover a line.
    let mut apart: Vec<Apart> = Vec::new();
    let mut columns = Columns::new(width.clone(), Vec::new(), metrics);
    for _ in 0..4 {
        let n_before = apart.len();
        for (word, arc) in tree.arcs.iter().enumerate() {
            let Some(label) = arc.as_ref().and_then(|arc| arc.label.as_ref()) else { continue };
            let need = metrics.width(label, Role::Relation) + 2 * metrics.pad - metrics.unit;
            let x_of = |(word, side): (usize, Side)| {
                columns.centre(word, metrics) + anchors.offset(word, side, metrics)
            };
            let crossed = crossed_by(tree, verticals, word);
            let longest = crossed.windows(2).map(|pair| (pair[0], pair[1])).filter(|(a, b)| a.0 < b.0);
            let Some((a, b)) = longest.max_by_key(|&(a, b)| x_of(b) - x_of(a)) else { continue };
            if x_of(b) - x_of(a) < need {
                let (start, end) = (x_of(a) - columns.left[a.0], x_of(b) - columns.left[b.0]);
                apart.push(Apart { first: a.0, last: b.0, at_least: need + start - end });
            }
        }
        if apart.len() == n_before {
            break;
        }
        columns = Columns::new(width.clone(), apart.clone(), metrics);
    }
    columns
}

/// The stretch of a bar for a label `width` wide: between two of the `crossed` places (which include both ends),
/// as near to the middle as it finds room; if there is none, the whole bar, and the label covers what it crosses.
fn free_stretch(crossed: &[i32], width: i32, metrics: &Metrics) -> (i32, i32) {
    let (first, last) = (crossed[0], crossed[crossed.len() - 1]);
    let middle = (first + last) / 2;
    let inside = |pair: &[i32]| (pair[0] + metrics.pad, pair[1] + metrics.unit - metrics.pad);
    let room = crossed.windows(2).map(inside).filter(|(start, end)| end - start >= width);
    let nearest = |&(start, end): &(i32, i32)| {
        let centre = middle.clamp(start + width / 2, (end - width / 2).max(start + width / 2));
        (centre - middle).abs()
    };
    let (start, end) = room.min_by_key(nearest).unwrap_or((first + metrics.unit, last));
    // Within a wide stretch, stay as near to the middle of the bar as possible.
    let at = (middle - (width - metrics.unit) / 2).min(end - width).max(start);
    (at, at + width)
}
