//! Several scorers that vote: the sum of their scores, each in its own unit.

use super::{Rows, Scorer, SlotId, Slots, Views, WordTags};
use crate::sentence::Sentence;

/// A scorer of scorers for the same actions.
pub struct Ensemble {
    members: Vec<Member>,
    /// The slots that the members have for an open sentence.
    slots: Slots<Vec<SlotId>>,
    rows: Rows,
}

struct Member {
    scorer: Box<dyn Scorer>,
    /// What its scores are multiplied by.
    factor: f32,
}

impl Ensemble {
    /// Of scorers, each with the unit of its scores: what corresponds to a factor of e in probability.
    pub fn new(scorers: impl IntoIterator<Item = (Box<dyn Scorer>, f32)>) -> Self {
        let member = |(scorer, unit)| Member { scorer, factor: 1.0 / unit };
        let members = scorers.into_iter().map(member).collect();
        Ensemble { members, slots: Slots::default(), rows: Rows::default() }
    }
}

impl Scorer for Ensemble {
    fn open(&mut self, sentences: &[&Sentence], slots: &mut Vec<SlotId>) {
        let start = slots.len();
        for _ in sentences {
            let (slot, of_members) = self.slots.open(Vec::new);
            of_members.clear();
            slots.push(slot);
        }
        let mut opened = Vec::with_capacity(sentences.len());
        for member in &mut self.members {
            opened.clear();
            member.scorer.open(sentences, &mut opened);
            slots[start..]
                .iter()
                .zip(&opened)
                .for_each(|(slot, of_member)| self.slots.get(*slot).push(*of_member));
        }
    }

    fn close(&mut self, slot: SlotId) {
        for (member, of_member) in self.members.iter_mut().zip(self.slots.get(slot)) {
            member.scorer.close(*of_member);
        }
        self.slots.close(slot);
    }

    fn score(&mut self, queries: &[Views<'_>], rows: &mut Rows) {
        for (i, member) in self.members.iter_mut().enumerate() {
            let of_member = |query: &Views<'_>| self.slots.get(query.slot)[i];
            let slots: Vec<SlotId> = queries.iter().map(of_member).collect();
            let queries: Vec<Views<'_>> =
                queries.iter().zip(slots).map(|(query, slot)| Views { slot, ..*query }).collect();
            member.scorer.score(&queries, &mut self.rows);
            if i == 0 {
                rows.reset(self.rows.n_rows(), self.rows.n_actions());
            }
            for row in 0..self.rows.n_rows() {
                let pairs = rows.row_mut(row).iter_mut().zip(self.rows.row(row));
                pairs.for_each(|(sum, score)| *sum += member.factor * score);
            }
        }
    }

    /// If one of them is, the sum is taken as such: in a beam the unnormalised scores of a network would favour some states
    /// over others for no reason.
    fn is_log_linear(&self) -> bool {
        self.members.iter().any(|member| member.scorer.is_log_linear())
    }

    fn finds_tags(&self) -> bool {
        self.members.iter().any(|member| member.scorer.finds_tags())
    }

    /// The first member that knows tags finds them.
    fn set_tagging(&mut self, is_wanted: bool) {
        if let Some(member) = self.members.iter_mut().find(|member| member.scorer.finds_tags()) {
            member.scorer.set_tagging(is_wanted);
        }
    }

    fn take_tags(&mut self) -> Vec<WordTags> {
        let member = self.members.iter_mut().find(|member| member.scorer.finds_tags());
        member.map(|member| member.scorer.take_tags()).unwrap_or_default()
    }

    fn prefers_batches(&self) -> bool {
        self.members.iter().any(|member| member.scorer.prefers_batches())
    }
}
