//! What `treewright parse` reads: as it comes, of whatever kind, in whatever encoding, with mistakes in it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::common::{dependencies, finish, folder, program, refusal, run, stdout};
use serde_json::Value;

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

/// A run with bytes that need not be UTF-8.
fn run_bytes(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = program().args(arguments).spawn().expect("the program runs");
    child.stdin.take().expect("piped").write_all(input).expect("it reads");
    child.wait_with_output().expect("it ends")
}

/// A program that is spoken to.
struct Coprocess {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Coprocess {
    fn start(arguments: &[&str]) -> Self {
        let mut child = program().args(arguments).stderr(Stdio::inherit()).spawn().expect("the program runs");
        let (send, lines) = channel();
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        std::thread::spawn(move || {
            answers.lines().map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        Coprocess { stdin: child.stdin.take(), child, lines }
    }

    fn say(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().expect("not ended");
        stdin.write_all(text.as_bytes()).expect("it reads");
        stdin.flush().expect("it reads");
    }

    /// What it answers, up to a line that ends like this.
    #[track_caller]
    fn answer(&self, end: &str) -> String {
        let mut answer = String::new();
        loop {
            let line =
                self.lines.recv_timeout(Duration::from_secs(120)).expect("an answer without more input");
            answer.push_str(&line);
            answer.push('\n');
            if if end.is_empty() { line.is_empty() } else { line.ends_with(end) } {
                return answer;
            }
        }
    }
}

impl Drop for Coprocess {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Says one part after the other, each when the one before is answered. All answers together are what a run over all
/// of it prints.
#[track_caller]
fn check_coprocess(flags: &[&str], first: &str, parts: &[&str], end: &str) {
    for jobs in ["1", "2"] {
        let flags = [&["parse", "--model", dependencies(), "--quiet", "--jobs", jobs], flags].concat();
        let mut coprocess = Coprocess::start(&flags);
        coprocess.say(first);
        let mut answers = String::new();
        for part in parts {
            coprocess.say(part);
            answers.push_str(&coprocess.answer(end));
        }
        drop(coprocess.stdin.take());
        answers.extend(coprocess.lines.iter().map(|line| line + "\n"));
        assert!(coprocess.child.wait().expect("it ends").success());
        assert_eq!(answers, stdout(&flags, &format!("{first}{}", parts.concat())), "{flags:?}");
    }
}

#[test]
fn every_sentence_is_answered_before_the_next_is_asked() {
    let texts = ["The boy saw a dog.\n", "He ran.\n", "\n\n She sat (down).\r\n", "Yes\n"];
    check_coprocess(&["--lines", "are-sentences"], "", &texts, "");
    check_coprocess(&["--lines", "end-sentences"], "", &["He ran\n", "She sat down\n"], "");
    check_coprocess(&["--from", "tokens"], "", &["He ran .\n", "She sat .\n", "Yes\n"], "");
    check_coprocess(&["--from", "tokens", "--to", "conllx"], "", &["He ran .\n", "She sat .\n"], "");
    check_coprocess(&["--from", "tokens", "--to", "tokens"], "", &["He ran .\n", "She sat .\n"], ".");
    let documents = ["{\"id\": 1, \"text\": \"He ran.\"}\n", "{\"text\": \"\"}\n", "{\"text\": \"Yes\"}\n"];
    check_coprocess(&["--jsonl-field", "text"], "", &documents, "}");
    check_coprocess(&["--text-column", "2"], "", &["a\tHe ran.\n", "b\tYes\n"], "}");
    check_coprocess(&["--text-column", "t", "--csv"], "", &["id,t\n"], "tree");
    check_coprocess(&["--text-column", "2", "--csv"], "", &["a,He ran.\n", "b,\"Yes\n\"\n"], "}\"");
}

/// Also while it must find out that it is CoNLL-U.
#[test]
fn every_sentence_of_a_treebank_is_answered_before_the_next_is_asked() {
    let rows = ["1\tHe\t_\tPRON\t_\t_\t_\t_\t_\t_\n2\tran\t_\tVERB\t_\t_\t_\t_\t_\t_\n\n"; 3];
    let named = ["# sent_id = a\n1\tYes\t_\tINTJ\t_\t_\t_\t_\t_\t_\n\n", rows[0]];
    let marked = [rows[0], "\u{FEFF}# not the start\n1\tYes\t_\tINTJ\t_\t_\t_\t_\t_\t_\n\n"];
    for flags in [&["--from", "conllu"][..], &[]] {
        check_coprocess(flags, "", &rows, "");
        check_coprocess(flags, "", &named, "");
        check_coprocess(flags, "# newdoc\n", &rows, "");
    }
    // A byte order mark is dropped at the start only: here it is part of a line that is no comment.
    let output = run(&["parse", "--model", dependencies(), "--from", "conllu"], &marked.concat());
    assert!(text(&output.stderr).contains("stdin:4:"), "{}", text(&output.stderr));
}

/// Whoever waits for an answer gets the error, though more input might come.
#[test]
fn an_error_ends_it_while_input_may_come() {
    let flags = ["parse", "--model", dependencies(), "--from", "conllu"];
    let mut child = program().args(flags).spawn().expect("the program runs");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(b"1\tbroken\n\n").expect("it reads");
    let mut stderr = child.stderr.take().expect("piped");
    let (send, errors) = channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).map(|_| send.send(text))
    });
    let errors = errors.recv_timeout(Duration::from_secs(120));
    if errors.is_err() {
        child.kill().expect("it hangs");
    }
    assert!(errors.expect("it ends").contains("stdin:1:"));
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    drop(stdin);
}

#[test]
fn prose_is_prose() {
    let parse = ["parse", "--model", dependencies()];
    for line in ["(Reuters) Stocks fell.", "(1) First.", "{curly} text", "<s >text", "%% text", "# text"] {
        let parsed = stdout(&parse, &format!("{line}\n"));
        assert!(parsed.contains(&format!("# text = {line}\n")), "{line}: {parsed}");
    }
    let file = folder("prose").join("trees.txt");
    std::fs::write(&file, "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))\n").expect("room");
    let parsed = stdout(&["parse", "--model", dependencies(), file.to_str().expect("plain")], "");
    assert_eq!(
        parsed.lines().filter(|line| line.contains('\t')).count(),
        3,
        "a treebank by its content: {parsed}"
    );
}

#[test]
fn a_treebank_with_a_mistake_is_an_error_that_names_the_way_out() {
    let row = "1\tSleep\t_\tVERB\t_\t_\t0\troot\t_\t_\n";
    for (input, place) in [
        (&format!("{row}2\tbroken\n\n")[..], "stdin:2:"),
        (&format!("{row}\n1\tbroken\n\n"), "stdin:3:"),
        ("# sent_id = 1\n1\tbroken\n\n", "stdin:2:"),
        ("(S (NP (DT the) (NN dog)) (VP (VBZ barks))\n", "stdin:"),
        ("{\"text\": \"Hello.\"}\n", "stdin:1:"),
        ("#BOS 1\nnonsense\n", "stdin:"),
    ] {
        let message = refusal(1, &["parse", "--model", dependencies()], input);
        assert!(message.contains(place) && message.contains("--from text"), "{input:?}: {message}");
        let message = run(&["parse", "--model", dependencies(), "--from", "text"], input);
        assert!(message.status.success(), "{input:?}");
    }
    let given = refusal(1, &["parse", "--model", dependencies(), "--from", "conllu"], "1\tbroken\n\n");
    assert!(!given.contains("--from text"), "{given}");
}

#[test]
fn what_cannot_be_read_is_skipped_and_the_rest_is_kept() {
    let folder = folder("skip");
    let out = folder.join("out");
    let out = out.to_str().expect("a plain path");
    let json =
        b"{\"text\": \"He ran.\"}\n{\"text\": 3}\n{\"text\": \"\xFF\"}\nnonsense\n{\"text\": \"Yes\"}\n";
    let csv = b"a,He ran.\n\"b\xFF\",No\nc\nd,Yes\n";
    let cases: [(&[&str], &[u8], &[&str]); 4] = [
        (&["--jsonl-field", "text"], json, &["stdin:2:1:", "stdin:3:11:", "stdin:4:"]),
        (&["--text-column", "2"], b"a\tHe ran.\nb\t\xFF\nc\nd\tYes\n", &["stdin:2:3:", "stdin:3:1:"]),
        (&["--text-column", "2", "--csv"], csv, &["stdin:2:", "stdin:3:1:"]),
        (&[], b"He ran.\nThis is \xFF bad.\nYes\n", &["stdin:2:9:"]),
    ];
    for (flags, input, places) in cases {
        let parse = [&["parse", "--model", dependencies(), "--on-error", "skip", "-o", out], flags].concat();
        let output = run_bytes(&parse, input);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{errors}");
        assert!(places.iter().all(|place| errors.contains(place)), "{flags:?}: {errors}");
        assert_eq!(errors.matches("skipped: stdin").count(), places.len(), "{errors}");
        let written = std::fs::read_to_string(out).expect("what was good");
        assert!(written.contains("ran") && written.contains("Yes") && !written.contains("bad"), "{written}");
        let fail = [&["parse", "--model", dependencies()], flags].concat();
        let output = run_bytes(&fail, input);
        let errors = text(&output.stderr);
        assert!(errors.contains(places[0]) && errors.starts_with("error:"), "{errors}");
        // What comes before the mistake is parsed all the same.
        assert!(flags.is_empty() || text(&output.stdout).contains("ran"), "{flags:?}");
    }
}

#[test]
fn documents_are_written_as_they_were() {
    let parse = ["parse", "--model", dependencies(), "--jsonl-field", "text"];
    let start = "{\"id\": 123456789012345678901234567890, \"x\":1.10e999,  \"text\": \"He ran.\"";
    let written = stdout(&parse, &format!("\u{FEFF}{start} }}\n"));
    assert!(written.starts_with(&format!("{start},\"trees\":[{{")), "{written}");
    let trees = |flags: &[&str]| {
        let input = "{\"trees\": 3, \"text\": \"He ran.\"}\n"
            .replace("trees", if flags.is_empty() { "x" } else { "y" });
        let written = stdout(&[&parse[..], flags].concat(), &input);
        let object: Value = serde_json::from_str(&written).expect("JSON");
        object["trees"][0].clone()
    };
    assert!(trees(&[]).is_object() && trees(&["--to", "json"]).is_object());
    assert!(trees(&["--to", "conllu"]).is_string());
    // What the output is called makes no difference.
    let folder = folder("documents");
    for name in ["a.jsonl", "b.json", "c", "d.parsed", "e.txt"] {
        let out = folder.join(name);
        let parse = [&parse[..], &["-o", out.to_str().expect("a plain path")]].concat();
        stdout(&parse, "{\"text\": \"He ran.\"}\n");
        let object: Value = serde_json::from_slice(&std::fs::read(&out).expect("written")).expect("JSON");
        assert!(object["trees"][0].is_object(), "{name}");
    }
}

#[test]
fn a_field_is_never_overwritten() {
    let parse = ["parse", "--model", dependencies(), "--jsonl-field", "text"];
    let input = "{\"trees\": \"oak\", \"text\": \"He ran.\"}\n";
    let message = refusal(1, &parse, input);
    assert!(message.contains("stdin:1:") && message.contains("--trees-field"), "{message}");
    let written = stdout(&[&parse[..], &["--trees-field", "parses"]].concat(), input);
    let object: Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!(object["trees"], "oak");
    assert!(object["parses"][0].is_object());
    assert_eq!(run(&[&parse[..], &["--trees-field", "text"]].concat(), input).status.code(), Some(2));
}

#[test]
fn tables_have_names_and_quotes() {
    let parse = ["parse", "--model", dependencies(), "--text-column"];
    let table = |flags: &[&str], input: &str| stdout(&[&parse[..], flags].concat(), input);
    let written = table(&["text"], "id\ttext\tx\n7\tHe ran.\t\"y\n");
    let lines: Vec<&str> = written.lines().collect();
    assert_eq!(lines[0], "id\tx\tsentence\ttree");
    assert!(lines[1].starts_with("7\t\"y\t1\t{\""), "{written}");
    assert_eq!(table(&["2", "--header"], "id\ttext\tx\n7\tHe ran.\t\"y\n"), written);

    let input = "id,text\n\"1,5\",\"He said \"\"yes\"\".\nHe ran.\"\n2,\n";
    let folder = folder("tables");
    let file = folder.join("a.csv");
    std::fs::write(&file, input).expect("room");
    let written = table(&["text", "--csv"], input);
    assert_eq!(written, table(&["text", file.to_str().expect("a plain path")], ""));
    let mut rows = csv::ReaderBuilder::new().from_reader(written.as_bytes());
    assert_eq!(rows.headers().expect("a header"), vec!["id", "sentence", "tree"]);
    let rows: Vec<csv::StringRecord> = rows.records().collect::<Result<_, _>>().expect("CSV");
    assert_eq!(&rows[0][0], "1,5");
    let tree: Value = serde_json::from_str(&rows[0][2]).expect("JSON");
    assert!(tree["tokens"].as_array().expect("tokens").iter().any(|token| token["form"] == "yes"), "{tree}");
    assert_eq!(rows.last().expect("rows"), vec!["2", "0", ""]);

    let message = refusal(1, &[&parse[..], &["words"]].concat(), "id\ttext\n");
    assert!(message.contains("\"words\"") && message.contains("id, text"), "{message}");
    assert!(refusal(2, &[&parse[..], &["0"]].concat(), "a\n").contains("from 1"));
}

#[test]
fn rows_have_as_many_columns_as_the_first() {
    let named = ["--text-column", "text"];
    let numbered = ["--text-column", "2"];
    let cases: [(&[&str], &str, &[&str]); 5] = [
        (
            &named,
            "id\ttext\tx\n1\tHe ran.\ty\n2\tBad\n3\tBad\ty\tz\n\n4\tYes\t\n",
            &["stdin:3:1: there are 2 columns; expected 3", "stdin:4:1: there are 4", "stdin:5:1:"],
        ),
        (
            &[&named[..], &["--csv"]].concat(),
            "id,text,x\r\n1,He ran.,y\r\n2,Bad\r\n\r\n3,Bad,y,\r\n4,Yes,\r\n",
            &["stdin:3:1: there are 2 columns; expected 3", "stdin:5:1: there are 4"],
        ),
        (&numbered, "a\tHe ran.\nb\tBad\tx\nc\nd\tYes\n", &["stdin:2:1: there are 3", "stdin:3:1:"]),
        // A row without a text is no measure for others.
        (&numbered, "a\nb\tHe ran.\nd\tYes\n", &["stdin:1:1: expected text in column 2; there are 1"]),
        (&[&numbered[..], &["--csv"]].concat(), "a,He ran.\nb,Bad,\nd,Yes\n", &["stdin:2:1:"]),
    ];
    for (flags, input, places) in cases {
        let parse = [&["parse", "--model", dependencies()], flags].concat();
        let message = refusal(1, &parse, input);
        assert!(message.contains(places[0]) && message.contains("TW101"), "{flags:?}: {message}");
        let output = run(&[&parse[..], &["--on-error", "skip"]].concat(), input);
        let (written, errors) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(3), "{errors}");
        assert!(places.iter().all(|place| errors.contains(place)), "{flags:?}: {errors}");
        assert_eq!(errors.matches("TW101").count(), places.len(), "{errors}");
        assert!(written.contains("ran") && written.contains("Yes") && !written.contains("Bad"), "{written}");
    }
    // All files together are one table.
    let folder = folder("ragged");
    std::fs::write(folder.join("a.tsv"), "a\tYes\n").expect("room");
    std::fs::write(folder.join("b.tsv"), "a\tb\tYes\n").expect("room");
    let mut command = program();
    command.current_dir(&folder).args(["parse", "--model", dependencies(), "--text-column", "2"]);
    let output = finish(command.args(["a.tsv", "b.tsv"]), "");
    assert!(text(&output.stderr).contains("b.tsv:1:1: there are 3 columns; expected 2"));
}

