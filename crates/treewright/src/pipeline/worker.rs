//! What one thread does with sentences: tags, then trees, then lemmas.

use std::sync::Arc;

use super::part::OnDemand;
use super::tagset::{Fit, UnknownTags};
use super::{KnownWords, Tagging, language, rerank};
use crate::decode::Effort;
use crate::error::Result;
use crate::features::Vocabulary;
use crate::lemma::LemmatiserWorker;
use crate::model::{ScoredTree, Worker};
use crate::score::WordTags;
use crate::segment::{penn_escape, penn_unescape};
use crate::sentence::{Sentence, Str};
use crate::tag::TaggerWorker;
use crate::tree::Tree;
use crate::treebank::ParseInfo;
/// Tags, parses and lemmatises sentences one after the other.
pub struct AnalyserWorker {
    pub(super) tagger: Option<OnDemand<TaggerWorker>>,
    pub(super) lemmatiser: Option<OnDemand<LemmatiserWorker>>,
    pub(super) parser: Option<Worker>,
    pub(super) tagging: Tagging,
    pub(super) tagger_weight: u32,
    pub(super) is_penn: bool,
    /// The parser's.
    pub(super) vocabulary: Option<Arc<Vocabulary>>,
    pub(super) unknown_tags: Option<UnknownTags>,
}

/// What became of the tags of a sentence before it is parsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tagged {
    /// Did the tagger have to help?
    pub by_tagger: bool,
    /// Are the tags to be those that the parser finds?
    pub by_parser: bool,
    /// What of the input stays where the parser's tags are filled in.
    kept: Kept,
    /// Would the second tags mislead the parser?
    pub hides_xpos: bool,
}

/// Tags of the input that stay where others are filled in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kept {
    #[default]
    Nothing,
    Xpos,
    /// All tags of words that have one.
    Words,
}

impl Tagged {
    /// Takes XPOS away while the sentence is parsed, if it would mislead.
    fn hide_xpos(self, sentence: &mut Sentence) -> Vec<Str> {
        let tokens = if self.hides_xpos { &mut sentence.tokens[..] } else { &mut [] };
        tokens.iter_mut().map(|token| std::mem::take(&mut token.xpos)).collect()
    }
}

impl AnalyserWorker {
    /// The same worker with another weight of the tagger's score; 0: tags are not reranked.
    pub fn with_tagger_weight(self, tagger_weight: u32) -> Self {
        AnalyserWorker { tagger_weight, ..self }
    }

    /// Sees to it that the sentence has tags that the parser knows, and says where they come from. Tags in the input are
    /// kept where the parser knows them. Where what it knows stands in another column, it is moved: XPOS becomes the tag
    /// of a parser for Penn tags, and Penn tags become the XPOS of a parser for Universal Dependencies, around which the
    /// tagger fills in the rest. Tags that the parser does not know at all are replaced by the tagger's, if there is a
    /// tagger. Words without a tag among others with tags get the tagger's. A parser that finds tags itself is its own tagger.
    /// Words with tags from elsewhere are written as the parser's treebank writes them.
    ///
    /// # Errors
    /// When the tagger is damaged.
    pub fn tag(&mut self, sentence: &mut Sentence) -> Result<Tagged> {
        let fit = match &self.vocabulary {
            Some(vocabulary) if self.tagging != Tagging::Untagged => Fit::of(sentence, vocabulary),
            _ if sentence.has_tags() => Fit::Tags,
            _ => Fit::Absent,
        };
        let is_new = self.tagging == Tagging::Always;
        let finds_tags = self.tagger.is_none() && self.parser.as_ref().is_some_and(Worker::finds_tags);
        let fits = matches!(fit, Fit::Tags | Fit::TagsWithoutXpos);
        let has_gaps = self.tagging == Tagging::Missing && fits && has_gaps(sentence);
        let tagged = Tagged {
            by_tagger: false,
            by_parser: finds_tags && (is_new || has_gaps || !(fits || fit == Fit::XposAsTags)),
            kept: match fit {
                _ if is_new => Kept::Nothing,
                Fit::Tags | Fit::TagsWithoutXpos => Kept::Words,
                Fit::XposAlone | Fit::XposInTags => Kept::Xpos,
                Fit::XposAsTags | Fit::Absent | Fit::Unknown => Kept::Nothing,
            },
            hides_xpos: fit == Fit::TagsWithoutXpos && !is_new,
        };
        match fit {
            Fit::Tags | Fit::TagsWithoutXpos if !is_new => {
                if let Some(tagger) = self.tagger.as_mut().filter(|_| has_gaps) {
                    let mut whole = sentence.clone();
                    tagger.get()?.tag(&mut whole);
                    for (token, found) in sentence.tokens.iter_mut().zip(whole.tokens) {
                        if token.tag.is_empty() {
                            (token.tag, token.xpos, token.feats) = (found.tag, found.xpos, found.feats);
                        }
                    }
                }
                return Ok(tagged);
            }
            Fit::Tags | Fit::TagsWithoutXpos => {}
            _ if self.is_penn => penn_escape(sentence),
            Fit::XposInTags | Fit::Unknown => {
                sentence.tokens.iter_mut().for_each(|token| token.form = penn_unescape(&token.form));
            }
            Fit::Absent | Fit::XposAsTags | Fit::XposAlone => {}
        }
        if is_new || fit == Fit::Absent {
            let Some(tagger) = &mut self.tagger else { return Ok(tagged) };
            tagger.get()?.tag(sentence);
            return Ok(Tagged { by_tagger: true, ..tagged });
        }
        let has_tagger = self.tagger.is_some() || finds_tags;
        let has_unknown = fit == Fit::Unknown || (!has_tagger && fit != Fit::XposAsTags);
        if has_unknown {
            match &mut self.unknown_tags {
                Some(unknown) => unknown.n_sentences += 1,
                None => {
                    let unknown = |vocabulary| UnknownTags::of(sentence, vocabulary, has_tagger);
                    self.unknown_tags = self.vocabulary.as_deref().map(unknown);
                }
            }
        }
        match fit {
            Fit::XposAsTags => sentence.tokens.iter_mut().for_each(|token| token.tag.clone_from(&token.xpos)),
            Fit::XposInTags => {
                sentence.tokens.iter_mut().for_each(|token| token.xpos = std::mem::take(&mut token.tag));
            }
            _ => {}
        }
        match (&mut self.tagger, fit) {
            (None, _) | (_, Fit::XposAsTags) => return Ok(tagged),
            (Some(tagger), Fit::XposAlone | Fit::XposInTags) => tagger.get()?.tag_around_xpos(sentence),
            (Some(tagger), _) => tagger.get()?.tag(sentence),
        }
        Ok(Tagged { by_tagger: true, ..tagged })
    }

