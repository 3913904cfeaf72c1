//! Checks of the numbers in a section of the settings.

use crate::error::{Code, Error, Result};

/// Larger sizes are mistakes, or damage in a model file.
const MAX_SIZE: usize = 1 << 14;

/// A section by its name. Its checks give an error with the name of the first setting that makes no sense.
pub(super) struct Section(pub(super) &'static str);

/// Settings with their names: `settings!(self.word_size)` is `&[("word_size", self.word_size)]`.
macro_rules! settings {
    ($($config:ident.$field:ident),+ $(,)?) => {
        &[$((stringify!($field), $config.$field.into())),+]
    };
}

pub(super) use settings;

impl Section {
    pub(super) fn sizes(&self, settings: &[(&str, usize)]) -> Result<()> {
        self.each(settings, |size| (1..=MAX_SIZE).contains(&size), &format!("from 1 to {MAX_SIZE}"))
    }

    /// Sizes of what can be left out.
    pub(super) fn sizes_or_0(&self, settings: &[(&str, usize)]) -> Result<()> {
        self.each(settings, |size| size <= MAX_SIZE, &format!("at most {MAX_SIZE}"))
    }

    pub(super) fn counts(&self, settings: &[(&str, usize)]) -> Result<()> {
        self.each(settings, |count| (1..=64).contains(&count), "from 1 to 64")
    }

    /// Probabilities of what must not always be the case.
    pub(super) fn shares(&self, settings: &[(&str, f64)]) -> Result<()> {
        self.each(settings, |share| (0.0..1.0).contains(&share), "from 0 to less than 1")
    }

    pub(super) fn positive(&self, settings: &[(&str, f32)]) -> Result<()> {
        self.each(settings, |number| number.is_finite() && number > 0.0, "above 0")
    }

    pub(super) fn not_negative(&self, settings: &[(&str, f32)]) -> Result<()> {
        self.each(settings, |number| number.is_finite() && number >= 0.0, "0 or more")
    }

    /// Checks a number after the other; `what` is what they must be.
    pub(super) fn each<T: Copy>(
        &self,
        settings: &[(&str, T)],
        is_sound: impl Fn(T) -> bool,
        what: &str,
    ) -> Result<()> {
        match settings.iter().find(|(_, number)| !is_sound(*number)) {
            Some((name, _)) => {
                // As users write it.
                let name = name.replace('_', "-");
                Err(Error::new(Code::BadTraining, format!("{}.{name} must be {what}", self.0)))
            }
            None => Ok(()),
        }
    }
}
