//! The door: detection, gzip, and what holds for every format.

use proptest::prelude::*;

use super::*;

const SAMPLES: [(&str, &[u8]); 4] = [
    ("ud_english_ewt.conllu", include_bytes!("../../../../data/ud_english_ewt.conllu")),
    ("ud_portuguese_bosque.conllu", include_bytes!("../../../../data/ud_portuguese_bosque.conllu")),
    ("agdt_ancient_greek.conllu", include_bytes!("../../../../data/agdt_ancient_greek.conllu")),
    ("ud_dutch_lassysmall.conllu", include_bytes!("../../../../data/ud_dutch_lassysmall.conllu")),
];

fn named(file: &str) -> ReadOptions {
    ReadOptions { file: file.to_owned(), ..ReadOptions::default() }
}

fn read(format: Format, text: &[u8]) -> Vec<Result<Entry>> {
    reader(format, text, &ReadOptions::default()).collect()
}

fn write(format: Format, entries: &[Entry], options: &WriteOptions) -> Vec<u8> {
    testing::write(format, entries, options).expect("writable").into_bytes()
}

fn zipped(format: Format, entries: &[Entry]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&write(format, entries, &WriteOptions::default())).expect("memory does not fail");
    encoder.finish().expect("memory does not fail")
}

fn sample(text: &[u8]) -> Vec<Entry> {
    read(Format::Conllu, text).into_iter().collect::<Result<_>>().expect("samples are valid")
}

#[test]
fn samples_round_trip_byte_for_byte() {
    for (name, text) in SAMPLES {
        let opened = open(text, &named(name)).expect("a known format");
        let entries: Vec<Entry> = opened.reader.collect::<Result<_>>().expect("samples are valid");
        assert!(entries.len() > 10, "{name}");
        assert!(write(Format::Conllu, &entries, &WriteOptions::default()) == text, "{name}");
    }
}

#[test]
fn samples_survive_json_and_gzip() {
    for (name, text) in SAMPLES {
        let entries = sample(text);
        let zipped = zipped(Format::Json, &entries);
        assert!(zipped.starts_with(b"\x1F\x8B") && zipped.len() < text.len());
        let opened = open(&zipped[..], &named("x.json.gz")).expect("known");
        assert_eq!((opened.format, opened.gzip), (Format::Json, true));
        assert!(opened.reader.collect::<Result<Vec<_>>>().as_ref() == Ok(&entries), "{name}");
    }
}

#[test]
fn sequences_are_the_texts_of_their_parts() {
    let dependencies = sample(SAMPLES[0].1);
    let constituents: Vec<Entry> = read(
        Format::Discbracket,
        b"(S (A 0=a) (B 1=b))\n(S (A 1=a) (B 0=b) (C 2=c))\n(S 0=d)\n".repeat(2).as_slice(),
    )
    .into_iter()
    .collect::<Result<_>>()
    .expect("valid");
    let flat = &constituents[..1];
    let options = WriteOptions::default();
    for &format in Format::ALL.iter().filter(|format| format.is_sequence()) {
        let entries = match format {
            Format::Conllu | Format::Conllx | Format::Json => &dependencies[..],
            Format::Ptb => &[flat, flat, flat].concat(),
            _ => &constituents[..],
        };
        let parts: Vec<u8> = entries.chunks(2).flat_map(|part| write(format, part, &options)).collect();
        assert!(entries.len() > 2 && parts == write(format, entries, &options), "{format}");
    }
}

