//! Memory-mapped files: the one place where a file's bytes become a slice without being read.
#![allow(unsafe_code)]

use std::fs::File;

use memmap2::Mmap;

use crate::score::WordSource;

/// A mapped file.
#[derive(Debug)]
pub(crate) struct Mapped(Mmap);

impl Mapped {
    /// Maps a file.
    pub(crate) fn new(file: &File) -> std::io::Result<Self> {
        // SAFETY: the map is read only. If another process truncates or rewrites the file meanwhile, reads may fault
        // or see other bytes; model files are replaced by renaming a finished file, which leaves a map intact.
        unsafe { Mmap::map(file) }.map(Mapped)
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The words of a mapped file from some place on.
#[derive(Debug)]
pub(crate) struct MappedWords {
    pub(crate) file: Mapped,
    /// Where the words begin; a multiple of four.
    pub(crate) start: usize,
}

impl WordSource for MappedWords {
    fn words(&self) -> &[u32] {
        bytemuck::cast_slice(&self.file.bytes()[self.start..])
    }
}
