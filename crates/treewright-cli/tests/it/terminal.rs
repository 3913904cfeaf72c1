//! What the program writes to a terminal.
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::common::{dependencies, program, run_in, sample, scratch};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// A terminal: our end, and the end of the program.
fn terminal() -> (OwnedFd, File) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudoterminal");
    grantpt(&terminal).expect("it is ours");
    unlockpt(&terminal).expect("it is ours");
    let name = ptsname(&terminal, Vec::new()).expect("it has a name");
    let name = std::ffi::OsStr::from_bytes(name.as_bytes());
    let other = OpenOptions::new().read(true).write(true).open(name).expect("it opens");
    (terminal, other)
}

/// What the program shows on a terminal.
fn shown(arguments: &[&str], no_color: &str) -> String {
    let (terminal, stdout) = terminal();
    let mut command = program();
    command.args(arguments).env("NO_COLOR", no_color).stdin(Stdio::null()).stdout(stdout);
    shown_by(command, &terminal)
}

/// What this command shows on the terminal that it has been given.
fn shown_by(mut command: Command, terminal: &OwnedFd) -> String {
    let mut child = command.spawn().expect("the program runs");
    // The command holds the terminal open; while it does, reading never comes to an end.
    drop(command);
    let mut shown = Vec::new();
    let mut chunk = [0; 4096];
    // After the last writer is gone, Linux gives an error and other systems an end of file.
    while let Ok(n @ 1..) = File::from(terminal.try_clone().expect("a handle")).read(&mut chunk) {
        shown.extend(&chunk[..n]);
    }
    assert!(child.wait().expect("it ends").success());
    // The terminal starts lines anew.
    String::from_utf8(shown).expect("UTF-8").replace("\r\n", "\n")
}

/// A file of two sentences, one with control characters in its words.
fn tokens() -> String {
    let path = scratch("tokens.txt");
    std::fs::write(&path, "The dog\u{1b}[2Jbarks .\nIt \u{9b}31mrains .\n").expect("room");
    path.to_str().expect("a plain path").to_owned()
}

#[test]
fn drawings_of_parse_are_in_color_and_show_control_characters() {
    let tokens = tokens();
    let arguments = ["parse", "--model", dependencies(), "--from", "tokens", &tokens];
    let colored = shown(&arguments, "");
    let plain = shown(&arguments, "1");
    assert!(colored.contains("\u{1b}["), "{colored:?}");
    let without_codes =
        colored.split('\u{1b}').map(|part| part.split_once('m').map_or(part, |(_, rest)| rest));
    assert!(without_codes.collect::<String>().contains("dog␛[2Jbarks"), "{colored:?}");
    assert!(!colored.contains("\u{1b}[2J") && !colored.contains('\u{9b}'), "{colored:?}");
    assert!(plain.contains("dog␛[2Jbarks"), "{plain:?}");
    assert!(plain.chars().all(|c| c == '\n' || !c.is_control()), "{plain:?}");
}

#[test]
fn what_is_not_drawn_shows_control_characters_too() {
    let tokens = tokens();
    let treebank =
        shown(&["parse", "--model", dependencies(), "--from", "tokens", "--to", "conllu", &tokens], "");
    assert!(treebank.contains("dog␛[2Jbarks"), "{treebank:?}");
    assert!(treebank.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()), "{treebank:?}");
}

#[test]
fn errors_of_eval_are_drawn_the_same_on_a_terminal() {
    let (gold, parsed) = (sample("ud_english_ewt.conllu"), scratch("parsed.conllu"));
    let parsed = parsed.to_str().expect("a plain path");
    let flags = ["parse", "--model", dependencies(), "--retag", &gold, "-o", parsed];
    assert!(run_in(".".as_ref(), &flags, "").status.success());
    let text = shown(&["eval", &gold, parsed, "--errors", "1"], "");
    assert!(text.contains("predicted") && text.contains('─'), "{text}");
    assert!(!text.contains('␛') && text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}

/// There was the bar on the line of the first tree.
#[test]
fn no_progress_bar_stands_before_trees() {
    let (english, penn) = (sample("ud_english_ewt.conllu"), sample("gum.mrg"));
    for arguments in [
        &["convert", &penn, "-"][..],
        &["parse", "--model", dependencies(), &english, "--to", "conllu"],
        &["parse", "--model", dependencies(), &english, "-o", "-"],
    ] {
        let (terminal, stdout) = terminal();
        let mut command = program();
        let stderr = stdout.try_clone().expect("a handle");
        command.args(arguments).env("TERM", "xterm").stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        let text = shown_by(command, &terminal);
        assert!(text.starts_with(['(', '#', '1']) && !text.contains('\u{1b}'), "{arguments:?}: {text:?}");
        assert!(!text.contains('\r') && !text.contains("B/s"), "{arguments:?}");
    }
}

#[test]
fn typed_lines_are_answered_one_by_one_until_one_ctrl_d() {
    let (terminal, stdin) = terminal();
    let mut keyboard = File::from(terminal);
    let mut command = program();
    command.args(["parse", "--model", dependencies(), "--to", "tokens"]).stdin(stdin);
    let mut child = command.spawn().expect("the program runs");
    drop(command);
    let (send, lines) = channel();
    let answers = BufReader::new(child.stdout.take().expect("piped"));
    let reader = std::thread::spawn(move || {
        answers.lines().map_while(Result::ok).try_for_each(|line| send.send(line))
    });
    let wait = Duration::from_secs(120);
    for line in ["The dog barks", "It rains"] {
        writeln!(keyboard, "{line}").expect("it is typed");
        assert_eq!(lines.recv_timeout(wait).as_deref(), Ok(line));
    }
    keyboard.write_all(b"\x04").expect("it is typed");
    // The output ends, without another line.
    let end = lines.recv_timeout(wait);
    if end != Err(RecvTimeoutError::Disconnected) {
        child.kill().expect("it can be ended");
        panic!("it goes on after Ctrl-D: {end:?}");
    }
    reader.join().expect("no panic").expect("all lines are taken");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(said, "Type text, and end it with Ctrl-D on a line of its own.\n");
}
