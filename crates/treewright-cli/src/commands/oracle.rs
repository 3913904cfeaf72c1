//! `treewright oracle`: the loss of a configuration and of every legal action, for people and for programs.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use treewright::explore::{Question, Setup, Temporaries};
use treewright::registry::{OracleKind, SystemTag};
use treewright::systems::table::aligned;
use treewright::tree::TreeKind;
use treewright::{Code, Error, Result};

use crate::io::{Output, usage, visible};
use crate::values;

/// Show the loss of a configuration and the cost of every legal action
///
/// The loss is the smallest number of wrong and missing constituents (or wrong heads) of any parse reachable from
/// the configuration. The cost of an action is what it adds to the loss; optimal actions cost nothing.
#[derive(Args)]
#[command(after_help = "\
Examples:
  treewright oracle --system in-order --gold '(S (NP w0 w1) (VP w2))' \\
      --actions 'SH NT-S'
  treewright oracle --system arc-hybrid-swap --gold '3 4 2' \\
      --actions 'SHIFT SWAP'
  treewright oracle --system sr-gap --no-temporaries \\
      --gold '(S (A 0=a 2=c) (B 1=b 3=d))' --actions 'SH SH'
  echo '{\"gold\": \"(A (B w0) w1)\", \"prefix\": [\"SH\"]}' |
      treewright oracle --system in-order --jsonl

Gold trees: for top-down, in-order and the bottom-up systems a bracketing whose leaves are bare words or (TAG word); \
for the sr- systems a discbracket, (A (B 0=w0 2=w2) 1=w1); for dependencies the heads, from 1, with n+1 (or 0) for \
the root. Is X in (X word) a tag or a constituent? A constituent if some word of the tree stands without brackets \
of its own, if X is among the labels given or opened by the actions, or if the words are just w0, w1, ..; a tag \
otherwise; --bare-words and --tags override this.

As JSON, an input line is {\"gold\": .., \"prefix\": [..], \"labels\": [..]}, or {\"heads\": [..], \"labels\": [..], \
\"single_root\": true, \"prefix\": [..]}, where the labels are those the system has besides the gold tree's, or the \
relations of the words; \"temporaries\": false in a line does what --no-temporaries does for all lines. An output line is {\"loss\": 2, \"finished\": false, \"actions\": [[\"SH\", 2], ..], \
\"optimal\": [\"SH\"]}, with the loss after each action, or {\"error\": ..}.")]
pub struct OracleArgs {
    /// The transition system
    #[arg(long, value_name = "SYSTEM", value_parser = values::system())]
    system: SystemTag,

    /// The oracle: static, dynamic (exact), paper (the loss as printed) or authors (the loss as their program computes it)
    /// [default: dynamic if the system has one]
    #[arg(long, value_name = "ORACLE", value_parser = values::oracle())]
    oracle: Option<OracleKind>,

    /// The gold tree
    #[arg(long, value_name = "TREE", required_unless_present = "jsonl", conflicts_with = "jsonl")]
    gold: Option<String>,

    /// The actions taken so far, separated by spaces
    #[arg(long, value_name = "ACTIONS", default_value = "", conflicts_with = "jsonl")]
    actions: String,

    /// More labels of the system, separated by commas; for dependencies, the relations of the words
    #[arg(long, value_name = "LABELS", value_delimiter = ',', conflicts_with = "jsonl")]
    labels: Vec<String>,

    /// Read JSON objects from stdin, one per line, and write one per line
    #[arg(long)]
    jsonl: bool,

    /// The only temporary symbol of the sr- systems, as written in action names [default: `X:`; with --oracle static, one
    /// for each label]
    #[arg(long, value_name = "SYMBOL")]
    temporary: Option<String>,

    /// Ask for a system without temporary symbols (sr-gap), as trained where no constituent has more than two parts
    #[arg(long, conflicts_with = "temporary")]
    no_temporaries: bool,

    /// Limit unary chains (in-order) or openings in a row (top-down) [default: no limit]
    #[arg(long, value_name = "N")]
    max_unary: Option<u32>,

    /// Allow several words to depend on the root
    #[arg(long)]
    many_roots: bool,

    /// Read X in (X word) as a constituent above a word
    #[arg(long, conflicts_with = "tags")]
    bare_words: bool,

    /// Read X in (X word) as a tag
    #[arg(long)]
    tags: bool,
}

pub fn run(args: &OracleArgs) -> Result<ExitCode> {
    let info = args.system.info();
    let default = if info.has_dynamic_oracle { OracleKind::Dynamic } else { OracleKind::Static };
    let oracle = args.oracle.unwrap_or(default);
    if !info.has_oracle(oracle) {
        return Err(usage(format!("{} has no {oracle} oracle", args.system)));
    }
    if args.no_temporaries && args.system != SystemTag::SrGap {
        return Err(usage(format!("--no-temporaries has no effect on {}: it is for sr-gap", args.system)));
    }
    let setup = Setup {
        system: args.system,
        oracle,
        temporaries: match &args.temporary {
            _ if args.no_temporaries => Temporaries::None,
            Some(symbol) => Temporaries::One(symbol.clone()),
            None => Temporaries::Usual,
        },
        max_unary: args.max_unary,
        bare_words: (args.tags || args.bare_words).then_some(args.bare_words),
    };
    if args.jsonl { answer_lines(&setup) } else { answer_one(args, &setup) }
}