    /// How many of the words of a sentence the parser knows. None are counted without a parser, or if it knows too few
    /// words to tell languages apart.
    pub fn known_words(&self, sentence: &Sentence) -> KnownWords {
        let mut known = KnownWords::default();
        if let Some(vocabulary) =
            self.vocabulary.as_deref().filter(|vocabulary| language::can_tell(vocabulary))
        {
            known.add_sentence(sentence, vocabulary);
        }
        known
    }

    /// What is to be said of tags that the model does not know, in the sentences since this was last asked.
    pub fn take_unknown_tags(&mut self) -> Option<UnknownTags> {
        self.unknown_tags.take()
    }

    /// The effort of exact search for all sentences since this was last called; zero in any other search.
    pub fn take_effort(&mut self) -> Effort {
        self.parser.as_mut().map_or(Effort::default(), Worker::take_effort)
    }

    /// Tags, parses and lemmatises; no tree without a parser, or for a sentence without words.
    ///
    /// # Errors
    /// When a part is damaged.
    pub fn analyse(&mut self, sentence: &mut Sentence) -> Result<Option<Tree>> {
        let (tagged, hidden) = self.prepare(sentence)?;
        self.want_tags(tagged.by_parser);
        let tree = match self.rerank_tags(sentence, tagged)? {
            Some(parses) => parses.into_iter().next().map(|scored| scored.tree),
            None => self.parser.as_mut().and_then(|parser| parser.parse(sentence)),
        };
        show_xpos(sentence, hidden);
        self.finish(sentence, tagged)?;
        Ok(tree)
    }

    /// The same for many sentences; faster where the parser is faster with many at once.
    ///
    /// # Errors
    /// As [`AnalyserWorker::analyse`].
    pub fn analyse_all(&mut self, sentences: &mut [&mut Sentence]) -> Result<Vec<Option<Tree>>> {
        let reranks = self.tagger.is_some() && self.tagger_weight > 0;
        if reranks || self.parser.as_ref().is_none_or(|parser| !parser.prefers_batches()) {
            return sentences.iter_mut().map(|sentence| self.analyse(sentence)).collect();
        }
        let prepared = sentences.iter_mut().map(|sentence| self.prepare(sentence));
        let prepared = prepared.collect::<Result<Vec<_>>>()?;
        self.want_tags(prepared.iter().any(|(tagged, _)| tagged.by_parser));
        let to_parse: Vec<&Sentence> = sentences.iter().map(|sentence| &**sentence).collect();
        let trees = self.parser.as_mut().map(|parser| parser.parse_all(&to_parse)).unwrap_or_default();
        let mut tags = self.parser.as_mut().map(Worker::take_tags).unwrap_or_default().into_iter();
        for (sentence, (tagged, hidden)) in sentences.iter_mut().zip(prepared) {
            show_xpos(sentence, hidden);
            let of_sentence = tags.by_ref().take(sentence.len());
            if tagged.by_parser {
                set_tags(sentence, of_sentence, tagged.kept);
            } else {
                of_sentence.for_each(drop);
            }
            self.lemmatise(sentence, tagged)?;
        }
        Ok(trees)
    }

