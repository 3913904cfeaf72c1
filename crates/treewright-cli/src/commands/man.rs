//! `treewright man`: manual pages, made from the help texts.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_mangen::Man;
use treewright::{Error, Result};

use crate::Cli;
use crate::io::Output;

/// Print the manual page, or write one for each command
#[derive(Args)]
#[command(after_help = "\
Examples:
  treewright man > treewright.1
  treewright man --out man1

Without --out the page of the program itself is printed, which lists the commands. `man ./treewright.1` shows a page. \
Pages in the folder man1 of a folder in $MANPATH are found by name, such as treewright-parse.")]
pub struct ManArgs {
    /// Write a page for the program and one for each command to this folder, which is created if needed
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn run(args: &ManArgs) -> Result<ExitCode> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let Some(folder) = &args.out else {
        write(Man::new(program), Output::stdout())?;
        return Ok(ExitCode::SUCCESS);
    };
    std::fs::create_dir_all(folder).map_err(|error| Error::from(error).in_file(&folder.to_string_lossy()))?;
    for command in program.get_subcommands().chain([&program]) {
        let page = Man::new(command.clone());
        let file = folder.join(page.get_filename());
        write(page, Output::create(Some(&file))?)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write(page: Man, mut output: Output) -> Result<()> {
    let mut text = Vec::new();
    page.source(concat!("treewright ", env!("CARGO_PKG_VERSION"))).render(&mut text)?;
    // Readers of manual pages know this name.
    let text =
        String::from_utf8(text).expect("help texts are UTF-8").replace("\n.SH EXTRA\n", "\n.SH NOTES\n");
    output.write_all(text.as_bytes())?;
    output.finish()
}
