//! Constituents with coordinates: words side by side under their tree, or below one another in an outline.

use crate::draw::layout::{Constituents, Layout, Placed};
use crate::draw::scene::{Apart, Columns, Line, Metrics, Role, Scene, Shape, word_widths};
use crate::tree::Child;

impl Scene {
    pub(super) fn constituents_across(&mut self, layout: &Layout, tree: &Constituents, metrics: &Metrics) {
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

    /// Every constituent and word on a line of its own, further right the deeper it is; an only child stands after
    /// its parent instead (`S ─ NP ─ PRP he`), and what the last of such a chain has for children hangs below the
    /// chain's start. A bar runs down from there to the last child; texts stand right of every bar that passes.
    pub(super) fn constituents_down(&mut self, layout: &Layout, tree: &Constituents, metrics: &Metrics) {
        let (n, n_nodes) = (layout.words.len(), tree.nodes.len());
        // Nodes that start with the same word stand above it, the outermost first: reversed post-order.
        let mut starting: Vec<Vec<usize>> = vec![Vec::new(); n];
        for (i, node) in tree.nodes.iter().enumerate().rev() {
            starting[node.first_word].push(i);
        }
        let is_only =
            |parent: Option<usize>| parent.is_some_and(|parent| tree.nodes[parent].children.len() == 1);
        // Lines count from 0; the first constituent opens line 0.
        let (mut node_lines, mut word_lines, mut line) = (vec![0; n_nodes], vec![0; n], -1);
        for word in 0..n {
            for &node in &starting[word] {
                line += i32::from(!is_only(tree.nodes[node].parent));
                node_lines[node] = line;
            }
            line += i32::from(!is_only(Some(tree.token_parents[word])));
            word_lines[word] = line;
        }
        let line_of = |child: Child| match child {
            Child::Token(token) => word_lines[token.index()],
            Child::Node(node) => node_lines[node.index()],
        };
        let last_line =
            |node: usize| tree.nodes[node].children.iter().map(|&child| line_of(child)).max().unwrap_or(0);
        // The bars that pass the current line, as (column, last line).
        let mut bars: Vec<(i32, i32)> = Vec::new();
        let mut columns = vec![0; n_nodes];
        let space = metrics.width(" ", Role::Word).max(metrics.margin);
        let mut x = 0;
        for word in 0..n {
            let nodes = starting[word].iter().map(|&node| (Some(node), node_lines[node]));
            for (item, line) in nodes.chain([(None, word_lines[word])]) {
                let parent = item.map_or(Some(tree.token_parents[word]), |node| tree.nodes[node].parent);
                let y = line * metrics.pitch;
                let middle = metrics.centre(y, metrics.line);
                let mut column = 0;
                let mut points = Vec::new();
                if let Some(parent) = parent.filter(|&parent| is_only(Some(parent))) {
                    // `x` is after the parent and a space.
                    column = columns[parent];
                    points = vec![(x, middle), (x + metrics.link - metrics.unit, middle)];
                    x += metrics.link + space;
                } else {
                    bars.retain(|&(_, last)| last >= line);
                    let passing = bars.iter().map(|&(column, _)| column).max();
                    if let Some(left) = passing.max(parent.map(|parent| columns[parent])) {
                        column = left + 1;
                    }
                    x = column * metrics.indent;
                    if let Some(parent) = parent {
                        let bar = columns[parent] * metrics.indent + metrics.anchor / 2 * (1 - metrics.unit);
                        let top = node_lines[parent] * metrics.pitch + metrics.line;
                        points = vec![
                            (bar, top),
                            (bar, middle),
                            (x - 2 * metrics.unit - 2 * metrics.margin, middle),
                        ];
                    }
                }
                if let Some(parent) = parent {
                    self.lines.push(Line {
                        points,
                        shape: Shape::Elbow,
                        group: parent,
                        has_arrow: false,
                        is_marked: tree.nodes[parent].is_discontinuous,
                    });
                }
                let mut put = |scene: &mut Scene, role: Role, content: &str| {
                    x += scene.text(x, y, role, content, metrics) + space;
                };
                if let Some(i) = item {
                    let node = &tree.nodes[i];
                    put(self, if node.is_discontinuous { Role::GapLabel } else { Role::Label }, &node.label);
                    if let Some(edge) = &node.edge {
                        put(self, Role::Edge, &metrics.edge(edge));
                    }
                    columns[i] = column;
                    if last_line(i) > line {
                        bars.push((column, last_line(i)));
                    }
                } else {
                    if let Some(tag) = &layout.words[word].tag {
                        put(self, Role::Tag, tag);
                    }
                    if let Some(edge) = &tree.token_edges[word] {
                        put(self, Role::Edge, &metrics.edge(edge));
                    }
                    put(self, Role::Word, &layout.words[word].form);
                }
            }
        }
    }
}

fn constituent_columns(layout: &Layout, tree: &Constituents, metrics: &Metrics) -> Columns {
    let mut width = word_widths(layout, metrics);
    for (width, edge) in width.iter_mut().zip(&tree.token_edges) {
        *width =
            edge.as_ref().map_or(*width, |edge| metrics.width(&metrics.edge(edge), Role::Edge).max(*width));
    }
    let label_width = |node: &Placed| {
        let edge = node.edge.as_ref().map_or(0, |edge| metrics.width(&metrics.edge(edge), Role::Edge));
        metrics.width(&node.label, Role::Label).max(edge)
    };
    for node in tree.nodes.iter().filter(|node| node.block.0 == node.block.1) {
        width[node.block.0] = width[node.block.0].max(label_width(node));
    }
    let apart = |node: &Placed| Apart {
        first: node.block.0,
        last: node.block.1,
        at_least: label_width(node) - width[node.block.1],
    };
    let apart = tree.nodes.iter().map(apart).collect();
    Columns::new(width, apart, metrics)
}
