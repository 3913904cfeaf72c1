//! The examples of all help texts, of README.md and of the tutorial work as they stand.
//!
//! They run in a folder with the files they name, made of the samples in `data`. Programs of our own stand in front of
//! the path: `treewright` trains for one epoch, `cargo run` runs what is built already, and `jq` passes on what it
//! reads.
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::SystemTime;

use crate::common::{
    commands, constituents, data, dependencies, finish, folder, program, scratch, searchable, short_trees,
    stdout,
};

/// The repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// The folder of the programs that stand in front of the path.
fn programs() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = folder("examples-programs");
        let treewright = format!(
            r#"case "$*" in
train*--epochs* | train*--print-config* | train*--no-parser*) ;;
train*) set -- "$@" --epochs 1 ;;
esac
exec '{}' "$@""#,
            env!("CARGO_BIN_EXE_treewright")
        );
        let cargo = r#"case "$1" in
install | test) echo "$@"; exit ;;
run) ;;
*) exit 2 ;;
esac
while [ "$1" != -- ]; do shift; done
shift
exec treewright "$@""#;
        for (name, script) in [("treewright", treewright.as_str()), ("cargo", cargo), ("jq", "exec cat")] {
            let path = folder.join(name);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("room");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        }
        folder
    })
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// A parser for discontinuous constituents.
fn discontinuous() -> &'static str {
    static MODEL: OnceLock<String> = OnceLock::new();
    MODEL.get_or_init(|| {
        let model = scratch("discontinuous.model").to_str().expect("a plain path").to_owned();
        let treebank = data("greek_nt.discbracket").to_str().expect("a plain path").to_owned();
        let flags = ["--system", "sr-gap", "--beam", "1", "--epochs", "1", "--quiet", "--train", &treebank];
        stdout(&[&["train", "-o", &model], &flags[..]].concat(), "");
        model
    })
}

/// A neural parser.
fn neural() -> &'static str {
    static MODEL: OnceLock<String> = OnceLock::new();
    MODEL.get_or_init(|| {
        let model = scratch("neural.model").to_str().expect("a plain path").to_owned();
        let treebank = data("ud_english_ewt.conllu").to_str().expect("a plain path").to_owned();
        let flags = ["--system", "arc-hybrid", "--scorer", "neural", "--epochs", "1", "--quiet"];
        stdout(&[&["train", "-o", &model, "--train", &treebank], &flags[..]].concat(), "");
        model
    })
}

/// A fresh folder with every file that an example reads.
fn with_files(name: &str) -> PathBuf {
    let folder = folder(name);
    let read = |name: &str| fs::read_to_string(data(name)).expect("the sample");
    let english = read("ud_english_ewt.conllu");
    let penn = read("gum.mrg");
    let (discbracket, export) = (read("greek_nt.discbracket"), read("greek_nt.export"));
    let write = |name: &str, text: &str| {
        let bytes = text.as_bytes();
        let is_zipped = name.ends_with(".gz");
        fs::write(folder.join(name), if is_zipped { gzip(bytes) } else { bytes.to_vec() }).expect("room");
    };
    write("letters.txt", "The boy saw a dog. It barked. He ran home, and the dog came along.\n");
    write("noticias.txt", "O menino viu um cão. Ele correu.\n");
    write(
        "corpus.jsonl.gz",
        "{\"id\": 7, \"text\": \"It rains. We stay.\"}\n{\"id\": 8, \"text\": \"The sun shines.\"}\n",
    );
    let table = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/data/rows.parquet");
    fs::copy(table, folder.join("corpus.parquet")).expect("room");
    // A parser that is wrong somewhere, and another.
    let relation = |from: &str, to: &str| english.replace(&format!("\t{from}\t"), &format!("\t{to}\t"));
    let (conllu_a, conllu_b) = (relation("obj", "obl"), relation("det", "dep"));
    let (mrg_a, mrg_b) = (penn.replacen("(NP", "(PP", 3), penn.replacen("(VP", "(NP", 5));
    for (names, text) in [
        (&["train.conllu", "dev.conllu", "ewt.conllu", "gold.conllu"][..], &english),
        (&["a.conllu", "parsed-a.conllu", "greedy.conllu", "parsed.conllu"], &conllu_a),
        (&["b.conllu", "parsed-b.conllu", "beam.conllu"], &conllu_b),
        (&["train.mrg", "dev.mrg", "gold.mrg", "icelandic.mrg", "wsj.mrg", "wsj.mrg.gz"], &penn),
        (&["greedy.mrg", "parsed.mrg", "parsed-from-raw-text.mrg"], &mrg_a),
        (&["beam.mrg"], &mrg_b),
        (&["train.discbracket", "dev.discbracket", "big.discbracket.gz"], &discbracket),
        (&["train.export", "train.export.gz", "dev.export", "corpus.export", "alpino.export"], &export),
        (&["gold.export", "parsed.export"], &export),
    ] {
        names.iter().for_each(|name| write(name, text));
    }
    write("short.mrg", &short_trees());
    fs::create_dir(folder.join("models")).expect("a folder");
    for (name, model) in [
        ("en.model", dependencies()),
        ("dependencies.model", dependencies()),
        ("models/portuguese.model", dependencies()),
        ("constituents.model", constituents()),
        ("wsj.model", constituents()),
        ("nl.model", discontinuous()),
        ("2n.model", searchable()),
        ("large.model", neural()),
    ] {
        fs::copy(model, folder.join(name)).expect("room");
    }
    folder
}

