//! A file larger than the memory a process may have is encoded block by block.
#![cfg(target_os = "linux")]

mod common;

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::process::Command;

use common::{done, stderr};
use dkae::data::read::ReadOptions;

/// 600 MB of numbers in a process that may have 400 MB, program and stacks included.
const ROWS: u64 = 600_000;
const WIDTH: u64 = 250;

fn header(rows: u64) -> Vec<u8> {
    let dictionary = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {WIDTH}), }}");
    [&b"\x93NUMPY\x01\x00"[..], &(dictionary.len() as u16).to_le_bytes(), dictionary.as_bytes()].concat()
}

#[test]
fn a_file_larger_than_memory_is_encoded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut small = header(100);
    (0..100 * WIDTH).for_each(|i| small.extend(((i * 7 % 31) as f32).to_le_bytes()));
    std::fs::write(path.join("small.npy"), small).unwrap();
    done(path, "fit small.npy --lambda 0 --layers 4,2 --pretrain 2 --steps 5 -o m.dkae");

    // Zeros but for the last number; it takes no room on the disk.
    let mut file = File::create(path.join("large.npy")).unwrap();
    file.write_all(&header(ROWS)).unwrap();
    file.set_len(header(ROWS).len() as u64 + ROWS * WIDTH * 4).unwrap();
    file.seek(SeekFrom::End(-4)).unwrap();
    file.write_all(&30f32.to_le_bytes()).unwrap();
    drop(file);
    let output = Command::new("sh")
        .args(["-c", "ulimit -v 400000 && exec \"$0\" encode m.dkae large.npy --threads 2 -o codes.npy"])
        .arg(env!("CARGO_BIN_EXE_dkae"))
        .current_dir(path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let codes = dkae::data::npy::read(path.join("codes.npy"), &ReadOptions::default()).unwrap().x;
    assert_eq!(codes.dim(), (ROWS as usize, 2));
    let first = codes.row(0);
    assert!(codes.rows().into_iter().take(ROWS as usize - 1).all(|row| row == first), "equal rows have equal codes");
    assert!(codes.row(ROWS as usize - 1) != first);
}
