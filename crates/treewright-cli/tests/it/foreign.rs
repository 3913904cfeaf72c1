//! Inputs that are not what somebody took them for: other kinds of files, other formats, nothing at all. Each time the program says
//! what to do.

use std::path::{Path, PathBuf};

use crate::common::{dependencies, few_sentences, folder, names, refusal, run, run_in, stdout};

const CONLLU: &str = "1\tThe\t_\tDET\tDT\t_\t2\tdet\t_\t_\n2\tdog\t_\tNOUN\tNN\t_\t0\troot\t_\t_\n\n";

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path: PathBuf = folder.join(name);
    std::fs::write(&path, bytes).expect("room");
    path.to_str().expect("a plain path").to_owned()
}

fn said(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn files_that_are_no_text_are_named_and_refused() {
    let folder = folder("foreign");
    let zip = |name: &str| [&b"PK\x03\x04"[..], &[0; 26], name.as_bytes(), &[1; 200]].concat();
    let html = "<!DOCTYPE html>\n<html><body><p>The dog barks.</p></body></html>\n";
    for (name, bytes, kind, way_out) in [
        ("a.pdf", b"%PDF-1.4\n%\xE2\xE3\xCF\xD3\n1 0 obj\n".to_vec(), "a PDF document", "pdftotext"),
        ("letter.txt", b"%PDF-1.4\n%\xE2\xE3\xCF\xD3\n1 0 obj\n".to_vec(), "a PDF document", "pdftotext"),
        ("a.rtf", b"{\\rtf1\\ansi The dog barks.}\n".to_vec(), "an RTF document", "pandoc"),
        ("a.html", html.as_bytes().to_vec(), "a web page (HTML)", "--from text"),
        ("a.docx", zip("word/document.xml"), "a Word document (.docx)", "pandoc"),
        ("a.zip", zip("letters/1.txt"), "a zip archive", "unpack it"),
        ("a.db", b"SQLite format 3\0\x10\0".to_vec(), "an SQLite database", "sqlite3"),
        ("table", b"PAR1\x15\x04\x15".to_vec(), "a Parquet table", "--from parquet"),
        ("a.txt.xz", b"\xFD7zXZ\0\0\x04\xE6".to_vec(), "compressed with xz", "unxz"),
    ] {
        let path = write(&folder, name, &bytes);
        let message = refusal(1, &["parse", "--model", dependencies(), &path], "");
        assert!(message.contains(&format!("this is {kind}, not plain text")), "{name}: {message}");
        assert!(message.contains(way_out) && message.contains("[TW011]"), "{name}: {message}");
        assert!(!message.contains("latin1") && !message.contains("utf-16"), "{name}: {message}");
    }
    let page = folder.join("a.html");
    let page = page.to_str().expect("plain");
    let trees = stdout(&["parse", "--model", dependencies(), "--from", "text", "--quiet", page], "");
    assert!(trees.contains("\tdog\t"), "{trees}");
    let message = refusal(1, &["parse", "--model", dependencies()], html);
    assert!(message.contains("a web page (HTML)"), "from stdin: {message}");
}

#[test]
fn a_treebank_of_another_format_than_its_name_says_is_recognised_in_the_error() {
    let folder = folder("misnamed");
    let path = write(&folder, "t.mrg", CONLLU);
    for command in [&["stats", &path][..], &["parse", "--model", dependencies(), &path]] {
        let message = refusal(1, command, "");
        assert!(
            message.contains("by its content this is conllu") && message.contains("--from conllu"),
            "{message}"
        );
    }
    assert!(stdout(&["stats", "--from", "conllu", &path], "").contains("sentences"));
    // A mistake in a file that is what it is called.
    let path = write(&folder, "t.conllu", CONLLU.replace("\t0\t", "\tx\t"));
    let message = refusal(1, &["stats", &path], "");
    assert!(message.contains("[TW104]") && !message.contains("--from"), "{message}");
}

#[test]
fn a_second_root_names_the_flag_that_allows_it() {
    let two = CONLLU.replace("\t2\tdet", "\t0\troot");
    let message = refusal(1, &["stats", "--from", "conllu"], &two);
    assert!(message.contains("[TW107]") && message.contains("--many-roots allows several"), "{message}");
    stdout(&["stats", "--from", "conllu", "--many-roots"], &two);
}

#[test]
fn mistakes_in_trees_that_are_ignored_do_not_matter() {
    let parse = ["parse", "--model", dependencies(), "--quiet", "--from", "conllu"];
    let expected = stdout(&parse, CONLLU);
    for (head, other) in [("\t0\troot", "\t1\tdep"), ("\t0\troot", "\tx\tdep"), ("\t2\tdet", "\t0\troot")] {
        let bad = CONLLU.replace(head, other);
        assert!(!run(&["stats", "--from", "conllu"], &bad).status.success(), "{bad}");
        assert_eq!(stdout(&parse, &bad), expected);
    }
}

#[test]
fn no_text_is_said_and_is_a_failure() {
    let folder = folder("empty");
    let (empty, blank) = (write(&folder, "empty.txt", ""), write(&folder, "blank.txt", "\n \n\n"));
    for path in [&empty, &blank] {
        let message = refusal(1, &["parse", "--model", dependencies(), path], "");
        assert!(message.contains("there is no text in") && message.contains(path), "{message}");
    }
    let message = refusal(1, &["parse", "--model", dependencies()], "");
    assert!(message.contains("there is no text in stdin"), "{message}");
    // Among others it is worth a note.
    let full = write(&folder, "full.txt", "The dog barks.\n");
    let output = run(&["parse", "--model", dependencies(), &full, &empty], "");
    assert!(output.status.success() && said(&output).contains("there is no text in"), "{}", said(&output));
}

#[test]
fn drawing_text_points_to_parse() {
    let folder = folder("draw-text");
    let path = write(&folder, "raw.txt", "The dog barks.\n");
    let output = run(&["draw", &path], "");
    assert!(said(&output).contains("`treewright parse"), "{}", said(&output));
    assert_eq!(said(&run(&["draw", "--quiet", &path], "")), "");
}

#[test]
fn one_output_for_several_inputs_is_explained() {
    let folder = folder("one-output");
    for name in ["a.txt", "b.txt"] {
        write(&folder, name, "The dog barks.\n");
    }
    std::fs::create_dir(folder.join("trees")).expect("a folder");
    for output in ["trees", "trees/", "new/", "{}.conllu"] {
        let parse = ["parse", "--model", dependencies(), "a.txt", "b.txt", "-o", output];
        let output = run_in(&folder, &parse, "");
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains("for f in *.txt; do treewright parse"), "{}", said(&output));
    }
    assert_eq!(names(&folder), ["a.txt", "b.txt", "trees"]);
}