fn answer_lines(setup: &Setup) -> Result<ExitCode> {
    let mut out = Output::stdout();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = question(&line, setup).and_then(|(question, setup)| question.answer(&setup));
        let answer = match answer {
            Ok(answer) => json!({
                "loss": answer.loss,
                "finished": answer.is_finished,
                "actions": answer.actions,
                "optimal": answer.optimal,
            }),
            Err(why) => json!({ "error": why }),
        };
        serde_json::to_writer(&mut out, &answer).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
        // A program that asks line by line waits for the answer.
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads one line. What it says of temporary symbols goes before what `setup` says.
fn question(line: &str, setup: &Setup) -> Result<(Question, Setup), String> {
    let value: Value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
    let object = value.as_object().ok_or("not a JSON object")?;
    let mut question = Question { single_root: true, ..Question::default() };
    let mut setup = setup.clone();
    for (key, value) in object {
        let wrong = |expected: &str| format!("{key:?} should be {expected}, not {value}");
        let texts = || {
            let items = value.as_array().and_then(|items| items.iter().map(Value::as_str).collect());
            items.map(|items: Vec<&str>| items.into_iter().map(str::to_owned).collect())
        };
        match key.as_str() {
            "gold" => value.as_str().ok_or_else(|| wrong("a tree"))?.clone_into(&mut question.gold),
            "heads" => {
                let heads = value.as_array().map(|heads| heads.iter().map(Value::as_u64).collect());
                let heads: Option<Vec<u64>> = heads.flatten();
                let heads = heads.ok_or_else(|| wrong("a list of numbers"))?;
                question.heads = heads.into_iter().map(|head| head as usize).collect();
            }
            "prefix" => question.prefix = texts().ok_or_else(|| wrong("a list of actions"))?,
            "labels" => question.labels = texts().ok_or_else(|| wrong("a list of labels"))?,
            "single_root" => question.single_root = value.as_bool().ok_or_else(|| wrong("true or false"))?,
            "temporaries" => {
                let has_some = value.as_bool().ok_or_else(|| wrong("true or false"))?;
                if !has_some {
                    setup.temporaries = Temporaries::None;
                } else if setup.temporaries == Temporaries::None {
                    setup.temporaries = Temporaries::Usual;
                }
            }
            // Whatever else a program keeps with its queries is its own business.
            _ => {}
        }
    }
    Ok((question, setup))
}

/// Reads heads that stand in a row.
fn heads(text: &str) -> Result<Vec<usize>> {
    let head = |head: &str| {
        let message = format!("--gold: expected the head of every word as a number, from 1, not {head:?}");
        head.parse().map_err(|_| usage(message))
    };
    text.split_whitespace().map(head).collect()
}

fn answer_one(args: &OracleArgs, setup: &Setup) -> Result<ExitCode> {
    let gold = args.gold.clone().unwrap_or_default();
    let heads = if args.system.info().kind == TreeKind::Dependencies { heads(&gold)? } else { Vec::new() };
    let question = Question {
        heads,
        gold,
        prefix: args.actions.split_whitespace().map(str::to_owned).collect(),
        labels: args.labels.clone(),
        single_root: !args.many_roots,
    };
    let answer = question.answer(setup).map_err(|why| Error::new(Code::Underivable, why))?;
    let mut rows: Vec<Vec<String>> =
        answer.configuration.iter().map(|(name, text)| vec![(*name).to_owned(), text.clone()]).collect();
    let number = |loss: Option<u32>| loss.map_or_else(|| "-".to_owned(), |loss| loss.to_string());
    rows.push(vec!["Loss".to_owned(), format!("{} ({} oracle)", number(answer.loss), setup.oracle)]);
    let mut out = Output::stdout();
    out.write_all(visible(&aligned(&rows)).as_bytes())?;
    if answer.is_finished {
        writeln!(out, "The parse is finished.")?;
        out.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![["Action", "Cost", "Loss after", ""].map(str::to_owned).to_vec()];
    for (name, after) in &answer.actions {
        let cost = after.zip(answer.loss).map(|(after, now)| i64::from(after) - i64::from(now));
        let cost = cost.map_or_else(|| "-".to_owned(), |cost| cost.to_string());
        let mark = if answer.optimal.contains(name) { "optimal" } else { "" };
        rows.push(vec![name.clone(), cost, number(*after), mark.to_owned()]);
    }
    writeln!(out)?;
    out.write_all(visible(&aligned(&rows)).as_bytes())?;
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