#[test]
fn quotation_marks_in_the_wrong_place_are_errors() {
    for (input, place) in [
        ("id,text\n1,He ran.\n2,\"a\"b\n3,Yes\n", "stdin:3:3:"),
        ("id,text\n1,He ran.\n3,Yes\n2,\"Bad\n4,a\n", "stdin:4:3:"),
        ("id,text\n1,He ran.\n\"x\n\ny\",\"Bad\n4,a\n", "stdin:5:4:"),
        ("id,text\n1,He ran.\n2,\"Bad\n3,\"Bad\"\n4,Yes\n", "stdin:3:3:"),
    ] {
        let parse = ["parse", "--model", dependencies(), "--text-column", "text", "--csv"];
        let message = refusal(1, &parse, input);
        assert!(message.contains(place) && message.contains("TW304"), "{input:?}: {message}");
        let output = run(&[&parse[..], &["--on-error", "skip"]].concat(), input);
        let (written, errors) = (text(&output.stdout), text(&output.stderr));
        assert!(errors.contains(place) && errors.matches("TW304").count() == 1, "{errors}");
        assert!(written.contains("ran") && !written.contains("Bad"), "{written}");
        let is_closed = message.contains("followed by text");
        assert_eq!(written.contains("Yes"), is_closed || input.contains("3,Yes"), "{written}");
    }
}

