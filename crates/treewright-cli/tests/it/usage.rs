//! Mistakes in flags and inputs: which exit code they give, and whether the message helps.

use std::io::Write;

use crate::common::{data, folder, refusal, run_in, sample, tiny_model};

#[test]
fn mistakes_in_flags_end_with_exit_code_2_and_say_what_is_wrong() {
    let (english, penn) = (sample("ud_english_ewt.conllu"), sample("gum.mrg"));
    let cases: &[(&[&str], &str)] = &[
        (&["parse", "--beam", "0"], "invalid value '0'"),
        (&["parse", "--k-best", "0"], "invalid value '0'"),
        (&["parse", "--jobs", "0"], "from 1"),
        (&["compare", &english, &english, &english, "--level", "5"], "between 0 and 1"),
        (&["compare", &english, &english, &english, "--level", "nan"], "between 0 and 1"),
        (&["compare", &english, &english, &english, "--disc-only"], "is about constituents"),
        (&["eval", &english, &english, "--disc-only"], "is about constituents"),
        (&["eval", &english, &english, "--params", "collins"], "is about constituents"),
        (&["derive", "--system", "in-order,top-down", &penn], "need --stats"),
        (&["convert", &penn, "-", "--transform", "binarize:heads=klingon"], "collins, german, dutch"),
        (&["train", "--scorer", "klingon"], "perceptron, neural, stack-lstm"),
        (&["train", "--recipe", "accurate-constituents", "--scorer", "neural"], "add --encoder DIR"),
        (&["oracle", "--system", "arc-hybrid", "--gold", "2 x"], "as a number, from 1, not \"x\""),
        (&["oracle", "--system", "sr-swap", "--gold", "(A 0=a)", "--oracle", "paper"], "no paper oracle"),
    ];
    for (arguments, part) in cases {
        let message = refusal(2, arguments, "");
        assert!(message.contains(part), "{arguments:?}: {message}");
    }
}

/// Every command exits with 3 if anything was left out.
#[test]
fn what_was_skipped_shows_in_the_exit_code() {
    let folder = folder("skipped");
    let good = "(S (NP (NN dog)) (VP (VB ran)))\n";
    std::fs::write(folder.join("good.mrg"), good.repeat(2)).expect("room");
    std::fs::write(folder.join("bad.mrg"), format!("{good}(S (NP ) (VB ran))\n")).expect("room");
    let commands = [
        "stats {}",
        "convert {} -",
        "draw {}",
        "derive --system in-order {}",
        "derive --system in-order {} --stats",
        "eval good.mrg {}",
        "compare good.mrg good.mrg {}",
        "train --system in-order --beam 1 --epochs 1 --train {} -o m.model",
    ];
    for command in commands {
        for (file, code) in [("good.mrg", 0), ("bad.mrg", 3)] {
            let line = format!("{} --quiet --on-error skip", command.replace("{}", file));
            let output = run_in(&folder, &line.split(' ').collect::<Vec<_>>(), "");
            let message = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{line}: {message}");
            assert_eq!(message.contains("skipped"), code == 3, "{line}: {message}");
        }
    }
    std::fs::write(folder.join("m.model"), tiny_model()).expect("room");
    let line = "parse --model m.model bad.mrg --on-error skip --quiet";
    assert_eq!(run_in(&folder, &line.split(' ').collect::<Vec<_>>(), "").status.code(), Some(3));
}

#[test]
fn a_derivation_of_nothing_is_a_failure() {
    let english = sample("ud_english_ewt.conllu");
    for more in [&[][..], &["--stats"]] {
        let arguments = [&["derive", "--system", "in-order", &english], more].concat();
        assert!(refusal(1, &arguments, "").contains("cannot derive"));
    }
}

#[test]
fn bytes_after_gzip_data_are_called_that() {
    let folder = folder("trailing");
    let text = std::fs::read(data("gum.mrg")).expect("the sample");
    let zip = |text: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).expect("memory");
        encoder.finish().expect("memory")
    };
    let stats = |bytes: &[u8]| {
        std::fs::write(folder.join("t.mrg.gz"), bytes).expect("room");
        let output = run_in(&folder, &["stats", "--json", "t.mrg.gz"], "");
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let (whole, (first, second)) = (zip(&text), text.split_at(1000));
    for tail in [&b"x"[..], b"trailing bytes", &[0; 5000]] {
        let (code, said) = stats(&[&whole, tail].concat());
        assert!(code == Some(1) && said.contains("other bytes after the gzip data"), "{said}");
    }
    let (_, cut) = stats(&whole[..whole.len() - 10]);
    assert!(cut.contains("ends too early"), "{cut}");
    assert_eq!(stats(&[zip(first), zip(second)].concat()), stats(&whole));
}

#[test]
fn a_sentence_that_is_not_there_is_an_error_of_derive() {
    let derive = ["derive", "--system", "in-order", &sample("gum.mrg"), "--sentence"];
    let error = refusal(1, &[&derive[..], &["99"]].concat(), "");
    assert!(error.contains("there is no sentence 99: the input has 24"), "{error}");
    refusal(2, &[&derive[..], &["0"]].concat(), "");
}

#[test]
fn training_data_of_the_wrong_kind_is_told_from_a_wrong_development_set() {
    let (ptb, conllu) = (sample("gum.mrg"), sample("ud_english_ewt.conllu"));
    let train = |kind: [&str; 2], train: &str, dev: &str| {
        refusal(1, &["train", kind[0], kind[1], "--train", train, "--dev", dev, "-o", "model"], "")
    };
    let error = train(["--recipe", "dependencies"], &ptb, &ptb);
    assert!(
        error.contains("the training data has constituents, but the parser builds dependencies"),
        "{error}"
    );
    let error = train(["--system", "in-order"], &conllu, &conllu);
    assert!(
        error.contains("the training data has dependencies, but the parser builds constituents"),
        "{error}"
    );
    let error = train(["--system", "in-order"], &ptb, &conllu);
    assert!(error.contains("the development set has dependencies"), "{error}");
}