/// A writer that goes on where another one stopped writes what one writer would have written.
#[test]
fn writers_go_on_where_others_stopped() {
    let dependencies = sample(SAMPLES[0].1);
    let constituents: Vec<Entry> = read(Format::Discbracket, b"(S (A 0=a) (B 1=b))\n".repeat(4).as_slice())
        .into_iter()
        .collect::<Result<_>>()
        .expect("valid");
    let mut marked = constituents.clone();
    for entry in &mut marked {
        // A byte order mark is written twice at the start of a file.
        entry.sentence.tokens[0].form = "\u{feff}a".into();
    }
    // Export changes its version at the first lemma.
    marked[1].sentence.tokens[0].lemma = "a".into();
    let options = WriteOptions::default();
    for &format in Format::ALL.iter().filter(|&&format| format != Format::Alpino) {
        let entries = match format {
            Format::Conllu | Format::Conllx => &dependencies[..],
            Format::Ptb | Format::Discbracket => &constituents[..],
            _ => &marked[..],
        };
        let whole = write(format, entries, &options);
        for n in 0..=entries.len() {
            let mut text = Vec::new();
            let mut first = writer(format, &mut text, &options).expect("it can be written");
            entries[..n].iter().for_each(|entry| first.write(entry).expect("it fits"));
            first.flush().expect("memory");
            let state = first.state();
            drop(first);
            let mut second = writer(format, &mut text, &options).expect("it can be written");
            second.go_on(state);
            entries[n..].iter().for_each(|entry| second.write(entry).expect("it fits"));
            second.finish().expect("memory");
            drop(second);
            assert!(text == whole, "{format} after {n}: {}", String::from_utf8_lossy(&text));
        }
    }
}

#[test]
fn text_written_is_the_text_of_the_comment() {
    let entries = sample(SAMPLES[0].1);
    let lines = write(Format::Text, &entries, &WriteOptions::default());
    let lines = String::from_utf8(lines).expect("text");
    let texts = entries.iter().map(|entry| {
        let comments = &entry.sentence.comments;
        comments.iter().find_map(|comment| comment.strip_prefix("# text = ")).expect("EWT has texts").trim()
    });
    assert_eq!(lines.lines().collect::<Vec<_>>(), texts.collect::<Vec<_>>());
}

#[track_caller]
fn check_detected(text: &str, expected: Option<Format>) {
    assert_eq!(Format::detect(text.as_bytes()), expected);
    assert_eq!(
        Format::detect(format!("\u{feff}\n{text}").as_bytes()),
        expected,
        "after a mark and a blank line"
    );
}

#[test]
fn content_shows_the_format() {
    let row = |id: &str, tag: &str| format!("{id}\ta\t_\t{tag}\t_\t_\t0\t_\t_\t_\n");
    check_detected(&row("1", "NOUN"), Some(Format::Conllu));
    check_detected(&row("1", "NN"), Some(Format::Conllx));
    check_detected(&format!("{}{}", row("1", "X"), row("2", "NN")), Some(Format::Conllx));
    check_detected(&format!("# a comment\n{}", row("1", "NN")), Some(Format::Conllu));
    check_detected(&format!("{}{}", row("1-2", "_"), row("1", "NN")), Some(Format::Conllu));
    // A line that the end of the peeked bytes cuts.
    check_detected(&format!("{}2\tb\t_", row("1", "NOUN")), Some(Format::Conllu));
    check_detected("(S (NN 0=a))", Some(Format::Discbracket));
    check_detected("(S\n  (NN 10=a)\n (X 2=b))", Some(Format::Discbracket));
    check_detected("( (S (NN a=b)))", Some(Format::Ptb));
    check_detected("(S", Some(Format::Ptb));
    check_detected("#FORMAT 4\n#BOS 1", Some(Format::Export));
    check_detected("#BOS 1 1 1 1\n", Some(Format::Export));
    check_detected("%% word tag\n#BOS 1", Some(Format::Export));
    check_detected("<?xml version=\"1.0\"?>\n<corpus id=\"x\">", Some(Format::Tigerxml));
    check_detected("<?xml version=\"1.0\"?>\n<alpino_ds version=\"1.3\">", Some(Format::Alpino));
    check_detected("<html>", None);
    check_detected("{\"tokens\":[]}", Some(Format::Json));
    check_detected("It is a sentence.", None);
    check_detected("1\ta\tb", None);
}

#[test]
fn names_show_the_format() {
    for (path, expected) in [
        ("a.conllu", Some(Format::Conllu)),
        ("dir.ptb/a.CONLLU.gz", Some(Format::Conllu)),
        ("wsj.mrg", Some(Format::Ptb)),
        ("a.json", Some(Format::Json)),
        ("a.jsonl.gz", Some(Format::Json)),
        ("a.xml", None),
        ("a.gz", None),
        ("dir.ptb/a", None),
        ("", None),
    ] {
        assert_eq!(Format::from_path(path), expected, "{path}");
    }
    for &format in Format::ALL {
        assert_eq!(format.to_string().parse(), Ok(format));
        assert_eq!(Format::from_path(&format!("a.{format}.gz")), Some(format));
    }
    assert_eq!("CoNLL".parse::<Format>().map_err(|error| error.code), Err(Code::UnknownFormat));
}

