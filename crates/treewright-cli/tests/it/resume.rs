//! `treewright parse -o` that is interrupted: what is whole is kept, and `--resume` goes on to the same bytes.

use std::path::Path;

use crate::common::{constituents, data, dependencies, folder, names, refusal, run, run_in, sample};

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("a plain path").to_owned()
}

fn stderr(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// JSON documents, of which this one is bad.
fn documents(n: usize, bad: Option<usize>) -> String {
    let document = |i: usize| match Some(i) == bad {
        true => "{\"id\": 7, \"text\": 3}\n".to_owned(),
        false => format!("{{\"id\": {i}, \"text\": \"He saw dog {i}. She ran.\"}}\n"),
    };
    (0..n).map(document).collect()
}

#[test]
fn a_bad_row_ends_a_run_that_goes_on_when_it_is_mended() {
    let folder = folder("resume-bad-row");
    let (input, out) = (path(&folder, "in.jsonl"), path(&folder, "out.jsonl"));
    let parse = ["parse", "--model", dependencies(), "--jsonl-field", "text", &input, "-o"];
    let whole = |input_text: &str, flags: &[&str]| {
        std::fs::write(&input, input_text).expect("room");
        let reference = path(&folder, "reference.jsonl");
        let output = run(&[&parse[..], &[&reference], flags].concat(), "");
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
        std::fs::read_to_string(&reference).expect("written")
    };
    let (good, skipped) =
        (whole(&documents(300, None), &[]), whole(&documents(300, Some(200)), &["--on-error", "skip"]));
    let stop = || {
        std::fs::write(&input, documents(300, Some(200))).expect("room");
        let output = run(&[&parse[..], &[&out]].concat(), "");
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for part in ["in.jsonl:201:1", "documents (", "out.jsonl.part", "--resume"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let part = std::fs::read_to_string(format!("{out}.part")).expect("kept");
        assert!(part.lines().count() > 100 && good.starts_with(&part), "{part}");
    };
    stop();
    // What is there is not destroyed by the same command once more.
    let message = refusal(2, &[&parse[..], &[&out]].concat(), "");
    assert!(message.contains("--resume") && message.contains("--force"), "{message}");
    // With the row left out.
    let output = run(&[&parse[..], &[&out, "--on-error", "skip", "--resume"]].concat(), "");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(std::fs::read_to_string(&out).expect("written") == skipped);
    // With the row mended.
    std::fs::remove_file(&out).expect("there");
    stop();
    std::fs::write(&input, documents(300, None)).expect("room");
    let output = run(&[&parse[..], &[&out, "--resume"]].concat(), "");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(std::fs::read_to_string(&out).expect("written") == good);
    assert_eq!(names(&folder), ["in.jsonl", "out.jsonl", "reference.jsonl"]);
    // Nothing is left to do, and nothing is done.
    let again = run(&[&parse[..], &[&out, "--resume"]].concat(), "");
    assert!(again.status.success() && stderr(&again).contains("is complete"), "{}", stderr(&again));
    assert!(std::fs::read_to_string(&out).expect("written") == good);
    // From the beginning.
    stop();
    std::fs::write(&input, documents(300, None)).expect("room");
    let output = run(&[&parse[..], &[&out, "--force"]].concat(), "");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(names(&folder), ["in.jsonl", "out.jsonl", "reference.jsonl"]);
}

#[test]
fn a_run_goes_on_only_as_it_began() {
    let folder = folder("resume-changed");
    let (input, out) = (path(&folder, "in.jsonl"), path(&folder, "out.jsonl"));
    std::fs::write(&input, documents(300, Some(200))).expect("room");
    let parse = ["parse", "--model", dependencies(), "--jsonl-field", "text", "-o", &out];
    assert_eq!(run(&[&parse[..], &[&input]].concat(), "").status.code(), Some(1));
    let part = std::fs::read(format!("{out}.part")).expect("kept");
    let resume = |flags: &[&str]| refusal(2, &[&parse[..], flags, &["--resume"]].concat(), "");
    for (flags, named) in [
        (&[&input[..], "--to", "conllu"][..], "--to"),
        (&[&input, "--beam", "4"], "--beam"),
        (&[&input, "--trees-field", "parses"], "--trees-field"),
        (&[&input, &input], "input files"),
        (&[&input, "--lines", "end-sentences"], "--lines"),
        (&["-"], "stdin can be read only once"),
        (&[], "stdin can be read only once"),
    ] {
        let message = resume(flags);
        assert!(message.contains(named), "{flags:?}: {message}");
    }
    // The input before the place that the run had come to.
    std::fs::write(&input, documents(300, None).replace("dog 17.", "dogs 17.")).expect("room");
    assert!(resume(&[&input]).contains("the input has changed"));
    std::fs::write(&input, documents(20, None)).expect("room");
    assert!(resume(&[&input]).contains("the input"));
    assert_eq!(std::fs::read(format!("{out}.part")).expect("kept"), part);
    let message = refusal(2, &["parse", "--model", dependencies(), "--resume", &input], "");
    assert!(message.contains("-o"), "{message}");
}

#[test]
fn what_came_through_a_pipe_is_kept_but_cannot_be_resumed() {
    let folder = folder("resume-pipe");
    let out = path(&folder, "out.jsonl");
    let parse = ["parse", "--model", dependencies(), "--jsonl-field", "text", "-o", &out];
    let output = run(&parse, &documents(300, Some(200)));
    let said = stderr(&output);
    assert!(output.status.code() == Some(1) && said.contains("cannot be resumed"), "{said}");
    assert!(std::fs::read_to_string(format!("{out}.part")).expect("kept").lines().count() > 100);
    // A file that is in the way and nobody's partial output.
    let other = path(&folder, "other.jsonl");
    std::fs::write(format!("{other}.part"), "mine").expect("room");
    let parse = ["parse", "--model", dependencies(), "--jsonl-field", "text", "-o", &other];
    let message = refusal(2, &parse, &documents(3, None));
    assert!(message.contains("other.jsonl.part") && message.contains("in the way"), "{message}");
    assert_eq!(std::fs::read(format!("{other}.part")).expect("kept"), b"mine");
}

/// Inputs of all kinds, each with its flags.
fn inputs(folder: &Path) -> Vec<(&'static str, Vec<String>)> {
    let treebank = std::fs::read_to_string(data("ud_english_ewt.conllu")).expect("the sample");
    let texts: Vec<&str> = treebank.lines().filter_map(|line| line.strip_prefix("# text = ")).collect();
    // Enough that every output is cut off somewhere.
    let texts = texts.repeat(4);
    let write = |name: &str, text: String| {
        std::fs::write(folder.join(name), text).expect("room");
        path(folder, name)
    };
    let strings = |flags: &[&str]| flags.iter().map(|&flag| flag.to_owned()).collect::<Vec<_>>();
    let document = |text: &str| format!("{}\n", serde_json::json!({"id": 1, "text": text}));
    let jsonl = write("in.jsonl", texts.chunks(3).map(|texts| document(&texts.join(" "))).collect());
    let quoted = |text: &&str| format!("7,\"{}\"\n", text.replace('"', "\"\""));
    let csv = write("in.csv", format!("id,text\n{}", texts.iter().map(quoted).collect::<String>()));
    let tsv = write("in.tsv", texts.iter().map(|text| format!("7\t{text}\n")).collect());
    let (head, tail) = texts.split_at(texts.len() / 2);
    let text = write("in.txt", head.join("\n\n"));
    let more = write("more.txt", tail.join(" "));
    vec![
        ("jsonl", strings(&["--jsonl-field", "text", &jsonl])),
        ("csv", strings(&["--text-column", "text", &csv])),
        ("tsv", strings(&["--text-column", "2", &tsv])),
        ("text", strings(&[&text, &more])),
        ("conllu", strings(&[&sample("ud_english_ewt.conllu"), &sample("ud_english_ewt.conllu")])),
        ("ptb", strings(&[&sample("gum.mrg")])),
    ]
}

/// Runs with a limit on the size of files, which is what a full disk looks like.
#[cfg(unix)]
fn run_limited(arguments: &[&str], n_blocks: usize) -> std::process::Output {
    let script = format!("ulimit -f {n_blocks}; exec \"$@\"");
    let mut command = std::process::Command::new("bash");
    command.args(["-c", &script, "bash", env!("CARGO_BIN_EXE_treewright")]).args(arguments);
    command.stdin(std::process::Stdio::null()).output().expect("bash runs")
}

#[cfg(unix)]
#[test]
fn a_full_disk_loses_nothing_in_any_format() {
    let folder = folder("resume-full");
    let cases: [(&str, &str, &[&str]); 14] = [
        ("jsonl", "a.jsonl", &[]),
        ("jsonl", "b.jsonl.gz", &["--to", "conllu"]),
        ("csv", "c.csv", &[]),
        ("tsv", "d.tsv.gz", &[]),
        ("text", "e.conllu", &[]),
        ("text", "f.conllu.gz", &[]),
        ("text", "g.json", &[]),
        ("text", "h.tokens", &["--to", "tokens"]),
        ("text", "i.export", &["--as", "constituents"]),
        ("text", "j.tigerxml", &["--as", "constituents"]),
        ("text", "k.mrg", &["--as", "constituents"]),
        ("conllu", "l.conllu", &[]),
        ("conllu", "m.conllx", &[]),
        ("ptb", "n.discbracket", &["--as", "constituents"]),
    ];
    let inputs = inputs(&folder);
    for (input, name, flags) in cases {
        let (_, input) = inputs.iter().find(|(kind, _)| *kind == input).expect("it is there");
        let input: Vec<&str> = input.iter().map(String::as_str).collect();
        let flags: Vec<&str> =
            flags.iter().copied().filter(|&f| f != "--as" && f != "constituents").collect();
        let is_tree = matches!(name.rsplit('.').next(), Some("export" | "tigerxml" | "mrg" | "discbracket"));
        let model = if is_tree { constituents() } else { dependencies() };
        let (out, reference) = (path(&folder, name), path(&folder, &format!("whole-{name}")));
        let parse = |out: &str| {
            let start = ["parse", "--quiet", "--model", model, "--jobs", "2", "-o", out].map(str::to_owned);
            let rest = flags.iter().chain(&input).map(|&flag| flag.to_owned());
            start.into_iter().chain(rest).collect::<Vec<String>>()
        };
        let output = run(&parse(&reference), "");
        assert!(output.status.success(), "{name}: {}", stderr(&output));
        let whole = std::fs::read(&reference).expect("written");
        let mut command = parse(&out);
        // Twice it is stopped, at different places.
        let n_blocks = whole.len() / 1024;
        let mut n_stopped = 0;
        for share in [3, 7, 1] {
            let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
            let limited = match share {
                1 => run(&arguments, ""),
                share => run_limited(&arguments, (n_blocks * share / 10).max(2)),
            };
            let said = stderr(&limited);
            match limited.status.code() {
                Some(0) => {}
                Some(1) if share > 1 && said.contains("error:") => n_stopped += 1,
                code => panic!("{name}: {code:?}: {said}"),
            }
            if command.last().is_some_and(|last| last != "--resume") {
                command.push("--resume".to_owned());
            }
        }
        assert!(n_stopped > 0, "{name} was never stopped");
        assert!(std::fs::read(&out).expect("written") == whole, "{name} differs");
        assert!(!Path::new(&format!("{out}.part")).exists());
        assert!(!Path::new(&format!("{out}.part.state")).exists());
    }
}

/// Whenever the program is stopped, also by a signal that it cannot see, it goes on.
#[cfg(unix)]
#[test]
fn signals_lose_nothing() {
    let folder = folder("resume-signals");
    let input = path(&folder, "in.conllu");
    let treebank = std::fs::read_to_string(data("ud_english_ewt.conllu")).expect("the sample");
    std::fs::write(&input, treebank.repeat(40)).expect("room");
    let parse = ["parse", "--quiet", "--model", dependencies(), &input, "-o"];
    let whole = path(&folder, "whole.conllu");
    assert!(run(&[&parse[..], &[&whole]].concat(), "").status.success());
    for signal in ["INT", "TERM", "KILL"] {
        let out = path(&folder, &format!("{signal}.conllu"));
        let mut command = crate::common::program_that_heeds_signals();
        command.args(parse).arg(&out);
        let child = command.stderr(std::process::Stdio::piped()).spawn().expect("it starts");
        let state = format!("{out}.part.state");
        while !std::fs::read(&state).is_ok_and(|text| text.iter().filter(|&&byte| byte == b'\n').count() > 1)
        {
            assert!(!Path::new(&out).exists(), "it was over too soon");
            std::thread::yield_now();
        }
        crate::common::signal(&child, signal);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), None);
        if signal != "KILL" {
            let said = stderr(&output);
            assert!(said.contains("sentences are whole in") && said.contains("--resume"), "{said}");
        }
        let resumed = run(&[&parse[..], &[&out, "--resume"]].concat(), "");
        assert!(resumed.status.success(), "{}", stderr(&resumed));
        assert!(std::fs::read(&out).expect("there") == std::fs::read(&whole).expect("there"), "{signal}");
    }
}

