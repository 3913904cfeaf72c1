//! A tree from nested input: constituents are closed one after the other, children before parents, as brackets are.
//!
//! When the children of every constituent come in the order of their leftmost words, as they do in nearly every
//! file, the nodes are already in canonical form and are stored as they come. Otherwise `finish` sorts once.

use super::{Child, ConstituentTree, Extent, Node, TreeError};
use crate::ids::{NodeId, TokenIdx};
use crate::sentence::Str;

/// Builds a tree bottom-up. Words and closed constituents wait in a row until `close` puts a parent above the last
/// of them. The builder may be used again after `finish` or `clear`, and keeps its scratch memory.
#[derive(Clone, Debug, Default)]
pub struct NestedBuilder {
    nodes: Vec<Node>,
    children: Vec<Child>,
    /// Words and constituents without a parent, in the order given.
    waiting: Vec<Child>,
    /// How many words were given.
    n_tokens: usize,
    /// Some word was not the one after the word before it.
    shuffled: bool,
    /// Some children were not in the order of their leftmost words.
    unsorted: bool,
}

impl NestedBuilder {
    /// Forgets everything given so far.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.children.clear();
        self.waiting.clear();
        self.n_tokens = 0;
        self.shuffled = false;
        self.unsorted = false;
    }

    /// The number of words and constituents that wait for a parent: what `close` takes as the start of a
    /// constituent that opens now.
    #[inline]
    pub fn n_waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The number of words given.
    #[inline]
    pub fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    /// Adds a word.
    #[inline]
    pub fn token(&mut self, token: TokenIdx) {
        self.shuffled |= token.index() != self.n_tokens;
        self.n_tokens += 1;
        self.waiting.push(Child::Token(token));
    }

    /// Puts a constituent above everything that waits from `start` on. Gives `false`, and adds nothing, if that is
    /// nothing.
    #[inline]
    pub fn close(&mut self, start: usize, label: Str) -> bool {
        let Some((&first, rest)) = self.waiting[start..].split_first() else { return false };
        let mut extent = self.extent(first);
        let mut before = extent.leftmost;
        for &child in rest {
            let own = self.extent(child);
            self.unsorted |= own.leftmost <= before;
            before = own.leftmost;
            extent = extent.join(own);
        }
        let from = self.children.len() as u32;
        self.children.extend_from_slice(&self.waiting[start..]);
        self.waiting.truncate(start);
        self.waiting.push(Child::Node(NodeId::new(self.nodes.len())));
        let children = (from, self.children.len() as u32);
        self.nodes.push(Node { label, edge: Str::default(), children, extent });
        true
    }

    #[inline]
    fn extent(&self, child: Child) -> Extent {
        match child {
            Child::Token(token) => Extent::word(token),
            Child::Node(node) => self.nodes[node.index()].extent,
        }
    }

    /// The tree, and the builder is empty again.
    ///
    /// # Errors
    /// When the words given are not the words 0, 1, 2, ... each once, or not exactly one constituent waits.
    pub fn finish(&mut self) -> Result<ConstituentTree, TreeError> {
        let checked = self.check();
        let tree = ConstituentTree {
            // Exactly as large as needed, and the builder keeps its own memory.
            nodes: self.nodes.drain(..).collect(),
            children: self.children.to_vec(),
            token_edges: Vec::new(),
            secondary: Vec::new(),
            n_tokens: self.n_tokens as u32,
        };
        let unsorted = self.unsorted;
        self.clear();
        checked?;
        if unsorted { tree.to_builder().finish() } else { Ok(tree) }
    }

    fn check(&self) -> Result<(), TreeError> {
        match self.waiting[..] {
            [] => return Err(TreeError::Empty),
            [Child::Node(_)] => {}
            [Child::Token(token), ..] => return Err(TreeError::Unattached(token)),
            [Child::Node(node), ..] => return Err(TreeError::Unrooted(node.index())),
        }
        if self.shuffled {
            // As many words as places: each place is taken once unless some word is outside or given twice.
            let mut seen = vec![false; self.n_tokens];
            for &child in &self.children {
                let Child::Token(token) = child else { continue };
                match seen.get_mut(token.index()) {
                    Some(seen) if !*seen => *seen = true,
                    Some(_) => return Err(TreeError::TwoParents(token)),
                    None => {}
                }
            }
            if let Some(missing) = seen.iter().position(|seen| !seen) {
                return Err(TreeError::Unattached(TokenIdx::new(missing)));
            }
        }
        Ok(())
    }
}
