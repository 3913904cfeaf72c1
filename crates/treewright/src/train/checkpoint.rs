//! A point from which training can go on to the identical model.

use super::EpochReport;
use crate::error::{Code, Error, Result};
use crate::model::Model;
use crate::score::Learning;

/// The state of a training run between two epochs. As bytes:
///
/// ```text
/// "TREECKP\n", u64 fingerprint, u32 CRC-32 of the rest, then reports (JSON), best model and weights, each after its
/// length (u64)
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Of the settings and the data: training goes on only with the same.
    fingerprint: u64,
    pub(super) reports: Vec<EpochReport>,
    pub(super) best_score: f64,
    pub(super) best_model: Vec<u8>,
    weights: Vec<u8>,
}

const MAGIC: &[u8; 8] = b"TREECKP\n";

fn damaged(message: &str) -> Error {
    Error::new(Code::BadModel, message)
}

impl Checkpoint {
    pub(super) fn new(
        fingerprint: u64,
        reports: &[EpochReport],
        best_score: f64,
        best_model: &Model,
        learner: &dyn Learning,
    ) -> Result<Self> {
        let mut model = Vec::new();
        best_model.save(&mut model)?;
        let mut weights = Vec::new();
        learner.save(&mut weights);
        Ok(Checkpoint { fingerprint, reports: reports.to_vec(), best_score, best_model: model, weights })
    }

    pub(super) fn restore(&self, fingerprint: u64, learner: &mut dyn Learning) -> Result<()> {
        if self.fingerprint != fingerprint {
            let message = "the checkpoint belongs to other data or settings; delete it, or start anew";
            return Err(Error::new(Code::BadTraining, message));
        }
        learner.load(&self.weights).ok_or_else(|| damaged("the checkpoint's weights are damaged"))
    }

    /// The number of epochs it holds.
    pub fn epochs(&self) -> usize {
        self.reports.len()
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let reports = serde_json::to_vec(&(&self.reports, self.best_score)).expect("plain data");
        let mut rest = Vec::new();
        for part in [&reports, &self.best_model, &self.weights] {
            rest.extend((part.len() as u64).to_le_bytes());
            rest.extend(part);
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.fingerprint.to_le_bytes());
        bytes.extend(crc32fast::hash(&rest).to_le_bytes());
        bytes.extend(rest);
        bytes
    }

    /// From bytes.
    ///
    /// # Errors
    /// When they are not a whole checkpoint.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| damaged("this is not a treewright checkpoint"))?;
        let (head, mut rest) =
            rest.split_at_checked(12).ok_or_else(|| damaged("the checkpoint is cut short"))?;
        if head[8..] != crc32fast::hash(rest).to_le_bytes() {
            return Err(damaged("the checkpoint is damaged: its checksum does not match"));
        }
        let mut part = || -> Option<&[u8]> {
            let (length, after) = rest.split_at_checked(8)?;
            let length = u64::from_le_bytes(length.try_into().ok()?).try_into().ok()?;
            let (part, after) = after.split_at_checked(length)?;
            rest = after;
            Some(part)
        };
        let parts = (part(), part(), part());
        let (Some(reports), Some(model), Some(weights)) = parts else {
            return Err(damaged("the checkpoint is cut short"));
        };
        let (reports, best_score) = serde_json::from_slice(reports)
            .map_err(|error| damaged(&format!("in the checkpoint: {error}")))?;
        let fingerprint = u64::from_le_bytes(head[..8].try_into().expect("eight bytes"));
        Ok(Checkpoint {
            fingerprint,
            reports,
            best_score,
            best_model: model.to_vec(),
            weights: weights.to_vec(),
        })
    }
}
