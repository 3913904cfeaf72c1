//! The registry of all systems: tags, names, oracles; and what is chosen by name at run time.

use serde::Serialize;

use crate::names::by_name;
use crate::oracle::{Oracle, StaticOracle};
use crate::system::TransitionSystem;
use crate::systems;
use crate::tree::{ParserTree, TreeKind, Underivable};
use crate::treebank::Format;

/// A system of the registry, with its oracles: what `SystemTag::visit` hands to its visitor.
pub trait Registered: TransitionSystem {
    /// Its entry.
    const TAG: SystemTag;
    /// What it is like.
    const INFO: SystemInfo;
    /// The exact dynamic oracle; the static one, if there is none.
    type Dynamic: Oracle<Self> + Clone + 'static;
    /// The dynamic oracle as printed, where the printed loss is not exact; the static one, if there is none.
    type Paper: Oracle<Self> + Clone + 'static;
    /// The dynamic oracle as the program of its paper's authors computes it; the static one, if there is none.
    type Authors: Oracle<Self> + Clone + 'static;
}

/// Something to be done with a system whose type is known only at run time: `tag.visit(visitor)` calls `visit` with
/// the type that the tag stands for.
pub trait SystemVisitor {
    /// What comes out.
    type Output;

    /// The thing to be done.
    fn visit<S: Registered>(self) -> Self::Output;
}

/// What a system is like, for those who know only its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemInfo {
    /// What it builds.
    pub kind: TreeKind,
    /// Can it build crossing arcs, or discontinuous constituents?
    pub is_crossing: bool,
    /// Does it build binary trees, for which head rules and the order of temporary symbols matter?
    pub is_binary: bool,
    /// Is there an exact dynamic oracle?
    pub has_dynamic_oracle: bool,
    /// Is there an oracle with the loss as its paper prints it?
    pub has_paper_oracle: bool,
    /// Is there an oracle as its authors' program computes it?
    pub has_authors_oracle: bool,
    /// The name of its default feature templates.
    pub features: &'static str,
}

impl SystemInfo {
    /// Does it build projective dependencies only?
    pub fn is_projective(&self) -> bool {
        self.kind == TreeKind::Dependencies && !self.is_crossing
    }

    /// Does it have an oracle of this kind?
    pub fn has_oracle(&self, kind: OracleKind) -> bool {
        match kind {
            OracleKind::Static => true,
            OracleKind::Dynamic => self.has_dynamic_oracle,
            OracleKind::Paper => self.has_paper_oracle,
            OracleKind::Authors => self.has_authors_oracle,
        }
    }

    /// How its trees are scored.
    pub fn metric(&self) -> &'static str {
        match self.kind {
            TreeKind::Dependencies => "LAS",
            TreeKind::Constituents => "F1",
        }
    }

    /// The default format of its trees.
    pub fn format(&self) -> Format {
        match (self.kind, self.is_crossing) {
            (TreeKind::Dependencies, _) => Format::Conllu,
            (TreeKind::Constituents, true) => Format::Discbracket,
            (TreeKind::Constituents, false) => Format::Ptb,
        }
    }
}

