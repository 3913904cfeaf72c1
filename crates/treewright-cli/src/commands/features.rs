//! `treewright features`: the built-in feature sets, and the template language.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use treewright::Result;
use treewright::features::{NODE_ATTRIBUTES, SPOTS, TOKEN_ATTRIBUTES, shipped, shipped_names};
use treewright::registry::SystemTag;

use crate::io::Output;

/// List the built-in feature sets and the template language, or print a set
#[derive(Args)]
#[command(after_help = "\
Examples:
  treewright features
  # a set to edit
  treewright features in-order > my-features.txt
  treewright train --system in-order --features my-features.txt \\
      --train train.mrg --dev dev.mrg -o my.model

docs/features.md explains the language.")]
pub struct FeaturesArgs {
    /// Print the templates of this set, as --features reads them from a file
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(shipped_names()), value_name = "SET")]
    set: Option<String>,
}

pub fn run(args: &FeaturesArgs) -> Result<ExitCode> {
    let mut out = Output::stdout();
    let set = |name: &str| shipped(name).expect("the names are those of sets");
    match &args.set {
        Some(name) => write!(out, "{}", set(name).text())?,
        None => {
            writeln!(out, "Feature sets (`treewright features SET` prints one):")?;
            for name in shipped_names() {
                let systems: Vec<&str> = SystemTag::ALL
                    .iter()
                    .filter(|system| system.info().features == *name)
                    .map(|system| system.name())
                    .collect();
                let line = format!("  {name:<20}{:>4} templates", set(name).len());
                match systems.is_empty() {
                    true => writeln!(out, "{line}")?,
                    false => writeln!(out, "{line}, default of {}", systems.join(", "))?,
                }
            }
            writeln!(
                out,
                "\nA template is one or more atoms joined by +, such as s0.w+b0.t; # begins a comment."
            )?;
            writeln!(out, "An atom is a place, perhaps steps to children, and an attribute: s0.l.w")?;
            let mut section = |title: &str, rows: &[(&str, &str)]| -> Result<()> {
                writeln!(out, "\n{title}:")?;
                rows.iter().try_for_each(|(name, about)| writeln!(out, "  {name:<20}{about}"))?;
                Ok(())
            };
            section("Places", PLACES)?;
            section("Steps", STEPS)?;
            section("Attributes of the lexical head", TOKEN_ATTRIBUTES)?;
            section("After these: of another word of the span, or beside it (wl, tro)", SPOTS)?;
            section("Attributes of a node", NODE_ATTRIBUTES)?;
            section("Other atoms", OTHERS)?;
        }
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

const PLACES: &[(&str, &str)] = &[
    ("s0 s1 ..", "the stack, nearest first"),
    ("d0 d1 ..", "the deque; in systems over binary trees, d0 is the topmost item"),
    ("b0 b1 ..", "the buffer, next word first"),
];

const STEPS: &[(&str, &str)] = &[
    (".l .r", "first and last child of two or more; of a word, outermost dependents"),
    (".u", "only child"),
    (".l2 .r2", "second outermost dependents of a word"),
];

const OTHERS: &[(&str, &str)] = &[
    ("s0-b0.dist", "distance between the heads of two places, in classes"),
    ("a0 a1 ..", "the latest actions, newest first"),
    ("gaps", "number of items in the deque"),
];
