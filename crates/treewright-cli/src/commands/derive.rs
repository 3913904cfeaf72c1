//! `treewright derive`: the action sequences of a treebank's trees, and how long they are.

use std::borrow::Cow;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::json;
use treewright::explore::{Derivation, Derivations};
use treewright::ids::ActionId;
use treewright::registry::SystemTag;
use treewright::system::SystemOptions;
use treewright::systems::table::aligned;
use treewright::tree::{Preparation, Tree};
use treewright::treebank::Entry;
use treewright::{Code, Error, Result};

use crate::io::{Inputs, Output, ReadArgs, Skipping, for_each_entry, say, shown_name, usage, visible};
use crate::values;

/// Print the action sequence of every tree, or statistics of the derivations
#[derive(Args)]
#[command(after_help = "\
Examples:
  treewright derive --system in-order wsj.mrg
  treewright derive --system arc-hybrid-swap ewt.conllu \\
      --format table --sentence 3
  treewright derive --system sr-gap,sr-cgap,sr-swap,sr-cswap alpino.export \\
      --head-rules dutch --stats

With --format text there is one line for each sentence; it is empty where the system cannot derive the tree (a \
non-projective tree with arc-hybrid, a discontinuous one with in-order). Such sentences are reported on stderr by \
their number and counted; the exit code is 1 only if no tree at all can be derived.")]
pub struct DeriveArgs {
    /// The treebank (`-` for stdin)
    #[arg(value_name = "FILE", default_value = "-")]
    files: Vec<PathBuf>,

    /// The transition system; with --stats, several separated by commas
    #[arg(long, value_name = "SYSTEM", required = true, value_delimiter = ',', value_parser = values::system())]
    system: Vec<SystemTag>,

    /// One line per sentence, one JSON object per line, or a table of every step with stack and buffer
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,

    /// Print the lengths, gaps and swaps of the derivations instead of the derivations
    #[arg(long)]
    stats: bool,

    /// Print the figures of --stats as JSON
    #[arg(long, requires = "stats")]
    json: bool,

    /// Only this sentence, from 1
    #[arg(long, value_name = "N", conflicts_with = "stats")]
    sentence: Option<NonZeroUsize>,

    /// Head rules for binary systems: collins, german, dutch, leftmost or rightmost
    #[arg(long, value_name = "NAME", default_value = "collins")]
    head_rules: String,

    /// How many sisters a temporary symbol remembers (binary systems)
    #[arg(long, value_name = "N", default_value_t = 0)]
    markov_order: usize,

    /// Read X in (X word) as a constituent above a word, not as its tag
    #[arg(long)]
    bare_words: bool,

    /// Write here instead of stdout
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    Jsonl,
    Table,
}

pub fn run(args: &DeriveArgs) -> Result<ExitCode> {
    if args.system.len() > 1 && !args.stats {
        return Err(usage("several systems side by side need --stats"));
    }
    Inputs::default().with("the input", &args.files).refuse_as_output(args.output.as_deref())?;
    let mut skipping = Skipping::new(args.read.on_error);
    let mut entries = Vec::new();
    let read = ReadArgs { bare_words: args.bare_words, ..args.read.clone() };
    let mut is_noted = args.read.quiet;
    for_each_entry(&args.files, &read, &mut skipping, |entry, _| {
        if !is_noted && let Some(note) = tag_note(&entry) {
            say!("sentence {}: {note}", entries.len() + 1);
            is_noted = true;
        }
        entries.push(entry);
        Ok(())
    })?;
    if let Some(number) = args.sentence.filter(|number| number.get() > entries.len()) {
        let n = entries.len();
        return Err(Error::new(Code::Mismatch, format!("there is no sentence {number}: the input has {n}")));
    }
    let mut output = Output::create(args.output.as_deref())?;
    let n_derived = if args.stats {
        let mut all = Vec::new();
        for &tag in &args.system {
            all.push((tag, Figures::of(args, &derived(args, tag, &entries)?, &entries)));
        }
        let text = if args.json { figures_as_json(&all) } else { figures_as_table(&all) };
        output.write_all(text.as_bytes())?;
        all.iter().map(|(_, figures)| figures.derived).sum()
    } else {
        print(args, &derived(args, args.system[0], &entries)?, &entries, &mut output)?
    };
    output.finish()?;
    let code = skipping.report();
    Ok(if n_derived == 0 { ExitCode::FAILURE } else { code })
}

