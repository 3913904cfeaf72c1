//! Function tags: what a label says beyond its category (`NP-SBJ-1` is an `NP`).

/// The category of a label: the part before the first `-`, `=` or `|`.
///
/// A label that starts with one of these is kept whole, since it is no category with tags: `-LRB-`, `-NONE-`, `--`.
pub fn category(label: &str) -> &str {
    let is_cut = |c: char| matches!(c, '-' | '=' | '|');
    match label.find(is_cut) {
        Some(cut) if cut > 0 => &label[..cut],
        _ => label,
    }
}
