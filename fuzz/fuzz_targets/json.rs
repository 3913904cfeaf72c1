//! The JSON reader.
#![no_main]

mod common;

use libfuzzer_sys::fuzz_target;
use treewright::treebank::{Format, ReadOptions, WriteOptions};

fuzz_target!(|text: &[u8]| {
    common::check(Format::Json, text, &ReadOptions::default(), &WriteOptions::default(), true);
});