/// A note on how a word with brackets of its own was read, in a constituent tree that also has words without.
fn tag_note(entry: &Entry) -> Option<String> {
    if !matches!(entry.tree, Some(Tree::Constituent(_))) {
        return None;
    }
    let bare = entry.sentence.tokens.iter().find(|token| token.tag.is_empty())?;
    let tagged = entry.sentence.tokens.iter().find(|token| !token.tag.is_empty())?;
    Some(format!(
        "{:?} has no tag, and {} in ({} {}) is read as a tag; if it is a constituent, use --bare-words",
        bare.form, tagged.tag, tagged.tag, tagged.form
    ))
}

/// Derives every tree, and reports those that cannot be derived.
fn derived(args: &DeriveArgs, tag: SystemTag, entries: &[Entry]) -> Result<Derivations> {
    let preparation = Preparation { head_rules: args.head_rules.clone(), markov_order: args.markov_order };
    // Trees with several roots are what the treebank says; a single root is for parsing.
    let options = SystemOptions { single_root: !args.read.many_roots };
    let derived = Derivations::of(tag, entries, &preparation, &options)?;
    let (mut n_trees, mut n_underivable) = (0, 0);
    for (i, derivation) in wanted(args, &derived) {
        n_trees += 1;
        if let Err(why) = derivation {
            n_underivable += 1;
            let file = if args.files.len() == 1 { shown_name(&args.files[0]) } else { Cow::Borrowed("") };
            let error = Error::new(Code::Underivable, format!("{tag} cannot derive it: {why}"));
            say!("{}", error.in_file(&file).in_sentence(i + 1));
        }
    }
    if n_underivable > 0 {
        say!("{tag} cannot derive {n_underivable} of {n_trees} trees");
    }
    Ok(derived)
}

/// The derivations of the sentences asked for, with their numbers from 0.
fn wanted<'a>(
    args: &DeriveArgs,
    derived: &'a Derivations,
) -> impl Iterator<Item = (usize, &'a Derivation)> + use<'a> {
    let only = args.sentence;
    derived
        .derivations
        .iter()
        .enumerate()
        .filter(move |(i, _)| only.is_none_or(|number| number.get() == i + 1))
}

/// Writes derivations; gives their number.
fn print(args: &DeriveArgs, derived: &Derivations, entries: &[Entry], output: &mut Output) -> Result<usize> {
    let mut n_derived = 0;
    for (i, derivation) in wanted(args, derived) {
        n_derived += usize::from(derivation.is_ok());
        let names = |actions: &[ActionId]| {
            actions.iter().map(|action| derived.names[action.index()].as_str()).collect::<Vec<&str>>()
        };
        match (args.format, derivation) {
            (Form::Text, Ok(actions)) => writeln!(output, "{}", names(actions).join(" "))?,
            (Form::Text, Err(_)) => writeln!(output)?,
            (Form::Jsonl, derivation) => {
                let sentence = &entries[i].sentence;
                let mut object = json!({ "sentence": i + 1, "tokens": sentence.len() });
                if !sentence.id.is_empty() {
                    object["id"] = json!(sentence.id.as_str());
                }
                match derivation {
                    Ok(actions) => object["actions"] = json!(names(actions)),
                    Err(why) => object["error"] = json!(why),
                }
                writeln!(output, "{object}")?;
            }
            (Form::Table, Ok(actions)) => {
                let table = visible(&derived.table(&entries[i].sentence, actions));
                writeln!(output, "Sentence {}\n{table}", i + 1)?;
            }
            (Form::Table, Err(why)) => writeln!(output, "Sentence {}\n{why}\n", i + 1)?,
        }
    }
    Ok(n_derived)
}

/// The figures of paper 004's table 6, for one system.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    derived: usize,
    underivable: usize,
    longest: usize,
    /// Words of the sentence with the longest derivation.
    longest_n: usize,
    moves: usize,
    max_run: usize,
    steps: usize,
    /// The sum over sentences of derivation length / n.
    ratios: f64,
    tokens: usize,
}