/// Every system: tag, command-line name, type, default features, whether it is `crossing` (builds crossing arcs or
/// discontinuous constituents), and its dynamic, its paper's and its authors' oracle where they exist.
macro_rules! systems {
    ($($(#[$doc:meta])* $tag:ident = $name:literal => $system:ty, features $features:literal, crossing $crossing:literal
        $(, dynamic $dynamic:ty)? $(, paper $paper:ty)? $(, authors $authors:ty)?;)*) => {
        /// The transition systems by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, serde::Deserialize)]
        pub enum SystemTag {
            $($(#[$doc])* #[serde(rename = $name)] $tag,)*
        }

        impl SystemTag {
            /// Every system, in the order of the registry.
            pub const ALL: &[SystemTag] = &[$(SystemTag::$tag,)*];

            /// The name on the command line and in model files.
            pub fn name(self) -> &'static str {
                match self { $(SystemTag::$tag => $name,)* }
            }

            /// Calls the visitor with the system's type.
            pub fn visit<V: SystemVisitor>(self, visitor: V) -> V::Output {
                match self { $(SystemTag::$tag => visitor.visit::<$system>(),)* }
            }

            /// What the system is like.
            pub fn info(self) -> SystemInfo {
                match self { $(SystemTag::$tag => <$system>::INFO,)* }
            }
        }

        $(impl Registered for $system {
            const TAG: SystemTag = SystemTag::$tag;
            const INFO: SystemInfo = SystemInfo {
                kind: <$system as TransitionSystem>::Tree::KIND,
                is_binary: <$system as TransitionSystem>::Tree::IS_BINARY,
                is_crossing: $crossing,
                has_dynamic_oracle: is_given(&[$(stringify!($dynamic))?]),
                has_paper_oracle: is_given(&[$(stringify!($paper))?]),
                has_authors_oracle: is_given(&[$(stringify!($authors))?]),
                features: $features,
            };
            type Dynamic = oracle_or_static!($($dynamic)?);
            type Paper = oracle_or_static!($($paper)?);
            type Authors = oracle_or_static!($($authors)?);
        })*
    };
}

/// Does the entry of a system name such an oracle?
const fn is_given(oracle: &[&str]) -> bool {
    !oracle.is_empty()
}

macro_rules! oracle_or_static {
    () => {
        StaticOracle
    };
    ($oracle:ty) => {
        $oracle
    };
}

systems! {
    /// Constituents, continuous: a non-terminal is opened before its first child.
    TopDown = "top-down" => systems::top_down::TopDown, features "top-down", crossing false,
        dynamic systems::top_down::DynamicOracle, paper systems::paper::PaperOracle;
    /// Constituents, continuous: a non-terminal is opened after its first child.
    InOrder = "in-order" => systems::in_order::InOrder, features "in-order", crossing false,
        dynamic systems::in_order::DynamicOracle, paper systems::paper::PaperOracle,
        authors systems::in_order::AuthorsOracle;
    /// Constituents, continuous: binary trees from the bottom up.
    BottomUp = "bottom-up" => systems::bottom_up::BottomUp, features "spans", crossing false;
    /// Constituents, continuous: binary trees from the bottom up, in exactly 2n actions.
    BottomUp2n = "bottom-up-2n" => systems::bottom_up_2n::BottomUp2n, features "spans", crossing false;
    /// Constituents, discontinuous: reductions that pass over items of the stack.
    SrGap = "sr-gap" => systems::sr_gap::SrGap, features "spans", crossing true,
        dynamic systems::sr_gap::DynamicOracle;
    /// Constituents, discontinuous: SR-GAP with compound gaps, in exactly 4n - 2 actions.
    SrCgap = "sr-cgap" => systems::sr_cgap::SrCgap, features "spans", crossing true;
    /// Constituents, discontinuous: words are put back on the buffer.
    SrSwap = "sr-swap" => systems::sr_swap::SrSwap, features "spans", crossing true;
    /// Constituents, discontinuous: SR-SWAP with compound swaps.
    SrCswap = "sr-cswap" => systems::sr_cswap::SrCswap, features "spans", crossing true;
    /// Dependencies, projective: a word gets its left dependents in the buffer and its right ones on the stack.
    ArcHybrid = "arc-hybrid" => systems::arc_hybrid::ArcHybrid, features "dependency", crossing false,
        dynamic systems::arc_hybrid::DynamicOracle;
    /// Dependencies: arc-hybrid and SWAP, which reorders words. The dynamic oracle is static for SWAP.
    ArcHybridSwap = "arc-hybrid-swap" => systems::arc_hybrid_swap::ArcHybridSwap, features "dependency", crossing true,
        dynamic systems::arc_hybrid::DynamicOracle;
    /// Dependencies: both heads and dependents wait on the stack, and SWAP reorders words.
    ArcStandardSwap = "arc-standard-swap" => systems::arc_standard_swap::ArcStandardSwap, features "dependency", crossing true;
    /// Dependencies, projective: right dependents are attached before they have dependents of their own.
    ArcEager = "arc-eager" => systems::arc_eager::ArcEager, features "dependency", crossing false,
        dynamic systems::arc_eager::DynamicOracle;
}

by_name!(SystemTag, "system");

/// The kinds of oracle a user can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OracleKind {
    /// The gold derivation.
    Static,
    /// The exact dynamic oracle.
    Dynamic,
    /// The dynamic oracle as its paper prints it.
    Paper,
    /// The dynamic oracle as the program of its paper's authors computes it.
    Authors,
}

impl OracleKind {
    /// Every kind.
    pub const ALL: &[OracleKind] =
        &[OracleKind::Static, OracleKind::Dynamic, OracleKind::Paper, OracleKind::Authors];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            OracleKind::Static => "static",
            OracleKind::Dynamic => "dynamic",
            OracleKind::Paper => "paper",
            OracleKind::Authors => "authors",
        }
    }

    /// The oracle of this kind for one gold tree; the static one if the system lacks the kind
    /// ([`SystemInfo::has_oracle`]).
    ///
    /// # Errors
    /// When the system cannot derive the tree.
    pub fn for_gold<S: Registered>(
        self,
        system: &S,
        gold: &S::Tree,
    ) -> Result<Box<dyn Oracle<S>>, Underivable> {
        Ok(match self {
            OracleKind::Dynamic => Box::new(S::Dynamic::for_gold(system, gold)?),
            OracleKind::Paper => Box::new(S::Paper::for_gold(system, gold)?),
            OracleKind::Authors => Box::new(S::Authors::for_gold(system, gold)?),
            OracleKind::Static => Box::new(StaticOracle::for_gold(system, gold)?),
        })
    }
}

by_name!(OracleKind, "oracle");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tag_is_found_by_its_name() {
        for &tag in SystemTag::ALL {
            assert_eq!(tag.to_string().parse(), Ok(tag));
            assert_eq!(serde_json::to_value(tag).unwrap(), tag.name());
        }
        assert!("no-such".parse::<SystemTag>().unwrap_err().contains("top-down, in-order"));
    }

    #[test]
    fn systems_are_told_apart() {
        let of = SystemTag::info;
        assert!(of(SystemTag::SrGap).is_binary && of(SystemTag::BottomUp).is_binary);
        assert!(!of(SystemTag::InOrder).is_binary && !of(SystemTag::ArcHybrid).is_binary);
        assert!(of(SystemTag::ArcEager).is_projective() && !of(SystemTag::ArcHybridSwap).is_projective());
        let formats =
            [SystemTag::ArcEager, SystemTag::SrCswap, SystemTag::BottomUp2n].map(|tag| of(tag).format());
        assert_eq!(formats, [Format::Conllu, Format::Discbracket, Format::Ptb]);
    }
}
