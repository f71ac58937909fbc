//! The autoencoder itself: activations, layers, initial weights, and the model file.
