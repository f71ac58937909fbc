//! What one does with codes: PCA, k-means, walks, denoising.
