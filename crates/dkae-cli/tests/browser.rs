//! The report in a real browser: Chromium, headless, driven by `browser/check.mjs`, which needs nothing but Node.
//!
//! `cargo xtask test` installs both where it can. Where they are missing the tests are skipped with a line that says so,
//! but never where `CI` is `true` or `DKAE_REQUIRE_BROWSER` is `1`.

#[path = "common/chromium.rs"]
mod chromium;
mod common;

use std::path::Path;

use chromium::{check, chromium};
use common::{clouds, dkae, run, stderr};
use dkae::data::sample;

/// Arguments with spaces in them.
fn done(folder: &Path, arguments: &[&str]) {
    let output = dkae().current_dir(folder).args(arguments).output().expect("the command starts");
    assert!(output.status.success(), "dkae {arguments:?}: {}", stderr(&output));
}

const QUICK: [&str; 6] = ["--steps", "60", "--pretrain", "10", "--restarts", "2"];

/// What the script of a page reads.
fn data(page: &Path) -> String {
    let html = std::fs::read_to_string(page).unwrap();
    let start = html.split("id=\"data\">").nth(1).expect("the page has data");
    start.split("</script>").next().unwrap().to_owned()
}

#[test]
fn a_page_of_pictures_does_what_it_promises() {
    let Some(chromium) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let digits = sample::digits().select(&(0..900).collect::<Vec<_>>());
    let mut idx = vec![0, 0, 8, 3];
    [900u32, 28, 28].iter().for_each(|n| idx.extend(n.to_be_bytes()));
    idx.extend(digits.x.iter().map(|&v| v as u8));
    std::fs::write(folder.path().join("digits.idx"), idx).unwrap();
    let names: Vec<String> = digits.labels.unwrap().index.iter().map(|l| format!("digit {l}\n")).collect();
    std::fs::write(folder.path().join("names.txt"), names.concat()).unwrap();
    let fit = ["fit", "digits.idx", "--labels-file", "names.txt", "--layers", "60,30", "-o", "m.dkae", "--report"];
    done(folder.path(), &[&fit[..], &QUICK].concat());
    check(&chromium, &folder.path().join("m.html"), "digits.idx");
}

#[test]
fn names_with_html_are_text_and_a_page_made_later_is_the_same() {
    let Some(chromium) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(clouds(folder.path(), 400)).unwrap();
    // Columns, labels and the file itself are called what would be elements, would end the script, or would run.
    let text = text
        .replace("a,b,c,", "<b class=injected>a</b>,<img src=x onerror=injected=1>,</script><b class=injected>,")
        .replace("red", "<b class=injected>red</b>")
        .replace("green", "<img src=x onerror=injected=1>")
        .replace("blue", "</script><script>injected=1</script><!--<script>");
    let file = "<b class=injected>.csv";
    std::fs::write(folder.path().join(file), text).unwrap();
    let fit = ["fit", file, "--label", "kind", "-o", "m.dkae", "--report", "page.html"];
    done(folder.path(), &[&fit[..], &QUICK].concat());
    check(&chromium, &folder.path().join("page.html"), file);
    // The checks compare what is shown with what the page carries: here, that it carries the names as they are.
    let carried: serde_json::Value = serde_json::from_str(&data(&folder.path().join("page.html"))).unwrap();
    let mut classes: Vec<&str> = carried["classes"].as_array().unwrap().iter().filter_map(|c| c.as_str()).collect();
    classes.sort_unstable();
    let (run, image) = ("</script><script>injected=1</script><!--<script>", "<img src=x onerror=injected=1>");
    assert_eq!(classes, [run, "<b class=injected>red</b>", image]);
    let features = &carried["looks"]["features"]["names"];
    assert_eq!([&features[0], &features[1]], ["<b class=injected>a</b>", image]);
    assert_eq!(features[2], "</script><b class=injected>");

    // From the model and the same rows alone.
    done(folder.path(), &["report", "m.dkae", file, "--label", "kind"]);
    assert_eq!(data(&folder.path().join("m.html")), data(&folder.path().join("page.html")));
    assert!(!std::fs::read_to_string(folder.path().join("m.html")).unwrap().contains("class=\"note\""));

    // Other rows are reported on too, and the page says that they are others.
    std::fs::rename(clouds(folder.path(), 333), folder.path().join("others.csv")).unwrap();
    let text = std::fs::read_to_string(folder.path().join("others.csv")).unwrap();
    let rest = text.split_once('\n').unwrap().1;
    std::fs::write(folder.path().join("others.csv"), rest).unwrap();
    done(folder.path(), &["report", "m.dkae", "others.csv", "--label", "last", "-o", "others.html"]);
    check(&chromium, &folder.path().join("others.html"), "others.csv");
    assert!(std::fs::read_to_string(folder.path().join("others.html")).unwrap().contains("class=\"note\""));
}

