//! The reader of text; what it writes may be cut into words in another way.
#![no_main]

mod common;

use libfuzzer_sys::fuzz_target;
use treewright::treebank::{Format, ReadOptions, WriteOptions};

fuzz_target!(|text: &[u8]| {
    common::check(Format::Text, text, &ReadOptions::default(), &WriteOptions::default(), false);
});
