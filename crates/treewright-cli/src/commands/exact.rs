//! The flags of exact search.

use std::time::Duration;

use clap::Args;
use treewright::decode::{ExactSettings, Heuristic};

use crate::values;

/// What can be set about exact search.
#[derive(Args, Clone, Copy, Debug)]
pub struct ExactArgs {
    /// Exact search: the heuristic for the rest of the derivation; it affects the time, not the score of the best tree
    /// [default: cascade; none with best-first]
    #[arg(long, value_name = "NAME", value_parser = values::choice(HEURISTICS))]
    pub heuristic: Option<Heuristic>,

    /// Exact search: the most work per sentence, counted in items of the search (16 rows of scores that are looked at for
    /// bounds count as one item, and so do 16 attempts to join two items); if that is not enough, the best tree found so
    /// far is returned, with `exact = false` and an upper bound [default: 2000000, about a second]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_ITEMS))]
    pub max_items: Option<u32>,

    /// Exact search: the most memory per sentence and thread, in MB; if that is not enough, the same happens [default: 384,
    /// enough for about 80 words with the labels of the Penn Treebank]
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..=MAX_MEMORY))]
    pub max_memory: Option<u32>,

    /// Exact search: time limit per sentence, for computing bounds and searching; after that, the best tree found so far
    /// is returned, with `exact = false`. The output then depends on the speed of the machine [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,

    /// Exact search: also allow labels above single words that never occur above that tag in the training data (takes much
    /// longer)
    #[arg(long)]
    pub open_rules: bool,
}

/// The names of the heuristics.
const HEURISTICS: &[(&str, Heuristic)] = &[
    ("none", Heuristic::None),
    ("less-constituent", Heuristic::LessConstituent),
    ("projection", Heuristic::Projection),
    ("cascade", Heuristic::Cascade),
];

/// With more, memory ends before they do.
const MAX_ITEMS: i64 = 1_000_000_000;

/// A terabyte.
const MAX_MEMORY: i64 = 1 << 20;

impl ExactArgs {
    /// The first of these flags that was given.
    pub fn first_flag(&self) -> Option<&'static str> {
        let flags = [
            ("--heuristic", self.heuristic.is_some()),
            ("--max-items", self.max_items.is_some()),
            ("--max-memory", self.max_memory.is_some()),
            ("--timeout", self.timeout.is_some()),
            ("--open-rules", self.open_rules),
        ];
        flags.iter().find(|(_, is_given)| *is_given).map(|(flag, _)| *flag)
    }

    /// These settings with what the flags say.
    pub fn settings(&self, default: ExactSettings) -> ExactSettings {
        ExactSettings {
            heuristic: self.heuristic.unwrap_or(default.heuristic),
            beam: default.beam,
            max_items: self.max_items.map_or(default.max_items, |n| n as usize),
            max_bytes: self.max_memory.map_or(default.max_bytes, |megabytes| (megabytes as usize) << 20),
            timeout: self.timeout.or(default.timeout),
            open_rules: self.open_rules || default.open_rules,
        }
    }
}

/// Reads a time in seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    let duration = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    // A clock does not go on for ever.
    duration
        .filter(|duration| !duration.is_zero() && duration.as_secs() <= 1_000_000_000)
        .ok_or_else(|| "expected a number of seconds above 0, such as 0.5 or 10".to_owned())
}
