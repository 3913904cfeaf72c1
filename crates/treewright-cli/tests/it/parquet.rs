//! Parquet: the input's columns are copied, trees and errors are added.

use std::fs::File;
use std::path::Path;

use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use crate::common::{dependencies, folder, names, refusal, run, stdout};

/// Nine rows in three row groups, written by pyarrow: nested columns, all codecs, a text that is missing, one that is
/// empty and one that is not UTF-8.
fn rows() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/data/rows.parquet").display().to_string()
}

fn parse(more: &[&str]) -> Vec<String> {
    let flags = ["parse", "--quiet", "--model", dependencies(), "--text-column", "text"];
    [&flags[..], more].concat().into_iter().map(str::to_owned).collect()
}

fn open(path: &str) -> SerializedFileReader<File> {
    SerializedFileReader::new(File::open(path).expect("a file")).expect("Parquet")
}

/// Runs it on rows of which some have no trees.
fn some_skipped(arguments: &[String]) {
    let output = run(arguments, "");
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A column of texts.
fn texts(path: &str, name: &str) -> Vec<Option<String>> {
    let reader = open(path);
    let schema = reader.metadata().file_metadata().schema();
    let column = schema.get_fields().iter().find(|field| field.name() == name).expect("the column").clone();
    let wanted = parquet::schema::types::Type::group_type_builder("schema").with_fields(vec![column]).build();
    let rows = reader.get_row_iter(Some(wanted.expect("a schema"))).expect("rows");
    rows.map(|row| match row.expect("a row").get_column_iter().next().expect("a column").1 {
        Field::Null => None,
        Field::Str(text) => Some(text.clone()),
        other => panic!("{other:?}"),
    })
    .collect()
}

/// The bytes of every column in every row group.
fn chunks(path: &str) -> Vec<Vec<Vec<u8>>> {
    let bytes = std::fs::read(path).expect("a file");
    let reader = open(path);
    let metadata: &ParquetMetaData = reader.metadata();
    let chunk = |column: &parquet::file::metadata::ColumnChunkMetaData| {
        let (start, length) = column.byte_range();
        bytes[start as usize..(start + length) as usize].to_vec()
    };
    metadata.row_groups().iter().map(|group| group.columns().iter().map(chunk).collect()).collect()
}

#[test]
fn columns_are_copied_and_two_are_added() {
    let folder = folder("parquet");
    let out = folder.join("out.parquet").display().to_string();
    some_skipped(&parse(&["--from", "parquet", "--to", "parquet", &rows(), "-o", &out]));
    let (before, after) = (chunks(&rows()), chunks(&out));
    assert_eq!(after.len(), 3);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((&after[..before.len()], after.len()), (&before[..], before.len() + 2));
    }
    let (trees, errors) = (texts(&out, "parse"), texts(&out, "parse_error"));
    // The rows are documents like any other.
    let document = "{\"text\": \"He ran. She saw the dogs.\"}\n";
    let flags = ["parse", "--quiet", "--model", dependencies(), "--jsonl-field", "text", "--to", "conllu"];
    let expected: serde_json::Value = serde_json::from_str(&stdout(&flags, document)).expect("JSON");
    let expected: String =
        expected["trees"].as_array().expect("trees").iter().filter_map(|t| t.as_str()).collect();
    assert_eq!(trees[0].as_deref(), Some(&expected[..]));
    let kinds: Vec<_> =
        trees.iter().zip(&errors).map(|(tree, error)| (tree.is_some(), error.is_some())).collect();
    let (parsed, nothing) = ((true, false), (false, false));
    assert_eq!(kinds, [parsed, nothing, parsed, parsed, (false, true), parsed, parsed, parsed, parsed]);
    assert_eq!(trees[2].as_deref(), Some(""));
    assert!(errors[4].as_ref().is_some_and(|error| error.contains("TW003")), "{errors:?}");
    // What programs note about columns tells of the new ones, too.
    let reader = open(&out);
    let notes = reader.metadata().file_metadata().key_value_metadata().expect("notes").clone();
    assert!(notes.iter().any(|note| note.key == "ARROW:schema"), "{notes:?}");
}