#[track_caller]
fn check_refused(source: &[u8], options: &ReadOptions, expected: &str) {
    let error = match open(source, options) {
        Err(error) => error,
        Ok(opened) => opened.reader.last().expect("an error").expect_err("a bad input"),
    };
    assert_eq!(error.to_string(), expected);
}

#[test]
fn nothing_to_read_is_an_error() {
    let empty = "x.conllu:1:1: the input is empty; expected at least one sentence [TW005]";
    check_refused(b"", &named("x.conllu"), empty);
    check_refused(b"\n \n\n", &named("x.conllu"), empty);
    check_refused(b"\xEF\xBB\xBF", &named("x.conllu"), empty);
    check_refused(b"", &named(""), &empty["x.conllu:".len()..]);
    for &format in Format::ALL {
        let items = read(format, b"");
        assert_eq!(items.len(), 1, "{format}");
    }
    check_refused(
        b"What is this?\n",
        &named("x"),
        "x:1:1: this is none of the formats conllu conllx ptb discbracket export tigerxml alpino json text tokens; \
         name the one it is [TW006]",
    );
    let options = ReadOptions { format: InputFormat::RecognisedOr(Format::Text), ..named("x") };
    assert_eq!(open(&b"What is this?\n"[..], &options).expect("text").format, Format::Text);
}

#[test]
fn errors_name_file_and_sentence() {
    let text = b"1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n\nbad\n\n";
    let expected = "f.conllu:3:1: sentence 2: 1 columns; expected 10, separated by tabs [TW101]";
    check_refused(text, &named("f.conllu"), expected);
}

#[test]
fn damaged_gzip_is_reported_after_what_could_be_read() {
    let text = SAMPLES[0].1.repeat(20);
    let zipped = zipped(Format::Conllu, &sample(&text));
    // Concatenated files are one.
    let twice = zipped.repeat(2);
    let items: Vec<_> = open(&twice[..], &named("")).expect("conllu").reader.collect();
    assert!(items.iter().all(Result::is_ok));
    assert_eq!(items.len(), 2 * 20 * 17);
    let (mut n_some, mut n_none) = (0, 0);
    for cut in [1, 2, 5, 10, 11, 100, zipped.len() / 2, zipped.len() - 9, zipped.len() - 1] {
        let items: Vec<_> = match open(&zipped[..cut], &named("x.conllu.gz")) {
            Ok(opened) => opened.reader.collect(),
            Err(error) => vec![Err(error)],
        };
        let n_read = items.iter().filter(|item| item.is_ok()).count();
        n_some += usize::from(n_read > 0);
        n_none += usize::from(n_read == 0);
        let errors: Vec<_> = items.iter().filter_map(|item| item.as_ref().err()).collect();
        assert!(items.last().is_some_and(Result::is_err), "{cut}");
        assert_eq!(errors.len(), 1, "{cut}");
        if cut > 1 {
            assert_eq!(
                (errors[0].code, errors[0].location.file.as_str()),
                (Code::BadGzip, "x.conllu.gz"),
                "{cut}"
            );
        }
    }
    assert!(n_some > 0 && n_none > 0, "{n_some} {n_none}");
    let mut flipped = zipped.clone();
    flipped[zipped.len() / 2] ^= 0x55;
    let items: Vec<_> = open(&flipped[..], &named("")).expect("the start is whole").reader.collect();
    assert!(items.iter().any(|item| item.as_ref().is_err_and(|error| error.code == Code::BadGzip)));
}

#[test]
fn the_page_on_formats_names_every_format_and_every_code() {
    let page = include_str!("../../../../docs/formats.md");
    for format in Format::ALL {
        assert!(page.contains(&format!("\n## {format}\n")), "{format}");
    }
    for code in Code::ALL {
        assert!(page.contains(&format!("\n| {} | ", code.as_str())), "{}", code.as_str());
    }
}

/// Portions hold what the whole holds: sentences, errors, their lines and numbers.
fn check_portions(format: Format, text: &[u8], size: usize) {
    check_portions_within(format, text, size, &named("a file"));
}

