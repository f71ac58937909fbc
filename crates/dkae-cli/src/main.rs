//! The command `dkae`.

fn main() {}
