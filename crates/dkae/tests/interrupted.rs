//! All work that may take long says how far it is and stops when it is asked to.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use dkae::baseline::svm::linear::Solver;
use dkae::baseline::svm::{KernelSvm, LinearSvm};
use dkae::baseline::{Isomap, Keca, Kpca, Pairs, Preimage};
use dkae::code::{KMeans, Pca};
use dkae::data::sparse::Csr;
use dkae::data::svd::Svd;
use dkae::kernel::{FittedPck, Kernel, KernelSpec, Linear, Pck, Posteriors, Rbf};
use dkae::metrics::{alignment_of_factors_watched, alignment_of_priors, centred_alignment_of_priors};
use dkae::progress::Progress;
use dkae::recipe::{RawRows, Recipe, Source};
use dkae::{Error, Result};
use ndarray::Array2;

/// Some work on rows that are ready.
type Work = Box<dyn Fn(&dyn Progress) -> Result<()>>;

/// Rows around four centres, no two of them equal.
fn rows(n: usize, d: usize) -> Array2<f32> {
    Array2::from_shape_fn((n, d), |(i, j)| {
        let wave = ((i * 131 + j * 71 + i * j * 7) as f32 * 0.37).sin();
        3.0 * ((i % 4 * (j + 1)) as f32).cos() + wave
    })
}

fn classes(n: usize) -> Vec<u32> {
    (0..n as u32).map(|i| i % 4).collect()
}

fn pck() -> Pck {
    Pck { restarts: 3, max_components: 5, subset: 60, ..Pck::default() }
}

fn fitted(x: &Array2<f32>) -> FittedPck {
    pck().fit(x.view()).unwrap()
}

fn posteriors(x: &Array2<f32>) -> Posteriors {
    fitted(x).posteriors(x.view()).unwrap()
}

/// Word counts, more words than the SVD decomposes whole.
fn counts(n: usize, words: usize) -> Csr {
    Csr::from_dense(
        Array2::from_shape_fn((n, words), |(i, j)| {
            if (i * 37 + j * 11 + i * j) % 7 == 0 { (1 + (i + j) % 4) as f32 } else { 0.0 }
        })
        .view(),
    )
}

fn recipe() -> Recipe {
    Recipe { svd: Some(3), kernel: KernelSpec::Pck(pck()), ..Recipe::default() }
}

/// Each kind of work and something that it reports, in a size that takes it through its loops more than once.
fn all() -> Vec<(&'static str, &'static str, Work)> {
    fn work(run: impl Fn(&dyn Progress) -> Result<()> + 'static) -> Work {
        Box::new(run)
    }
    let (x, wide) = (rows(600, 6), rows(300, 700));
    let (z, of_z) = (rows(90, 2), rows(90, 5));
    let (own, factors, kernel) = (posteriors(&x), posteriors(&x), fitted(&x));
    let many = rows(1300, 6);
    let linear = |solver: Solver| {
        let x = rows(600, 6);
        work(move |p| LinearSvm { solver, ..LinearSvm::default() }.fit_watched(x.view(), &classes(600), p).map(drop))
    };
    // The least that may be given: the two classes of each pair do not fit, so that working sets are used.
    let small_cache = KernelSvm { cache_mb: 1, c: 10.0, ..KernelSvm::default() };
    let [a, b, c, d, e, f, g, h, i] = [(); 9].map(|()| x.clone());
    let scattered = Array2::from_shape_fn((700, 2), |(i, j)| ((i * 7919 + j * 104_729) % 10_007) as f32);
    let rbf = || KernelSpec::Rbf(Rbf::default());
    vec![
        ("linear SVM by Newton steps", "linear SVM", linear(Solver::Newton)),
        ("linear SVM by descent", "linear SVM", linear(Solver::Descent)),
        (
            "kernel SVM",
            "kernel SVM: pairs of classes",
            work(move |p| KernelSvm::default().fit_watched(&Linear, a.view(), &classes(600), p).map(drop)),
        ),
        (
            "kernel SVM of large pairs",
            "kernel SVM: steps of a large pair",
            work(move |p| small_cache.fit_watched(&Linear, many.view(), &classes(1300), p).map(drop)),
        ),
        (
            "kernel SVM, cluster kernel",
            "posteriors: blocks of rows",
            work(move |p| KernelSvm::default().fit_watched(&kernel, i.view(), &classes(600), p).map(drop)),
        ),
        (
            "kernel PCA",
            "products with the kernel matrix",
            work(move |p| Kpca::default().fit(rbf().fit(b.view())?, b.view(), p).map(drop)),
        ),
        (
            "kernel PCA of a prior",
            "products with the kernel matrix",
            work(move |p| Kpca::default().fit_prior(&own, p).map(drop)),
        ),
        (
            "kernel PCA of factors",
            "products with the kernel matrix",
            work(move |p| Kpca::default().fit_factors(&factors, p).map(drop)),
        ),
        (
            "kernel PCA, cluster kernel",
            "posteriors: blocks of rows",
            work(move |p| Kpca::default().fit_pck(fitted(&h), h.view(), p).map(drop)),
        ),
        (
            "pre-images",
            "widths and ridges of the pre-images",
            work(move |p| {
                let pairs = Pairs { z: z.view(), x: of_z.view() };
                Preimage::default().fit(pairs, pairs, p).map(drop)
            }),
        ),
        ("KECA", "products with the kernel matrix", work(move |p| Keca::default().fit(c.view(), p).map(drop))),
        (
            "ISOMAP",
            "shortest paths",
            work(move |p| Isomap { neighbours: 10, ..Isomap::default() }.fit(d.view(), p).map(drop)),
        ),
        (
            "ISOMAP, many pieces",
            "distances between pieces: blocks of rows",
            work(move |p| {
                Isomap { neighbours: 1, landmarks: 50, ..Isomap::default() }.fit(scattered.view(), p).map(drop)
            }),
        ),
        ("k-means", "k-means starts", work(move |p| KMeans::default().fit(e.view(), p).map(drop))),
        ("mixtures", "mixtures", work(|p| pck().fit_watched(rows(200, 6).view(), p).map(drop))),
        (
            "posteriors",
            "posteriors: blocks of rows",
            work(move |p| fitted(&f).posteriors_watched(rows(1600, 6).view(), p).map(drop)),
        ),
        ("a sum of kernels", "mixtures", {
            let spec: KernelSpec = "0.5*pck+rbf".parse().unwrap();
            work(move |p| {
                let x = rows(200, 6);
                spec.fit_watched(x.view(), p)?.prior_watched(x.view(), p).map(drop)
            })
        }),
        ("PCA", "principal components: products", work(move |p| Pca::default().fit_watched(wide.t(), p).map(drop))),
        (
            "PCA of few rows",
            "principal components: products",
            work(|p| Pca::default().fit_watched(rows(300, 700).view(), p).map(drop)),
        ),
        (
            "PCA, all components",
            "principal components: products",
            work(move |p| Pca { components: 6, ..Pca::default() }.fit_watched(g.view(), p).map(drop)),
        ),
        (
            "SVD",
            "truncated SVD: products",
            work(|p| Svd { components: 4, seed: 0 }.fit_watched(&counts(80, 400), p).map(drop)),
        ),
        (
            "SVD of few words",
            "truncated SVD: columns",
            work(|p| Svd { components: 4, seed: 0 }.fit_watched(&counts(80, 40), p).map(drop)),
        ),
        (
            "alignment",
            "alignment: blocks",
            work(|p| {
                let x = rows(3000, 3);
                alignment_of_priors(&*Linear.prior(x.view())?, &*Linear.prior(x.view())?, p).map(drop)
            }),
        ),
        (
            "centred alignment",
            "alignment: blocks",
            work(|p| {
                let x = rows(3000, 3);
                centred_alignment_of_priors(&*Linear.prior(x.view())?, &*Linear.prior(x.view())?, p).map(drop)
            }),
        ),
        (
            "alignment of factors",
            "alignment: products of factors",
            work(|p| {
                let (f, g) = (counts(200, 300), rows(200, 600));
                alignment_of_factors_watched((&f).into(), g.view().into(), true, p).map(drop)
            }),
        ),
        (
            "recipe",
            "mixtures",
            work(|p| {
                let x = counts(200, 300);
                let source = Source {
                    x: RawRows::Sparse(&x),
                    labels: None,
                    groups: None,
                    names: None,
                    shape: Default::default(),
                    numbers: None,
                };
                let prepared = recipe().prepare(&source, p)?;
                recipe().kernel(&prepared, None, p)?.priors(&prepared, p).map(drop)
            }),
        ),
    ]
}

