//! A derivation step by step, as the papers print them: transition, stack, buffer.

use crate::forest::{Forest, Kind, Place, View};
use crate::ids::{ActionId, NodeId};
use crate::sentence::Sentence;
use crate::system::TransitionSystem;

/// A configuration in the papers' notation.
///
/// Words stand as they are, openings by their label, finished constituents as `*NP*` (bold, in the papers),
/// temporaries as `X:`, the artificial root as `ROOT`. Of the buffer the first three items are shown, of stack and deque
/// the top 40: a table with all of them would grow with the square of the sentence's length.
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

/// How many items of the stack and of the deque are shown.
const BELOW: usize = 40;

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
    let stack = top_last(forest.chain(view.stack), item);
    let deque = view.deque_top.map(|top| {
        // The rest of D, nearest first; below it the chain belongs to S.
        let rest = forest.chain(view.deque).take(view.n_deque as usize);
        top_last([top].into_iter().chain(rest), item)
    });
    Shown { stack, deque, buffer: buffer(forest, &view, item) }
}

fn buffer(forest: &Forest, view: &View, item: impl Fn(NodeId) -> String) -> String {
    let mut shown: Vec<String> =
        (0..AHEAD).map_while(|i| forest.peek(view, Place::Buffer(i))).map(item).collect();
    if forest.peek(view, Place::Buffer(AHEAD)).is_some() {
        shown.push("...".to_owned());
    }
    bracketed(&shown)
}

/// Items that come top first, with the top last.
fn top_last(mut nodes: impl Iterator<Item = NodeId>, item: impl Fn(NodeId) -> String) -> String {
    let mut shown: Vec<String> = nodes.by_ref().take(BELOW).map(item).collect();
    if nodes.next().is_some() {
        shown.push("...".to_owned());
    }
    shown.reverse();
    bracketed(&shown)
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
    fn of_long_stacks_the_top_is_shown() {
        let n = 100;
        let words: Vec<String> = (0..n).map(|i| format!("w{i}")).collect();
        let text = format!("(S {})", words.join(" "));
        let tree = trees::tree(&text);
        let system = TopDown::from_trees([&tree].into_iter(), &SystemOptions::default());
        let sentence = Sentence::from_tagged(words.iter().map(|word| (word.as_str(), "")));
        let table = table(&system, &sentence, &system.derive(&tree).unwrap());
        let last_shift = table.lines().nth(n + 2).expect("a line for each step");
        assert!(last_shift.contains("[ ..., w60, ") && last_shift.contains(", w99 ]"), "{last_shift}");
        assert!(table.lines().nth(30).expect("a line").contains("[ S, w0, "), "{table}");
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
