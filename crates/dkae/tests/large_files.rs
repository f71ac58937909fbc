//! Files larger than the memory a process may have pass through in blocks.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;

use dkae::data::read::ReadOptions;
use dkae::data::stream;
use ndarray::Axis;

/// 500 MB of numbers; the process below may have 300 MB, program and stacks included.
const ROWS: u64 = 500_000;
const WIDTH: u64 = 250;

/// A file of zeros but for its last number, which takes no room on the disk.
fn sparse_file(path: &Path, header: &[u8], number: &[u8], bytes: u64) {
    let mut file = File::create(path).unwrap();
    file.write_all(header).unwrap();
    file.set_len(header.len() as u64 + bytes).unwrap();
    file.seek(SeekFrom::End(-(number.len() as i64))).unwrap();
    file.write_all(number).unwrap();
}

fn npy_header(fortran: &str) -> Vec<u8> {
    let dictionary = format!("{{'descr': '<f4', 'fortran_order': {fortran}, 'shape': ({ROWS}, {WIDTH}), }}");
    [&b"\x93NUMPY\x01\x00"[..], &(dictionary.len() as u16).to_le_bytes(), dictionary.as_bytes()].concat()
}

#[test]
fn files_larger_than_memory_stream() {
    const FOLDER: &str = "DKAE_TEST_LARGE_FILES";
    if let Some(folder) = std::env::var_os(FOLDER) {
        return sum_every_row(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    let bytes = ROWS * WIDTH * 4;
    sparse_file(&folder.path().join("c.npy"), &npy_header("False"), &7f32.to_le_bytes(), bytes);
    sparse_file(&folder.path().join("f.npy"), &npy_header("True"), &7f32.to_le_bytes(), bytes);
    let axes = [ROWS as u32, WIDTH as u32].map(u32::to_be_bytes).concat();
    sparse_file(&folder.path().join("a.idx"), &[&[0, 0, 13, 2][..], &axes].concat(), &7f32.to_be_bytes(), bytes);
    let limited = Command::new("sh")
        .args(["-c", "ulimit -v 300000 && exec \"$0\" --test-threads=1"])
        .arg(std::env::current_exe().unwrap())
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    assert!(limited.status.success(), "{}", String::from_utf8_lossy(&limited.stdout));
    for name in ["c.npy", "f.npy", "a.idx"] {
        let sums =
            dkae::data::npy::read(folder.path().join(format!("{name}.sums.npy")), &ReadOptions::default()).unwrap();
        assert_eq!(sums.x.dim(), (ROWS as usize, 1));
        assert_eq!((sums.x.sum(), sums.x[[ROWS as usize - 1, 0]]), (7.0, 7.0));
    }
}

fn sum_every_row(folder: &Path) {
    for name in ["c.npy", "f.npy", "a.idx"] {
        let mut source = stream::open(folder.join(name), &ReadOptions::default()).unwrap();
        let mut sink = stream::create(folder.join(format!("{name}.sums.npy")), 1, None).unwrap();
        while let Some(block) = source.next_block(20_000).unwrap() {
            sink.write(block.sum_axis(Axis(1)).insert_axis(Axis(1)).view()).unwrap();
        }
        sink.finish().unwrap();
    }
}
