//! The rooms of the library use each other in one direction: the order of the code map in ARCHITECTURE.md.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms in the order of the code map: the names in bold at the head of each paragraph.
fn rooms() -> Vec<String> {
    let map = fs::read_to_string(root().join("../../ARCHITECTURE.md")).expect("the map");
    let (_, map) = map.split_once("## Code map").expect("the section");
    let (map, _) = map.split_once("\n## ").expect("another section after it");
    let heads = map.lines().filter_map(|line| line.strip_prefix("- **")?.split_once("**"));
    heads.flat_map(|(names, _)| names.split(", ").map(str::to_owned)).collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every source file but those of tests, with its room and its text up to its tests.
fn sources(folder: &Path, out: &mut Vec<(String, PathBuf, String)>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") && stem != "lib" {
            let relative = path.strip_prefix(root().join("src")).expect("below src");
            let first = relative.components().next().expect("a name").as_os_str().to_string_lossy();
            let text = fs::read_to_string(&path).expect("UTF-8");
            if !is_for_tests(relative) {
                let text = text.split("#[cfg(test)]\nmod tests").next().expect("something").to_owned();
                out.push((first.trim_end_matches(".rs").to_owned(), relative.to_owned(), text));
            }
        }
    }
}

/// Is a file, or a folder that it is in, a module declared with `#[cfg(test)]`?
fn is_for_tests(relative: &Path) -> bool {
    let is_test_module = |path: &Path| {
        let name = path.file_stem().expect("a name").to_string_lossy();
        let folder = root().join("src").join(path.parent().expect("a folder"));
        let parents = [folder.join("mod.rs"), folder.with_extension("rs"), folder.join("lib.rs")];
        parents.iter().filter_map(|parent| fs::read_to_string(parent).ok()).any(|text| {
            ["mod", "pub(crate) mod", "pub(super) mod"]
                .iter()
                .any(|word| text.contains(&format!("#[cfg(test)]\n{word} {name};")))
        })
    };
    relative.ancestors().filter(|path| path.file_stem().is_some()).any(is_test_module)
}

/// The rooms that a text names after `crate::`.
fn used(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("crate::").map(|(at, word)| {
        let rest = &text[at + word.len()..];
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_' && !c.is_ascii_digit());
        &rest[..end.unwrap_or(rest.len())]
    })
}

#[test]
fn no_room_uses_a_later_one() {
    let rooms = rooms();
    let place = |room: &str| rooms.iter().position(|other| other == room);
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    assert!(files.len() > 100, "{} files", files.len());
    let mut wrong = Vec::new();
    for (room, path, text) in &files {
        let Some(own) = place(room) else {
            wrong.push(format!("{} is in no room of the map", path.display()));
            continue;
        };
        for other in used(text) {
            if place(other).is_some_and(|place| place > own) {
                wrong.push(format!("{} uses {other}, which comes later", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
