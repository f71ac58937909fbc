//! What training tells whoever waits for it, and how it is asked to stop.

use std::ops::ControlFlow;

use super::step::Losses;

/// Something that happened in training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// A phase begins: a layer is pretrained, or the whole is fine-tuned.
    Phase {
        /// The phase.
        phase: Phase,
        /// Its steps.
        steps: u64,
        /// The step it starts from: not 0 when a run is resumed.
        from: u64,
    },
    /// A step was taken.
    Step {
        /// The phase.
        phase: Phase,
        /// Steps taken in it.
        step: u64,
        /// Losses of the batch.
        losses: Losses,
    },
    /// The validation rows were looked at.
    Validation {
        /// Steps taken in fine-tuning.
        step: u64,
        /// Losses on the validation rows.
        losses: Losses,
        /// Whether the total is the best so far.
        best: bool,
    },
    /// Patience ran out: the validation loss has not improved for too long.
    EarlyStop {
        /// Steps taken in fine-tuning.
        step: u64,
    },
}

/// A phase of training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// One layer by itself.
    Pretrain {
        /// Its place in the stack, from 0.
        layer: usize,
        /// How many layers there are.
        of: usize,
    },
    /// Everything together.
    FineTune,
}

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Phase::Pretrain { layer, of } => write!(f, "pretraining layer {} of {of}", layer + 1),
            Phase::FineTune => f.write_str("fine-tuning"),
        }
    }
}

/// Follows training; `ControlFlow::Break` stops it after the step in hand, with its checkpoint written.
pub trait Observer {
    /// Called for every event.
    fn event(&mut self, event: &Event) -> ControlFlow<()>;
}

/// Nobody is watching.
impl Observer for () {
    fn event(&mut self, _: &Event) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<F: FnMut(&Event) -> ControlFlow<()>> Observer for F {
    fn event(&mut self, event: &Event) -> ControlFlow<()> {
        self(event)
    }
}