#[test]
fn columns_are_never_doubled() {
    let parse = ["parse", "--model", dependencies(), "--text-column", "text"];
    for (flags, input, part) in [
        (
            &[][..],
            "text\ttree\nHe ran.\toak\n",
            "\"tree\" already; choose another name for the trees with --parse-column",
        ),
        (&["--csv"], "tree,text\noak,He ran.\n", "--parse-column"),
        (&[], "text\tsentence\nHe ran.\t1\n", "\"sentence\" already; rename it"),
        (&["--parse-column", "id"], "text\tid\nHe ran.\t1\n", "\"id\" already"),
    ] {
        let message = refusal(1, &[&parse[..], flags].concat(), input);
        assert!(message.contains("stdin:1:1:") && message.contains(part), "{message}");
        assert!(message.contains("TW101"), "{message}");
        // The rows after such names are not skipped one by one.
        let skipping = [&parse[..], &["--on-error", "skip"], flags].concat();
        assert_eq!(refusal(1, &skipping, input), message);
    }
    let named = |flags: &[&str], input: &str| stdout(&[&parse[..], flags].concat(), input);
    let written = named(&["--parse-column", "parses"], "text\ttree\nHe ran.\toak\n");
    assert!(written.starts_with("tree\tsentence\tparses\noak\t1\t{"), "{written}");
    // The text itself is not written.
    let tree = ["parse", "--model", dependencies(), "--text-column", "tree"];
    assert!(stdout(&tree, "id\ttree\n1\tHe ran.\n").starts_with("id\tsentence\ttree\n"));
}

