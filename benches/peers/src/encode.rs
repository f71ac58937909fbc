//! Encoding 60 000 rows and decoding their codes with the paper's network, against PyTorch in inference mode.
//!
//! Both use the same weights. The peer tries several sizes of chunks first and keeps the fastest. Codes and rows of the
//! first of them are compared.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use dkae::net::Model;
use ndarray::{Array2, s};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::environment::Bench;
use crate::results::Row;
use crate::turns::{Reply, Turns, alternate, timed};
use crate::{data, step};

/// The largest difference to the largest value that is still the same in single precision.
const SAME: f32 = 1e-4;

#[derive(Clone, Serialize, Deserialize)]
pub struct Settings {
    x: PathBuf,
    rows: usize,
    model: PathBuf,
    /// Where to write the first codes and rows: `-codes.npy` and `-rows.npy` are appended.
    out: String,
    compared: usize,
}

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let (warm_up, rounds, rows) = bench.either((1, 7, 60_000), (1, 3, 2000));
    let out = |who: &str| bench.folder.join(format!("encode-{who}")).to_string_lossy().into_owned();
    let settings = Settings {
        x: bench.prepared("all.npy", |path| data::write(path, bench.digits()?.x.slice(s![..rows, ..])))?,
        rows,
        model: step::start(bench)?,
        out: out("ours"),
        compared: 500,
    };
    let theirs = Settings { out: out("theirs"), ..settings.clone() };
    let mut sides = [bench.ours("dkae", "encode", &settings)?, bench.peer("PyTorch", "encode", &theirs)?];
    let replies = alternate(&mut sides, warm_up, rounds)?;
    let mut rows = Vec::new();
    for (work, parts) in [
        ("encode 60 000 rows", &["codes"][..]),
        ("decode 60 000 codes", &["rows"]),
        ("encode and decode 60 000 rows", &["codes", "rows"]),
    ] {
        let what = parts.join(" and ");
        let mut off = 0.0f32;
        for part in parts {
            let file = |settings: &Settings| PathBuf::from(format!("{}-{part}.npy", settings.out));
            off = off.max(difference(&file(&settings), &file(&theirs), settings.compared)?);
        }
        ensure!(off < SAME, "{what} differ by {off:.1e} of the largest");
        let chunk = |part: &&str| Ok(replies[1][0].number(&format!("{part}_chunk"))?.to_string());
        let chunks = parts.iter().map(chunk).collect::<Result<Vec<_>>>()?;
        let time = |reply: &Reply| parts.iter().map(|part| reply.number(part)).sum::<Result<f64>>();
        let times = |i: usize| replies[i][warm_up..].iter().map(time).collect::<Result<Vec<f64>>>();
        let check = format!("{what} {off:.0e} apart; the peer in chunks of {}", chunks.join(" and "));
        rows.push(Row::less(work, "PyTorch, inference mode", "s", &times(0)?, &times(1)?, 1.1, &check));
    }
    Ok(rows)
}

/// The largest difference of two files over the largest value.
fn difference(a: &Path, b: &Path, rows: usize) -> Result<f32> {
    let (a, b) = (data::read(a, rows)?, data::read(b, rows)?);
    ensure!(a.iter().chain(&b).all(|v| v.is_finite()), "some are not finite");
    let largest = |x: &Array2<f32>| x.fold(0.0f32, |m, v| m.max(v.abs()));
    ensure!(largest(&b) > 0.0, "all of the peer's are zero");
    Ok(largest(&(&a - &b)) / largest(&b))
}

pub fn work(settings: Settings, turns: Turns) -> Result<()> {
    let x = data::read(&settings.x, settings.rows)?;
    let model = Model::load(&settings.model)?;
    turns.serve(|| {
        let (codes, encode) = timed(|| model.encode(x.view()));
        let codes = codes?;
        let (rows, decode) = timed(|| model.decode(codes.view()));
        let first = |x: &Array2<f32>| x.slice(s![..settings.compared, ..]).to_owned();
        data::write(Path::new(&format!("{}-codes.npy", settings.out)), first(&codes).view())?;
        data::write(Path::new(&format!("{}-rows.npy", settings.out)), first(&rows?).view())?;
        Ok((encode + decode, json!({ "codes": encode, "rows": decode })))
    })
}
