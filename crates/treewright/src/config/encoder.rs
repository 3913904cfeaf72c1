//! The files of a pre-trained encoder.

/// The contents of the files of a pre-trained encoder of the BERT family; empty if there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EncoderFiles {
    /// The text of `config.json`.
    pub config: String,
    /// The text of `vocab.txt` or `tokenizer.json`.
    pub vocabulary: String,
    /// The bytes of `model.safetensors`.
    pub weights: Vec<u8>,
}

impl EncoderFiles {
    /// Is there no encoder?
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }
}