#[test]
fn flags_of_documents_are_for_their_kind() {
    let parse = ["parse", "--model", dependencies()];
    for (flags, part) in [
        (&["--text-column", "text", "--trees-field", "x"][..], "--trees-field"),
        (&["--jsonl-field", "text", "--parse-column", "x"], "--parse-column"),
        (&["--jsonl-field", "text", "--csv"], "--csv"),
        (&["--text-column", "1", "--parse-column", "x"], "--header"),
        (&["--text-column", "text", "--parse-column", "sentence"], "another name"),
        (&["--text-column", "text", "--to", "tokens"], "--to json"),
        (&["--text-column", "text", "--to", "text"], "--to json"),
        (&["--text-column", "text", "--to", "conllu"], "several lines"),
    ] {
        let message = refusal(2, &[&parse[..], flags].concat(), "text\nHe ran.\n");
        assert!(message.contains(part), "{flags:?}: {message}");
    }
}

/// Excel writes it into "CSV UTF-8", and editors on Windows into text.
#[test]
fn a_byte_order_mark_is_dropped() {
    let parse = ["parse", "--model", dependencies()];
    let cases: [(&[&str], &str); 6] = [
        (&["--text-column", "text", "--csv"], "text,id\nHe ran.,1\n"),
        (&["--text-column", "text", "--csv"], "\"text\",id\nHe ran.,1\n"),
        (&["--text-column", "1", "--csv"], "He ran.,1\n"),
        (&["--text-column", "text"], "text\tid\nHe ran.\t1\n"),
        (&[], "He ran.\n"),
        (&["--on-error", "skip"], "He ran.\n"),
    ];
    for (flags, input) in cases {
        let flags = [&parse[..], flags].concat();
        let expected = stdout(&flags, input);
        assert_eq!(stdout(&flags, &format!("\u{FEFF}{input}")), expected, "{flags:?}");
        let packed = {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(format!("\u{FEFF}{input}").as_bytes()).expect("memory");
            encoder.finish().expect("memory")
        };
        assert_eq!(text(&run_bytes(&flags, &packed).stdout), expected, "{flags:?}");
    }
    assert!(stdout(&parse, "\u{FEFF}He ran.\n").contains("TokenRange=0:2"));
}

