//! Models and kernels can be handed to other threads and shared between them: checked by the compiler.

use dkae::baseline::knn::KnnModel;
use dkae::baseline::svm::{KernelSvmModel, LinearSvmModel};
use dkae::baseline::{FactorKpca, IsomapModel, KecaModel, KpcaModel, PreimageModel, Spectrum, WithPreimage};
use dkae::code::{KMeansModel, PcaModel};
use dkae::kernel::{FittedPck, FittedPolynomial, FittedRbf, FittedSum, Kernel, Posteriors, Precomputed, Prior};
use dkae::net::{Autoencoder, Model};
use dkae::{Classify, Embed, Invert};

fn is_shared<T: Send + Sync + ?Sized>() {}

#[test]
fn models_and_kernels_are_shared_between_threads() {
    is_shared::<Model>();
    is_shared::<Autoencoder>();
    is_shared::<PcaModel>();
    is_shared::<KMeansModel>();
    is_shared::<KpcaModel>();
    is_shared::<FactorKpca>();
    is_shared::<Spectrum>();
    is_shared::<KecaModel>();
    is_shared::<IsomapModel>();
    is_shared::<WithPreimage<KpcaModel>>();
    is_shared::<PreimageModel>();
    is_shared::<KnnModel>();
    is_shared::<LinearSvmModel>();
    is_shared::<KernelSvmModel>();
    is_shared::<FittedPck>();
    is_shared::<FittedRbf>();
    is_shared::<FittedPolynomial>();
    is_shared::<FittedSum>();
    is_shared::<Posteriors>();
    is_shared::<Precomputed>();
    is_shared::<dyn Kernel>();
    is_shared::<dyn Prior>();
    is_shared::<dyn Embed>();
    is_shared::<dyn Invert>();
    is_shared::<dyn Classify>();
}
