//! The readers on real files: shapes and class counts as published.

mod common;

use common::shared_data;
use dkae::data::read::{ReadOptions, read, read_many};
use dkae::data::split::Split;
use dkae::data::svd::Svd;
use dkae::data::tfidf::TfIdf;
use dkae::data::{Shape, idx, sample, stream, svmlight};

#[test]
fn mnist_has_its_60000_digits_and_the_sample_is_drawn_from_it() {
    let Some(path) = shared_data("mnist/train-images-idx3-ubyte.gz") else { return };
    let table = idx::read(&path, &ReadOptions::default()).unwrap();
    assert_eq!(table.x.dim(), (60_000, 784));
    assert_eq!(table.shape, Shape::Image { channels: 1, height: 28, width: 28 });
    let labels = table.labels.as_ref().unwrap();
    assert_eq!(labels.counts(), [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]);
    assert_eq!(labels.index[..5], [5, 0, 4, 1, 9]);
    let bytes = |row: ndarray::ArrayView1<f32>| row.iter().map(|&v| v as u8).collect::<Vec<_>>();
    let known: std::collections::HashMap<_, _> =
        table.x.rows().into_iter().zip(&labels.index).map(|(row, &label)| (bytes(row), label)).collect();
    let digits = sample::digits();
    for (row, label) in digits.x.rows().into_iter().zip(&digits.labels.unwrap().index) {
        assert_eq!(known.get(&bytes(row)), Some(label));
    }
}

#[test]
fn cifar_batches_are_read_together() {
    let (Some(a), Some(b)) = (shared_data("cifar10/data_batch_1.bin.gz"), shared_data("cifar10/data_batch_2.bin.gz"))
    else {
        return;
    };
    let table = read_many(&[a, b], &ReadOptions::default()).unwrap();
    assert_eq!(table.x.dim(), (20_000, 3072));
    let labels = table.labels.unwrap();
    assert_eq!(labels.names[6], "frog");
    // The first picture of the first batch is a frog, as everybody's notebook shows; the class counts are those of the batches.
    assert_eq!(labels.index[0], 6);
    assert_eq!(labels.counts().iter().sum::<usize>(), 20_000);
    assert_eq!(labels.counts()[0], 1005 + 984);
    assert_eq!((table.x[[0, 0]], table.x[[0, 1]]), (59.0, 43.0));
}

#[test]
fn cloud_images_are_split_by_image_and_stream_as_they_are_read() {
    let Some(path) = shared_data("cloud-misr/misr_arctic_cloud.csv.gz") else { return };
    let options = ReadOptions {
        label: Some("label".parse().unwrap()),
        group: Some("image".parse().unwrap()),
        skip: vec!["x".parse().unwrap(), "y".parse().unwrap()],
        drop_label: Some("0".into()),
        ..ReadOptions::default()
    };
    let table = read(&path, &options).unwrap();
    assert_eq!(table.names.as_ref().unwrap().join(" "), "NDAI SD CORR DF CF BF AF AN");
    let split = Split::by_group(table.groups.as_ref().unwrap(), "3", "1", "2").unwrap();
    for (rows, counts) in
        [(&split.validation, [44518, 16332]), (&split.test, [38715, 29329]), (&split.train, [25337, 14924])]
    {
        let part = table.select(rows);
        let labels = part.labels.unwrap();
        assert_eq!((labels.names.join(" "), labels.counts()), ("-1 1".to_owned(), counts.to_vec()));
    }
    let thin = split.take([14_000, 3000, 3000], 0).unwrap();
    assert_eq!(table.select(&thin.train).len(), 14_000);

    let mut source = stream::open(&path, &options).unwrap();
    let mut row = 0;
    while let Some(block) = source.next_block(10_000).unwrap() {
        assert_eq!(block, table.x.slice(ndarray::s![row..row + block.nrows(), ..]));
        row += block.nrows();
    }
    assert_eq!(row, table.len());
}

#[test]
fn reuters_goes_through_tfidf_and_svd() {
    let Some(path) = shared_data("reuters-rcv1/rcv1_4root_full.counts.svm.gz") else { return };
    let table = svmlight::read_sparse(&path, &ReadOptions::default()).unwrap();
    assert_eq!((table.x.nrows(), table.x.ncols()), (11_276, 2000));
    assert_eq!(table.labels.as_ref().unwrap().counts(), [4567, 1116, 3513, 2080]);
    let dense = svmlight::read(&path, &ReadOptions::default()).unwrap();
    assert_eq!(dense.x, table.x.to_dense(usize::MAX).unwrap());

    let train = table.x.select(&(0..7893).collect::<Vec<_>>());
    let tfidf = TfIdf::fit(&train).unwrap();
    let weights = tfidf.transform(&train).unwrap();
    let svd = Svd::default().fit(&weights).unwrap();
    // From scikit-learn: TfidfTransformer(sublinear_tf=True) and TruncatedSVD(20, algorithm="arpack") on the same rows.
    let want = REUTERS_SINGULAR_VALUES;
    for (have, want) in svd.singular_values.iter().zip(want) {
        assert!((f64::from(*have) - want).abs() < 1e-4, "{}", svd.singular_values);
    }
    let codes = svd.transform(&tfidf.transform(&table.x).unwrap()).unwrap();
    assert_eq!(codes.dim(), (11_276, 20));
}

const REUTERS_SINGULAR_VALUES: [f64; 20] = [
    20.526651, 13.200397, 10.417768, 9.048594, 8.367511, 7.753020, 7.688441, 7.348955, 7.208327, 7.057206, 6.805626,
    6.312883, 6.232093, 6.129347, 6.025971, 5.802551, 5.640640, 5.417253, 5.380599, 5.229868,
];

#[test]
fn optdigits_have_their_label_last() {
    let options = ReadOptions { label: Some("last".parse().unwrap()), ..ReadOptions::default() };
    for (file, rows) in [("digits/optdigits.tra.csv.gz", 3823), ("digits/optdigits.tes.csv.gz", 1797)] {
        let Some(path) = shared_data(file) else { return };
        let table = read(&path, &options).unwrap();
        assert_eq!(table.x.dim(), (rows, 64));
        assert_eq!(table.classes(), 10);
        assert!(table.names.is_none() && table.x.iter().all(|&v| (0.0..=16.0).contains(&v)));
    }
}