#[test]
fn threads_names_and_formats() {
    let folder = folder("parquet-threads");
    let path = |name: &str| folder.join(name).display().to_string();
    some_skipped(&parse(&[&rows(), "-o", &path("one.parquet"), "--jobs", "1"]));
    some_skipped(&parse(&[&rows(), "-o", &path("three.parquet"), "--jobs", "3"]));
    let bytes = |name: &str| std::fs::read(path(name)).expect("a file");
    assert_eq!(bytes("one.parquet"), bytes("three.parquet"));
    // Several files become one; what was added can be added to.
    let more = ["--parse-column", "again", "--to", "json", "-o", &path("two.parquet")];
    some_skipped(&parse(&[&[&path("one.parquet")[..], &path("three.parquet")], &more[..]].concat()));
    let trees = texts(&path("two.parquet"), "again");
    assert_eq!(trees.len(), 18);
    assert!(trees[0].as_ref().is_some_and(|tree| tree.starts_with('{')), "{trees:?}");
    assert_eq!(texts(&path("two.parquet"), "parse")[9..], texts(&path("one.parquet"), "parse")[..]);
    // A large text is an error of its row.
    some_skipped(&parse(&[&rows(), "--max-sentence-bytes", "400", "-o", &path("small.parquet")]));
    let errors = texts(&path("small.parquet"), "parse_error");
    assert!(errors[0].as_ref().is_some_and(|error| error.contains("TW010")), "{errors:?}");
    assert_eq!(errors[3], None);
}

#[test]
fn what_is_no_table_of_texts() {
    let folder = folder("parquet-refused");
    let out = folder.join("out.parquet").display().to_string();
    let damaged = folder.join("damaged.parquet").display().to_string();
    let whole = std::fs::read(rows()).expect("the sample");
    std::fs::write(&damaged, &whole[..whole.len() - 7]).expect("a file");
    let (model, rows) = (dependencies(), rows());
    let check = |code: i32, flags: &[&str], expected: &str| {
        let flags = [&["parse", "--quiet", "--model", model, "-o", &out], flags].concat();
        let message = refusal(code, &flags, "");
        assert!(message.contains(expected), "{flags:?}: {message}");
        assert!(!message.contains("panicked"), "{message}");
    };
    check(
        1,
        &["--text-column", "words", &rows],
        "there is no column \"words\"; the columns are id, kind, text",
    );
    check(1, &["--text-column", "id", &rows], "is of type INT64; expected texts [TW303]");
    check(1, &["--text-column", "tags.list.element", &rows], "list of BYTE_ARRAY");
    check(1, &["--text-column", "nested", &rows], "has others inside it");
    #[cfg(not(feature = "zstd"))]
    check(1, &["--text-column", "body", &rows], "compressed with ZSTD");
    check(1, &["--text-column", "text", "--parse-column", "kind", &rows], "--parse-column");
    check(1, &["--text-column", "text", &damaged], "TW303");
    check(1, &["--text-column", "text", "nobody.parquet"], "TW001");
    check(2, &["--text-column", "text", "--from", "parquet"], "not read from stdin");
    check(2, &["--from", "parquet", &rows], "--text-column");
    check(2, &[&rows], "--text-column");
    check(2, &["--text-column", "text", "--to", "tokens", &rows], "--to json");
    check(2, &["--to", "parquet"], "--from parquet");
    check(2, &["--text-column", "text", "--from", "conllu", &rows], "leave --from out");
    check(2, &["--text-column", "text", "--to", "ptb", &rows], "--to conllu");
    for name in ["out.csv", "out.json.gz", "out.conllu"] {
        let out = folder.join(name).display().to_string();
        let parse = ["parse", "--model", model, "--text-column", "text", &rows, "-o", &out];
        let message = refusal(2, &parse, "");
        assert!(message.contains(name) && message.contains("a table in Parquet"), "{message}");
    }
    assert_eq!(names(&folder), ["damaged.parquet"], "nothing is left behind");
    // Other commands know nothing of it.
    refusal(2, &["stats", "--from", "parquet", &rows], "");
}

/// Wherever a file is damaged, there is an error or a table.
#[test]
fn damaged_files() {
    let folder = folder("parquet-damaged");
    let (damaged, out) =
        (folder.join("damaged.parquet").display().to_string(), folder.join("out").display().to_string());
    let whole = std::fs::read(rows()).expect("the sample");
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x81;
        std::fs::write(&damaged, bytes).expect("a file");
        let output = run(&parse(&["--from", "parquet", &damaged, "--force", "-o", &out]), "");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(
            matches!(output.status.code(), Some(0 | 1 | 3)) && !message.contains("panicked"),
            "{at}: {message}"
        );
    }
}