fn check_portions_within(format: Format, text: &[u8], size: usize, options: &ReadOptions) {
    let mut n_items = 0;
    let mut items = Vec::new();
    for portion in Portions::new(text, size, options.limit) {
        let read: Vec<Result<Entry>> = portion.expect("memory does not fail").read(format, options).collect();
        let number = |error: Error| {
            let sentence = n_items + error.location.sentence;
            error.in_sentence(sentence)
        };
        let n_read = read.len();
        items.extend(read.into_iter().map(|item| item.map_err(number)));
        n_items += n_read;
    }
    if items.is_empty() {
        items.push(Err(empty_input().in_file("a file")));
    }
    let whole: Vec<Result<Entry>> = reader(format, text, options).collect();
    assert!(items == whole, "{size} {:?}\n{items:?}\n{whole:?}", String::from_utf8_lossy(text));
}

#[test]
fn portions_hold_what_the_whole_holds() {
    let row = "1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n";
    let bad = "1\ta\t_\tX\t_\t_\t9\troot\t_\t_\n2\tb\n";
    let mark = "\u{feff}";
    let texts = [
        String::new(),
        "\n\n".to_owned(),
        "# only a comment\n\n".to_owned(),
        format!("{mark}{row}\n{row}\n\n{row}"),
        format!("{row}\n{mark}{row}\n{row}\n"),
        format!("{row}\r\n{row} \t\n\n\n{bad}{row}\n# c\n{row}\n"),
        format!("{bad}\n{row}\n{bad}\n{bad}"),
    ];
    for text in texts.iter().map(String::as_bytes).chain(SAMPLES.map(|(_, text)| &text[..3000])) {
        for size in [1, 2, 10, 60, 100, 1000, 1 << 20] {
            check_portions(Format::Conllu, text, size);
        }
    }
    // Long samples in portions of a usual size are several.
    assert!(Portions::new(SAMPLES[0].1, 1000, Limit::DEFAULT).count() > 5);
}

#[test]
fn a_source_that_fails_gives_what_came_before() {
    struct Failing<'a>(&'a [u8]);
    impl Read for Failing<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(std::io::Error::other("torn")),
                n => Ok(n),
            }
        }
    }
    let row = "1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n";
    let text = format!("{row}\n{row}\n{row}1\tb");
    let whole: Vec<_> = reader(Format::Conllu, Failing(text.as_bytes()), &named("")).collect();
    for size in [1, 50, 1000] {
        let portions: Vec<_> = Portions::new(Failing(text.as_bytes()), size, Limit::DEFAULT).collect();
        let (last, before) = portions.split_last().expect("an error at least");
        let entries: Vec<_> = before
            .iter()
            .flat_map(|portion| {
                portion.as_ref().expect("whole").read(Format::Conllu, &named("")).collect::<Vec<_>>()
            })
            .collect();
        assert!(entries[..] == whole[..2] && whole.len() == 3);
        let (last, expected) = (last.as_ref().expect_err("torn"), whole[2].as_ref().expect_err("torn"));
        assert_eq!((last.code, last.location.line, last.location.column), (Code::Io, 6, 1));
        assert_eq!((expected.code, expected.location.line, expected.location.column), (Code::Io, 6, 1));
    }
}

/// Reading ends, and an error is followed by the rest: never more items than lines.
fn check_bounded(format: Format, text: &[u8]) {
    for tagged in [false, true] {
        let options = ReadOptions { tagged, ..ReadOptions::default() };
        let n_lines = memchr::memchr_iter(b'\n', text).count() + 1;
        let mut reader = reader(format, text, &options);
        let n = reader.by_ref().count();
        assert!(n <= n_lines + 1, "{n} items from {n_lines} lines of {format}");
        assert!(reader.next().is_none());
    }
}

