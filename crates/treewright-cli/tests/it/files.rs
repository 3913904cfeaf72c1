//! Files that are written and files that must not be: inputs, models, permissions, signals, closed pipes.

use std::path::Path;

use crate::common::{few_sentences, folder, names, program, refusal, run, run_in, stdout, tiny_model};

/// More than is read before an output is opened.
#[cfg(unix)]
fn many_sentences() -> String {
    few_sentences(1000).repeat(20)
}

const TRAIN: [&str; 8] = ["train", "--system", "arc-hybrid", "--beam", "1", "--epochs", "1", "--quiet"];

/// A folder with a treebank, a model and links to both.
fn workplace(name: &str) -> std::path::PathBuf {
    let folder = folder(name);
    std::fs::write(folder.join("t.conllu"), few_sentences(10)).expect("room");
    std::fs::write(folder.join("m.model"), tiny_model()).expect("room");
    std::fs::write(folder.join("c.toml"), "epochs = 1\n").expect("room");
    std::fs::hard_link(folder.join("t.conllu"), folder.join("hard.conllu")).expect("a link");
    #[cfg(unix)]
    std::os::unix::fs::symlink("t.conllu", folder.join("soft.conllu")).expect("a link");
    folder
}

#[test]
fn inputs_are_never_overwritten() {
    let folder = workplace("inputs");
    let before: Vec<(String, Vec<u8>)> = names(&folder)
        .into_iter()
        .map(|name| (name.clone(), std::fs::read(folder.join(name)).expect("it is there")))
        .collect();
    let train = |more: &str| format!("{} {more}", TRAIN.join(" "));
    let commands = [
        train("--train t.conllu -o t.conllu"),
        train("--train t.conllu -o soft.conllu"),
        train("--train t.conllu -o hard.conllu --force"),
        train("--train t.conllu --dev hard.conllu -o soft.conllu --force"),
        train("--train t.conllu --vectors c.toml -o c.toml --force"),
        "train --config c.toml --train t.conllu -o c.toml --force".to_owned(),
        "parse --model m.model t.conllu -o m.model".to_owned(),
        "parse --model m.model t.conllu -o t.conllu".to_owned(),
        "parse --model m.model t.conllu -o x.conllu --json-stats t.conllu".to_owned(),
        "convert t.conllu t.conllu".to_owned(),
        "convert soft.conllu hard.conllu".to_owned(),
        "stats t.conllu -o t.conllu".to_owned(),
        "derive --system arc-hybrid t.conllu -o t.conllu".to_owned(),
        "draw t.conllu --to html -o t.conllu".to_owned(),
        "eval t.conllu hard.conllu -o t.conllu".to_owned(),
        "eval t.conllu t.conllu --plot soft.conllu".to_owned(),
        "compare t.conllu t.conllu t.conllu -o hard.conllu".to_owned(),
        "join m.model -o m.model".to_owned(),
    ];
    for command in commands {
        let arguments: Vec<&str> = command.split(' ').collect();
        let output = run_in(&folder, &arguments, "");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command}: {message}");
        assert!(message.contains("which would be overwritten"), "{command}: {message}");
        let now: Vec<(String, Vec<u8>)> = names(&folder)
            .into_iter()
            .map(|name| (name.clone(), std::fs::read(folder.join(name)).expect("it is there")))
            .collect();
        assert!(now == before, "{command} changed something: {:?}", names(&folder));
    }
}

#[test]
fn figures_never_overwrite_trees() {
    let folder = workplace("figures");
    std::fs::write(folder.join("there.conllu"), "old").expect("room");
    std::fs::hard_link(folder.join("there.conllu"), folder.join("link.conllu")).expect("a link");
    for (trees, figures, code) in [
        ("x.conllu", "x.conllu", 2),
        ("x.conllu", "./x.conllu", 2),
        ("there.conllu", "there.conllu", 2),
        ("there.conllu", "link.conllu", 2),
        ("y.conllu", "y.json", 0),
        ("/dev/null", "/dev/null", 0),
    ] {
        let parse = ["parse", "--model", "m.model", "t.conllu", "--json-stats", figures, "-o", trees];
        let output = run_in(&folder, &parse, "");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{trees} {figures}: {message}");
        assert_eq!(message.contains("which would be overwritten"), code == 2, "{message}");
    }
    assert_eq!(std::fs::read_to_string(folder.join("there.conllu")).expect("kept"), "old");
    assert!(!folder.join("x.conllu").exists());
}

