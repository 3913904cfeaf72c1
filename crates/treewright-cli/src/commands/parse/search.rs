//! How `treewright parse` searches: the decoder and its settings, from flags and model.

use clap::ValueEnum;
use treewright::Result;
use treewright::config::{TrainConfig, Update};
use treewright::decode::{ExactSettings, Heuristic, Method};
use treewright::model::{Parser, Search};

use super::ParseArgs;
use crate::io::{say, usage};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DecoderArg {
    /// The best action at each step
    Greedy,
    /// The best hypotheses at each step
    Beam,
    /// A beam of merged states, which covers many more hypotheses (dynamic programming); for bottom-up-2n, arc-hybrid
    /// and arc-eager
    Dp,
    /// Exact search: the best tree for the model, and the proof of it; for bottom-up-2n with the features `simplified`
    Astar,
    /// The same without a heuristic, for comparison: much slower
    BestFirst,
}

impl DecoderArg {
    fn name(self) -> &'static str {
        match self {
            DecoderArg::Greedy => "greedy",
            DecoderArg::Beam => "beam",
            DecoderArg::Dp => "dp",
            DecoderArg::Astar => "astar",
            DecoderArg::BestFirst => "best-first",
        }
    }

    /// The decoder that a model was trained with.
    fn of(method: Method) -> Self {
        match method {
            Method::Greedy => DecoderArg::Greedy,
            Method::Beam { .. } => DecoderArg::Beam,
            Method::Dp { .. } => DecoderArg::Dp,
            Method::Exact(_) => DecoderArg::Astar,
        }
    }

    fn is_exact(self) -> bool {
        matches!(self, DecoderArg::Astar | DecoderArg::BestFirst)
    }
}

/// Can this search say that a tree is the best one?
pub(super) fn can_prove(search: Search) -> bool {
    matches!(search.method, Method::Dp { .. } | Method::Exact(_))
}

impl ParseArgs {
    /// How to search with this model.
    pub(super) fn search(&self, parser: &Parser) -> Result<Search> {
        let default = parser.default_search();
        let search = self.asked_search(default)?;
        let decoder = self.decoder.unwrap_or(DecoderArg::of(default.method));
        parser.check(search).map_err(|why| {
            let instead = if decoder.is_exact() && why.contains("merged") { "dp" } else { "beam" };
            usage(format!("--decoder {}: {why} (--decoder {instead})", decoder.name()))
        })?;
        let info = parser.info();
        // Networks learn step by step, too, but their scores are probabilities, which a beam can add up.
        let is_greedy = info.config.update == Update::Local && info.scorer == TrainConfig::default().scorer;
        let is_wide = matches!(search.method, Method::Beam { .. } | Method::Dp { .. }) && search != default;
        if is_wide && is_greedy && search.k_best == 1 && !self.read.quiet {
            say!(
                "note: this model was trained step by step, for greedy parsing: a beam hardly helps it, and often makes its \
                 trees worse (train with a beam for that: train --beam N)"
            );
        }
        Ok(search)
    }

    fn asked_search(&self, default: Search) -> Result<Search> {
        let k_best = usize::from(self.k_best);
        let decoder = self.decoder.unwrap_or(DecoderArg::of(default.method));
        if decoder.is_exact() {
            return Ok(Search { method: self.exact_search(decoder, default)?, k_best });
        }
        if let Some(flag) = self.exact.first_flag() {
            return Err(usage(format!("{flag} has no effect without --decoder astar or best-first")));
        }
        let width = match (self.decoder, self.beam) {
            (Some(DecoderArg::Greedy), _) if k_best > 1 => {
                return Err(usage("--decoder greedy finds one parse: leave it out, or leave --k-best out"));
            }
            (Some(DecoderArg::Greedy), None | Some(1)) => 1,
            (Some(DecoderArg::Greedy), Some(_)) => {
                return Err(usage("--decoder greedy has no beam: leave --beam out"));
            }
            (_, Some(beam)) => usize::from(beam),
            // A model trained greedily has no beam of its own.
            (Some(_), None) => default.method.width().max(4),
            (None, None) => default.method.width(),
        };
        if decoder == DecoderArg::Dp {
            self.refuse_pruning(decoder)?;
            // Merged states stand for many parses each.
            return Ok(Search { method: Method::Dp { width }, k_best });
        }
        if k_best > width {
            let whose = match (self.beam, self.decoder) {
                (None, None) => "the model's beam",
                _ => "the beam",
            };
            let message = format!("--k-best {k_best} needs a beam of that width, and {whose} is {width}");
            return Err(usage(format!("{message}: add --beam {k_best} or more")));
        }
        let method = match (decoder, width) {
            (DecoderArg::Greedy | DecoderArg::Beam, 1) => Method::Greedy,
            (DecoderArg::Greedy | DecoderArg::Beam, _) => Method::Beam {
                width,
                percentile: self.prune_percentile.map_or(Method::PERCENTILE, usize::from),
            },
            (DecoderArg::Dp | DecoderArg::Astar | DecoderArg::BestFirst, _) => {
                unreachable!("these were dealt with above")
            }
        };
        Ok(Search { method, k_best })
    }

    /// Exact search with these flags. It finds as many parses as are wanted, whatever the width of its beam.
    fn exact_search(&self, decoder: DecoderArg, default: Search) -> Result<Method> {
        self.refuse_pruning(decoder)?;
        let mut settings = match default.method {
            Method::Exact(settings) => settings,
            _ => ExactSettings::default(),
        };
        if decoder == DecoderArg::BestFirst {
            if self.exact.heuristic.is_some_and(|heuristic| heuristic != Heuristic::None) {
                return Err(usage(
                    "--decoder best-first has no heuristic: leave --heuristic out, or use --decoder astar",
                ));
            }
            settings.heuristic = Heuristic::None;
        }
        settings.beam = self.beam.map_or(settings.beam, usize::from);
        Ok(Method::Exact(self.exact.settings(settings)))
    }

    fn refuse_pruning(&self, decoder: DecoderArg) -> Result<()> {
        if self.prune_percentile.is_some() {
            let name = decoder.name();
            let message = format!("--prune-percentile has no effect with --decoder {name}");
            return Err(usage(format!("{message}: leave one of them out")));
        }
        Ok(())
    }
}
