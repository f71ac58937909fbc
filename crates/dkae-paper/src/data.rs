//! The data sets, split as the paper splits them.
//!
//! | set | rows | parts | the paper's own? |
//! |---|---|---|---|
//! | MNIST | 20 000 drawn from the training file | 70 / 15 / 15 % at random | yes |
//! | CLOUD | 20 000 pixels of three images | one image to train, one to validate, one to test | no: MISR pixels over the Arctic stand in for MERIS pixels over Spain and France |
//! | CIFAR-10 | the first two batches, 20 000 | 70 / 15 / 15 % at random | yes |
//! | REUTERS | 11 276 articles of RCV1 with one root topic, TF-IDF of 2000 stems, 20 dimensions by SVD | 70 / 15 / 15 % at random | same corpus, labels and recipe; other and fewer articles |
//!
//! Scaling, TF-IDF and SVD are fitted on the training part alone.

use std::path::{Path, PathBuf};

use dkae::Error;
use dkae::data::read::{ReadOptions, read, read_many};
use dkae::data::{Labels, Shape, Table, sample, svmlight};
use dkae::progress::Progress;
use dkae::recipe::{Prepared, Recipe, Source};
use serde::Serialize;

use crate::Result;

/// A data set; for CLOUD, the images to train, validate and test on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Set {
    /// Handwritten digits.
    Mnist,
    /// The fives and sixes of the same rows.
    FiveSix,
    /// Cloudy and clear pixels.
    Cloud([u8; 3]),
    /// Small colour pictures.
    Cifar,
    /// News stories.
    Reuters,
}

impl Set {
    /// CLOUD in the order that serves as the main one: trained on image 3, which says most about the others.
    pub const CLOUD: Set = Set::Cloud([3, 1, 2]);

    /// The other orders of the images.
    pub const OTHER_ORDERS: [Set; 5] = [
        Set::Cloud([3, 2, 1]),
        Set::Cloud([1, 2, 3]),
        Set::Cloud([1, 3, 2]),
        Set::Cloud([2, 1, 3]),
        Set::Cloud([2, 3, 1]),
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Set::Mnist => "MNIST",
            Set::FiveSix => "MNIST, 5 and 6",
            Set::Cloud(_) => "CLOUD",
            Set::Cifar => "CIFAR-10",
            Set::Reuters => "REUTERS",
        }
    }

    /// The set of `classify` that goes by a name.
    pub fn named(name: &str) -> Result<Set> {
        let sets = [Set::Mnist, Set::CLOUD, Set::Cifar, Set::Reuters];
        let found = sets.into_iter().find(|set| set.name().eq_ignore_ascii_case(name));
        let names = || sets.map(|set| set.name().to_lowercase()).join(", ");
        Ok(found.ok_or_else(|| Error::setting("sets", format!("expected some of {}, found '{name}'", names())))?)
    }

    /// Whether these are the paper's data, or what they are instead.
    pub fn origin(self, embedded: bool) -> &'static str {
        match self {
            Set::Mnist | Set::FiveSix if embedded => "embedded sample of the paper's set",
            Set::Mnist | Set::FiveSix | Set::Cifar => "the paper's own set",
            Set::Cloud(_) => "stand-in: MISR pixels over the Arctic, 8 features, same protocol",
            Set::Reuters => "fewer, other articles of its corpus: same labels and recipe",
        }
    }

    /// The files of its rows, below the data folder.
    fn rows(self) -> &'static [&'static str] {
        match self {
            Set::Mnist | Set::FiveSix => &["mnist/train-images-idx3-ubyte.gz"],
            Set::Cloud(_) => &["cloud-misr/misr_arctic_cloud.csv.gz"],
            Set::Cifar => &["cifar10/data_batch_1.bin.gz", "cifar10/data_batch_2.bin.gz"],
            Set::Reuters => &["reuters-rcv1/rcv1_4root_full.counts.svm.gz"],
        }
    }

    /// All its files: MNIST's classes have one of their own, which the reader finds beside the rows.
    fn files(self) -> impl Iterator<Item = &'static str> {
        let classes = matches!(self, Set::Mnist | Set::FiveSix).then_some("mnist/train-labels-idx1-ubyte.gz");
        self.rows().iter().copied().chain(classes)
    }

    /// An error that says what to do unless its files are in the folder.
    pub fn require(self, folder: &Path) -> Result<()> {
        match self.files().map(|file| found(folder, file)).find(|path| !path.exists()) {
            None => Ok(()),
            Some(missing) => Err(Error::Data(format!(
                "{} is not there: give the folder of the data with --data (the README says where {} is published and \
                 how the folder is laid out), or take --budget smoke, which needs no data",
                missing.display(),
                self.name()
            ))
            .into()),
        }
    }

    /// The files of all sets.
    pub(crate) fn all_files() -> impl Iterator<Item = &'static str> {
        [Set::Mnist, Set::CLOUD, Set::Cifar, Set::Reuters].into_iter().flat_map(Set::files)
    }
}

