//! Dependencies with coordinates: arcs above words side by side, or beside words below one another.

use crate::draw::layout::{Dependencies, Layout};
use crate::draw::scene::{Align, Apart, Columns, Line, Metrics, Role, Scene, Shape, word_widths};

impl Scene {
    pub(super) fn dependencies_across(&mut self, layout: &Layout, tree: &Dependencies, metrics: &Metrics) {
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
    pub(super) fn dependencies_down(&mut self, layout: &Layout, tree: &Dependencies, metrics: &Metrics) {
        let mut x = 0;
        let mut column =
            |scene: &mut Scene, right: bool, role: Role, content: &dyn Fn(usize) -> Option<String>| {
                let first = scene.texts.len();
                for i in 0..layout.words.len() {
                    if let Some(content) = content(i) {
                        scene.text(x, i as i32 * metrics.pitch, role, &content, metrics);
                    }
                }
                let width = scene.texts[first..].iter().map(|text| text.width).max();
                for text in &mut scene.texts[first..] {
                    if right {
                        text.x += width.unwrap_or(0) - text.width;
                        text.align = Align::Right;
                    }
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
            // The arrow head stands after the arcs out of the word, so that it is seen to belong to none of them.
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
    for (offset, lines) in verticals[left.0..=right.0].iter().enumerate() {
        for &(side, level) in lines {
            let at = (left.0 + offset, side);
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