proptest! {
    #[test]
    fn mutated_samples_never_panic(
        which in 0..SAMPLES.len(),
        to in prop::sample::select(vec![Format::Conllu, Format::Conllx, Format::Json, Format::Tokens, Format::Text]),
        mutations in random::mutations(),
    ) {
        let entries = sample(SAMPLES[which].1);
        let start = mutations[0].0.index(entries.len());
        let text = write(to, &entries[start..entries.len().min(start + 4)], &WriteOptions::default());
        let text = random::mutate(&text, &mutations);
        check_bounded(to, &text);
        if to.has_blank_lines() {
            check_portions(to, &text, 1 + mutations[0].0.index(400));
        }
        if let Ok(opened) = open(&text[..], &ReadOptions::default()) {
            opened.reader.for_each(drop);
        }
        // What can be read can be written, and comes back as it is.
        let entries: Vec<Entry> = read(to, &text).into_iter().flatten().collect();
        for mut entry in entries {
            if to == Format::Conllx {
                // Read where others write them, but not written.
                entry.sentence.comments.clear();
                entry.sentence.id.clear();
                entry.sentence.tokens.iter_mut().for_each(|token| token.deps.clear());
            }
            let mut out = Vec::new();
            let mut writer = writer(to, &mut out, &WriteOptions::default()).expect("can be written");
            if writer.write(&entry).is_ok() {
                writer.finish().expect("memory does not fail");
                drop(writer);
                if to != Format::Text {
                    prop_assert_eq!(read(to, &out), [Ok(entry)]);
                }
            }
        }
    }
}

fn with_limit(n_bytes: usize) -> ReadOptions {
    ReadOptions { file: "a file".to_owned(), limit: Limit::bytes(n_bytes), ..ReadOptions::default() }
}

/// Both sentences around a large one are found with this limit, and one error instead of it; without, there is none.
#[track_caller]
fn check_large(format: Format, before: &str, large: &str, after: &str, limit: usize) {
    let text = format!("{before}{large}{after}");
    let items: Vec<_> = reader(format, text.as_bytes(), &with_limit(limit)).collect();
    let errors: Vec<_> = items.iter().filter_map(|item| item.as_ref().err()).collect();
    let found = (items.len(), errors.iter().map(|error| error.code).collect::<Vec<_>>());
    assert_eq!(found, (3, vec![Code::TooLarge]), "{format} {errors:?}");
    assert!(items[1].is_err() && errors[0].message.contains("--max-sentence-bytes"), "{format}");
    assert_eq!(errors[0].location.sentence, 2, "{format}");
    let items: Vec<_> = reader(format, text.as_bytes(), &named("")).collect();
    assert!(items.iter().all(|item| !matches!(item, Err(error) if error.code == Code::TooLarge)), "{format}");
}

