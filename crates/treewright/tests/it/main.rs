//! End-to-end tests of the library: one binary, one module per subject.

mod model_files;
mod pipeline;
mod rooms;
mod scorers;
mod training;
mod trainings;
mod tree_samples;
