//! The derivations of a treebank's trees in one system.

use crate::error::Result;
use crate::ids::ActionId;
use crate::registry::{Registered, SystemTag, SystemVisitor};
use crate::sentence::Sentence;
use crate::system::SystemOptions;
use crate::systems::table::table;
use crate::tree::{Entry, ParserTree, Preparation, Preparer};

/// The actions that build a tree, or why there are none.
pub type Derivation = Result<Vec<ActionId>, String>;

/// Draws a derivation of a sentence, step by step.
type DrawTable = dyn Fn(&Sentence, &[ActionId]) -> String;

/// The derivations of a treebank, in a system with the treebank's labels.
pub struct Derivations {
    table: Box<DrawTable>,
    /// The name of every action, by its id.
    pub names: Vec<String>,
    /// One for each entry.
    pub derivations: Vec<Derivation>,
}

impl Derivations {
    /// Prepares the trees, makes the system for them, and derives them.
    ///
    /// # Errors
    /// When there are no head rules of the name given.
    pub fn of(
        system: SystemTag,
        entries: &[Entry],
        preparation: &Preparation,
        options: &SystemOptions,
    ) -> Result<Self> {
        system.visit(Derive { entries, preparation, options })
    }

    /// A derivation step by step: transition, stack, buffer.
    pub fn table(&self, sentence: &Sentence, actions: &[ActionId]) -> String {
        (self.table)(sentence, actions)
    }
}

struct Derive<'a> {
    entries: &'a [Entry],
    preparation: &'a Preparation,
    options: &'a SystemOptions,
}

impl SystemVisitor for Derive<'_> {
    type Output = Result<Derivations>;

    fn visit<S: Registered>(self) -> Result<Derivations> {
        let preparer = Preparer::new(self.preparation, S::UNARIES)?;
        let prepare = |entry: &Entry| -> Result<S::Tree, String> {
            let tree = entry.tree.as_ref().ok_or("it has no tree")?;
            S::Tree::prepare(tree, &entry.sentence, &preparer).map_err(|why| why.to_string())
        };
        let trees: Vec<_> = self.entries.iter().map(prepare).collect();
        let system = S::from_trees(trees.iter().filter_map(|tree| tree.as_ref().ok()), self.options);
        let derive = |tree: S::Tree| system.derive(&tree).map_err(|why| why.to_string());
        let derivations = trees.into_iter().map(|tree| tree.and_then(derive)).collect();
        let names = (0..system.n_actions()).map(|action| system.name(ActionId::new(action))).collect();
        let table =
            Box::new(move |sentence: &Sentence, actions: &[ActionId]| table(&system, sentence, actions));
        Ok(Derivations { table, names, derivations })
    }
}