#[test]
fn a_sentence_beyond_the_limit_is_skipped() {
    let row = |n: usize| format!("{n}\ta\t_\tX\t_\t_\t{}\tx\t_\t_\n", n - 1);
    let rows: String = (1..=40).map(row).collect();
    let one = format!("{}\n", row(1));
    for format in [Format::Conllu, Format::Conllx] {
        // Many words, a long line, nothing but comments.
        check_large(format, &one, &format!("{rows}\n"), &one, 2000);
        check_large(format, &one, &format!("1\t{}\n{rows}\n", "a".repeat(9000)), &one, 2000);
        check_large(format, &one, &format!("{}{}\n", "#\n".repeat(40), row(1)), &one, 2000);
    }
    let indexed = |n: usize| (0..n).map(|i| format!("(X {i}={})", "a".repeat(20))).collect::<String>();
    for (format, tree) in
        [(Format::Ptb, "(S (X a))\n"), (Format::Discbracket, "(S (X 0=a))\n"), (Format::Ptb, "(S a b)\n")]
    {
        let word = if format == Format::Ptb { "a" } else { "0=a" };
        // Many brackets, on a line, over lines, and never closed; a long line; a long word.
        check_large(format, tree, &format!("{}{word}{}\n", "(".repeat(40), ")".repeat(40)), tree, 2000);
        check_large(
            format,
            tree,
            &format!("(S\n{}{word}\n{})\n", " (A\n".repeat(40), ")\n".repeat(40)),
            tree,
            2000,
        );
        check_large(format, tree, &format!("{}\n", "(".repeat(9000)), tree, 2000);
        check_large(format, tree, &format!("(S {word}{})\n", "a".repeat(9000)), tree, 2000);
        check_large(format, tree, &format!("(S\n{})\n", "\n".repeat(9000)), tree, 2000);
    }
    check_large(Format::Ptb, "(S a b)\n", &format!("(S {})\n", "a ".repeat(40)), "(S a b)\n", 2000);
    check_large(Format::Ptb, "(S a b)\n", &format!("(S {})\n", "(X a) ".repeat(40)), "(S a b)\n", 2000);
    check_large(Format::Discbracket, "(S 0=a)", &format!("(S {})", indexed(40)), "\n(S 0=a)", 2000);
    let export = |lines: &str| format!("#BOS 1\n{lines}#EOS 1\n");
    let one = export("a X -- -- 0\n");
    check_large(Format::Export, &one, &export(&"a X -- -- 0\n".repeat(40)), &one, 2000);
    check_large(Format::Export, &one, &export(&format!("{} X -- -- 0\n", "a".repeat(9000))), &one, 2000);
    check_large(Format::Export, &one, &export(&format!("a X -- -- 0\n{}", "%% a\n".repeat(90))), &one, 2000);
    let tiger = |inner: &str| format!("<s id=\"s\"><graph>{inner}</graph></s>\n");
    let word = |n: usize| format!("<t id=\"a{n}\" word=\"a\"/>\n");
    let words: String = (0..40).map(word).collect();
    let one = tiger(&word(1));
    let corpus = |text: &str| format!("<corpus>\n{text}");
    check_large(Format::Tigerxml, &corpus(&one), &tiger(&words), &format!("{one}</corpus>"), 2000);
    check_large(
        Format::Tigerxml,
        &corpus(&one),
        &tiger(&"<x>\n".repeat(300).replace("<x>", "<x/>")),
        &format!("{one}</corpus>"),
        2000,
    );
    let alpino = |inner: &str| format!("<alpino_ds>\n<node cat=\"s\">\n{inner}</node>\n</alpino_ds>\n");
    let word = |n: usize| format!("<node begin=\"{n}\" word=\"a\"/>\n");
    let words: String = (0..40).map(word).collect();
    let (first, last) = (format!("<x>{}", alpino(&word(0))), format!("{}</x>", alpino(&word(0))));
    check_large(Format::Alpino, &first, &alpino(&words), &last, 2000);
    check_large(Format::Alpino, &first, &alpino(&"<comment>a b c</comment>\n".repeat(90)), &last, 2000);
    let json = |n: usize| format!("{{\"tokens\":[{}]}}\n", vec![r#"{"form":"a"}"#; n].join(","));
    check_large(Format::Json, &json(1), &json(40), &json(1), 2000);
    check_large(Format::Json, &json(1), &json(4000), &json(1), 2000);
    for format in [Format::Tokens, Format::Text] {
        check_large(format, "a b\n", &format!("{}\n", "a ".repeat(40)), "a b\n", 2000);
        check_large(format, "a b\n", &format!("{}\n", "a".repeat(9000)), "a b\n", 2000);
    }
    check_large(Format::Text, "a b\n", &format!("{}\n", "(".repeat(40)), "a b\n", 2000);
}

#[test]
fn comments_without_a_sentence_end_at_the_limit() {
    let text = format!("{}#BOS 1\na X -- -- 0\n#EOS 1\n", "%% a\n".repeat(9000));
    let items: Vec<_> = reader(Format::Export, text.as_bytes(), &with_limit(2000)).collect();
    assert_eq!(items.len(), 2);
    assert_eq!(items[0].as_ref().map_err(|error| error.code), Err(Code::TooLarge));
    assert!(items[1].as_ref().expect("whole").sentence.comments.is_empty());
}

#[test]
fn a_tag_or_nesting_beyond_the_limit_ends_xml() {
    for inner in [format!("<t word=\"{}", "a\n".repeat(9000)), "<x>\n".repeat(9000)] {
        for (format, start) in [(Format::Tigerxml, "<corpus><s>"), (Format::Alpino, "<alpino_ds>")] {
            let text = format!("{start}{inner}");
            let items: Vec<_> = reader(format, text.as_bytes(), &with_limit(2000)).collect();
            let codes: Vec<_> = items.iter().map(|item| item.as_ref().expect_err("too large").code).collect();
            assert_eq!(codes, [Code::TooLarge], "{format}");
        }
    }
}

#[test]
fn many_trees_on_a_line_are_no_large_sentence() {
    // Each tree ends on the line on which the next one starts.
    let text = format!("(S (X a)\n{} ) x", "(X b)) (S (X a)\n".repeat(30_000));
    let options = ReadOptions { limit: Limit::bytes(200_000), ..ReadOptions::default() };
    let entries: Vec<_> = reader(Format::Ptb, text.as_bytes(), &options).collect();
    assert_eq!(entries.len(), 30_002);
    assert!(entries[..30_001].iter().all(Result::is_ok));
    let location = &entries[30_001].as_ref().expect_err("text outside of trees").location;
    assert_eq!((location.line, location.column), (30_002, 4));
}

#[test]
fn portions_of_large_sentences_hold_what_the_whole_holds() {
    let row = |n: usize| format!("{n}\ta\t_\tX\t_\t_\t{}\tx\t_\t_\n", n - 1);
    let rows: String = (1..=40).map(row).collect();
    let long = format!("1\t{}\n", "a".repeat(3000));
    let one = row(1);
    let mark = "\u{feff}";
    let texts = [
        format!("{one}\n{rows}\n{one}\n"),
        format!("{one}\n{long}{one} \t\n{mark}{one}\n{one}\n{rows}"),
        format!("{rows}\n{rows}\n\n{one}"),
        format!("{one}\n{}\n{one}", "#\n".repeat(2000)),
        format!("{one}\n{}\n{one}", " ".repeat(3000)),
    ];
    for text in &texts {
        for size in [1, 10, 100, 1000, 1 << 20] {
            for limit in [700, 1000, 1300] {
                check_portions_within(Format::Conllu, text.as_bytes(), size, &with_limit(limit));
            }
        }
    }
    let portions: Vec<_> = Portions::new(texts[3].as_bytes(), 10, Limit::bytes(1000)).collect();
    assert!(portions.iter().all(|portion| portion.as_ref().is_ok_and(|portion| portion.len() < 3000)));
}

#[test]
fn words_without_a_tag_survive_every_format_of_constituents() {
    let text = "(S (VP (V 0=is) (-- 2=--)) (NP (-- 1=John)))\n";
    let start: Vec<Entry> =
        read(Format::Discbracket, text.as_bytes()).into_iter().collect::<Result<_>>().expect("valid");
    assert_eq!(start[0].sentence.tokens[1].tag, "");
    let tags = |entries: &[Entry]| {
        entries[0].sentence.tokens.iter().map(|token| token.tag.clone()).collect::<Vec<_>>()
    };
    for format in [Format::Export, Format::Tigerxml, Format::Discbracket, Format::Json] {
        let there = write(format, &start, &WriteOptions::default());
        let back: Vec<Entry> = read(format, &there).into_iter().collect::<Result<_>>().expect("valid");
        assert_eq!((tags(&back), &back[0].tree), (tags(&start), &start[0].tree), "{format}");
        assert_eq!(write(Format::Discbracket, &back, &WriteOptions::default()), text.as_bytes(), "{format}");
    }
}

#[test]
fn bytes_after_gzip_are_named() {
    let mut zipped = zipped(Format::Conllu, &sample(SAMPLES[0].1));
    zipped.extend_from_slice(b"more text");
    let items: Vec<_> = open(&zipped[..], &named("")).expect("the start is whole").reader.collect();
    let error = items.last().expect("an error at least").as_ref().expect_err("bytes that are not gzip");
    assert_eq!(error.code, Code::BadGzip);
    assert!(error.message.contains("after the gzip data"), "{error}");
    assert_eq!(items.len(), 18);
}

/// It is refused with any fallback, unless the format is given.
#[test]
fn a_file_that_is_no_text_is_refused() {
    let pdf = b"%PDF-1.7\n1 0 obj << >> endobj\n";
    for format in [InputFormat::Recognised, InputFormat::RecognisedOr(Format::Text)] {
        for file in ["", "letter.pdf", "letter.txt.gz"] {
            let options = ReadOptions { file: file.to_owned(), format, ..ReadOptions::default() };
            if format == InputFormat::Recognised && file.contains(".txt") {
                continue;
            }
            let error = open(&pdf[..], &options).map(|_| ()).expect_err("no text");
            assert_eq!(error.code, Code::NotText, "{file}");
            assert!(
                error.message.contains("a PDF document") && error.message.contains("pdftotext"),
                "{error}"
            );
        }
    }
    let given = ReadOptions { format: InputFormat::Given(Format::Text), ..ReadOptions::default() };
    assert!(open(&pdf[..], &given).is_ok());
}
