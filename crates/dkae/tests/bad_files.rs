//! No file makes a reader panic or take memory it has no data for: arbitrary bytes, and valid files cut off or changed.
//! Memory is bounded by running all of it once more in a process that may have little.

use std::io::Write;
use std::path::Path;

use dkae::data::read::{Column, Format, ReadOptions, read};
use dkae::data::{stream, svmlight};
use flate2::{Compression, write::GzEncoder};
use ndarray::Array2;
use proptest::prelude::*;

const FORMATS: [Format; 7] =
    [Format::Idx, Format::Cifar, Format::Csv, Format::Npy, Format::Npz, Format::Svmlight, Format::Parquet];

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Reads a file in every way. Whether it succeeds does not matter; that it ends does.
fn read_every_way(path: &Path, format: Option<Format>) {
    let plain = ReadOptions { format, dense_limit: 1 << 20, ..ReadOptions::default() };
    let labelled = ReadOptions { label: Some(Column::Number(1)), allow_missing: true, ..plain.clone() };
    for options in [&plain, &labelled] {
        let whole = read(path, options);
        if let Ok(mut source) = stream::open(path, options) {
            let mut rows = 0;
            while let Ok(Some(block)) = source.next_block(3) {
                rows += block.nrows();
            }
            if let Ok(table) = whole {
                assert_eq!(table.len(), rows);
            }
        }
    }
    let _ = svmlight::read_sparse(path, &plain);
}

/// Small valid files of every format, plain and packed.
fn valid_files() -> Vec<(&'static str, Vec<u8>)> {
    let fixture = |name: &str| {
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name))
            .expect("the fixture is there")
    };
    let mut idx = vec![0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 2];
    idx.extend(0..12);
    let csv = b"a,b,c\n1,2.5,x\n-3,\"4\",y\n".to_vec();
    let svm = b"+1 1:2 3:0.5 # note\n-1 qid:3 2:-1e3\n".to_vec();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let mut sink = stream::create(&path, 3, None).unwrap();
    sink.write(Array2::from_shape_fn((4, 3), |(i, j)| (i + j) as f32).view()).unwrap();
    sink.finish().unwrap();
    let npy = std::fs::read(&path).unwrap();
    let fortran = String::from_utf8_lossy(&npy[10..]).contains("False").then(|| {
        let at = npy.windows(5).position(|w| w == b"False").unwrap();
        let mut npy = npy.clone();
        npy[at..at + 5].copy_from_slice(b"True ");
        npy
    });
    let cifar = [vec![3; 3073], vec![7; 3073]].concat();
    vec![
        ("a.idx.gz", gzip(&idx)),
        ("a.idx", idx),
        ("a.bin.gz", gzip(&cifar)),
        ("a.bin", cifar),
        ("a.csv.gz", gzip(&csv)),
        ("a.csv", csv),
        ("a.svm.gz", gzip(&svm)),
        ("a.svm", svm),
        ("a.npy.gz", gzip(&npy)),
        ("a.npy", npy),
        ("f.npy", fortran.unwrap()),
        ("a.npz", fixture("arrays.npz")),
        ("b.npz", fixture("labelled.npz")),
        ("c.npz", fixture("labelled_packed.npz")),
        ("a.parquet", fixture("table.parquet")),
        ("b.parquet", fixture("holes.parquet")),
    ]
}

fn written(name: &str, bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), packed: bool, magic in 0usize..5) {
        let start: &[u8] = [&b""[..], b"\x00\x00\x08\x03", b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"PAR1"][magic];
        let bytes = [start, &bytes].concat();
        let (_folder, path) = written("data", &if packed { gzip(&bytes) } else { bytes });
        read_every_way(&path, None);
        for format in FORMATS {
            read_every_way(&path, Some(format));
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in "[0-9a-z:;,.\t\n\"#+ -]{0,200}") {
        let (_folder, path) = written("data", text.as_bytes());
        for format in [None, Some(Format::Csv), Some(Format::Svmlight)] {
            read_every_way(&path, format);
        }
    }

    #[test]
    fn changed_files_never_panic(which in 0usize..16, places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let (name, mut bytes) = valid_files().swap_remove(which);
        for (place, value) in places {
            let at = place.index(bytes.len());
            bytes[at] = value;
        }
        let (_folder, path) = written(name, &bytes);
        read_every_way(&path, None);
    }
}

#[test]
fn truncated_files_never_panic() {
    for (name, bytes) in valid_files() {
        let step = bytes.len().div_ceil(60);
        for end in (0..bytes.len()).step_by(step) {
            let (_folder, path) = written(name, &bytes[..end]);
            read_every_way(&path, None);
        }
    }
}

#[test]
fn headers_that_promise_too_much_are_refused() {
    let huge = u32::MAX.to_be_bytes();
    let idx = [&[0, 0, 14, 3][..], &huge, &huge, &huge].concat();
    let rows = [&[0, 0, 8, 2][..], &huge, &1000u32.to_be_bytes(), &[7; 5000]].concat();
    let dictionary = "{'descr': '<f8', 'fortran_order': True, 'shape': (1000000000, 1000), }";
    let npy = [&b"\x93NUMPY\x01\x00"[..], &(dictionary.len() as u16).to_le_bytes(), dictionary.as_bytes()].concat();
    let long_header = [&b"\x93NUMPY\x02\x00"[..], &u32::MAX.to_le_bytes()].concat();
    for (name, bytes) in [("a.idx", idx), ("b.idx", rows), ("a.npy", npy), ("b.npy", long_header)] {
        for bytes in [gzip(&bytes), bytes] {
            let (_folder, path) = written(name, &bytes);
            assert!(read(&path, &ReadOptions::default()).is_err());
            read_every_way(&path, None);
        }
    }
}

/// The files here are a few kilobytes. A reader that believed one of their headers would ask for more than this process
/// may have, and the process would end.
#[test]
#[cfg(target_os = "linux")]
fn all_of_it_runs_in_little_memory() {
    const INSIDE: &str = "DKAE_TEST_LIMITED";
    if std::env::var_os(INSIDE).is_some() {
        return;
    }
    let limited = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 300000 && exec \"$0\" --test-threads=1"])
        .arg(std::env::current_exe().unwrap())
        .envs([(INSIDE, "1"), ("MALLOC_ARENA_MAX", "1")])
        .output()
        .unwrap();
    let said = [limited.stdout, limited.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(limited.status.success() && said[0].contains("6 passed"), "{}", said.concat());
}