#[test]
fn tables_in_parquet_go_on() {
    let folder = folder("resume-parquet");
    let rows = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/data/rows.parquet");
    let rows = rows.to_str().expect("a plain path");
    // Enough of them for several batches.
    let files = vec![rows; 40];
    let whole = path(&folder, "whole.parquet");
    let parse = ["parse", "--quiet", "--model", dependencies(), "--text-column", "text"];
    let output = run(&[&parse[..], &files, &["-o", &whole]].concat(), "");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    #[cfg(unix)]
    {
        let out = path(&folder, "out.parquet");
        let arguments = [&parse[..], &files, &["-o", &out]].concat();
        for n_blocks in [4, 9] {
            let resume: &[&str] = if n_blocks == 4 { &[] } else { &["--resume"] };
            let output = run_limited(&[&arguments[..], resume].concat(), n_blocks);
            assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        }
        let output = run(&[&arguments[..], &["--resume"]].concat(), "");
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(std::fs::read(&out).expect("there") == std::fs::read(&whole).expect("there"));
        assert_eq!(names(&folder), ["out.parquet", "whole.parquet"]);
    }
}

#[test]
fn what_has_no_tree_is_listed_and_keeps_its_place() {
    let folder = folder("errors-to");
    let jsonl =
        documents(60, None) + &"{\"id\": 7, \"text\": 3}\nnonsense\n".repeat(30) + &documents(1, None);
    std::fs::write(folder.join("in.jsonl"), jsonl).expect("room");
    let parse = ["parse", "--model", dependencies(), "--on-error", "skip", "--json-stats", "stats.json"];
    let more = [
        "--jsonl-field",
        "text",
        "in.jsonl",
        "-o",
        "out.jsonl",
        "--errors-to",
        "errors.jsonl",
        "--jobs",
        "2",
    ];
    let output = run_in(&folder, &[&parse[..], &more].concat(), "");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("... and 40 more") && said.contains("60 rows were skipped"), "{said}");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("written");
    let json = |line: &str| serde_json::from_str::<serde_json::Value>(line).expect("JSON");
    let out: Vec<_> = read("out.jsonl").lines().map(json).collect();
    assert_eq!(out.len(), 121);
    assert_eq!((&out[60]["id"], &out[60]["trees"]), (&7.into(), &serde_json::Value::Null));
    assert!(
        out[60]["trees_error"].as_str().is_some_and(|error| error.contains("in.jsonl:61:1")),
        "{}",
        out[60]
    );
    assert!(out[61]["trees"].is_null() && out[61]["trees_error"].is_string(), "{}", out[61]);
    assert!(out[120]["trees"].is_array() && out[120].get("trees_error").is_none());
    let errors: Vec<_> = read("errors.jsonl").lines().map(json).collect();
    assert_eq!(errors.len(), 60);
    assert_eq!(errors[59]["line"], 120);
    assert_eq!((&errors[0]["what"], &errors[0]["code"]), (&"skipped".into(), &"TW302".into()));
    let stats = json(&read("stats.json"));
    assert_eq!(
        (&stats["skipped"], &stats["failed"], &stats["documents"]),
        (&60.into(), &0.into(), &121.into())
    );
    assert!(stats["model"].as_str().is_some_and(|name| name.contains("dependencies.model")), "{stats}");

    std::fs::write(folder.join("in.csv"), "id,text\n1,He ran.\n2,\"a\"b\n3,x,y\n4,Yes.\n").expect("room");
    let more = ["--text-column", "text", "in.csv", "-o", "out.csv", "--errors-to", "errors.tsv"];
    let output = run_in(&folder, &[&parse[..], &more].concat(), "");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let out = read("out.csv");
    let mut rows = csv::ReaderBuilder::new().from_reader(out.as_bytes());
    assert_eq!(rows.headers().expect("names"), vec!["id", "sentence", "tree", "tree_error"]);
    let rows: Vec<csv::StringRecord> = rows.records().collect::<Result<_, _>>().expect("CSV");
    assert_eq!(rows.len(), 4, "{out}");
    assert!(&rows[0][0] == "1" && rows[0][2].starts_with('{') && rows[0][3].is_empty(), "{out}");
    assert!(rows[1][0].is_empty() && &rows[1][1] == "0" && rows[1][3].contains("TW304"), "{out}");
    assert!(&rows[2][0] == "3" && rows[2][2].is_empty() && rows[2][3].contains("TW101"), "{out}");
    let errors = read("errors.tsv");
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines[0], "what\tfile\tline\tcolumn\tsentence\tcode\tmessage");
    assert!(lines[1].starts_with("skipped\tin.csv\t3\t3\t\tTW304\t"), "{errors}");
    assert!(lines[2].starts_with("skipped\tin.csv\t4\t1\t\tTW101\t") && lines.len() == 3, "{errors}");

    // What was parsed and cannot be written.
    let bad = "{\"tokens\":[{\"form\":\"a\\tb\"}]}\n";
    let good = "{\"tokens\":[{\"form\":\"He\"},{\"form\":\"ran\"}]}\n";
    std::fs::write(folder.join("words.json"), format!("{good}{bad}{good}")).expect("room");
    let more = ["words.json", "-o", "out.conllu", "--errors-to", "failed.tsv"];
    let output = run_in(&folder, &[&parse[..], &more].concat(), "");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert_eq!(read("out.conllu").matches("ran").count(), 2);
    assert!(read("failed.tsv").contains("\nfailed\t\t\t\t2\tTW008\t"), "{}", read("failed.tsv"));
    assert_eq!(json(&read("stats.json"))["failed"], 1);

    // Nothing at all was done.
    std::fs::write(folder.join("in.jsonl"), "nonsense\n").expect("room");
    let more = ["--jsonl-field", "text", "in.jsonl", "-o", "none.jsonl"];
    assert_eq!(run_in(&folder, &[&parse[..], &more].concat(), "").status.code(), Some(1));
}

