//! What `treewright parse` says about its input on stderr, once, at the end.

use treewright::pipeline::KnownWords;
use treewright::pipeline::UnknownTags;

use crate::io::say;

/// What there is to say.
#[derive(Default)]
pub(super) struct Notices {
    known_words: KnownWords,
    unknown_tags: Option<UnknownTags>,
    /// Sentences that came with tags.
    n_tagged: usize,
}

impl Notices {
    /// Adds the words of a batch.
    pub(super) fn add_known_words(&mut self, more: KnownWords) {
        self.known_words.add(more);
    }

    /// Adds the tags of a batch that the model does not know; batches come in the order of the input.
    pub(super) fn add_unknown_tags(&mut self, more: Option<UnknownTags>) {
        match (&mut self.unknown_tags, more) {
            (Some(unknown), Some(more)) => unknown.n_sentences += more.n_sentences,
            (unknown @ None, more) => *unknown = more,
            (Some(_), None) => {}
        }
    }

    /// The notices so far, for a run that goes on later.
    pub(super) fn parts(&self) -> (&KnownWords, Option<&UnknownTags>) {
        (&self.known_words, self.unknown_tags.as_ref())
    }

    /// Adds sentences that came with tags.
    pub(super) fn add_tagged(&mut self, n_sentences: usize) {
        self.n_tagged += n_sentences;
    }

    /// Says that tags of the input were kept, if they were: with gold tags a parser looks better than it is on text.
    pub(super) fn tell_kept_tags(&self) {
        let n_replaced = match &self.unknown_tags {
            Some(unknown) if unknown.is_retagged => unknown.n_sentences,
            _ => 0,
        };
        if self.n_tagged > n_replaced {
            say!("note: the tags of the input were kept (--retag replaces them with the model's own)");
        }
    }

    /// Says it, after this many sentences.
    pub(super) fn tell(&self, n_sentences: usize) {
        self.tell_language();
        self.tell_tags(n_sentences);
    }

    fn tell_language(&self) {
        if self.known_words.is_other_language() {
            say!(
                "note: the model knows only {:.0} % of the words, so the text seems to be in another language, and the \
                 trees will be poor (--model takes another model; treewright models lists those there are)",
                self.known_words.percent()
            );
        }
    }

    fn tell_tags(&self, n_sentences: usize) {
        let Some(UnknownTags { n_sentences: n_unknown, examples, is_retagged }) = &self.unknown_tags else {
            return;
        };
        let what = match &examples[..] {
            [] => String::new(),
            examples => format!(" (such as {})", examples.join(", ")),
        };
        let whose = match n_sentences {
            1 => "the sentence".to_owned(),
            _ => format!("{n_unknown} of {n_sentences} sentences"),
        };
        if *is_retagged {
            say!(
                "note: the tags of {whose} are not those of the model{what}; they were replaced by the tagger's \
                 (--keep-tags uses the tags as they are)"
            );
        } else {
            say!(
                "note: the tags of {whose} are not those of the model{what}, and the model has no tagger: the \
                 trees will be poor"
            );
        }
    }
}
