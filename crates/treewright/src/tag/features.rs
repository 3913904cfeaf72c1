//! What each layer looks at around a word. Templates below 32 belong to words on their own (`words.rs`).

use super::words::Word;
use crate::hash::feature;

/// This many words on each side are looked at; arrays of words have as many edges around them.
pub(super) const REACH: usize = 2;

/// What both guesses and tags look at; `labels` are those decided on the left.
#[inline]
fn guess_and_tag(words: &[Word], labels: &[u16], at: usize, f: &mut impl FnMut(u32, u32, u32, u32)) {
    let [p2, p1, w, n1, n2] = std::array::from_fn(|i| &words[at + i - REACH]);
    let [t1, t2] = [1, 2].map(|back| u32::from(labels[at - back]));
    let first = u32::from(p1.form == Word::EDGE.form);
    f(33, first, w.tags, w.shape);
    f(34, p1.folded, 0, 0);
    f(35, n1.folded, 0, 0);
    f(38, p1.folded, w.folded, 0);
    f(39, w.folded, n1.folded, 0);
    f(44, n1.tags, n2.tags, 0);
    f(45, w.tags, n1.tags, 0);
    f(47, w.suffix3, n1.tags, 0);
    f(49, p1.shape, w.shape, n1.shape);
    f(66, t1, t2, 0);
    f(67, t1, w.folded, 0);
    f(70, t1, w.suffix3, 0);
    f(72, t1, w.tags, n1.tags);
    f(75, t2, p2.folded, t1);
}

/// Features of guesses: the words around, and the guesses on the left.
#[inline]
pub(super) fn guess(
    words: &[Word],
    guesses: &[u16],
    case: u32,
    at: usize,
    has_classes: bool,
    mut add: impl FnMut(u32),
) {
    let [p2, p1, w, n1, n2] = std::array::from_fn(|i| &words[at + i - REACH]);
    let [t1, t2] = [1, 2].map(|back| u32::from(guesses[at - back]));
    let first = u32::from(p1.form == Word::EDGE.form);
    let mut f = |template: u32, a: u32, b: u32, c: u32| add(feature(template, a, b, c));
    guess_and_tag(words, guesses, at, &mut f);
    f(32, first, w.shape, 0);
    f(36, p2.folded, 0, 0);
    f(37, n2.folded, 0, 0);
    f(40, p1.folded, n1.folded, 0);
    f(41, n1.suffix3, 0, 0);
    f(42, p1.suffix3, 0, 0);
    f(43, n1.tags, 0, 0);
    f(46, w.folded, n1.tags, 0);
    f(48, n1.shape, w.shape, 0);
    f(50, w.tags, n1.folded, 0);
    f(51, w.tags, p1.folded, 0);
    f(52, w.suffix2, p1.folded, 0);
    f(53, w.suffix2, n1.folded, 0);
    f(54, n1.folded, n2.folded, 0);
    let case = case << 4 | u32::from(w.capital) << 1 | first;
    f(80, case, 0, 0);
    f(81, case, w.tags, 0);
    f(82, case, w.suffix3, 0);
    f(83, case, u32::from(p1.capital) << 4 | u32::from(n1.capital), 0);
    if has_classes {
        let [[_, pf2], [pc1, pf1], [wc, wf], [nc1, nf1], [_, nf2]] =
            [p2, p1, w, n1, n2].map(|word| word.clusters.map(u32::from));
        f(55, pf1, 0, 0);
        f(56, nf1, 0, 0);
        f(57, pf2, 0, 0);
        f(58, nf2, 0, 0);
        f(59, wf, nf1, 0);
        f(60, pf1, wf, 0);
        f(61, pc1, wc, nc1);
        f(62, w.tags, nf1, 0);
        f(77, t1, wf, 0);
    }
    f(64, t1, 0, 0);
    f(65, t2, 0, 0);
    f(68, t1, w.tags, 0);
    f(69, t1, n1.tags, 0);
    f(71, t1, t2, w.tags);
    f(73, t1, n1.folded, 0);
    f(74, t1, p1.folded, 0);
    f(76, t1, w.shape, 0);
    f(78, t1, w.folded, n1.tags);
}

