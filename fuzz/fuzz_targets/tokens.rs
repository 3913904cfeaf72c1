//! The reader of tokens, tagged or not.
#![no_main]

mod common;

use libfuzzer_sys::fuzz_target;
use treewright::treebank::{Format, ReadOptions, WriteOptions};

fuzz_target!(|text: &[u8]| {
    let tagged = text.len() % 2 == 0;
    let read = ReadOptions { tagged, ..ReadOptions::default() };
    common::check(Format::Tokens, text, &read, &WriteOptions { tagged, ..WriteOptions::default() }, true);
});
