//! Empty elements of Penn treebanks: taken out, or resolved into discontinuous constituents.
//!
//! An empty element is a word with the tag `-NONE-`. Those of the forms `*T*-n`, `*ICH*-n`, `*EXP*-n` and `*RNR*-n`
//! say that the constituent whose label carries the index `-n`, the filler, is understood in their place. Resolving
//! them (Evang and Kallmeyer 2011) hangs the filler there; its words stay where they are in the sentence.

use crate::error::{Code, Error, Result};
use crate::ids::{NodeId, TokenIdx};
use crate::sentence::Sentence;
use crate::tree::edit::{rebuild, retain_tokens};
use crate::tree::{Child, ConstituentTree};

/// The kinds of trace that are resolved, as they are written.
const RESOLVED: [&str; 4] = ["*T*-", "*ICH*-", "*EXP*-", "*RNR*-"];

/// Takes out the empty elements and the constituents that dominate nothing else; words are renumbered. Secondary
/// edges that lose an end are dropped.
///
/// # Errors
/// When nothing would be left.
pub fn remove_traces(sentence: Sentence, tree: &ConstituentTree) -> Result<(Sentence, ConstituentTree)> {
    let keep: Vec<bool> = sentence.tokens.iter().map(|token| !token.is_trace()).collect();
    without(sentence, tree, &tree.parents(), &tree.token_parents(), &keep)
}

fn without(
    sentence: Sentence,
    tree: &ConstituentTree,
    parents: &[Option<NodeId>],
    token_parents: &[NodeId],
    keep: &[bool],
) -> Result<(Sentence, ConstituentTree)> {
    if !keep.contains(&true) {
        let message = "the sentence has no words but empty elements, so nothing would be left";
        return Err(Error::new(Code::Untransformable, message));
    }
    let tree = rebuild(tree, parents, token_parents, keep)
        .map_err(|error| Error::new(Code::Untransformable, error.to_string()))?;
    Ok((retain_tokens(sentence, keep), tree))
}

/// The index that makes a constituent a filler: the 3 of `NP-SBJ=1-3`. What follows `=` is another kind of index.
fn filler_index(label: &str) -> Option<&str> {
    let (_, last) = label.rsplit_once('-')?;
    let is_index = !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit());
    (is_index && !label.starts_with('-')).then_some(last)
}

/// Hangs fillers where their traces are, and takes out those traces.
///
/// - The filler replaces the constituent that dominates nothing but the trace; if there is none, the trace.
/// - A filler without words of its own (`0`, or other traces) is left alone, with its traces.
/// - Of several traces of one filler the first is taken, or the last if one of them is `*RNR*`. The others stay, to
///   be taken out by [`remove_traces`].
/// - If several constituents carry the index (an annotation error), the innermost and leftmost of them is the filler.
/// - If the trace is inside its own filler (a parenthetical such as ", he said,"), the child of the filler that
///   dominates the trace is first lifted to the filler's parent.
///
/// Time is linear but for the way from each resolved trace to the root.
///
/// # Errors
/// When nothing would be left.
pub fn resolve_traces(sentence: Sentence, tree: &ConstituentTree) -> Result<(Sentence, ConstituentTree)> {
    let mut parents = tree.parents();
    let token_parents = tree.token_parents();
    let mut keep = vec![true; tree.n_tokens()];
    for (trace, filler) in pairs(&sentence, tree) {
        let above = token_parents[trace.index()];
        if !lift_out_of_filler(&mut parents, above, filler) {
            continue;
        }
        // Replace the constituent over the trace if that is all it has.
        let place = match tree.children(above) {
            [_] => parents[above.index()],
            _ => Some(above),
        };
        // A trace alone under the root has no place in the tree to give.
        let Some(place) = place else { continue };
        parents[filler.index()] = Some(place);
        keep[trace.index()] = false;
    }
    without(sentence, tree, &parents, &token_parents, &keep)
}

/// If the trace is under the filler, lifts the child of the filler that dominates it to the filler's parent. Gives
/// false where that is impossible: the filler is the root, or the trace is a child of the filler.
fn lift_out_of_filler(parents: &mut [Option<NodeId>], above_trace: NodeId, filler: NodeId) -> bool {
    let mut at = above_trace;
    if at == filler {
        return false;
    }
    while let Some(above) = parents[at.index()] {
        if above == filler {
            let Some(beside) = parents[filler.index()] else { return false };
            parents[at.index()] = Some(beside);
            return true;
        }
        at = above;
    }
    true
}

/// The traces to be resolved with their fillers, from left to right.
fn pairs(sentence: &Sentence, tree: &ConstituentTree) -> Vec<(TokenIdx, NodeId)> {
    // Does a constituent have words of its own?
    let mut is_overt = vec![false; tree.n_nodes()];
    for (id, _) in tree.nodes() {
        is_overt[id.index()] = tree.children(id).iter().any(|child| match child {
            Child::Token(token) => !sentence.token(*token).is_trace(),
            Child::Node(node) => is_overt[node.index()],
        });
    }
    let mut fillers: Vec<(&str, NodeId)> =
        tree.nodes().filter_map(|(id, node)| Some((filler_index(&node.label)?, id))).collect();
    fillers.sort_unstable();
    let filler = |index: &str| {
        let at = fillers.partition_point(|(known, _)| *known < index);
        fillers.get(at).filter(|(known, _)| *known == index).map(|&(_, id)| id)
    };
    // The first and the last trace of each filler, and whether one of them is *RNR*.
    let mut traces: Vec<Option<(TokenIdx, TokenIdx, bool)>> = vec![None; tree.n_nodes()];
    for (i, token) in sentence.tokens.iter().enumerate().filter(|(_, token)| token.is_trace()) {
        let index = RESOLVED.iter().find_map(|kind| token.form.strip_prefix(kind));
        let Some(filler) = index.and_then(filler).filter(|id| is_overt[id.index()]) else { continue };
        let (trace, is_raised) = (TokenIdx::new(i), token.form.starts_with("*RNR*"));
        let slot = traces[filler.index()].get_or_insert((trace, trace, false));
        (slot.1, slot.2) = (trace, slot.2 || is_raised);
    }
    let chosen = traces.into_iter().enumerate().filter_map(|(i, traces)| {
        let (first, last, is_raised) = traces?;
        Some((if is_raised { last } else { first }, NodeId::new(i)))
    });
    let mut pairs: Vec<(TokenIdx, NodeId)> = chosen.collect();
    pairs.sort_unstable();
    pairs
}

#[cfg(test)]
mod tests;
