//! Chores of this repository: `cargo xtask test` runs every test.

fn main() {}
