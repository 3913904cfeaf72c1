//! The export reader.
#![no_main]

mod trees;

use libfuzzer_sys::fuzz_target;
use treewright::treebank::Format;

fuzz_target!(|text: &[u8]| trees::check(Format::Export, text, "1"));
