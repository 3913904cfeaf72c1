//! Tells a person how training goes, and keeps the log, the checkpoints and the learning curve.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use treewright::config::TrainConfig;
use treewright::eval::plot::{Plot, Series};
use treewright::segment::Written;
use treewright::train::{Assumption, Checkpoint, EpochReport, Log, Outcome, Stage, TaggerWeights};
use treewright::tree::TreeKind;
use treewright::{Error, Result};

use super::run_log::RunLog;
use super::write_file;
use crate::io::{say, say_when_interrupted, with_suffix};

/// A stage's name in lines for people and in the log.
fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::Segmenter => "segmenter",
        Stage::Tagger => "tagger",
        Stage::Lemmatiser => "lemmatiser",
        Stage::Jackknife => "tags to learn from",
        Stage::Parser => "parser",
        Stage::TaggerWeight => "weight of the tagger",
    }
}

/// The stages of a run, each with how long it takes: the unit does not matter, since the pace is measured.
pub type Plan = Vec<(Stage, f64)>;

/// One bar over the whole training on a terminal; otherwise a line for each stage and epoch.
pub struct Progress {
    bar: ProgressBar,
    quiet: bool,
    output: PathBuf,
    log: RunLog,
    reports: Vec<EpochReport>,
    /// The percentages of tags and lemmas that are right on the development set.
    pub accuracies: Vec<(&'static str, f64)>,
    /// The score with the tagger's weight that was tuned.
    tuned_score: Option<f64>,
    kind: TreeKind,
    epochs: usize,
    started: Instant,
    plan: Plan,
    stage: Option<usize>,
    stage_started: Instant,
}

/// The bar has this many steps.
const STEPS: f64 = 1000.0;

impl Progress {
    /// Begins the log of a run.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn new(quiet: bool, output: &Path, config: &TrainConfig, plan: Plan) -> Result<Self> {
        let hidden = quiet || !std::io::stderr().is_terminal();
        let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let style = ProgressStyle::with_template("{bar:30} {percent:>3}% {msg}");
        let bar = ProgressBar::with_draw_target(Some(STEPS as u64), target)
            .with_style(style.expect("the template is valid"));
        let log = RunLog::begin(output)?;
        say_when_interrupted("stopped before the end of the first epoch, so there is nothing to go on from");
        Ok(Progress {
            bar,
            quiet,
            output: output.to_owned(),
            log,
            reports: Vec::new(),
            accuracies: Vec::new(),
            tuned_score: None,
            kind: config.system.info().kind,
            epochs: config.epochs,
            started: Instant::now(),
            plan,
            stage: None,
            stage_started: Instant::now(),
        })
    }

    /// A line for people.
    pub fn say(&self, line: &str) {
        if !self.quiet {
            self.bar.suspend(|| say!("{line}"));
        }
    }

    /// Says where the log is while training, if an older one is kept until then.
    pub fn tell_log(&self) {
        if let Some(partial) = self.log.partial() {
            self.say(&format!(
                "An older log is kept until the model is written; until then the log is {}.",
                partial.display()
            ));
        }
    }

    /// A line for programs.
    pub fn note(&mut self, line: &serde_json::Value) {
        self.log.add(line);
    }

