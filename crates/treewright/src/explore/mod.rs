//! Looking at how parsing works, with the types of systems hidden: the derivations of a treebank, and what an oracle says
//! in a configuration.

mod derivations;
mod question;

pub use derivations::{Derivation, Derivations};
pub use question::{Answer, Question, Setup, Temporaries};
