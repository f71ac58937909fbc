//! The methods the paper compares with.

mod gram;
mod isomap;
mod keca;
pub mod knn;
mod kpca;
mod labelled;
mod neighbours;
mod preimage;
pub mod svm;

pub use isomap::{Isomap, IsomapModel};
pub use keca::{EntropyComponents, Keca, KecaModel};
pub use kpca::{FactorKpca, Kpca, KpcaModel, PckKpca, Searched, Spectrum};
pub use preimage::{Pairs, Preimage, PreimageModel, WithPreimage};