/// How many items a compound or single gap or swap passes over; none for other actions.
fn n_moved(name: &str) -> usize {
    let (kind, rest) = name.split_once(['-', '_']).unwrap_or((name, ""));
    match kind {
        "GAP" | "SWAP" => rest.parse().unwrap_or(1),
        _ => 0,
    }
}

impl Figures {
    fn of(args: &DeriveArgs, derived: &Derivations, entries: &[Entry]) -> Self {
        let mut figures = Figures::default();
        let moved: Vec<usize> = derived.names.iter().map(|name| n_moved(name)).collect();
        for (i, derivation) in wanted(args, derived) {
            let Ok(actions) = derivation else {
                figures.underivable += 1;
                continue;
            };
            let n = entries[i].sentence.len();
            figures.derived += 1;
            figures.tokens += n;
            figures.steps += actions.len();
            figures.ratios += actions.len() as f64 / n.max(1) as f64;
            if actions.len() > figures.longest {
                (figures.longest, figures.longest_n) = (actions.len(), n);
            }
            let mut run = 0;
            for action in actions {
                let count = moved[action.index()];
                figures.moves += count;
                run = if count > 0 { run + count } else { 0 };
                figures.max_run = figures.max_run.max(run);
            }
        }
        figures
    }

    fn per_token(&self) -> f64 {
        self.steps as f64 / self.tokens.max(1) as f64
    }

    fn per_sentence(&self) -> f64 {
        self.ratios / self.derived.max(1) as f64
    }
}

fn figures_as_table(all: &[(SystemTag, Figures)]) -> String {
    let mut rows = vec![vec![String::new()]];
    rows[0].extend(all.iter().map(|(tag, _)| tag.to_string()));
    let mut row = |name: &str, figure: &dyn Fn(&Figures) -> String| {
        let mut cells = vec![name.to_owned()];
        cells.extend(all.iter().map(|(_, figures)| figure(figures)));
        rows.push(cells);
    };
    row("Trees derived", &|f| f.derived.to_string());
    row("Trees not derivable", &|f| f.underivable.to_string());
    row("Longest derivation", &|f| format!("{} (n = {})", f.longest, f.longest_n));
    row("Total number of gaps/swaps", &|f| f.moves.to_string());
    row("Max consecutive gaps/swaps", &|f| f.max_run.to_string());
    row("Avg. deriv. length wrt n", &|f| format!("{:.2}n", f.per_sentence()));
    row("Steps per token", &|f| format!("{:.2}", f.per_token()));
    aligned(&rows)
}

fn figures_as_json(all: &[(SystemTag, Figures)]) -> String {
    let figures = all.iter().map(|(tag, f)| {
        let figures = json!({
            "derived": f.derived,
            "underivable": f.underivable,
            "longest": f.longest,
            "longest_n": f.longest_n,
            "gaps_or_swaps": f.moves,
            "max_consecutive": f.max_run,
            "average_length_per_n": f.per_sentence(),
            "steps_per_token": f.per_token(),
        });
        (tag.name().to_owned(), figures)
    });
    let figures: serde_json::Map<String, serde_json::Value> = figures.collect();
    format!("{}\n", serde_json::Value::Object(figures))
}
