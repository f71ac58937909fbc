//! Fitting the autoencoder: the loss and its gradient, Adam, pretraining, checkpoints.