#[test]
fn other_encodings_are_read() {
    let parse = ["parse", "--model", dependencies()];
    let expected = stdout(&parse, "The caf\u{E9} is open.\n");
    let latin = b"The caf\xE9 is open.\n";
    let latin_flags = [&parse[..], &["--encoding", "latin1"]].concat();
    assert_eq!(text(&run_bytes(&latin_flags, latin).stdout), expected);
    let hint = run_bytes(&parse, latin);
    assert!(text(&hint.stderr).contains("stdin:1:8:") && text(&hint.stderr).contains("--encoding latin1"));
    let wide: Vec<u8> =
        "\u{FEFF}The caf\u{E9} is open.\n".encode_utf16().flat_map(|unit| unit.to_le_bytes()).collect();
    assert_eq!(text(&run_bytes(&parse, &wide).stdout), expected);
    assert!(refusal(2, &[&parse[..], &["--encoding", "klingon"]].concat(), "").contains("klingon"));
    let export = b"#FORMAT 3\n#BOS 1 0 0 0\nK\xF6ln\tNE\t--\t--\t0\n#EOS 1\n";
    let convert = ["convert", "-", "-", "--to", "ptb"];
    assert!(text(&run_bytes(&convert, export).stderr).contains("--encoding latin1"));
    let converted = run_bytes(&[&convert[..], &["--encoding", "latin1"]].concat(), export);
    assert_eq!(text(&converted.stdout), "(TOP (NE K\u{F6}ln))\n");
}

