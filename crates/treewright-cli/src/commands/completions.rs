//! `treewright completions`: what shells need to complete the flags and their values.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use treewright::Result;

use crate::Cli;
use crate::io::Output;

/// Print completions for a shell
#[derive(Args)]
#[command(after_help = "\
Examples:
  treewright completions bash > treewright.bash
  treewright completions zsh > _treewright
  treewright completions fish > treewright.fish

bash: save the file as ~/.local/share/bash-completion/completions/treewright, or `source` it in ~/.bashrc. zsh: put it \
into a folder of $fpath. fish: put it into ~/.config/fish/completions.")]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub fn run(args: &CompletionsArgs) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "treewright", &mut script);
    Output::put(None, script)?;
    Ok(ExitCode::SUCCESS)
}
