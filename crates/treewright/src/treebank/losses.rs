//! What a format cannot hold of an entry, so that a conversion can say what it left out.

use super::parse_info::is_parse_comment;
use super::{Entry, Format};
use crate::sentence::{Str, Token};
use crate::tree::Tree;

impl Format {
    /// The kinds of annotation that `entry` has and this format has no place for. Trees and tags that a plain-text
    /// format leaves out by its nature are not listed.
    pub fn leaves_out(self, entry: &Entry) -> Vec<&'static str> {
        use Format::{Alpino, Conllu, Conllx, Discbracket, Export, Json, Ptb, Text, Tigerxml, Tokens};
        let brackets = matches!(self, Ptb | Discbracket);
        let graphs = matches!(self, Export | Tigerxml);
        if matches!(self, Json | Conllu | Text | Tokens | Alpino) {
            return Vec::new();
        }
        let sentence = &entry.sentence;
        let any = |get: fn(&Token) -> &str| sentence.tokens.iter().any(|token| !get(token).is_empty());
        let mut out = Vec::new();
        let mut note = |is_lost: bool, what| {
            if is_lost {
                out.push(what);
            }
        };
        note(brackets && any(|token| &token.lemma), "lemmas");
        note((brackets || graphs) && any(|token| &token.xpos), "second tags");
        note(brackets && any(|token| &token.feats), "morphology");
        note((brackets || graphs) && any(|token| &token.deps), "enhanced dependencies");
        note((brackets || graphs) && any(|token| &token.misc), "MISC");
        note(!sentence.multiwords.is_empty(), "multiword tokens");
        note(!sentence.empty_nodes.is_empty(), "empty nodes");
        let has_place = |comment: &Str| brackets && is_parse_comment(comment);
        let loses_comments = sentence.comments.iter().any(|comment| !has_place(comment));
        note((brackets || self == Conllx) && loses_comments, "comments");
        if let Some(Tree::Constituent(tree)) = &entry.tree {
            note(brackets && tree.has_edges(), "edge labels");
            note(brackets && !tree.secondary_edges().is_empty(), "secondary edges");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sentence::Sentence;

    #[test]
    fn what_is_lost_is_named() {
        let mut sentence = Sentence::from_tagged([("a", "T")]);
        let entry = |sentence: &Sentence| Entry { sentence: sentence.clone(), tree: None };
        assert!(Format::Ptb.leaves_out(&entry(&sentence)).is_empty());
        sentence.tokens[0].lemma = "b".into();
        sentence.comments.push("# c".into());
        assert_eq!(Format::Discbracket.leaves_out(&entry(&sentence)), ["lemmas", "comments"]);
        assert!(Format::Export.leaves_out(&entry(&sentence)).is_empty());
        assert!(Format::Conllu.leaves_out(&entry(&sentence)).is_empty());
    }
}
