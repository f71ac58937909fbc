//! `dkae cluster`: k-means on codes.

use anyhow::Result;
use dkae::code::KMeans;
use dkae::data::{Labels, stream};
use ndarray::Array2;
use serde_json::{Value, json};

use crate::flags::Cluster;
use crate::rows::{Like, load_model, read_like, shown, table};
use crate::screen::Screen;

pub fn run(flags: &Cluster, screen: Screen) -> Result<(String, Value)> {
    let at = &flags.files;
    let model = load_model(&at.model, &at.data)?;
    let mut sink = stream::create(&at.output, 1, Some(&["cluster".to_owned()]))?;
    let (files, options) = (std::slice::from_ref(&at.data), flags.reading.options());
    let rows = read_like(&Like::model(&at.model, &model), files, &options, screen, |x| model.encode(x))?;
    let codes = &rows.x;
    let classes = rows.labels.as_ref().map(|labels| labels.names.len());
    let clusters = flags.clusters.or(classes).unwrap_or(KMeans::default().clusters);
    let settings = KMeans { clusters, restarts: flags.restarts, seed: flags.seed, ..KMeans::default() };
    let found = screen.watched("clustering", |progress| settings.fit(codes.view(), progress))?;
    sink.write(Array2::from_shape_fn((found.labels.len(), 1), |(i, _)| found.labels[i] as f32).view())?;
    sink.finish()?;

    let mut sizes = vec![0u64; clusters];
    found.labels.iter().for_each(|&c| sizes[c as usize] += 1);
    let list: Vec<String> = sizes.iter().map(u64::to_string).collect();
    let mut lines = vec![
        format!("{clusters} clusters of {} rows", list.join(", ")),
        format!("inertia {:.6}, {} iterations", found.inertia, found.iterations),
    ];
    let empty = sizes.iter().filter(|&&size| size == 0).count();
    if empty > 0 {
        lines.push(format!("{empty} clusters are empty: there are only {} different codes", clusters - empty));
    }
    if !found.converged {
        lines.push("the best start had not come to rest at its last iteration".into());
    }
    let mut value = json!({
        "clusters": clusters, "sizes": sizes, "inertia": found.inertia, "iterations": found.iterations,
        "converged": found.converged, "output": shown(&at.output),
    });
    if let Some(labels) = &rows.labels {
        let counts = counts(labels, &found.labels, clusters);
        // The share of rows in the class that is most frequent in their cluster.
        let purity = counts.columns().into_iter().map(|c| c.iter().max().copied().unwrap_or(0)).sum::<u64>() as f64
            / found.labels.len() as f64;
        let top: Vec<String> = (0..clusters).map(|c| c.to_string()).collect();
        lines.push(format!("purity {:.2} %", 100.0 * purity));
        lines.push(table("class \\ cluster", &labels.names, &top, &counts));
        value["purity"] = json!(purity);
        value["classes"] = json!(labels.names);
        value["counts"] = json!(counts.rows().into_iter().map(|r| r.to_vec()).collect::<Vec<_>>());
    }
    lines.push(format!("wrote {}", at.output.display()));
    Ok((lines.join("\n"), value))
}

/// Rows of each class (rows) in each cluster (columns).
fn counts(labels: &Labels, found: &[u32], clusters: usize) -> Array2<u64> {
    let mut counts = Array2::zeros((labels.names.len(), clusters));
    labels.index.iter().zip(found).for_each(|(&class, &cluster)| counts[[class as usize, cluster as usize]] += 1);
    counts
}
