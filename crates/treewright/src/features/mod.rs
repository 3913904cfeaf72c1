//! Features as data: templates in a small text language, compiled to an extractor over a `View`.

mod attributes;
mod dependence;
mod encode;
mod extract;
mod horizon;
mod separate;
mod template;

pub use attributes::{NODE_ATTRIBUTES, SPOTS, TOKEN_ATTRIBUTES};
pub use dependence::Dependence;
pub use encode::{Encoded, Vocabulary};
pub use extract::{Extractor, template_class};
pub use horizon::{Attributes, Horizon, Observation, ObservedNode};
pub use separate::{Context, PlaceKeys, Role, SeparateKeys, label_of};
pub use template::{Edge, TemplateSet, shipped, shipped_names};
