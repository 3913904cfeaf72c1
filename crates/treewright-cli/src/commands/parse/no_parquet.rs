//! What stands for Parquet in a program that was built without it: nothing can be opened.

use std::path::PathBuf;
use std::sync::Arc;

use treewright::Result;
use treewright::treebank::{Entry, Format};

use super::documents::{Item, Problem};
use crate::io::{Output, usage};

pub(super) enum Table {}
pub(super) enum Cell {}
pub(super) enum TableWriter {}

impl Table {
    pub(super) fn open(_: &[PathBuf], _: &str, _: &str) -> Result<Self> {
        Err(usage(
            "this program was built without Parquet: build it with the cargo feature `parquet`, which is on by default",
        ))
    }

    pub(super) fn for_each_row(
        &self,
        _: impl FnMut(Option<Result<&str, String>>, &str, usize) -> Result<()>,
    ) -> Result<()> {
        match *self {}
    }
}

impl Cell {
    pub(super) fn of(_: &Item, _: &[Vec<Entry>], _: Format, _: &mut Vec<Problem>) -> Self {
        unreachable!("there is no table")
    }

    pub(super) fn write(&self, _: &mut impl std::io::Write) -> Result<()> {
        match *self {}
    }

    pub(super) fn read_some(_: &mut impl std::io::BufRead) -> Result<Vec<Self>> {
        unreachable!("there is no table")
    }
}

impl TableWriter {
    pub(super) fn start(table: Arc<Table>, _: Output, _: Format) -> Self {
        match *table {}
    }

    pub(super) fn format(&self) -> Format {
        match *self {}
    }

    pub(super) fn write(&mut self, _: Vec<Cell>) -> Result<()> {
        match *self {}
    }

    pub(super) fn finish(&mut self) -> Result<()> {
        match *self {}
    }
}
