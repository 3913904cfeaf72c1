//! The transition systems, one file each: actions, legality, effect, derivation, oracle, laws.
