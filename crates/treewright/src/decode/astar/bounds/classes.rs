//! What bounds know of items: classes of shifts, and groups of nodes.

use super::super::space::{Grammar, Space};
use super::{Bounds, Settings};

impl Bounds {
    /// Tells the classes of shifts.
    pub(super) fn sort_shifts(&mut self, grammar: &Grammar, space: &Space, settings: Settings<'_>) {
        self.n_classes.clear();
        self.classes.clear();
        for (place, likeliest) in settings.likeliest.iter().enumerate() {
            let mut shifts: Vec<usize> = space.shifts(grammar, place).collect();
            let rank =
                |shift: &usize| likeliest.iter().position(|other| other == shift).unwrap_or(usize::MAX);
            shifts.sort_by_key(rank);
            let mut classes = vec![usize::MAX; grammar.n_columns];
            for (rank, &shift) in shifts.iter().enumerate() {
                classes[shift] = rank.min(settings.max_classes - 1);
            }
            self.n_classes.push(shifts.len().clamp(1, settings.max_classes));
            self.classes.push(classes);
        }
        // Nothing is shifted after the last word.
        self.n_classes.push(1);
    }

    /// Tells the groups of nodes: those that end at a place, by what they add to plain shifts from below. The range of these
    /// numbers is cut in halves, the longest first.
    pub(super) fn sort_nodes(&mut self, grammar: &Grammar, space: &Space, max_groups: usize) {
        let (n, plain) = (space.n, grammar.plain_shift());
        self.groups.clear();
        self.groups.resize(space.nodes.len(), 0);
        self.n_groups.clear();
        self.n_groups.resize(n + 1, 1);
        if max_groups == 1 {
            return;
        }
        let mut by_end: Vec<Vec<(i16, usize)>> = vec![Vec::new(); n];
        for (node, span) in space.nodes.iter().enumerate().filter(|(_, span)| usize::from(span.right) < n) {
            by_end[usize::from(span.right)].push((space.shift_below(node)[plain], node));
        }
        for (place, nodes) in by_end.iter_mut().enumerate().filter(|(_, nodes)| !nodes.is_empty()) {
            nodes.sort_unstable();
            let range = |part: &[(i16, usize)]| i32::from(part[part.len() - 1].0) - i32::from(part[0].0);
            let mut parts: Vec<&[(i16, usize)]> = vec![nodes];
            while parts.len() < max_groups {
                let longest = (0..parts.len()).max_by_key(|&part| range(parts[part])).unwrap_or(0);
                if range(parts[longest]) == 0 {
                    break;
                }
                let part = parts.swap_remove(longest);
                let middle = i32::from(part[0].0) + (range(part) + 1) / 2;
                let (low, high) =
                    part.split_at(part.partition_point(|&(value, _)| i32::from(value) < middle));
                parts.extend([low, high]);
            }
            for (group, part) in parts.iter().enumerate() {
                part.iter().for_each(|&(_, node)| self.groups[node] = group);
            }
            self.n_groups[place] = parts.len();
        }
    }
}