    /// The same with the best few trees.
    ///
    /// # Errors
    /// When a part is damaged.
    pub fn analyse_k_best(&mut self, sentence: &mut Sentence) -> Result<Vec<ScoredTree>> {
        let (tagged, hidden) = self.prepare(sentence)?;
        self.want_tags(tagged.by_parser);
        let parses = match (self.rerank_tags(sentence, tagged)?, &mut self.parser) {
            (Some(parses), _) => parses,
            (None, Some(parser)) => parser.parse_k_best(sentence),
            (None, None) => Vec::new(),
        };
        show_xpos(sentence, hidden);
        self.finish(sentence, tagged)?;
        Ok(parses)
    }

    /// Makes a sentence ready to be parsed: tags it, takes away XPOS that would mislead, and what a parser said of an earlier
    /// tree.
    fn prepare(&mut self, sentence: &mut Sentence) -> Result<(Tagged, Vec<Str>)> {
        if self.parser.is_some() {
            ParseInfo::remove(&mut sentence.comments);
        }
        let tagged = self.tag(sentence)?;
        Ok((tagged, tagged.hide_xpos(sentence)))
    }

    /// Tells the parser whether its tags are wanted.
    fn want_tags(&mut self, is_wanted: bool) {
        if let Some(parser) = &mut self.parser {
            parser.set_tagging(is_wanted);
        }
    }

    /// Fills in the tags that the parser found, if it was asked for them, and lemmas.
    fn finish(&mut self, sentence: &mut Sentence, tagged: Tagged) -> Result<()> {
        if let Some(parser) = self.parser.as_mut().filter(|_| tagged.by_parser) {
            set_tags(sentence, parser.take_tags().into_iter(), tagged.kept);
        }
        self.lemmatise(sentence, tagged)
    }

    /// Fills in lemmas, once the tags are final. Lemmas of the input stay, unless its tags were replaced.
    fn lemmatise(&mut self, sentence: &mut Sentence, tagged: Tagged) -> Result<()> {
        let Some(lemmatiser) = &mut self.lemmatiser else { return Ok(()) };
        if (tagged.by_tagger || tagged.by_parser) && self.tagging == Tagging::Always {
            lemmatiser.get()?.lemmatise(sentence);
        } else if sentence.tokens.iter().any(|token| token.lemma.is_empty()) {
            lemmatiser.get()?.fill_missing(sentence);
        }
        Ok(())
    }

    /// Parses a sentence that was just tagged, if the parser is to have a say about its tags.
    fn rerank_tags(&mut self, sentence: &mut Sentence, tagged: Tagged) -> Result<Option<Vec<ScoredTree>>> {
        Ok(match (&mut self.parser, &mut self.tagger) {
            (Some(parser), Some(tagger)) if tagged.by_tagger && self.tagger_weight > 0 => {
                Some(rerank::parse(tagger.get()?, parser, sentence, self.tagger_weight))
            }
            _ => None,
        })
    }
}

/// Is there a word without a tag?
fn has_gaps(sentence: &Sentence) -> bool {
    sentence.tokens.iter().any(|token| token.tag.is_empty())
}

/// Gives the words of a sentence these tags; a column that the parser does not know stays as it is.
fn set_tags(sentence: &mut Sentence, tags: impl Iterator<Item = WordTags>, kept: Kept) {
    for (token, WordTags { tag, xpos, feats }) in sentence.tokens.iter_mut().zip(tags) {
        if kept == Kept::Words && !token.tag.is_empty() {
            continue;
        }
        let xpos = xpos.filter(|_| kept != Kept::Xpos || token.xpos.is_empty());
        for (column, found) in [(&mut token.tag, tag), (&mut token.xpos, xpos), (&mut token.feats, feats)] {
            if let Some(found) = found {
                *column = found;
            }
        }
    }
}

/// Puts XPOS back.
fn show_xpos(sentence: &mut Sentence, hidden: Vec<Str>) {
    sentence.tokens.iter_mut().zip(hidden).for_each(|(token, xpos)| token.xpos = xpos);
}