#[test]
fn sentences_of_raw_text_have_names() {
    let folder = folder("names");
    let file = |name: &str| {
        std::fs::write(folder.join(name), "He ran.\n\nShe sat.\n").expect("room");
        name.to_owned()
    };
    let flags = ["parse", "--model", dependencies(), "--lines", "are-sentences"].map(str::to_owned);
    let files = [file("a.txt"), file("b.txt")];
    let output = finish(program().current_dir(&folder).args(&flags).args(&files), "");
    let comments: Vec<&str> = text(&output.stdout).lines().filter(|line| line.starts_with('#')).collect();
    let expected = [
        "# newdoc id = a.txt\n# newpar\n# sent_id = 1\n# text = He ran.",
        "# newpar\n# sent_id = 2\n# text = She sat.",
        "# newdoc id = b.txt\n# newpar\n# sent_id = 3\n# text = He ran.",
        "# newpar\n# sent_id = 4\n# text = She sat.",
    ];
    assert_eq!(comments.join("\n"), expected.join("\n"));
    let kept =
        stdout(&["parse", "--model", dependencies()], "# sent_id = x\n1\tYes\t_\t_\t_\t_\t_\t_\t_\t_\n\n");
    assert!(kept.starts_with("# sent_id = x\n1\tYes"), "{kept}");
}

/// UTF-16 without a mark looks like text with NUL bytes between the letters.
#[test]
fn nul_bytes_are_errors_that_name_the_encoding() {
    let parse = ["parse", "--model", dependencies()];
    let wide: Vec<u8> = "He ran.\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let cases: [(&[&str], &[u8], &str); 6] = [
        (&[], &wide, "stdin:1:2:"),
        (&["--jobs", "2"], b"He ran.\n\xC3\xA9\xC3\xA9\0\n", "stdin:2:3:"),
        (&["--text-column", "1"], b"He ran.\na\0\n", "stdin:2:2:"),
        (&["--text-column", "1", "--csv"], b"He ran.\na\0\n", "stdin:2:2:"),
        (&["--jsonl-field", "t"], b"{\"t\": \"He ran.\"}\n\0\n", "stdin:2:1:"),
        (&["--from", "tokens"], b"He ran .\na\0\n", "stdin:2:2:"),
    ];
    for (flags, input, place) in cases {
        for more in [&[][..], &["--on-error", "skip"]] {
            let output = run_bytes(&[&parse[..], flags, more].concat(), input);
            let errors = text(&output.stderr);
            // Of the first one nothing is left.
            let code = if more.is_empty() || input == wide { 1 } else { 3 };
            assert_eq!(output.status.code(), Some(code), "{flags:?}: {errors}");
            let parts = [place, "TW004", "--encoding utf-16le"];
            assert!(parts.iter().all(|part| errors.contains(part)), "{flags:?}: {errors}");
            let is_kept = !more.is_empty() && input.starts_with(b"He ran");
            assert!(!is_kept || text(&output.stdout).contains("ran"), "{flags:?}");
        }
    }
    // In a file, which several threads read.
    let file = folder("nul").join("wide.txt");
    std::fs::write(&file, &wide).expect("room");
    let file = file.to_str().expect("a plain path");
    for jobs in ["1", "2"] {
        let message = refusal(1, &[&parse[..], &[file, "--jobs", jobs]].concat(), "");
        assert!(message.contains("wide.txt:1:2:") && message.contains("TW004"), "{message}");
    }
    let expected = stdout(&parse, "He ran.\n");
    let read = run_bytes(&[&parse[..], &["--encoding", "utf-16le"]].concat(), &wide);
    assert_eq!(text(&read.stdout), expected);
    // In JSON it is written as an escape, and may stand in a text.
    stdout(&[&parse[..], &["--jsonl-field", "t"]].concat(), "{\"t\": \"He\\u0000ran.\"}\n");
}

