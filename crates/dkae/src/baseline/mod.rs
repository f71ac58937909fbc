//! The methods the paper compares with.

mod gram;
mod kpca;
mod rbf;

pub use kpca::{FactorKpca, Kpca, KpcaModel, Spectrum};