/// Where a file of the folder is: packed, or else unpacked if that is there.
pub(crate) fn found(folder: &Path, file: &str) -> PathBuf {
    let packed = folder.join(file);
    let unpacked = folder.join(file.trim_end_matches(".gz"));
    if !packed.exists() && unpacked.exists() { unpacked } else { packed }
}

/// A data set, split and prepared.
pub struct Data {
    /// Which.
    pub set: Set,
    /// Its parts.
    pub prepared: Prepared,
    /// What a row is.
    pub shape: Shape,
    /// Of every value and label.
    pub fingerprint: u64,
}

impl Data {
    /// Reads a set and splits it as `recipe` says.
    pub fn load(set: Set, recipe: &Recipe, folder: &Path, embedded: bool, progress: &dyn Progress) -> Result<Data> {
        if !embedded {
            set.require(folder)?;
        }
        let paths: Vec<PathBuf> = set.rows().iter().map(|file| found(folder, file)).collect();
        if set == Set::Reuters {
            let table = svmlight::read_sparse(&paths[0], &ReadOptions::default())?;
            return Data::new(set, recipe.prepare(&Source::from(&table), progress)?, Shape::Vector);
        }
        let column = |name: &str| name.parse();
        let table: Table = match set {
            _ if embedded => sample::digits(),
            Set::Cloud(_) => {
                let options = ReadOptions {
                    label: Some(column("label")?),
                    group: Some(column("image")?),
                    skip: vec![column("x")?, column("y")?],
                    drop_label: Some("0".into()),
                    ..ReadOptions::default()
                };
                read(&paths[0], &options)?
            }
            _ => read_many(&paths, &ReadOptions::default())?,
        };
        let source = Source::from(&table);
        let mut split = recipe.split(table.len(), table.groups.as_deref())?;
        if set == Set::FiveSix {
            let labels = table.labels.as_ref().ok_or_else(|| no_labels(set))?;
            let wanted = |row: &usize| matches!(&*labels.names[labels.index[*row] as usize], "5" | "6");
            for part in [&mut split.train, &mut split.validation, &mut split.test] {
                part.retain(wanted);
            }
        }
        Data::new(set, recipe.prepare_split(&source, split, progress)?, table.shape)
    }

    fn new(set: Set, prepared: Prepared, shape: Shape) -> Result<Data> {
        let Some(labels) = &prepared.labels else { return Err(no_labels(set).into()) };
        let values = prepared.parts.iter().flat_map(|x| x.iter().map(|v| u64::from(v.to_bits())));
        let classes = labels.iter().flat_map(|l| l.index.iter().map(|&i| u64::from(i)));
        let fingerprint = fingerprint(values.chain(classes));
        Ok(Data { set, prepared, shape, fingerprint })
    }

    /// The classes of the training, validation and test rows.
    pub fn labels(&self) -> &[Labels; 3] {
        self.prepared.labels.as_ref().expect("checked when it was loaded")
    }
}

fn no_labels(set: Set) -> Error {
    Error::Data(format!("{}: the rows have no labels; the labels file belongs beside the rows", set.name()))
}

/// Fowler-Noll-Vo (1a): tells data and settings apart, nothing more.
pub fn fingerprint(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0xcbf2_9ce4_8422_2325, |h, v| (h ^ v).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Budget, Plan};
    use dkae::progress::Silent;

    #[test]
    fn a_missing_set_is_named_with_what_to_do() {
        let recipe = Plan::of(Budget::Standard).recipe(Set::Cifar, 0);
        let error =
            Data::load(Set::Cifar, &recipe, Path::new("no/such/folder"), false, &Silent).err().unwrap().to_string();
        for words in ["data_batch_1.bin.gz", "--data", "README", "CIFAR-10", "--budget smoke"] {
            assert!(error.contains(words), "{error}");
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("mnist")).unwrap();
        std::fs::write(folder.path().join("mnist/train-images-idx3-ubyte.gz"), "rows without classes").unwrap();
        let error = Set::Mnist.require(folder.path()).unwrap_err().to_string();
        assert!(error.contains("train-labels-idx1-ubyte.gz"), "{error}");
    }

    #[test]
    fn fives_and_sixes_are_those_of_the_same_split() {
        let plan = Plan::of(Budget::Smoke);
        let all = Data::load(Set::Mnist, &plan.recipe(Set::Mnist, 3), Path::new(""), true, &Silent).unwrap();
        let two = Data::load(Set::FiveSix, &plan.recipe(Set::FiveSix, 3), Path::new(""), true, &Silent).unwrap();
        assert_eq!(all.prepared.parts.each_ref().map(|x| x.nrows()), [700, 150, 150]);
        for part in 0..3 {
            let index = &all.labels()[part].index;
            let rows: Vec<usize> = (0..index.len()).filter(|&i| index[i] == 5 || index[i] == 6).collect();
            assert_eq!(two.prepared.parts[part], all.prepared.parts[part].select(ndarray::Axis(0), &rows));
        }
        assert_ne!(all.fingerprint, two.fingerprint);
        let other = Data::load(Set::Mnist, &plan.recipe(Set::Mnist, 4), Path::new(""), true, &Silent).unwrap();
        assert_ne!(all.fingerprint, other.fingerprint);
    }
}
