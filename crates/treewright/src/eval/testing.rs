//! (tests only) Small trees from text.

use super::Parsed;
use crate::ids::TokenIdx;
use crate::sentence::{Sentence, Token};
use crate::tree::{Child, ConstituentTree, TreeBuilder};

/// A sentence and its tree, if it has one.
pub(super) type Pair = (Sentence, Option<ConstituentTree>);

pub(super) fn parsed((sentence, tree): &Pair) -> Parsed<'_> {
    Parsed { sentence, tree: tree.as_ref() }
}

/// Reads `(S (NP (DT the) (NN dog)) ...)`, or `(NN 1=dog)` with `indexed`. The empty text is "no parse".
pub(super) fn tree(text: &str, indexed: bool) -> Pair {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let parts: Vec<&str> = spaced.split_whitespace().collect();
    let mut builder = TreeBuilder::default();
    let mut tokens: Vec<(usize, Token)> = Vec::new();
    let mut open = Vec::new();
    let mut i = 0;
    while i < parts.len() {
        if parts[i] == ")" {
            open.pop();
        } else if parts[i + 2] == "(" {
            let node = builder.node(parts[i + 1]);
            if let Some(&above) = open.last() {
                builder.attach(Child::Node(node), above);
            }
            open.push(node);
            i += 1;
        } else {
            let (index, word) = match parts[i + 2].split_once('=') {
                Some((index, word)) if indexed => (index.parse().expect("an index"), word),
                _ => (tokens.len(), parts[i + 2]),
            };
            tokens.push((index, Token::new(word, parts[i + 1])));
            builder.attach(
                Child::Token(TokenIdx::new(index)),
                *open.last().expect("words stand in a constituent"),
            );
            i += 3;
        }
        i += 1;
    }
    tokens.sort_by_key(|&(index, _)| index);
    let sentence =
        Sentence { tokens: tokens.into_iter().map(|(_, token)| token).collect(), ..Sentence::default() };
    let tree = (!parts.is_empty()).then(|| builder.finish().expect("a tree"));
    (sentence, tree)
}