/// Asks to stop from the question of that number on.
struct Patience {
    questions: AtomicUsize,
    enough: usize,
}

impl Patience {
    fn of(enough: usize) -> Self {
        Patience { questions: AtomicUsize::new(0), enough }
    }
}

impl Progress for Patience {
    fn stop(&self) -> bool {
        self.questions.fetch_add(1, Relaxed) >= self.enough
    }
}

#[test]
fn whoever_asks_to_stop_is_heard_at_any_time() {
    for (name, _, work) in all() {
        let endless = Patience::of(usize::MAX);
        work(&endless).unwrap_or_else(|e| panic!("{name}: {e}"));
        let questions = endless.questions.into_inner();
        assert!(questions >= 3, "{name}: asked {questions} times only");
        // At once, after a while, and when the work asks for the last time.
        for enough in [0, 1, questions / 2, questions - 1] {
            let result = work(&Patience::of(enough));
            assert!(matches!(result, Err(Error::Interrupted)), "{name}: {enough} of {questions}: {result:?}");
        }
    }
}

#[test]
fn little_is_done_after_a_wish_to_stop() {
    // Each thread ends what it is in the middle of.
    let most = 2 * dkae::math::threads::count() + 2;
    for (name, _, work) in all() {
        let patience = Patience::of(2);
        assert!(work(&patience).is_err(), "{name}");
        let questions = patience.questions.into_inner();
        assert!(questions <= 2 + most, "{name}: {questions} questions");
    }
}

/// Keeps every report.
#[derive(Default)]
struct Reports(Mutex<Vec<(String, u64, u64)>>);

impl Progress for Reports {
    fn step(&self, what: &str, done: u64, total: u64) {
        self.0.lock().unwrap().push((what.to_owned(), done, total));
    }
}

#[test]
fn progress_is_never_more_than_all_and_ends_there() {
    for (name, report, work) in all() {
        let reports = Reports::default();
        work(&reports).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut last = BTreeMap::new();
        for (what, done, total) in reports.0.into_inner().unwrap() {
            assert!(done <= total && total > 0, "{name}: {what}: {done} of {total}");
            last.insert(what, (done, total));
        }
        assert!(last.contains_key(report), "{name}: {last:?}");
        for (what, (done, total)) in last {
            assert_eq!(done, total, "{name}: {what}");
        }
    }
}