/// Features of tags: the guesses for the word and those on its right, the tags on its left, and a few words.
#[inline]
pub(super) fn tag(
    words: &[Word],
    guesses: &[u16],
    tags: &[u16],
    at: usize,
    has_classes: bool,
    mut add: impl FnMut(u32),
) {
    let [p1, w, n1] = std::array::from_fn(|i| &words[at + i - 1]);
    let [t1, t2] = [1, 2].map(|back| u32::from(tags[at - back]));
    let [g0, g1, g2] = std::array::from_fn(|i| u32::from(guesses[at + i]));
    let mut f = |template: u32, a: u32, b: u32, c: u32| add(feature(template, a, b, c));
    guess_and_tag(words, tags, at, &mut f);
    f(128, g1, 0, 0);
    f(129, g2, 0, 0);
    f(130, g1, g2, 0);
    f(131, t1, g1, 0);
    f(132, t1, g1, w.folded);
    f(133, g1, w.folded, 0);
    f(134, g1, w.tags, 0);
    f(135, g1, n1.folded, 0);
    f(136, g0, 0, 0);
    f(137, g0, g1, t1);
    f(138, g1, g2, w.folded);
    f(139, t1, t2, g1);
    f(140, w.suffix3, g1, 0);
    f(141, g1, g2, t1);
    f(142, w.tags, t1, g1);
    f(143, p1.folded, w.tags, g1);
    f(144, g0, t1, 0);
    f(145, g0, g1, g2);
    f(146, g0, w.folded, 0);
    f(147, g0, w.tags, g1);
    if has_classes {
        let [[pc1, pf1], [wc, wf], [nc1, nf1]] = [p1, w, n1].map(|word| word.clusters.map(u32::from));
        f(148, g1, wc, 0);
        f(149, t1, wc, g1);
        f(150, t1, wf, 0);
        f(151, g1, wf, 0);
        f(152, wc, nc1, 0);
        f(153, pf1, 0, 0);
        f(154, nf1, 0, 0);
        f(155, pc1, wc, 0);
    }
}

/// Features of readings: all tags are known, and the readings on the left.
#[inline]
pub(super) fn reading(words: &[Word], tags: &[u16], readings: &[u16], at: usize, mut add: impl FnMut(u32)) {
    let [p2, p1, w, n1, n2] = std::array::from_fn(|i| &words[at + i - REACH]);
    let [tp2, tp1, _, tn1, tn2] = std::array::from_fn(|i| u32::from(tags[at + i - REACH]));
    let [r1, r2] = [1, 2].map(|back| u32::from(readings[at - back]));
    let mut f = |template: u32, a: u32, b: u32, c: u32| add(feature(template, a, b, c));
    f(96, tp1, 0, 0);
    f(97, tn1, 0, 0);
    f(98, tp2, tp1, 0);
    f(99, tn1, tn2, 0);
    f(100, tp1, tn1, 0);
    f(101, p1.folded, 0, 0);
    f(102, n1.folded, 0, 0);
    f(103, p2.folded, 0, 0);
    f(104, n2.folded, 0, 0);
    f(105, p1.suffix3, 0, 0);
    f(106, n1.suffix3, 0, 0);
    f(107, tp1, p1.suffix2, w.suffix2);
    f(108, tn1, n1.suffix2, w.suffix2);
    f(109, tp1, p1.suffix3, w.suffix3);
    f(110, tn1, n1.suffix3, w.suffix3);
    f(111, p1.folded, w.folded, 0);
    f(112, w.folded, n1.folded, 0);
    f(113, r1, 0, 0);
    f(114, r2, 0, 0);
    f(115, r1, r2, 0);
    f(116, r1, w.suffix2, 0);
    f(117, r1, w.suffix3, 0);
    f(118, r1, w.readings, 0);
    f(119, r2, w.readings, tp1);
    f(120, r1, tn1, 0);
    f(121, w.readings, n1.readings, 0);
    f(122, w.suffix3, n1.readings, 0);
    f(123, w.folded, tn1, 0);
    f(124, w.folded, tp1, 0);
    f(125, r1, n1.readings, 0);
    f(126, n1.readings, n2.readings, 0);
    f(127, w.readings, p1.readings, 0);
}
