//! What learns the weights of a network: Adam or stochastic gradient descent, with averages of the weights for parsing.

use super::kernel::{AdamStep, adam, add, approach, descend, squares};
use crate::config::OptimiserKind;
use crate::error::{Code, Error, Result};

/// A share of the training in which Adam's learning rate rises, and what is left of it at the end.
const WARM_UP: f64 = 0.02;
const LAST_RATE: f64 = 0.02;
const EPSILON: f32 = 1e-8;

/// The settings of one step.
#[derive(Clone, Copy, Debug)]
pub(in crate::score) struct StepSettings {
    pub kind: OptimiserKind,
    /// The learning rate at its highest.
    pub learning_rate: f32,
    /// Weights that learn more slowly, if there are any.
    pub slower: Option<Slower>,
    /// For gradient descent: the rate is divided by 1 plus this times the epochs that are over.
    pub decay: f32,
    /// Epochs of the whole training.
    pub n_epochs: usize,
    pub beta_1: f32,
    pub beta_2: f32,
    /// The gradient is clipped to this length.
    pub clip: f32,
    /// The share of the old average that is kept when a step updates the average of the weights.
    pub average: f32,
    /// The section of the settings, for error messages.
    pub section: &'static str,
}

/// The last weights have a learning rate of their own, and start later.
#[derive(Clone, Copy, Debug)]
pub(in crate::score) struct Slower {
    /// The first of them.
    pub start: usize,
    /// Their learning rate is multiplied by this.
    pub factor: f32,
    /// They do not change until this share of the training is over; then their rate rises from 0.
    pub from: f64,
}

/// All weights, and for each of them Adam's running means and the average over steps.
#[derive(Clone, Debug)]
pub(in crate::score) struct Optimiser {
    pub weights: Vec<f32>,
    /// Running means of gradients and of their squares; empty for gradient descent.
    means: Vec<f32>,
    squares: Vec<f32>,
    pub averages: Vec<f32>,
    pub n_steps: u64,
}

impl Optimiser {
    pub(in crate::score) fn new(weights: Vec<f32>, kind: OptimiserKind) -> Self {
        let n_means = if kind == OptimiserKind::Adam { weights.len() } else { 0 };
        Optimiser {
            means: vec![0.0; n_means],
            squares: vec![0.0; n_means],
            averages: weights.clone(),
            n_steps: 0,
            weights,
        }
    }

    /// Changes the weights by gradients that are sums of `n` terms, when this share of the training is over.
    ///
    /// # Errors
    /// When the gradients are not finite.
    pub(in crate::score) fn step(
        &mut self,
        gradients: &[f32],
        n: f64,
        progress: f64,
        settings: &StepSettings,
    ) -> Result<()> {
        let length = squares(gradients).sqrt() / n;
        if !length.is_finite() {
            let message = format!(
                "the network diverged in step {}: its gradients are not numbers any more; a smaller \
                 {}.learning-rate may help",
                self.n_steps + 1,
                settings.section
            );
            return Err(Error::new(Code::BadTraining, message));
        }
        self.n_steps += 1;
        let shorten = (f64::from(settings.clip) / length.max(1e-12)).min(1.0);
        let highest = f64::from(settings.learning_rate);
        match settings.kind {
            OptimiserKind::Adam => {
                let falling = LAST_RATE + (1.0 - LAST_RATE) * (1.0 - progress) / (1.0 - WARM_UP);
                let rate = highest * falling.min(1.0).min((progress / WARM_UP).max(1e-3));
                let correct = |beta: f32| 1.0 - f64::from(beta).powi(self.n_steps.min(1 << 30) as i32);
                let step = AdamStep {
                    scale: (shorten / n) as f32,
                    beta_1: settings.beta_1,
                    beta_2: settings.beta_2,
                    rate: (rate / correct(settings.beta_1)) as f32,
                    correct_2: (1.0 / correct(settings.beta_2)) as f32,
                    epsilon: EPSILON,
                };
                let start = settings.slower.map_or(self.weights.len(), |slower| slower.start);
                let (means, squares) = (&mut self.means, &mut self.squares);
                adam(
                    &mut self.weights[..start],
                    &gradients[..start],
                    &mut means[..start],
                    &mut squares[..start],
                    &step,
                );
                if let Some(Slower { factor, from, .. }) = settings.slower
                    && progress >= from
                {
                    let rise = if from > 0.0 { ((progress - from) / WARM_UP).min(1.0) } else { 1.0 };
                    adam(
                        &mut self.weights[start..],
                        &gradients[start..],
                        &mut means[start..],
                        &mut squares[start..],
                        &AdamStep { rate: rise as f32 * factor * step.rate, ..step },
                    );
                }
            }
            OptimiserKind::Sgd => {
                let n_epochs = (progress * settings.n_epochs as f64).floor();
                let rate = highest / (1.0 + f64::from(settings.decay) * n_epochs);
                descend(&mut self.weights, gradients, (rate * shorten / n) as f32);
            }
        }
        // At first a mean of the last tenth of the steps, so that the random start is soon forgotten.
        let share = (1.0 - settings.average).max(9.0 / (9.0 + self.n_steps as f32));
        approach(&mut self.averages, &self.weights, share);
        Ok(())
    }