#[test]
fn a_file_on_stdin_is_an_input_too() {
    let folder = workplace("stdin");
    let file = std::fs::File::open(folder.join("t.conllu")).expect("it is there");
    let mut command = program();
    let output = command.current_dir(&folder).args(["convert", "-", "soft.conllu"]).stdin(file).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn models_replace_only_models_and_trees_never_do() {
    let folder = workplace("mixed-up");
    let train = |output: &str, more: &[&str]| {
        run_in(&folder, &[&TRAIN[..], &["--train", "t.conllu", "-o", output], more].concat(), "")
    };
    std::fs::write(folder.join("other.txt"), "precious\n").expect("room");
    std::fs::write(folder.join("empty"), "").expect("room");
    let refused = train("other.txt", &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--force"));
    assert_eq!(std::fs::read(folder.join("other.txt")).expect("still there"), b"precious\n");
    for (output, more) in [("other.txt", &["--force"][..]), ("m.model", &[]), ("empty", &[])] {
        assert!(train(output, more).status.success(), "{output}");
    }
    std::fs::write(folder.join("second.model"), tiny_model()).expect("room");
    for command in
        ["convert t.conllu second.model --to conllu", "parse --model m.model t.conllu -o second.model"]
    {
        let output = run_in(&folder, &command.split(' ').collect::<Vec<_>>(), "");
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("this is a model"), "{command}");
    }
    assert!(std::fs::read(folder.join("second.model")).expect("still there") == tiny_model());
}

#[test]
fn a_name_in_gz_is_compressed_once() {
    let folder = workplace("gzip");
    assert!(
        run_in(&folder, &[&TRAIN[..], &["--train", "t.conllu", "-o", "z.model.gz"]].concat(), "")
            .status
            .success()
    );
    for (arguments, name) in [
        (&["convert", "t.conllu", "c.conllu.gz"][..], "c.conllu.gz"),
        (&["parse", "--model", "z.model.gz", "t.conllu", "-o", "p.conllu.gz"], "p.conllu.gz"),
        (&["parse", "--model", "z.model.gz", "t.conllu", "-o", "p.json.gz"], "p.json.gz"),
        (&["stats", "t.conllu", "-o", "s.txt.gz"], "s.txt.gz"),
    ] {
        let output = run_in(&folder, arguments, "");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        let bytes = std::fs::read(folder.join(name)).expect("written");
        let mut text = String::new();
        std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(&bytes[..]), &mut text)
            .expect("gzip of text, whole");
        assert!(text.len() > 100, "{name}: {text}");
    }
    let model = std::fs::read(folder.join("z.model.gz")).expect("written");
    let mut first = [0; 8];
    std::io::Read::read_exact(&mut flate2::read::GzDecoder::new(&model[..]), &mut first).expect("gzip");
    assert_eq!(&first, b"TREEWPK\n", "models are packed before they are compressed");
    assert!(run_in(&folder, &["join", "z.model.gz", "-o", "z.model"], "").status.success());
    let parse = |model: &str| run_in(&folder, &["parse", "--model", model, "t.conllu"], "").stdout;
    assert_eq!(parse("z.model.gz"), parse("z.model"));
}

#[test]
fn the_programs_own_sources_print_through_one_door() {
    fn visit(folder: &Path, n_files: &mut usize) {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                visit(&path, n_files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source");
                // A macro that panics when nobody reads ends training without a model.
                for macro_name in ["print!(", "println!("] {
                    assert!(!text.contains(macro_name), "{}: use say! or an Output", path.display());
                }
                *n_files += 1;
            }
        }
    }
    let mut n_files = 0;
    visit(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut n_files);
    assert!(n_files > 20);
}

#[test]
fn jobs_are_counted_from_one_and_bounded_by_the_machine() {
    let folder = workplace("jobs");
    let parse = |jobs: &str, more: &[&str]| {
        let arguments = ["parse", "--model", "m.model", "t.conllu", "--jobs", jobs];
        run_in(&folder, &[&arguments[..], more].concat(), "")
    };
    for wrong in ["0", "-1", "x", ""] {
        assert_eq!(parse(wrong, &[]).status.code(), Some(2), "{wrong}");
        let train = [&TRAIN[..], &["--train", "t.conllu", "-o", "x.model", "--jobs", wrong]].concat();
        assert_eq!(run_in(&folder, &train, "").status.code(), Some(2), "{wrong}");
    }
    let many = parse("5000", &["--json-stats", "speed.json"]);
    assert!(many.status.success());
    assert!(String::from_utf8_lossy(&many.stderr).contains("more than this machine can use"));
    let stats = std::fs::read(folder.join("speed.json")).expect("written");
    let stats: serde_json::Value = serde_json::from_slice(&stats).expect("JSON");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(stats["jobs"], 4 * cores);
    assert_eq!(parse("1", &[]).stdout, many.stdout);
}