#[test]
fn tables_and_documents_are_not_taken_for_text() {
    let parse = ["parse", "--model", dependencies()];
    let folder = folder("not-text");
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("room");
        path.to_str().expect("a plain path").to_owned()
    };
    for name in ["a.csv", "b.CSV", "c.tsv"] {
        let file = write(name, "text,id\nHe ran.,1\n");
        let message = refusal(2, &[&parse[..], &[&file]].concat(), "");
        assert!(message.contains("--text-column") && message.contains(name), "{message}");
        stdout(&[&parse[..], &[&file, "--from", "text"]].concat(), "");
    }
    let treebank = write("d.tsv", "1\tYes\t_\tINTJ\t_\t_\t0\troot\t_\t_\n\n");
    assert!(stdout(&[&parse[..], &[&treebank]].concat(), "").starts_with("1\tYes"));
    let document = "{\"text\": \"He ran.\"}\n";
    let file = write("e.jsonl", document);
    for (flags, input) in [(&[][..], document), (&[&file[..]], "")] {
        let message = refusal(1, &[&parse[..], flags].concat(), input);
        assert!(message.contains("--jsonl-field text"), "{message}");
    }
}

#[test]
fn tags_are_for_tokens() {
    let message = refusal(2, &["parse", "--model", dependencies(), "--tagged"], "The/DT dog/NN\n");
    assert!(message.contains("--from tokens"), "{message}");
}

#[test]
fn a_line_beyond_the_limit_is_refused_or_skipped() {
    let long = "He ran. ".repeat(100_000);
    let letters = "a".repeat(300_000);
    let spaces = " ".repeat(300_000);
    let many_words = "a ".repeat(300);
    let cases: [(&[&str], String, usize); 11] = [
        (&[], format!("He ran.\n{long}\nYes\n"), 2),
        (&["--lines", "are-sentences"], format!("He ran.\n{letters}\nYes\n"), 2),
        (&["--from", "text"], format!("He ran.\n{}\nYes\n", "(".repeat(300_000)), 2),
        (&[], format!("He ran.\n{spaces}\nYes\n"), 2),
        (&[], format!("He ran.\n{}Yes\n", "\n".repeat(300_000)), 10_002),
        (&["--text-column", "1"], format!("He ran.\n{letters}\nYes\n"), 2),
        (&["--text-column", "2"], format!("a\tHe ran.\nb\t{many_words}\nc\tYes\n"), 2),
        (&["--text-column", "1", "--csv"], format!("He ran.\n\"a\nb{letters}\",c\nYes\n"), 2),
        (&["--text-column", "1", "--csv"], format!("He ran.\n{}\nYes\n", ",".repeat(300_000)), 2),
        (&["--jsonl-field", "t"], format!("{{\"t\":\"He ran.\"}}\n{letters}\n{{\"t\":\"Yes\"}}\n"), 2),
        (
            &["--jsonl-field", "t"],
            format!("{{\"t\":\"He ran.\"}}\n{{\"t\":\"{many_words}\"}}\n{{\"t\":\"Yes\"}}\n"),
            2,
        ),
    ];
    for (flags, input, line) in cases {
        let model = ["parse", "--model", dependencies(), "--max-sentence-bytes", "10000"];
        let place = format!("stdin:{line}:1:");
        let output = run(&[&model[..], flags].concat(), &input);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{flags:?}: {errors}");
        assert!(errors.contains(&place) && errors.contains("[TW010]"), "{flags:?}: {errors}");
        let output = run(&[&model[..], &["--on-error", "skip"], flags].concat(), &input);
        let (written, errors) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(3), "{flags:?}: {errors}");
        assert!(errors.contains(&place) && errors.matches("[TW010]").count() == 1, "{flags:?}: {errors}");
        assert!(written.contains("ran") && written.contains("Yes"), "{flags:?}: {written}");
        assert!(written.len() < 40_000, "{flags:?}: {} bytes", written.len());
    }
}