    /// The model is written: the log is put in its place.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn keep_log(&mut self) -> Result<()> {
        self.log.finish()
    }

    /// A stage is over: a line about what came of it.
    fn close(&mut self, line: &str) {
        let seconds = self.stage_started.elapsed().as_secs_f64();
        if let Some(stage) = self.stage {
            let name = name(self.plan[stage].0);
            let line = if line.is_empty() { String::new() } else { format!(": {line}") };
            self.say(&format!("{name}{line} ({})", duration(seconds)));
            self.note(&serde_json::json!({"stage": name, "seconds": seconds}));
        }
        self.show(1.0, "");
    }

    /// This share of the stage is done.
    fn show(&self, share: f64, detail: &str) {
        let Some(stage) = self.stage.filter(|_| !self.bar.is_hidden()) else { return };
        let before: f64 = self.plan[..stage].iter().map(|(_, work)| work).sum();
        let total: f64 = self.plan.iter().map(|(_, work)| work).sum();
        let done = before + self.plan[stage].1 * share.clamp(0.0, 1.0);
        let elapsed = self.started.elapsed().as_secs_f64();
        let left = if elapsed >= 2.0 && done > 0.02 * total {
            format!(", about {} left", duration(elapsed * (total - done) / done))
        } else {
            String::new()
        };
        self.bar.set_position((STEPS * done / total) as u64);
        self.bar.set_message(format!("{}{detail}{left}", name(self.plan[stage].0)));
    }

    /// What the development set says about the weight of the tagger's score.
    fn close_tuning(&mut self, TaggerWeights { best, scores }: &TaggerWeights) {
        let score_of =
            |weight: u32| scores.iter().find(|(tried, _)| *tried == weight).map(|(_, score)| *score);
        let measure = self.measure();
        if let (Some(alone), Some(with)) = (score_of(0), score_of(*best)) {
            self.tuned_score = Some(with);
            let of_epoch = self.reports.iter().rfind(|report| report.best).and_then(|report| report.dev);
            let pruning = of_epoch.map_or(String::new(), |of_epoch| pruning(measure, of_epoch, alone));
            let line = if *best == 0 {
                format!(
                    "parsing with the tagger's second-best tags, too, does not help (dev {measure} {alone:.2})"
                )
            } else {
                format!(
                    "where the tagger's two best tags are close, parse with both and keep the better total score: dev \
                     {measure} {with:.2} instead of {alone:.2} (weight {best})"
                )
            };
            self.close(&(line + &pruning));
        }
        self.note(&serde_json::json!({"tagger_weight": best, "dev_by_weight": scores}));
    }

    /// What trees are scored by.
    pub fn measure(&self) -> &'static str {
        match self.kind {
            TreeKind::Dependencies => "LAS",
            TreeKind::Constituents => "F1",
        }
    }

    fn measure_of_crossing(&self) -> &'static str {
        match self.kind {
            TreeKind::Dependencies => "non-projective",
            TreeKind::Constituents => "discontinuous",
        }
    }

    /// The score of the model on the development set.
    pub fn score(&self) -> Option<f64> {
        let best = self.reports.iter().rfind(|report| report.best);
        self.tuned_score.or(best.and_then(|report| report.dev))
    }

    /// Takes the bar away and draws the learning curve.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(&self, config: &TrainConfig) -> Result<()> {
        self.bar.finish_and_clear();
        let series = |name: String, value: fn(&EpochReport) -> Option<f64>| Series {
            name,
            values: self.reports.iter().map(value).collect(),
        };
        let curve = Plot {
            title: format!("{} on the development set", config.system),
            x_title: "epoch".to_owned(),
            y_title: self.measure().to_owned(),
            groups: self.reports.iter().map(|report| report.epoch.to_string()).collect(),
            joined: true,
            series: vec![
                series("all".to_owned(), |report| report.dev),
                series(format!("{} F1", self.measure_of_crossing()), |report| report.dev_disc),
            ],
        };
        write_file(&with_suffix(&self.output, ".curve.svg"), |file| {
            Ok(file.write_all(curve.svg().as_bytes())?)
        })
    }
}

impl Log for Progress {
    fn begin(&mut self, stage: Stage) {
        let next = self.plan.iter().position(|(planned, _)| *planned == stage);
        debug_assert!(
            next.is_some() && next > self.stage,
            "{stage:?} is not planned here: the bar would go back"
        );
        self.stage = next;
        self.stage_started = Instant::now();
        self.show(0.0, "");
    }

    fn assumed(&mut self, assumption: &Assumption) {
        self.say(&told(assumption));
        self.note(&noted(assumption));
    }

    fn advance(&mut self, share: f64) {
        self.show(share, "");
    }

    fn end(&mut self, outcome: &Outcome) {
        let tags = match self.kind {
            TreeKind::Dependencies => "UPOS",
            TreeKind::Constituents => "tags",
        };
        let of_dev = |what: &str, percent: &f64| format!("{percent:.2} % of the {what} of dev right");
        let line = match outcome {
            Outcome::Tagger { percent_right: Some(percent) } => {
                self.accuracies.push((tags, *percent));
                of_dev("tags", percent)
            }
            Outcome::Lemmatiser { percent_right: Some(percent) } => {
                self.accuracies.push(("lemmas", *percent));
                of_dev("lemmas", percent)
            }
            Outcome::Jackknife { folds, percent_right: Some(percent) } => format!(
                "the training data tagged in {folds} parts, each by a tagger of the others, {percent:.2} % right"
            ),
            Outcome::TaggerWeight(weights) => return self.close_tuning(weights),
            _ => String::new(),
        };
        self.close(&line);
    }

    fn prepared(&mut self, usable: usize, underivable: &[(usize, String)], n_actions: usize) {
        const SHOWN: usize = 3;
        self.say(&format!("parser: {usable} trees, {n_actions} actions"));
        for (number, why) in underivable.iter().take(SHOWN) {
            self.say(&format!("  left out: sentence {number}: {why}"));
        }
        if underivable.len() > SHOWN {
            self.say(&format!(
                "  left out: {} sentences in all (the log has their numbers)",
                underivable.len()
            ));
        }
        let left_out: Vec<usize> = underivable.iter().map(|(number, _)| *number).collect();
        self.note(&serde_json::json!({"trees": usable, "actions": n_actions, "left_out": left_out}));
    }

    fn encoded(&mut self, done: usize, total: usize) {
        self.show(0.0, &format!(", {done} of {total} sentences read by the encoder"));
    }

    fn sentence(&mut self, epoch: usize, done: usize, total: usize) {
        if done.is_multiple_of(64) || done == total {
            let share = (epoch as f64 - 1.0 + done as f64 / total as f64) / self.epochs as f64;
            self.show(share, &format!(", epoch {epoch} of {}", self.epochs));
        }
    }

