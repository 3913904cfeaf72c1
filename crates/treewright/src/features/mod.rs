//! Features as data: templates in a small text language, compiled to an extractor over a `View`.

mod encode;
mod extract;
mod template;

pub use encode::{Encoded, Vocabulary};
pub use extract::{Dependence, Extractor, template_class};
pub use template::{TemplateSet, shipped, shipped_names};
