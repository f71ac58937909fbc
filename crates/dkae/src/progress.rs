//! How long work talks to whoever waits for it: progress out, a wish to stop in.
/// What a long computation reports to and asks.
pub trait Progress: Sync {
    /// `done` of `total` pieces of `what` are finished.
    fn step(&self, _what: &str, _done: u64, _total: u64) {}
    /// Whether to stop at the next good moment; the computation then returns [`Error::Interrupted`](crate::Error).
    fn stop(&self) -> bool {
        false
    }
}
/// Nobody is waiting: says nothing, never stops.
pub struct Silent;
impl Progress for Silent {}