    fn epoch(&mut self, report: &EpochReport) {
        let dev = report.dev.map_or(String::new(), |dev| format!(", dev {} {dev:.2}", self.measure()));
        let crossing = report
            .dev_disc
            .map_or(String::new(), |score| format!(" ({} {score:.2})", self.measure_of_crossing()));
        self.say(&format!(
            "  epoch {:>2} of {}: {:.1} % wrong in training{dev}{crossing}, {}{}",
            report.epoch,
            self.epochs,
            100.0 * report.errors as f64 / report.of.max(1) as f64,
            duration(report.train_seconds + report.dev_seconds),
            if report.best && report.dev.is_some() { ", best so far" } else { "" }
        ));
        self.log.add_epoch(serde_json::to_string(report).expect("plain data"));
        self.reports.push(report.clone());
    }

    fn stopped(&mut self, why: &Error) {
        self.say(&format!("  stopped: {}; the best model up to here is kept", why.message));
        self.note(&serde_json::json!({"stopped": why.message}));
    }

    fn checkpoint(&mut self, make: &dyn Fn() -> Result<Checkpoint>) -> Result<()> {
        let checkpoint = make()?;
        let path = with_suffix(&self.output, ".checkpoint");
        // A full disk may have room again later; the epochs up to here are worth more than this file.
        if let Err(error) = write_file(&path, |file| Ok(file.write_all(&checkpoint.to_bytes())?)) {
            self.say(&format!("  this epoch has no checkpoint ({error}); training goes on"));
            return Ok(());
        }
        say_when_interrupted(format!(
            "stopped; the same command with --resume goes on from {}",
            path.display()
        ));
        Ok(())
    }
}

/// The reason why a score differs from that of the epoch; empty if it does not.
fn pruning(measure: &str, of_epoch: f64, here: f64) -> String {
    if (of_epoch - here).abs() < 0.005 {
        return String::new();
    }
    format!(
        "; {here:.2} and not the epoch's {of_epoch:.2}, because parsing prunes the beam for speed (parse \
         --prune-percentile 100: {measure} as in the epochs)"
    )
}

/// A message for people on a setting that was settled from the data, with the flag that settles it otherwise.
fn told(assumption: &Assumption) -> String {
    match assumption {
        Assumption::Traces { n_trees, n_left_out } => {
            let left_out = match n_left_out {
                0 => String::new(),
                n => format!(" {n} trees had nothing else and are left out."),
            };
            format!(
                "{n_trees} trees have empty elements (-NONE-), which text does not have: training and development trees \
                 are used as after `treewright convert --transform {}`.{left_out} (--keep-traces learns them as words.)",
                Assumption::TRACES
            )
        }
        Assumption::HeadRules { why, .. } => format!("{why} (--head-rules names others.)"),
        Assumption::Spaces(Written::Unspaced { is_guess: true }) => {
            "The treebank does not say where its text has spaces. Its script puts none between words, so the segmenter \
             expects none. (--spaces yes, if there are some.)"
                .to_owned()
        }
        Assumption::Spaces(Written::Unspaced { .. }) => {
            "The treebank does not say where its text has spaces: the segmenter expects none between words.".to_owned()
        }
        Assumption::Spaces(_) => "The treebank does not say where its text has spaces: the segmenter expects them between \
                                  words, and none before most punctuation. (--spaces no, if words are not separated.)"
            .to_owned(),
        Assumption::IdleTemplates(idle) => {
            format!("These templates find nothing in the training data, so they have no effect: {}", idle.join(", "))
        }
        Assumption::Folds { used: 0, .. } => "One sentence cannot be tagged by a tagger trained on others, so the parser \
                                              learns only from the tags of the treebank."
            .to_owned(),
        Assumption::Folds { wanted, used } => format!(
            "There are only {used} sentences, so they are tagged in {used} parts instead of {wanted}, each by a tagger \
             trained on the others."
        ),
    }
}

/// The note on an assumption as it stands in the log.
fn noted(assumption: &Assumption) -> serde_json::Value {
    use serde_json::json;
    match assumption {
        Assumption::Traces { n_trees, n_left_out } => {
            json!({"transform": Assumption::TRACES, "trees_with_traces": n_trees, "nothing_left": n_left_out})
        }
        Assumption::HeadRules { name, .. } => json!({"head_rules": name}),
        Assumption::Spaces(written) => {
            let is_spaced = matches!(written, Written::Spaced { .. });
            json!({"spaces": if is_spaced { "yes" } else { "no" }})
        }
        Assumption::IdleTemplates(idle) => json!({"idle_templates": idle}),
        Assumption::Folds { wanted, used } => json!({"jackknife": used, "jackknife_wanted": wanted}),
    }
}

/// A time as people say it.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 90.0 * 60.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_that_differs_from_the_epochs_is_explained() {
        assert_eq!(pruning("F1", 87.834, 87.831), "");
        assert!(
            pruning("F1", 87.83, 87.38).contains("87.38 and not the epoch's 87.83, because parsing prunes")
        );
    }

    #[test]
    fn times_are_shown_as_people_say_them() {
        let shown = [0.04, 9.94, 9.96, 99.4, 100.0, 5000.0, 5400.0].map(duration);
        assert_eq!(shown, ["0.0 s", "9.9 s", "10 s", "99 s", "2 min", "83 min", "1.5 h"]);
    }
}
