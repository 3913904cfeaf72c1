//! Shell completions and manual pages.

use std::process::Command;

use crate::common::{commands, finish, folder, names, refusal, run_in, stdout};

/// What bash offers for the last of these words.
fn offered(words: &[&str]) -> Vec<String> {
    let script = stdout(&["completions", "bash"], "");
    let [.., previous, last] = words else { panic!("a command and something to complete") };
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let ask = format!(
        "\nCOMP_WORDS=({}); COMP_CWORD={}\n_treewright treewright '{last}' '{previous}'\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        quoted.join(" "),
        words.len() - 1,
    );
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-s"]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let output = finish(&mut bash, &(script + &ask));
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_flags_and_values() {
    for (words, expected) in [
        (&["treewright", "pa"][..], &["parse"][..]),
        (&["treewright", "parse", "--json"], &["--jsonl-field", "--json-stats"]),
        (&["treewright", "parse", "--from", "c"], &["conllu", "conllx"]),
        (&["treewright", "convert", "--to", "ti"], &["tigerxml"]),
        (&["treewright", "eval", "--from", "di"], &["discbracket"]),
        (&["treewright", "train", "--system", "sr-c"], &["sr-cgap", "sr-cswap"]),
        (&["treewright", "derive", "--system", "in"], &["in-order"]),
        (&["treewright", "oracle", "--system", "arc-e"], &["arc-eager"]),
        (&["treewright", "oracle", "--oracle", "d"], &["dynamic"]),
        (&["treewright", "train", "--oracle", "p"], &["paper"]),
        (&["treewright", "train", "--recipe", "fast"], &["fast-dependencies"]),
        (&["treewright", "completions", "z"], &["zsh"]),
    ] {
        let mut offered = offered(words);
        offered.sort();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(offered, expected, "{words:?}");
    }
}

#[test]
fn every_shell_gets_the_values() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(&["completions", shell], "");
        assert!(script.contains("jsonl-field") && script.contains("k-best"), "{shell}");
        // Completions for PowerShell and Elvish have no values of flags.
        if !["powershell", "elvish"].contains(&shell) {
            for value in ["arc-hybrid-swap", "fast-dependencies", "discbracket", "max-violation"] {
                assert!(script.contains(value), "{shell}: {value}");
            }
        }
    }
    assert!(refusal(2, &["completions", "tcsh"], "").contains("bash"));
}

#[test]
fn a_mistyped_value_is_told_the_nearest() {
    for (arguments, part) in [
        (["parse", "--from", "conlu"], "'conllu'"),
        (["train", "--system", "arc-hybird"], "'arc-hybrid'"),
        (["derive", "--system", "inorder"], "'in-order'"),
        (["train", "--recipe", "fast-dependency"], "'fast-dependencies'"),
    ] {
        let message = refusal(2, &arguments, "");
        assert!(message.contains("similar value") && message.contains(part), "{arguments:?}: {message}");
    }
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let folder = folder("man");
    let page = stdout(&["man"], "");
    assert!(page.contains(".TH treewright 1") && page.contains("treewright\\-parse(1)"), "{page}");
    assert!(run_in(&folder, &["man", "--out", "share/man1"], "").status.success());
    let mut expected: Vec<String> = commands()
        .iter()
        .map(|name| format!("treewright-{name}.1"))
        .chain(["treewright.1".to_owned()])
        .collect();
    expected.sort();
    assert!(expected.len() > 12, "{expected:?}");
    assert_eq!(names(&folder.join("share/man1")), expected);
    let page = std::fs::read_to_string(folder.join("share/man1/treewright-parse.1")).expect("the page");
    assert!(page.contains("jsonl") && page.contains(".SH NOTES\n") && page.contains("Examples"), "{page}");
    assert_eq!(
        std::fs::read_to_string(folder.join("share/man1/treewright.1")).expect("the page"),
        stdout(&["man"], "")
    );
}
