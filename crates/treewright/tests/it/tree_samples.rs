//! The constituent samples in `data/`: each comes out as it went in, and two formats of one treebank are one treebank.

use treewright::treebank::{self, Entry, Format, ReadOptions, WriteOptions};

fn read(format: Format, text: &str) -> Vec<Entry> {
    let items: Result<Vec<Entry>, _> =
        treebank::reader(format, text.as_bytes(), &ReadOptions::default()).collect();
    items.unwrap_or_else(|error| panic!("{error}"))
}

fn write(format: Format, entries: &[Entry]) -> String {
    let mut out = Vec::new();
    let mut writer = treebank::writer(format, &mut out, &WriteOptions::default()).expect("can be written");
    entries.iter().for_each(|entry| writer.write(entry).expect("fits the format"));
    writer.finish().expect("memory does not fail");
    drop(writer);
    String::from_utf8(out).expect("text")
}

#[track_caller]
fn check(file: &str, text: &str, n_sentences: usize) {
    let format = Format::from_path(file).expect("the ending tells");
    assert_eq!(Format::detect(text.as_bytes()), Some(format), "the content tells, too");
    let entries = read(format, text);
    assert_eq!(entries.len(), n_sentences);
    assert_eq!(write(format, &entries), text);
}

macro_rules! sample {
    ($file:literal) => {
        include_str!(concat!("../../../../data/", $file))
    };
}

#[test]
fn samples_come_out_as_they_went_in() {
    check("craft.mrg", sample!("craft.mrg"), 24);
    check("gum.mrg", sample!("gum.mrg"), 24);
    check("icepahc.mrg", sample!("icepahc.mrg"), 24);
    check("icepahc.discbracket", sample!("icepahc.discbracket"), 20);
    check("greek_nt.discbracket", sample!("greek_nt.discbracket"), 16);
    check("greek_nt.export", sample!("greek_nt.export"), 16);
    check("sample.export", sample!("sample.export"), 2);
}

#[test]
fn one_treebank_in_two_formats() {
    let entries = read(Format::Export, sample!("greek_nt.export"));
    assert_eq!(write(Format::Discbracket, &entries), sample!("greek_nt.discbracket"));
}

#[test]
fn xml_samples() {
    let tiger = read(Format::Tigerxml, sample!("sample.tigerxml"));
    let expected = "(VROOT (S (CVP (VP (NP (ART 0=Den) (NN 1=Apfel)) (VVPP 4=gewaschen)) (KON 5=&) (VP (VVPP 6=gegessen))) \
                    (VAFIN 2=hat) (NE 3=Anna)) ($. 7=.))\n(VROOT (ITJ 0=Danke))\n";
    assert_eq!(write(Format::Discbracket, &tiger), expected);
    assert_eq!(read(Format::Tigerxml, &write(Format::Tigerxml, &tiger)), tiger);
    assert_eq!(read(Format::Export, &write(Format::Export, &tiger)), tiger);
    let alpino = read(Format::Alpino, sample!("sample.alpino"));
    let expected = "(top (whq (pron 0=Wat) (sv1 (verb 1=wil) (np (det 2=de) (noun 3=buurman)) (inf (verb 4=verkopen)))) \
                    (punct 5=?))\n(top (smain (ppart (det 0=Dat) (verb 3=vergeten)) (verb 1=heeft) (pron 2=ze)) (punct 4=.))\n";
    assert_eq!(write(Format::Discbracket, &alpino), expected);
    assert_eq!(read(Format::Tigerxml, &write(Format::Tigerxml, &alpino)), alpino);
}
