//! The demo, whole: what it writes and what it reached.

#[path = "common/chromium.rs"]
mod chromium;
mod common;

use common::{done, files};

#[test]
fn the_demo_writes_a_model_a_page_and_a_figure() {
    let folder = tempfile::tempdir().unwrap();
    let value: serde_json::Value = serde_json::from_str(&done(folder.path(), "demo --json")).unwrap();
    assert_eq!(files(folder.path()), ["digits.dkae", "digits.html", "digits.png", "digits.svg"]);
    let figure = |name: &str| value["figures"][name].as_f64().unwrap();
    assert!(figure("test.reconstruction") < 0.01, "{value}");
    assert!(figure("test.code") < 0.25, "{value}");
    let parts = ["kernel", "training"].map(|part| value["seconds-of-parts"][part].as_f64().unwrap());
    assert!(parts.iter().all(|&part| part > 0.0) && parts.iter().sum::<f64>() < value["seconds"].as_f64().unwrap());
    let svg = std::fs::read_to_string(folder.path().join("digits.svg")).unwrap();
    for words in ["prior kernel", "code kernel", "from its code", "validation"] {
        assert!(svg.contains(words), "{words}");
    }
    let page = std::fs::read_to_string(folder.path().join("digits.html")).unwrap();
    assert!(page.len() < 5_000_000, "{}", page.len());
    for section in ["summary", "training", "map", "walks", "denoising", "kernels", "worst"] {
        assert!(page.contains(&format!("<section id=\"{section}\"")), "{section}");
    }
    if let Some(browser) = chromium::chromium() {
        chromium::check(&browser, &folder.path().join("digits.html"), "Handwritten digits");
    }
}
