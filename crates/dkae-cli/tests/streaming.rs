//! Files whose numbers do not fit the memory a process may have are read and written block by block.
#![cfg(target_os = "linux")]

mod common;

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;

use common::{done, stderr};
use dkae::data::read::ReadOptions;
use dkae::data::stream;
use ndarray::Array2;

/// 200 MB of numbers in a process that may have 150 MB, program and stacks included.
const ROWS: usize = 200_000;
const WIDTH: usize = 250;
const LIMIT: &str = "150000";

fn header(rows: usize, width: usize) -> Vec<u8> {
    let dictionary = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {width}), }}");
    [&b"\x93NUMPY\x01\x00"[..], &(dictionary.len() as u16).to_le_bytes(), dictionary.as_bytes()].concat()
}

/// A folder with a model of rows of `width` numbers and codes of `code` numbers.
fn fitted(width: usize, code: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut small = header(100, width);
    (0..100 * width).for_each(|i| small.extend(((i * 7 % 31) as f32).to_le_bytes()));
    std::fs::write(folder.path().join("small.npy"), small).unwrap();
    done(folder.path(), &format!("fit small.npy --lambda 0 --layers 4,{code} --pretrain 2 --steps 5 -o m.dkae"));
    folder
}

/// Zeros but for the last number; they take no room on the disk.
fn large_npy(path: &Path) {
    let mut file = File::create(path).unwrap();
    file.write_all(&header(ROWS, WIDTH)).unwrap();
    file.set_len((header(ROWS, WIDTH).len() + ROWS * WIDTH * 4) as u64).unwrap();
    file.seek(SeekFrom::End(-4)).unwrap();
    file.write_all(&30f32.to_le_bytes()).unwrap();
}

fn large_csv(path: &Path) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let row = |last: &str| format!("{}{last}\n", "0,".repeat(WIDTH - 1));
    let thousand = row("0").repeat(1000);
    (1..ROWS / 1000).for_each(|_| file.write_all(thousand.as_bytes()).unwrap());
    let rest = row("0").repeat(999) + &row("30");
    file.write_all(rest.as_bytes()).unwrap();
    file.flush().unwrap();
}

fn large_parquet(path: &Path) {
    let mut sink = stream::create(path, WIDTH, None).unwrap();
    let mut block = Array2::zeros((1000, WIDTH));
    for i in 1..=ROWS / 1000 {
        block[[999, WIDTH - 1]] = if i == ROWS / 1000 { 30.0 } else { 0.0 };
        sink.write(block.view()).unwrap();
    }
    sink.finish().unwrap();
}

/// Runs the command with little memory. One arena: else each thread's allocator reserves 64 MB that it never uses.
fn run_with_little_memory(folder: &Path, arguments: &str) {
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -v {LIMIT} && exec \"$0\" {arguments} --threads 2")])
        .arg(env!("CARGO_BIN_EXE_dkae"))
        .env("MALLOC_ARENA_MAX", "1")
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments}: {}", stderr(&output));
}

/// All rows of the result but the last are equal.
fn check_rows(path: &Path, width: usize) {
    let mut source = stream::open(path, &ReadOptions::default()).unwrap();
    assert_eq!(source.width(), width);
    let (mut first, mut rows, mut different) = (None, 0, Vec::new());
    while let Some(block) = source.next_block(10_000).unwrap() {
        let first = first.get_or_insert_with(|| block.row(0).to_owned());
        different.extend((0..block.nrows()).filter(|&i| block.row(i) != *first).map(|i| rows + i));
        rows += block.nrows();
    }
    assert_eq!((rows, different), (ROWS, vec![ROWS - 1]));
}

#[test]
fn files_larger_than_memory_are_encoded_whatever_their_format() {
    let folder = fitted(WIDTH, 2);
    type Maker = fn(&Path);
    let makers: [(&str, Maker); 3] =
        [("large.npy", large_npy), ("large.csv", large_csv), ("large.parquet", large_parquet)];
    for (name, make) in makers {
        make(&folder.path().join(name));
        run_with_little_memory(folder.path(), &format!("encode m.dkae {name} -o codes.npy"));
        check_rows(&folder.path().join("codes.npy"), 2);
    }
}

#[test]
fn codes_larger_than_memory_are_decoded() {
    let folder = fitted(4, WIDTH);
    large_npy(&folder.path().join("codes.npy"));
    run_with_little_memory(folder.path(), "decode m.dkae codes.npy -o rows.npy");
    check_rows(&folder.path().join("rows.npy"), 4);
}

#[test]
fn rows_larger_than_memory_are_written() {
    let folder = fitted(WIDTH, 2);
    large_npy(&folder.path().join("large.npy"));
    run_with_little_memory(folder.path(), "encode m.dkae large.npy -o codes.csv");
    // csv is left to the codes: these rows would be half a gigabyte of text.
    for (command, output) in [
        ("decode m.dkae codes.csv", "rows.npy"),
        ("decode m.dkae codes.csv", "rows.parquet"),
        ("reconstruct m.dkae large.npy", "again.parquet"),
    ] {
        run_with_little_memory(folder.path(), &format!("{command} -o {output}"));
        check_rows(&folder.path().join(output), WIDTH);
    }
}
