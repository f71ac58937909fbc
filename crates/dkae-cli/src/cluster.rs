//! `dkae cluster`: k-means on codes.

use anyhow::Result;
use dkae::code::KMeans;
use dkae::data::{Labels, stream, write_whole};
use ndarray::{Array2, ArrayView1};
use serde_json::{Value, json};

use crate::flags::Cluster;
use crate::rows::{Like, WIDEST_TABLE, load_model, read_like, shown, table};
use crate::screen::{Screen, count, number};

pub fn run(flags: &Cluster, screen: Screen) -> Result<(String, Value)> {
    let at = &flags.files;
    let model = load_model(&at.model, &at.data)?;
    // A wrong name is found out now rather than after the work.
    stream::create(&at.output, 1, None)?;
    let (files, options) = (std::slice::from_ref(&at.data), flags.reading.options());
    let rows = read_like(&Like::model(&at.model, &model), files, &options, screen, |x| model.encode(x))?;
    let codes = &rows.x;
    let classes = rows.labels.as_ref().map(|labels| labels.names.len());
    let clusters = flags.clusters.or(classes).unwrap_or(KMeans::default().clusters);
    let settings = KMeans { clusters, restarts: flags.restarts, seed: flags.seed, ..KMeans::default() };
    let found = screen.watched("clustering", |progress| settings.fit(codes.view(), progress))?;
    write_whole(&at.output, "cluster", &found.labels)?;

    let mut sizes = vec![0u64; clusters];
    found.labels.iter().for_each(|&c| sizes[c as usize] += 1);
    let list: Vec<String> = sizes.iter().map(u64::to_string).collect();
    let mut lines = vec![
        match sizes[..] {
            [size] => format!("1 cluster of {}", count(size as usize, "row")),
            _ => format!("{clusters} clusters of {} rows", list.join(", ")),
        },
        format!("inertia {}, {}", number(found.inertia, 6), count(found.iterations, "iteration")),
    ];
    let empty = sizes.iter().filter(|&&size| size == 0).count();
    if empty > 0 {
        let (are, codes) = (if empty == 1 { "is" } else { "are" }, count(clusters - empty, "different code"));
        lines.push(format!("{} {are} empty: there are only {codes}", count(empty, "cluster")));
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
        lines.push(format!("purity {:.2} %", 100.0 * purity));
        lines.push(if clusters <= WIDEST_TABLE {
            let top: Vec<String> = (0..clusters).map(|c| c.to_string()).collect();
            table("class \\ cluster", &labels.names, &top, &counts)
        } else {
            frequent(labels, &counts)
        });
        value["purity"] = json!(purity);
        value["classes"] = json!(labels.names);
        value["counts"] = json!(counts.rows().into_iter().map(|r| r.to_vec()).collect::<Vec<_>>());
    }
    lines.push(format!("wrote {}", at.output.display()));
    Ok((lines.join("\n"), value))
}

/// The class that is most frequent in each cluster, for more clusters than a table has room for.
fn frequent(labels: &Labels, counts: &Array2<u64>) -> String {
    let line = |(cluster, of): (usize, ArrayView1<u64>)| {
        let class = (0..of.len()).max_by_key(|&class| (of[class], std::cmp::Reverse(class)))?;
        let size = count(of.sum() as usize, "row");
        Some(format!("cluster {cluster}: {size}, {} of them {}", of[class], labels.names[class]))
    };
    counts.columns().into_iter().enumerate().filter_map(line).collect::<Vec<_>>().join("\n")
}

/// Rows of each class (rows) in each cluster (columns).
fn counts(labels: &Labels, found: &[u32], clusters: usize) -> Array2<u64> {
    let mut counts = Array2::zeros((labels.names.len(), clusters));
    labels.index.iter().zip(found).for_each(|(&class, &cluster)| counts[[class as usize, cluster as usize]] += 1);
    counts
}