/// All files below a folder, with what changes when they are written. Links are not followed.
fn files(folder: &Path, found: &mut BTreeMap<PathBuf, (SystemTime, u64)>) {
    for entry in fs::read_dir(folder).expect("the folder") {
        let entry = entry.expect("the folder");
        let metadata = entry.metadata().expect("the file");
        if metadata.is_dir() {
            files(&entry.path(), found);
        } else {
            found.insert(entry.path(), (metadata.modified().expect("a time"), metadata.ino()));
        }
    }
}

/// Does a picture hold what its name says?
fn is_what_it_is_called(path: &Path) -> bool {
    let starts: &[&[u8]] = match path.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => &[b"<svg", b"<?xml"],
        Some("png") => &[b"\x89PNG"],
        Some("pdf") => &[b"%PDF"],
        Some("html") => &[b"<!"],
        _ => return true,
    };
    let bytes = fs::read(path).expect("the file");
    starts.iter().any(|start| bytes.starts_with(start))
}

/// Runs a command in a folder; says what is wrong with what it does.
fn problem(command: &str, folder: &Path) -> Option<String> {
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    files(folder, &mut before);
    let path = std::env::var("PATH").expect("a path");
    let mut bash = Command::new("bash");
    bash.args(["-eo", "pipefail", "-c", command]).current_dir(folder);
    bash.env("PATH", format!("{}:{path}", programs().display()))
        .env("HOME", folder)
        .env("XDG_DATA_HOME", folder);
    bash.env_remove("TREEWRIGHT_MODELS").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Output { status, stdout, stderr } = finish(&mut bash, "");
    files(folder, &mut after);
    let written: Vec<&PathBuf> =
        after.iter().filter(|(path, state)| before.get(*path) != Some(state)).map(|(path, _)| path).collect();
    // One row of the table is bad, as rows are.
    let is_done = status.success() || status.code() == Some(3) && command.contains("corpus.parquet");
    let wrong = if !is_done {
        format!("{status}")
    } else if stdout.is_empty() && written.is_empty() {
        "it neither prints nor writes anything".to_owned()
    } else {
        let misnamed = written.into_iter().find(|path| !is_what_it_is_called(path))?;
        format!("{} is something else", misnamed.display())
    };
    Some(format!("{command}\n  {wrong}\n{}", String::from_utf8_lossy(&stderr)))
}

/// Runs commands one after another.
#[track_caller]
fn check(commands: &[String], folder: &Path) {
    let problems: Vec<String> = commands.iter().filter_map(|command| problem(command, folder)).collect();
    assert!(problems.is_empty(), "{} of {} fail:\n{}", problems.len(), commands.len(), problems.join("\n"));
}

