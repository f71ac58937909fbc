//! What one does with codes: PCA, k-means, walks, denoising.

mod denoise;
mod kmeans;
mod pca;
mod walk;

pub use denoise::denoise;
pub use kmeans::{KMeans, KMeansModel};
pub use pca::{Pca, PcaModel};
pub use walk::{walk, walk_decoded};
