//! The methods the paper compares with.

#[cfg(test)]
mod fixture;
pub mod knn;
mod labelled;
pub mod svm;