#[test]
fn tags_that_are_kept_are_mentioned() {
    let text = few_sentences(3);
    let parse = |more: &[&str]| {
        let output = run(&[&["parse", "--model", dependencies(), "--from", "conllu"], more].concat(), &text);
        assert!(output.status.success(), "{}", said(&output));
        said(&output)
    };
    let note = parse(&[]);
    assert!(note.contains("the tags of the input were kept (--retag"), "{note}");
    for flags in [&["--retag"][..], &["--keep-tags"], &["--quiet"]] {
        let note = parse(flags);
        assert!(!note.contains("were kept"), "{flags:?}: {note}");
    }
    let untagged = run(&["parse", "--model", dependencies(), "--from", "tokens"], "The dog barks .\n");
    assert!(!said(&untagged).contains("were kept"), "{}", said(&untagged));
}

#[cfg(unix)]
mod unix {
    use super::*;
    use crate::common::{finish, program, tiny_model};
    use std::process::{Command, Stdio};

    fn shell(folder: &Path, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.current_dir(folder).args(["-c", script, env!("CARGO_BIN_EXE_treewright")]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// As on a full disk: an error that names the file, and nothing stays.
    #[test]
    fn a_limit_on_the_size_of_files_is_an_error() {
        let folder = folder("size-limit");
        let text = few_sentences(50);
        for output in ["o.conllu", "o.conllu.gz"] {
            let script = format!("ulimit -f 1; exec \"$0\" convert --from conllu - {output}");
            let done = finish(&mut shell(&folder, &script), &text);
            assert_eq!(done.status.code(), Some(1), "{output}: {:?} {}", done.status, said(&done));
            assert!(said(&done).contains(&format!("{output}: File too large")), "{}", said(&done));
            assert_eq!(names(&folder), [""; 0]);
        }
    }

    #[test]
    fn a_model_may_come_through_a_pipe() {
        let folder = folder("model-pipe");
        let model = write(&folder, "m.model", tiny_model());
        let text = write(&folder, "t.conllu", CONLLU);
        let expected = stdout(&["parse", "--model", &model, "--quiet", &text], "");
        let joined = program().args(["join", &model, "-o"]).arg(folder.join("m.model.gz")).output();
        assert!(joined.expect("it runs").status.success());
        for file in ["m.model", "m.model.gz"] {
            let script = format!("cat {file} | \"$0\" parse --model /dev/stdin --quiet t.conllu");
            let done = finish(&mut shell(&folder, &script), "");
            assert!(done.status.success(), "{}", said(&done));
            assert_eq!(String::from_utf8_lossy(&done.stdout), expected);
        }
        let message = refusal(1, &["info", "/dev/zero"], "");
        assert!(message.contains("not a treewright model"), "{message}");
    }
}

#[test]
fn convert_and_derive_take_what_other_commands_take() {
    let folder = folder("same-flags");
    let treebank = write(&folder, "t.conllu", CONLLU);
    for arguments in
        [&["convert", &treebank, "-o", "a.mrg", "--to", "json"][..], &["convert", &treebank, "b.json"]]
    {
        assert!(run_in(&folder, arguments, "").status.success(), "{arguments:?}");
    }
    let read = |name: &str| std::fs::read(folder.join(name)).expect("it is written");
    assert_eq!(read("a.mrg"), read("b.json"));
    let message = refusal(2, &["convert", &treebank, "c.json", "-o", "d.json"], "");
    assert!(message.contains("cannot be used with"), "{message}");
    let derived = stdout(&["derive", "--system", "arc-hybrid", "--from", "conllu"], CONLLU);
    assert_eq!(derived, stdout(&["derive", "--system", "arc-hybrid", &treebank], ""));
}
