//! Random entries and mutated texts for the properties of every format (tests only).

use proptest::collection::vec;
use proptest::prelude::*;

use crate::ids::{NodeId, TokenIdx};
use crate::sentence::{EmptyNode, Multiword, Sentence, Str, Token};
use crate::tree::{Child, DependencyTree, Tree, TreeBuilder};
use crate::treebank::Entry;

/// A value of any column: no tabs, no line ends, never `_` alone.
pub fn field() -> impl Strategy<Value = Str> {
    prop_oneof![
        3 => "[a-zA-Z0-9=|:()#/\\\\\"é語𝄞_-]{1,30}",
        1 => "[ -~\u{a0}-\u{2ff}]{1,5}",
    ]
    .prop_filter("means absent", |text| text != "_")
    .prop_map(Str::from)
}

/// A value that may be absent.
fn optional() -> impl Strategy<Value = Str> {
    prop_oneof![Just(Str::default()), field()]
}

/// A word with any columns.
fn token() -> impl Strategy<Value = Token> {
    let columns = (optional(), optional(), optional(), optional(), optional(), optional());
    (prop_oneof![Just(Str::new("_")), field()], columns).prop_map(
        |(form, (lemma, tag, xpos, feats, deps, misc))| Token { form, lemma, tag, xpos, feats, deps, misc },
    )
}

fn columns() -> impl Strategy<Value = [Str; 9]> {
    proptest::array::uniform9(prop_oneof![Just(Str::new("_")), field()])
}

/// A sentence with comments, ranges and empty nodes.
pub fn sentence() -> impl Strategy<Value = Sentence> {
    let comments = vec(field().prop_map(|text| Str::from(format!("# {text}"))), 0..3);
    let ranges = vec((0..3usize, 0..3usize, columns()), 0..3);
    let nodes = vec((0..2usize, columns()), 0..3);
    (prop_oneof![Just(String::new()), "[a-z0-9.-]{1,30}"], comments, vec(token(), 1..12), ranges, nodes)
        .prop_map(|(id, mut comments, tokens, ranges, nodes)| {
            if !id.is_empty() {
                comments.push(format!("# sent_id = {id}").into());
            }
            let mut sentence = Sentence { id: id.into(), tokens, comments, ..Sentence::default() };
            let mut free = 0;
            for (skip, more, columns) in ranges {
                let (first, last) = (free + skip, free + skip + more);
                if last < sentence.len() {
                    free = last + 1;
                    let (first, last) = (TokenIdx::new(first), TokenIdx::new(last));
                    sentence.multiwords.push(Multiword { first, last, columns });
                }
            }
            let (mut after, mut number) = (0, 0);
            for (step, columns) in nodes {
                (after, number) = (after + step, if step == 0 { number + 1 } else { 1 });
                if after <= sentence.len() {
                    sentence.empty_nodes.push(EmptyNode { after, number, columns });
                }
            }
            sentence
        })
}

/// A sentence with a random dependency tree (one root), or none.
pub fn dependency_entry() -> impl Strategy<Value = Entry> {
    (sentence(), any::<bool>()).prop_flat_map(|(sentence, has_tree)| {
        let n = sentence.len();
        let order = Just((0..n).collect::<Vec<_>>()).prop_shuffle();
        (Just(sentence), order, vec(any::<prop::sample::Index>(), n), vec(optional(), n)).prop_map(
            move |(sentence, order, picks, labels)| {
                // Words are hung up in a random order, each under one that hangs already.
                let mut tree = DependencyTree::from_heads(vec![None; n]);
                for i in 1..n {
                    tree.arcs[order[i]].head = Some(TokenIdx::new(order[picks[i].index(i)]));
                }
                for (arc, label) in tree.arcs.iter_mut().zip(labels) {
                    arc.label = label;
                }
                Entry { sentence, tree: has_tree.then_some(Tree::Dependency(tree)) }
            },
        )
    })
}

/// A sentence with a random constituent tree: discontinuous, with unary chains, edges and secondary edges.
pub fn constituent_entry() -> impl Strategy<Value = Entry> {
    sentence().prop_flat_map(|sentence| {
        let n = sentence.len();
        let merges = vec((vec(any::<prop::sample::Index>(), 1..4), field(), optional()), 0..2 * n);
        let secondary = vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), field()), 0..3);
        (Just(sentence), merges, field(), vec(optional(), n), secondary).prop_map(
            |(sentence, merges, root, edges, secondary)| {
                let n = sentence.len();
                let mut builder = TreeBuilder::with_tokens(n);
                let mut open: Vec<Child> = (0..n).map(|i| Child::Token(TokenIdx::new(i))).collect();
                let mut all = open.clone();
                for (picks, label, edge) in merges {
                    let node = builder.node(label);
                    builder.set_edge(node, edge);
                    for pick in picks {
                        if !open.is_empty() {
                            let child = open.swap_remove(pick.index(open.len()));
                            builder.attach(child, node);
                        }
                    }
                    open.push(Child::Node(node));
                    all.push(Child::Node(node));
                }
                let root = builder.node(root);
                open.into_iter().for_each(|child| builder.attach(child, root));
                edges.into_iter().enumerate().for_each(|(i, edge)| {
                    builder.set_token_edge(TokenIdx::new(i), edge);
                });
                for (child, parent, label) in secondary {
                    let parent = NodeId::new(parent.index(builder.n_nodes()));
                    builder.secondary(all[child.index(all.len())], label, parent);
                }
                let tree = builder.finish().expect("everything hangs under the root");
                Entry { sentence, tree: Some(Tree::Constituent(tree)) }
            },
        )
    })
}

/// Changes to a text: each takes place at a fraction of its length.
pub fn mutations() -> impl Strategy<Value = Vec<(prop::sample::Index, u8, u8)>> {
    vec((any::<prop::sample::Index>(), 0..6u8, any::<u8>()), 1..8)
}

/// The text after the changes: bytes replaced, inserted, deleted; lines deleted or doubled; the end cut.
pub fn mutate(text: &[u8], mutations: &[(prop::sample::Index, u8, u8)]) -> Vec<u8> {
    let mut text = text.to_vec();
    for &(place, kind, byte) in mutations {
        if text.is_empty() {
            break;
        }
        let at = place.index(text.len());
        let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |newline| newline + 1);
        let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline + 1);
        // Half of the bytes are ones that formats care about.
        let byte = *b"\t\n\r ()0129_=#-.<>\"{}[],:/\\\0".get(byte as usize / 2).unwrap_or(&byte);
        match kind {
            0 => text[at] = byte,
            1 => text.insert(at, byte),
            2 => drop(text.remove(at)),
            3 => drop(text.drain(start..end)),
            4 => {
                let line = text[start..end].to_vec();
                text.splice(end..end, line);
            }
            _ => text.truncate(at),
        }
    }
    text
}