    /// Writes all, for a checkpoint.
    pub(in crate::score) fn save(&self, out: &mut Vec<u8>) {
        out.extend(self.n_steps.to_le_bytes());
        for numbers in [&self.weights, &self.means, &self.squares, &self.averages] {
            out.extend_from_slice(bytemuck::cast_slice(numbers));
        }
    }

    /// Takes up what `save` wrote; nothing if it has another length.
    pub(in crate::score) fn load(&mut self, bytes: &[u8]) -> Option<()> {
        let (n_steps, mut rest) = bytes.split_first_chunk::<8>()?;
        let arrays = [&mut self.weights, &mut self.means, &mut self.squares, &mut self.averages];
        if rest.len() != arrays.iter().map(|numbers| 4 * numbers.len()).sum::<usize>() {
            return None;
        }
        for numbers in arrays {
            let (bytes, after) = rest.split_at(4 * numbers.len());
            let read = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
            numbers.iter_mut().zip(read).for_each(|(number, read)| *number = read);
            rest = after;
        }
        self.n_steps = u64::from_le_bytes(*n_steps);
        Some(())
    }
}

/// Adds up the gradients of the parts of a minibatch. Those of embeddings, the first `n_embedded`, begin at 0: each part
/// has touched few of them, and the caller adds these row by row.
pub(in crate::score) fn gather<'a>(
    gradients: &mut [f32],
    n_embedded: usize,
    parts: impl Iterator<Item = &'a [f32]>,
) {
    let (embedded, rest) = gradients.split_at_mut(n_embedded);
    embedded.fill(0.0);
    for (i, of_part) in parts.enumerate() {
        match i {
            0 => rest.copy_from_slice(&of_part[n_embedded..]),
            _ => add(&of_part[n_embedded..], rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights that learn more slowly move less, and the others as they would alone.
    #[test]
    fn some_weights_learn_more_slowly() {
        let settings = |slower| StepSettings {
            kind: OptimiserKind::Adam,
            learning_rate: 0.1,
            slower,
            decay: 0.0,
            n_epochs: 1,
            beta_1: 0.9,
            beta_2: 0.95,
            clip: 1e3,
            average: 0.9,
            section: "neural",
        };
        let after = |slower| {
            let mut optimiser = Optimiser::new(vec![0.0; 20], OptimiserKind::Adam);
            for _ in 0..3 {
                optimiser.step(&[1.0; 20], 1.0, 0.5, &settings(slower)).expect("finite gradients");
            }
            optimiser.weights
        };
        let slower = |from| Some(Slower { start: 7, factor: 0.25, from });
        let (all, some) = (after(None), after(slower(0.0)));
        assert_eq!(all[..7], some[..7]);
        assert!(all[7..].iter().zip(&some[7..]).all(|(all, some)| (0.25 * all - some).abs() < 1e-6));
        // Half of the way up after a hundredth of the training.
        let later = after(slower(0.49));
        assert!(later[7..].iter().zip(&some[7..]).all(|(later, some)| (0.5 * some - later).abs() < 1e-6));
        let not_yet = after(slower(0.51));
        assert_eq!((&not_yet[..7], &not_yet[7..]), (&all[..7], &[0.0; 13][..]));
    }
}