/// The list of errors goes on as the trees do.
#[cfg(unix)]
#[test]
fn the_list_of_errors_goes_on() {
    let folder = folder("errors-resumed");
    let input: String =
        (0..400)
            .map(|i| {
                if i % 7 == 3 { "nonsense\n".to_owned() } else { format!("{{\"text\": \"Dog {i} ran.\"}}\n") }
            })
            .collect();
    std::fs::write(folder.join("in.jsonl"), input).expect("room");
    let (input, list) = (path(&folder, "in.jsonl"), path(&folder, "errors.tsv"));
    let parse =
        ["parse", "--quiet", "--model", dependencies(), "--on-error", "skip", "--jsonl-field", "text"];
    let parse = [&parse[..], &[&input, "--errors-to", &list, "-o"]].concat();
    let (whole, out) = (path(&folder, "whole.jsonl"), path(&folder, "out.jsonl"));
    let output = run(&[&parse[..], &[&whole]].concat(), "");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let errors = std::fs::read_to_string(&list).expect("written");
    assert_eq!(errors.lines().count(), 58);
    let size = std::fs::metadata(&whole).expect("there").len() as usize / 1024;
    let output = run_limited(&[&parse[..], &[&out]].concat(), size / 2);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let output = run(&[&parse[..], &[&out, "--resume"]].concat(), "");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("57 rows were skipped"), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(&list).expect("written"), errors);
    assert!(std::fs::read(&out).expect("there") == std::fs::read(&whole).expect("there"));
}
