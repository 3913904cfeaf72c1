//! End-to-end tests of the library: one binary, one module per subject.

mod scorers;
mod tree_samples;