/// Lines as commands: one that ends in `\` or `|` goes on in the next.
fn joined<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in lines.filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')) {
        match commands.last_mut().filter(|_| goes_on) {
            Some(command) => *command += &format!("\n{line}"),
            None => commands.push(line.to_owned()),
        }
        goes_on = line.ends_with(['\\', '|']);
    }
    assert!(!goes_on, "the last command has no end: {commands:?}");
    commands
}

/// The examples of a help text, or what is wrong with how they are set.
fn examples_of_help(help: &str) -> Result<Vec<String>, String> {
    let examples = help.lines().skip_while(|line| !["Examples:", "Example:"].contains(line));
    let lines: Vec<&str> = examples.skip(1).take_while(|line| !line.is_empty()).collect();
    if lines.is_empty() {
        return Err("there are no examples".to_owned());
    }
    let mut goes_on = false;
    for line in &lines {
        let indent = line.len() - line.trim_start().len();
        if indent != if goes_on { 6 } else { 2 } {
            return Err(format!("this line stands where the width of the terminal put it: {line:?}"));
        }
        let starts = ["treewright ", "echo ", "# "].iter().any(|start| line[indent..].starts_with(start));
        if !goes_on && !starts {
            return Err(format!("this line does not look like the start of a command: {line:?}"));
        }
        goes_on = line.ends_with(['\\', '|']);
    }
    Ok(joined(lines.into_iter()))
}

#[test]
fn examples_of_all_help_texts_work() {
    let mut all = Vec::new();
    for command in commands() {
        let output = finish(program().args([command.as_str(), "--help"]).env("COLUMNS", "80"), "");
        let help = String::from_utf8(output.stdout).expect("UTF-8");
        all.extend(
            examples_of_help(&help).unwrap_or_else(|problem| panic!("{command} --help: {problem}\n{help}")),
        );
    }
    assert!(all.len() > 30, "{all:?}");
    check(&all, &with_files("examples-help"));
}

/// The commands of all blocks of shell commands in a text.
fn commands_of_markdown(text: &str) -> Vec<String> {
    let mut is_shell = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.starts_with("```");
        is_shell = if is_fence { *line == "```sh" } else { is_shell };
        is_shell && !is_fence
    });
    joined(lines)
}

#[track_caller]
fn check_page(page: &str, min_commands: usize, folder: &Path) {
    let text = fs::read_to_string(repository().join(page)).expect("the page");
    let commands = commands_of_markdown(&text);
    assert!(commands.len() >= min_commands, "{commands:?}");
    check(&commands, folder);
}

#[test]
fn commands_of_the_readme_work() {
    check_page("README.md", 5, &with_files("examples-readme"));
}

/// It starts with nothing but a clone.
#[test]
fn commands_of_the_tutorial_work() {
    let folder = folder("examples-tutorial");
    symlink(repository(), folder.join("treewright")).expect("room");
    check_page("docs/tutorial.md", 20, &folder);
}

#[test]
fn the_checks_find_what_is_wrong() {
    let folder = folder("examples-wrong");
    let fails = |command: &str, part: &str| {
        let problem = problem(command, &folder).unwrap_or_else(|| panic!("{command} passes"));
        assert!(problem.contains(part), "{problem}");
    };
    fails("treewright stats unknown.conllu", "unknown.conllu");
    fails("treewright stats unknown.conllu | jq .", "unknown.conllu");
    fails("true", "neither prints nor writes");
    fails("echo text > tree.png", "tree.png is something else");
    assert_eq!(problem("echo text > tree.txt", &folder), None);
    let help = |lines: &str| examples_of_help(&format!("About\n\nExamples:\n{lines}\n\nMore."));
    assert_eq!(
        help("  # why\n  echo a |\n      jq .\n  echo b"),
        Ok(vec!["  echo a |\n      jq .".into(), "  echo b".into()])
    );
    for wrong in
        ["  echo a\n--flag", "  echo a\n  --flag", "  echo a\n      --flag", "  echo a \\\n  --flag", ""]
    {
        assert!(help(wrong).is_err(), "{wrong}");
    }
}
