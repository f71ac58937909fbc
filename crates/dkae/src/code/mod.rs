//! What one does with codes: PCA, k-means, walks, denoising, and naming classes by nearest neighbours.

mod denoise;
mod kmeans;
mod pca;
mod walk;

pub use denoise::denoise;
pub use kmeans::{KMeans, KMeansModel};
pub use pca::{Pca, PcaModel};
pub use walk::{walk, walk_decoded};

/// Nearest neighbours, a baseline as well, by its name here.
pub use crate::baseline::knn;