#[test]
fn unknown_models_say_where_was_looked() {
    let folder = folder("by-name");
    let (own, data) = (folder.join("own"), folder.join("data"));
    let user = data.join("treewright/models");
    std::fs::create_dir_all(&own).expect("a folder");
    std::fs::create_dir_all(&user).expect("a folder");
    std::fs::write(own.join("icelandic.model"), tiny_model()).expect("room");
    std::fs::write(user.join("faroese.model"), tiny_model()).expect("room");
    let with_folders = |arguments: &[&str]| {
        let mut command = program();
        command.env("TREEWRIGHT_MODELS", &own).env("XDG_DATA_HOME", &data).current_dir(&folder);
        let output = crate::common::finish(command.args(arguments), "");
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    for name in ["icelandic", "faroese"] {
        let (code, said) = with_folders(&["info", name]);
        assert_eq!(code, Some(0), "{said}");
    }
    let (code, said) = with_folders(&["info", "icelandc"]);
    assert_eq!(code, Some(1));
    let folders = [own.display().to_string(), user.display().to_string()];
    for part in ["icelandic?", "$TREEWRIGHT_MODELS", "treewright models lists them", &folders[0], &folders[1]]
    {
        assert!(said.contains(part), "{part} is missing: {said}");
    }
    let (_, said) = with_folders(&["models"]);
    for part in ["icelandic", "faroese", &folders[0], &folders[1]] {
        assert!(said.contains(part), "{part} is missing: {said}");
    }
    assert!(refusal(1, &["info", "nonsense"], "").contains("which is not set"));
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::io::{Read, Write};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::common::{program_that_heeds_signals, signal};

    fn mode(path: &Path) -> u32 {
        path.metadata().expect("it is there").permissions().mode() & 0o777
    }

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("ours");
    }

    #[test]
    fn outputs_keep_what_files_are() {
        let folder = workplace("modes");
        let convert = |output: &str| run_in(&folder, &["convert", "t.conllu", output], "");
        let secret = folder.join("secret.conllu");
        std::fs::write(&secret, "old").expect("room");
        set_mode(&secret, 0o600);
        std::fs::write(folder.join("secret.conllu.part"), "the user's").expect("room");
        assert!(convert("secret.conllu").status.success());
        assert_eq!(mode(&secret), 0o600);
        assert_eq!(std::fs::read(folder.join("secret.conllu.part")).expect("kept"), b"the user's");
        assert!(convert("new.conllu").status.success());
        std::fs::write(folder.join("ordinary"), "").expect("room");
        assert_eq!(mode(&folder.join("new.conllu")), mode(&folder.join("ordinary")));

        set_mode(&secret, 0o444);
        std::fs::write(folder.join("soft-target"), "").expect("room");
        let refused = convert("secret.conllu");
        let message = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{message}");
        assert!(message.contains("secret.conllu: the file is read-only"), "{message}");

        std::os::unix::fs::symlink("soft-target", folder.join("link.conllu")).expect("a link");
        std::os::unix::fs::symlink("not-yet", folder.join("dangling.conllu")).expect("a link");
        for (link, target) in [("link.conllu", "soft-target"), ("dangling.conllu", "not-yet")] {
            assert!(convert(link).status.success());
            assert!(folder.join(link).symlink_metadata().expect("there").is_symlink(), "{link}");
            assert!(std::fs::metadata(folder.join(target)).expect("there").len() > 100, "{target}");
        }
        assert!(names(&folder).iter().all(|name| !name.starts_with('.')), "{:?}", names(&folder));
    }

    /// Root may write anywhere, so the program runs as nobody if the tests run as root.
    #[test]
    fn a_writable_file_in_a_read_only_folder_is_written() {
        let folder = std::env::temp_dir().join(format!("treewright-read-only-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let output = folder.join("o.conllu");
        std::fs::write(&output, "old").expect("room");
        set_mode(&output, 0o666);
        let is_root = output.metadata().expect("there").uid() == 0;
        set_mode(&folder, 0o555);
        // The folders above the program may be closed to others.
        let (copy_folder, mut command) = (folder.with_extension("bin"), program());
        if is_root {
            std::fs::create_dir_all(&copy_folder).expect("a folder");
            // Copied by another process: a file that this one has open for writing might be inherited by the program of
            // another test, and could not be run.
            let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_treewright")).arg(&copy_folder).status();
            assert!(copied.expect("cp runs").success());
            command = Command::new(copy_folder.join("treewright"));
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).uid(65534);
        }
        let convert = ["convert", "--from", "conllu", "-", output.to_str().expect("plain")];
        let result = crate::common::finish(command.current_dir("/").args(convert), &few_sentences(2));
        let written = std::fs::read_to_string(&output).expect("there");
        let in_folder = names(&folder);
        set_mode(&folder, 0o755);
        std::fs::remove_dir_all(&folder).expect("ours");
        let _ = std::fs::remove_dir_all(&copy_folder);
        assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
        assert_eq!(written, few_sentences(2));
        assert_eq!(in_folder, ["o.conllu"]);
    }

    #[test]
    fn a_full_disk_is_named() {
        if Path::new("/dev/full").exists() {
            for arguments in
                [&["convert", "-", "/dev/full", "--from", "conllu"][..], &["stats", "-o", "/dev/full"]]
            {
                let message = refusal(1, arguments, &few_sentences(3));
                assert!(message.contains("/dev/full: No space left"), "{message}");
            }
        }
    }

    #[test]
    fn names_need_not_be_utf8() {
        let folder = workplace("bytes");
        let name = |end: &[u8]| OsStr::from_bytes(&[b"\xe9-", end].concat()).to_owned();
        std::fs::rename(folder.join("t.conllu"), folder.join(name(b"t.conllu"))).expect("ours");
        let (treebank, model, log) = (name(b"t.conllu"), name(b"m.model"), name(b"m.model.log.jsonl"));
        let words = |text: &'static str| text.split(' ').map(|word| OsStr::new(word).to_owned());
        let parsed = name(b"p.conllu");
        let commands = [
            words("stats").chain([treebank.clone()]).collect::<Vec<_>>(),
            words("convert").chain([treebank.clone(), name(b"c.json.gz")]).collect(),
            words("train --system arc-hybrid --epochs 1 --train")
                .chain([treebank.clone(), OsStr::new("-o").to_owned(), model.clone()])
                .collect(),
            words("info").chain([model.clone()]).collect(),
            words("parse --model")
                .chain([model.clone(), treebank.clone(), "-o".into(), parsed.clone()])
                .collect(),
            words("eval").chain([treebank.clone(), parsed.clone()]).collect(),
            words("compare").chain([treebank.clone(), parsed.clone(), treebank.clone()]).collect(),
            words("derive --system arc-hybrid").chain([treebank.clone()]).collect(),
            words("draw").chain([treebank.clone(), "-o".into(), name(b"d.html")]).collect(),
            words("join").chain([model.clone(), "-o".into(), name(b"j.model")]).collect(),
        ];
        for arguments in commands {
            let output = run_in(&folder, &arguments, "");
            let message = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{arguments:?}: {message}");
        }
        for made in [log, name(b"c.json.gz"), parsed, name(b"d.html"), name(b"j.model")] {
            assert!(folder.join(&made).is_file(), "{made:?}");
        }
        let missing = run_in(&folder, &[OsStr::new("stats"), &name(b"no")], "");
        assert!(String::from_utf8_lossy(&missing.stderr).contains("\u{fffd}-no"));
    }

    /// Waits for something that another process does.
    #[track_caller]
    fn until(what: &str, mut is_so: impl FnMut() -> bool) {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn signals_leave_nothing_behind() {
        for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
            let folder = folder(&format!("signal-{name}"));
            let mut command = program_that_heeds_signals();
            command.current_dir(&folder).args(["convert", "-", "o.conllu", "--from", "conllu"]);
            let mut child = command.spawn().expect("it starts");
            // The output is opened when the input has been looked at.
            let mut input = child.stdin.take().expect("piped");
            input.write_all(many_sentences().as_bytes()).expect("it reads");
            until("a temporary file", || !names(&folder).is_empty());
            signal(&child, name);
            assert_eq!(child.wait().expect("it ends").signal(), Some(number));
            drop(input);
            assert_eq!(names(&folder), [""; 0]);
        }
    }

    /// `nohup` must go on working.
    #[test]
    fn ignored_signals_stay_ignored() {
        let folder = folder("nohup");
        let script = "trap '' HUP; exec \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_treewright"), "convert", "-", "o.conllu"]);
        command.args(["--from", "conllu"]).current_dir(&folder).stdin(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut input = child.stdin.take().expect("piped");
        input.write_all(many_sentences().as_bytes()).expect("it reads");
        until("a temporary file", || !names(&folder).is_empty());
        signal(&child, "HUP");
        drop(input);
        assert!(child.wait().expect("it ends").success());
        assert_eq!(names(&folder), ["o.conllu"]);
    }

    #[test]
    fn interrupted_training_says_how_to_go_on() {
        let folder = workplace("interrupted");
        let arguments =
            "train --system arc-hybrid --beam 1 --epochs 100000 --train t.conllu -o x.model --quiet";
        let mut command = program_that_heeds_signals();
        let child = command.current_dir(&folder).args(arguments.split(' ')).spawn().expect("it starts");
        until("a checkpoint", || folder.join("x.model.checkpoint").exists());
        signal(&child, "INT");
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(2), "{said}");
        assert!(said.contains("--resume goes on from x.model.checkpoint"), "{said}");
        assert!(names(&folder).iter().all(|name| !name.starts_with('.')), "{:?}", names(&folder));
    }

    #[test]
    fn two_runs_to_one_file_do_not_mix() {
        let folder = folder("two-runs");
        let start = || {
            let mut command = program();
            command.current_dir(&folder).args(["convert", "-", "o.conllu", "--from", "conllu"]);
            command.spawn().expect("it starts")
        };
        let (long, short) = (many_sentences(), few_sentences(1));
        let mut first = start();
        first.stdin.as_mut().expect("piped").write_all(long.as_bytes()).expect("it reads");
        until("a temporary file", || !names(&folder).is_empty());
        let second = crate::common::finish(
            program().current_dir(&folder).args(["convert", "-", "o.conllu", "--from", "conllu"]),
            &short,
        );
        assert!(second.status.success());
        assert_eq!(std::fs::read_to_string(folder.join("o.conllu")).expect("there"), short);
        drop(first.stdin.take());
        let first = first.wait_with_output().expect("it ends");
        assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
        assert_eq!(std::fs::read_to_string(folder.join("o.conllu")).expect("there"), long);
    }

    /// `treewright train ... 2>&1 | head -1`
    #[test]
    fn nobody_needs_to_read_stderr() {
        let folder = workplace("closed");
        std::fs::write(folder.join("bad.conllu"), "nonsense\n").expect("room");
        let train = "train --system arc-hybrid --beam 1 --epochs 2 --with segmenter,tagger --jackknife 2 --train \
                     t.conllu --dev t.conllu -o x.model";
        let tree = "derive --system arc-hybrid-swap t.conllu";
        let commands = [
            (train, 0),
            ("parse --model m.model -v t.conllu -o p.conllu", 0),
            (tree, 0),
            ("derive --system in-order t.conllu", 1),
            ("convert t.conllu t.mrg --on-error skip", 1),
            ("stats bad.conllu --from conllu", 1),
            ("eval t.conllu bad.conllu --on-error skip", 1),
        ];
        for (command, code) in commands {
            // Both ends are made here and the reading one is closed before the program starts.
            let (reader, writer) = std::io::pipe().expect("a pipe");
            drop(reader);
            let mut program = program();
            let arguments = command.split(' ').filter(|word| !word.is_empty());
            program.current_dir(&folder).args(arguments).stderr(writer).stdin(Stdio::null());
            let mut child = program.spawn().expect("it starts");
            let mut printed = Vec::new();
            child.stdout.take().expect("piped").read_to_end(&mut printed).expect("it prints");
            assert_eq!(child.wait().expect("it ends").code(), Some(code), "{command}");
        }
        assert!(!run(&["info", folder.join("x.model").to_str().expect("plain")], "").stdout.is_empty());
    }
}

#[test]
fn control_characters_are_shown_in_tables() {
    let treebank = "(S (N\x1b[31mP (NN do\x1bg)))\n";
    for arguments in [
        &["stats", "--from", "ptb"][..],
        &["derive", "--from", "ptb", "--system", "in-order", "--format", "table", "-"],
    ] {
        let shown = stdout(arguments, treebank);
        assert!(!shown.contains('\x1b') && shown.contains('␛'), "{shown:?}");
    }
    let message = refusal(1, &["stats", "--from", "ptb"], "(S (N\x1b[31mP\n");
    assert!(!message.contains('\x1b'), "{message:?}");
}
