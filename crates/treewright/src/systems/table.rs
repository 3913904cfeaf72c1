//! A derivation step by step, as the papers print them: transition, stack, buffer.

use crate::forest::{Forest, Kind, Place, View};
use crate::ids::{ActionId, NodeId};
use crate::sentence::Sentence;
use crate::system::TransitionSystem;

/// A configuration in the papers' notation.
///
/// Words stand as they are, openings by their label, finished constituents as `*NP*` (bold, in the papers),
/// temporaries as `X:`, the artificial root as `ROOT`. Of the buffer, the first three items are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The stack (S, in the systems that split it), its top last.
    pub stack: String,
    /// The deque D, its top last; absent in systems without one.
    pub deque: Option<String>,
    /// The buffer, its front first.
    pub buffer: String,
}

/// How many items of the buffer are shown.
const AHEAD: u8 = 3;

/// One configuration.
pub fn configuration<S: TransitionSystem>(
    system: &S,
    forest: &Forest,
    state: &S::State,
    sentence: &Sentence,
) -> Shown {
    let view = system.view(state);
    let item = |node: NodeId| {
        let node = forest.node(node);
        match (node.kind, node.label) {
            (Kind::Word, _) => {
                sentence.tokens.get(node.head.index()).map_or("?", |t| t.form.as_str()).to_owned()
            }
            (Kind::Root, _) => "ROOT".to_owned(),
            (Kind::Constituent, Some(label)) => format!("*{}*", system.label(label)),
            (_, Some(label)) => system.label(label),
            (_, None) => "?".to_owned(),
        }
    };
    let stack: Vec<String> = reversed(forest.chain(view.stack)).into_iter().map(item).collect();
    let deque = view.deque_top.map(|top| {
        // The rest of D, nearest first; below it the chain belongs to S.
        let rest = reversed(forest.chain(view.deque).take(view.n_deque as usize));
        let shown: Vec<String> = rest.into_iter().chain([top]).map(item).collect();
        bracketed(&shown)
    });
    Shown { stack: bracketed(&stack), deque, buffer: buffer(forest, &view, item) }
}

fn buffer(forest: &Forest, view: &View, item: impl Fn(NodeId) -> String) -> String {
    let mut shown: Vec<String> =
        (0..AHEAD).map_while(|i| forest.peek(view, Place::Buffer(i))).map(item).collect();
    if forest.peek(view, Place::Buffer(AHEAD)).is_some() {
        shown.push("...".to_owned());
    }
    bracketed(&shown)
}

fn reversed(nodes: impl Iterator<Item = NodeId>) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = nodes.collect();
    nodes.reverse();
    nodes
}

fn bracketed(items: &[String]) -> String {
    if items.is_empty() { "[ ]".to_owned() } else { format!("[ {} ]", items.join(", ")) }
}

/// The whole derivation as a table, one line for each step.
///
/// # Panics
/// When an action is not legal where it is taken.
pub fn table<S: TransitionSystem>(system: &S, sentence: &Sentence, actions: &[ActionId]) -> String {
    let mut forest = Forest::new();
    let mut state = system.start(&mut forest, sentence);
    let mut rows = vec![(String::new(), configuration(system, &forest, &state, sentence))];
    for &action in actions {
        state = system.apply(&mut forest, &state, action);
        rows.push((system.name(action), configuration(system, &forest, &state, sentence)));
    }
    let has_deque = rows.iter().any(|(_, shown)| shown.deque.is_some());
    let mut cells = vec![vec!["Transition".to_owned(), "Stack".to_owned()]];
    cells[0].extend(has_deque.then(|| "Deque".to_owned()));
    cells[0].push("Buffer".to_owned());
    for (name, shown) in rows {
        let mut row = vec![name, shown.stack];
        if has_deque {
            row.push(shown.deque.unwrap_or_else(|| "[ ]".to_owned()));
        }
        row.push(shown.buffer);
        cells.push(row);
    }
    aligned(&cells)
}

/// Rows of cells as lines, with columns aligned and two spaces between them.
pub fn aligned(rows: &[Vec<String>]) -> String {
    use unicode_width::UnicodeWidthStr;
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max();
    let widths: Vec<usize> = (0..n_columns).filter_map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, &width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width - cell.width() + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::SystemOptions;
    use crate::systems::{in_order::InOrder, top_down::TopDown, trees};

    /// Compares with a file beside this one; `UPDATE_GOLDEN=1` rewrites the file.
    #[track_caller]
    fn check_golden(name: &str, found: &str) {
        let path = format!("{}/src/systems/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, found).expect("the golden file can be written");
        }
        let expected = std::fs::read_to_string(&path).expect("the golden file is there");
        assert_eq!(found, expected, "{path}");
    }

    /// Figure 1 of the paper.
    const FIGURE_1: &str = "(S (NP The public) (VP is (ADVP still) (ADJP cautious)) .)";

    fn words() -> Sentence {
        Sentence::from_tagged(["The", "public", "is", "still", "cautious", "."].map(|word| (word, "")))
    }

    #[test]
    fn figure_3_of_the_paper_top_down() {
        let tree = trees::tree(FIGURE_1);
        let system = TopDown::from_trees([&tree].into_iter(), &SystemOptions::default());
        check_golden("figure_3_top_down", &table(&system, &words(), &system.derive(&tree).unwrap()));
    }

    #[test]
    fn figure_5_of_the_paper_in_order() {
        let tree = trees::tree(FIGURE_1);
        let system = InOrder::from_trees([&tree].into_iter(), &SystemOptions::default());
        check_golden("figure_5_in_order", &table(&system, &words(), &system.derive(&tree).unwrap()));
    }
}
