//! A gold tree as the oracle of SR-GAP needs it.

use crate::ids::{LabelId, NodeId};
use crate::systems::sr_gap::SrGap;
use crate::tree::ancestors::Ancestors;
use crate::tree::{Child, ConstituentTree, Underivable};

/// The gold tree as the oracle needs it: nodes of several words in post-order, the root last.
#[derive(Debug)]
pub(in super::super) struct Gold {
    ancestors: Ancestors,
    pub size: Vec<u32>,
    /// The place of the first word.
    pub left: Vec<u32>,
    /// The place after the last word.
    pub right: Vec<u32>,
    pub label: Vec<LabelId>,
    /// The smallest node of several words above each word.
    pub above_word: Vec<u32>,
    /// The label of the unary above each word.
    pub unary: Vec<Option<LabelId>>,
}

impl Gold {
    pub fn new(system: &SrGap, tree: &ConstituentTree) -> Result<Self, Underivable> {
        let mut gold = Gold {
            ancestors: Ancestors::new(&[]),
            size: Vec::new(),
            left: Vec::new(),
            right: Vec::new(),
            label: Vec::new(),
            above_word: vec![0; tree.n_tokens()],
            unary: vec![None; tree.n_tokens()],
        };
        // Where each node of the tree went; a unary above a word has no place of its own.
        let (mut place, mut parents) = (vec![0; tree.n_nodes()], Vec::new());
        for (id, node) in tree.nodes() {
            let label = system.symbols.label_at(&node.label, id == tree.root())?;
            match *tree.children(id) {
                [Child::Token(token)] => {
                    gold.unary[token.index()] = Some(label);
                    continue;
                }
                [Child::Node(below)] => {
                    let below = &tree.node(below).label;
                    let why = format!("{} has the one child {below}, which is not a word", node.label);
                    return Err(Underivable(why));
                }
                _ => {}
            }
            let new = gold.label.len() as u32;
            place[id.index()] = new;
            gold.label.push(label);
            parents.push(None);
            gold.size.push(node.n_tokens() as u32);
            gold.left.push(node.leftmost().index() as u32);
            gold.right.push(node.rightmost().index() as u32 + 1);
            for &child in tree.children(id) {
                match child {
                    Child::Token(token) => gold.above_word[token.index()] = new,
                    Child::Node(child) => match tree.children(child) {
                        &[Child::Token(token)] => gold.above_word[token.index()] = new,
                        _ => parents[place[child.index()] as usize] = Some(NodeId::new(new as usize)),
                    },
                }
            }
        }
        gold.ancestors = Ancestors::new(&parents);
        Ok(gold)
    }

    /// The smallest node that contains both.
    pub fn common(&self, a: u32, b: u32) -> u32 {
        self.ancestors.lowest_common(NodeId::new(a as usize), NodeId::new(b as usize)).index() as u32
    }

    /// The root, if there are several words.
    pub fn root(&self) -> u32 {
        self.label.len() as u32 - 1
    }

    /// The parent; the root's is itself.
    pub fn parent(&self, node: u32) -> u32 {
        self.ancestors.parent(NodeId::new(node as usize)).index() as u32
    }
}