#[test]
fn a_page_without_labels_and_without_a_kernel_has_what_remains() {
    let Some(chromium) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 300);
    let quick = QUICK.join(" ");
    for (model, more, kernels) in
        [("plain", "--lambda 0 --steps 60 --pretrain 10", false), ("unlabelled", quick.as_str(), true)]
    {
        let output = run(folder.path(), &format!("fit clouds.csv --skip kind -o {model}.dkae --report {more}"));
        assert!(output.status.success(), "{}", stderr(&output));
        let page = folder.path().join(format!("{model}.html"));
        check(&chromium, &page, "clouds.csv");
        let html = std::fs::read_to_string(&page).unwrap();
        assert_eq!(html.contains("<section id=\"kernels\""), kernels, "{model}");
        assert!(!html.contains("linear SVM"), "{model}");
    }
}

/// One class, and two whose long names differ at their ends; a polynomial kernel with one row far out.
#[test]
fn few_classes_and_long_names_are_shown_too() {
    let Some(chromium) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(clouds(folder.path(), 300)).unwrap();
    let all = ["red", "green", "blue"];
    let named = |names: [&str; 3]| all.iter().zip(names).fold(text.clone(), |text, (old, new)| text.replace(old, new));
    let long = |end: &str| format!("samples of the second survey of the north-western district {end}");
    std::fs::write(folder.path().join("one.csv"), named(["all"; 3])).unwrap();
    let two = named([&long("before"), &long("afterwards"), &long("afterwards")]);
    let (head, rows) = two.split_once('\n').unwrap();
    // The largest entry of the kernel is some 1e15 times the others.
    let far = rows.lines().enumerate().map(|(i, line)| match (i, line.split_once(',')) {
        (i, Some((_, rest))) if i % 100 == 7 => format!("1e5,{rest}\n"),
        _ => format!("{line}\n"),
    });
    std::fs::write(folder.path().join("two.csv"), format!("{head}\n{}", far.collect::<String>())).unwrap();
    for (name, kernel) in [("one", "cosine"), ("two", "polynomial")] {
        let (file, model) = (format!("{name}.csv"), format!("{name}.dkae"));
        let fit = ["fit", &file, "--label", "kind", "--kernel", kernel, "--layers", "20,10", "-o", &model, "--report"];
        done(folder.path(), &[&fit[..], &["--steps", "60", "--pretrain", "10"]].concat());
        check(&chromium, &folder.path().join(format!("{name}.html")), &file);
    }
    let html = std::fs::read_to_string(folder.path().join("two.html")).unwrap();
    assert!(html.contains(&format!(">{}</text>", long("before"))), "the map that stands still has whole names");
}

/// Strips of 4 x 200 pixels: a wave whose place and pace are the class.
#[test]
fn strips_are_drawn_so_that_they_can_be_seen() {
    let Some(chromium) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let rows = 300u32;
    let mut idx = vec![0, 0, 8, 3];
    [rows, 200, 4].iter().for_each(|n| idx.extend(n.to_be_bytes()));
    for i in 0..rows {
        let (class, shift) = (i % 3, f64::from(i * 7 % 40));
        idx.extend((0..800).map(|at| {
            let (x, y) = (at % 4, at / 4);
            let wave = (f64::from(y) + shift) / f64::from(10 + 12 * class);
            (127.0 + 100.0 * wave.sin() + f64::from(x * (i % 5))) as u8
        }));
    }
    std::fs::write(folder.path().join("strips.idx"), idx).unwrap();
    let names: String = (0..rows).map(|i| ["slow\n", "quick\n", "quicker\n"][i as usize % 3]).collect();
    std::fs::write(folder.path().join("names.txt"), names).unwrap();
    let fit = ["fit", "strips.idx", "--labels-file", "names.txt", "--layers", "60,30", "-o", "m.dkae", "--report"];
    done(folder.path(), &[&fit[..], &QUICK].concat());
    let page = folder.path().join("m.html");
    check(&chromium, &page, "strips.idx");
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("Pictures of 4 x 200 pixels would be strips: they are drawn wider"));
}

/// One row whose sum is a million times that of any other.
#[test]
fn a_value_far_from_all_others_leaves_their_bars_to_be_seen() {
    let Some(chromium) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(clouds(folder.path(), 400)).unwrap();
    let sum = |i: usize| if i % 100 == 50 { 2.5e7 } else { 10.0 + (i * 37 % 101) as f64 };
    let lines = text.lines().enumerate().map(|(i, line)| match i {
        0 => format!("sum,{line}\n"),
        i => format!("{},{line}\n", sum(i)),
    });
    std::fs::write(folder.path().join("sums.csv"), lines.collect::<String>()).unwrap();
    let fit = ["fit", "sums.csv", "--label", "kind", "-o", "m.dkae", "--report"];
    done(folder.path(), &[&fit[..], &QUICK].concat());
    let page = folder.path().join("m.html");
    let said = check(&chromium, &page, "sums.csv");
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("Of sum it ends before single values"), "the text says so");
    // At least one of the far rows is held out, and is among the worst.
    let arrows = said.lines().find_map(|line| line.strip_prefix("arrows: ")).and_then(|n| n.parse::<usize>().ok());
    assert!(arrows.is_some_and(|n| n > 0), "{arrows:?}");
}
