//! The door: gzip, detection, and whatever reader they lead to.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treewright::treebank::{self, ReadOptions};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(opened) = treebank::open(bytes, &ReadOptions::default()) {
        opened.reader.for_each(drop);
    }
});
