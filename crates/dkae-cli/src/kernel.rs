//! `dkae kernel`: the kernel matrix of the rows of a file, or its factors.
//!
//! The kernel is fitted on all rows of the file; P between the rows asked for is then written block by block, so that the
//! matrix itself is never in memory.

use std::io::Write;
use std::ops::Range;

use anyhow::Result;
use dkae::Error;
use dkae::data::atomic::AtomicFile;
use dkae::data::read::read_many;
use dkae::data::stream;
use dkae::kernel::{FittedPck, Ideal, Kernel as _, KernelSpec, Prior};
use flate2::Compression;
use flate2::write::GzEncoder;
use ndarray::{Array2, ArrayView2, Axis};
use serde_json::{Value, json};

use crate::fit::about_rows;
use crate::flags::Kernel;
use crate::rows::{say_header, shown};
use crate::screen::{self, Screen, count, stop_requested};

/// Rows of the matrix in memory at a time.
const BLOCK: usize = 256;

pub fn run(flags: &Kernel, screen: Screen) -> Result<(String, Value)> {
    let mut spec = KernelSpec::default();
    flags.kernel.apply(&mut spec)?;
    let spec = spec.with_seed(flags.seed);
    spec.check()?;
    if flags.kernel.prior.is_some() {
        return Err(Error::setting("prior", "is a kernel matrix already: there is nothing to compute").into());
    }
    if flags.factors && !matches!(spec, KernelSpec::Pck(_)) {
        return Err(Error::setting("factors", "only the probabilistic cluster kernel has sparse factors").into());
    }
    if flags.factors {
        let name = flags.output.to_string_lossy();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        if [".npy", ".npz", ".csv", ".tsv", ".parquet"].iter().any(|end| name.ends_with(end)) {
            let message = format!("factors are written as svmlight, not as {name}; call the file .svm or .svm.gz");
            return Err(Error::setting("output", message).into());
        }
    }
    // A wrong name is found out now rather than after the work.
    match flags.factors {
        true => drop(AtomicFile::create(&flags.output)?),
        false => drop(stream::create(&flags.output, 1, None)?),
    }
    let options = flags.reading.options();
    let table = screen.reading(|| read_many(&flags.data, &options))?;
    say_header(&flags.data[0], options.format, table.names.as_deref(), screen)?;
    table.warnings.iter().for_each(screen::warn);
    let rows = rows(flags.rows.as_deref(), table.len())?;
    let scaler = flags.scale.unwrap_or_default().fit(table.x.view(), table.shape)?;
    let x = scaler.apply(table.x.view())?;
    let description = if spec == KernelSpec::Ideal {
        let labels = table.labels.as_ref().ok_or_else(|| {
            Error::setting("kernel", "the ideal kernel is made of labels, and the rows have none; give --label")
        })?;
        write_matrix(&Ideal::new(&labels.index[rows.clone()]), rows.clone(), flags, screen)?;
        spec.describe()
    } else if flags.factors
        && let KernelSpec::Pck(pck) = &spec
    {
        let fitted = screen.watched("fitting the kernel", |progress| pck.fit_watched(x.view(), progress));
        let pck = fitted.map_err(|e| about_rows(e.into(), &flags.data))?;
        write_factors(&pck, x.slice(ndarray::s![rows.clone(), ..]), flags, screen)?;
        pck.describe()
    } else {
        let fitted = screen.watched("fitting the kernel", |progress| spec.fit_watched(x.view(), progress));
        let kernel = fitted.map_err(|e| about_rows(e.into(), &flags.data))?;
        let some = x.slice(ndarray::s![rows.clone(), ..]);
        let prior = screen.watched("applying it to the rows", |progress| kernel.prior_watched(some, progress))?;
        write_matrix(&*prior, rows.clone(), flags, screen)?;
        kernel.describe()
    };
    let text = format!("{description}: wrote {} to {}", count(rows.len(), "row"), flags.output.display());
    Ok((text, json!({ "kernel": description, "rows": rows.len(), "output": shown(&flags.output) })))
}

/// `10..20` among `n` rows; all of them without a range.
fn rows(range: Option<&str>, n: usize) -> Result<Range<usize>> {
    let Some(text) = range else { return Ok(0..n) };
    let bad = |why: String| Error::setting("rows", format!("expected a range such as 0..500, found '{text}'{why}"));
    let (from, to) = text.split_once("..").ok_or_else(|| bad(String::new()))?;
    let number = |text: &str, default| match text {
        "" => Ok(default),
        text => text.parse().map_err(|_| bad(String::new())),
    };
    let range = number(from, 0)?..number(to, n)?;
    if range.start >= range.end || range.end > n {
        return Err(bad(format!(", and the file has {}, counted from 0", count(n, "row"))).into());
    }
    Ok(range)
}

/// Writes the whole of a prior, which is on these rows of the file.
fn write_matrix(prior: &dyn Prior, rows: Range<usize>, flags: &Kernel, screen: Screen) -> Result<()> {
    let names: Vec<String> = rows.map(|i| format!("row{i}")).collect();
    let all: Vec<usize> = (0..names.len()).collect();
    let mut sink = stream::create(&flags.output, all.len(), Some(&names))?;
    let progress = screen.rows("writing", Some(all.len()));
    let mut block = Array2::zeros((BLOCK, all.len()));
    for some in all.chunks(BLOCK) {
        if stop_requested() {
            return Err(Error::Interrupted.into());
        }
        let mut block = block.slice_mut(ndarray::s![..some.len(), ..]);
        prior.block(some, &all, block.view_mut());
        if !block.iter().all(|v| v.is_finite()) {
            let message = "the kernel is not finite: values are so large that it overflows; scale the rows, with --scale standard";
            return Err(Error::format(&flags.data[0], "", message).into());
        }
        sink.write(block.view())?;
        progress.add(some.len());
    }
    sink.finish()?;
    progress.finish(all.len());
    Ok(())
}

/// One line per row, `index:value` from 1, as svmlight has it; `.gz` packs it.
fn write_factors(pck: &FittedPck, x: ArrayView2<f32>, flags: &Kernel, screen: Screen) -> Result<()> {
    let progress = screen.rows("writing", Some(x.nrows()));
    let packed = flags.output.extension().is_some_and(|e| e == "gz");
    let mut file = AtomicFile::create(&flags.output)?;
    let mut out: Box<dyn Write> = match packed {
        true => Box::new(GzEncoder::new(&mut file, Compression::fast())),
        false => Box::new(&mut file),
    };
    for block in x.axis_chunks_iter(Axis(0), BLOCK) {
        if stop_requested() {
            return Err(Error::Interrupted.into());
        }
        let factors = pck.posteriors(block)?;
        // P is the mean over mixtures of inner products of posteriors.
        let unit = (factors.mixtures() as f32).sqrt();
        for i in 0..block.nrows() {
            let mut line = String::from("0");
            factors.row(i).for_each(|(column, value)| line += &format!(" {}:{}", column + 1, value / unit));
            writeln!(out, "{line}").map_err(Error::io(&flags.output))?;
        }
        progress.add(block.nrows());
    }
    out.flush().map_err(Error::io(&flags.output))?;
    drop(out);
    file.commit()?;
    progress.finish(x.nrows());
    Ok(())
}
