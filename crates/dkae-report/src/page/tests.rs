//! The page as a whole: every section is there, true of its data, safe to show and small enough.

use super::rows::{LETTERS, clipped};
use super::*;
use dkae::data::scale::Scale;
use dkae::data::{Shape, Table, sample};
use dkae::kernel::KernelSpec;
use dkae::math::rng::{self, Purpose};
use dkae::net::Activation;
use dkae::progress::Silent;
use dkae::recipe::Recipe;
use dkae::train::{Length, Trainer};

/// The page of a small model of some rows.
fn page(table: &Table, settings: &Report) -> Page {
    about(table, quick(), |subject| settings.gather(subject, &Silent).unwrap())
}

/// A small model.
fn quick() -> Recipe {
    let train = Trainer {
        layers: vec![20, 10],
        // Units that cannot die, whatever the rows.
        hidden: Activation::Tanh,
        code: Activation::Linear,
        steps: Length::Steps(20),
        pretrain: Some(Length::Steps(5)),
        ..Trainer::default()
    };
    Recipe { kernel: KernelSpec::Cosine, train, ..Recipe::default() }
}

/// What comes of a model of some rows.
fn about<T>(table: &Table, recipe: Recipe, work: impl FnOnce(&Subject) -> T) -> T {
    let source = Source::from(table);
    let rows = recipe.prepare(&source, &Silent).unwrap();
    let kernel = recipe.kernel(&rows, None, &Silent).unwrap();
    let priors = kernel.priors(&rows, &Silent).unwrap();
    let model = recipe.train(&source, &rows, &kernel, priors.as_ref(), None, &mut ()).unwrap();
    let times = [(TRAINING.to_owned(), Duration::from_millis(1500))];
    let subject = Subject {
        name: "</title><b>rows</b>",
        model: &model,
        source: &source,
        rows: &rows,
        priors: priors.as_ref(),
        figures: &model.about().figures,
        times: &times,
        notes: &["a <b>note</b>".to_owned()],
    };
    work(&subject)
}

fn digits(rows: usize) -> Table {
    sample::digits().select(&(0..rows).collect::<Vec<_>>())
}

/// Three features far apart in scale, and one that is always the same; classes and columns with signs in their names.
fn table() -> Table {
    let x = Array2::from_shape_fn((120, 4), |(i, j)| match j {
        0 => (i % 3) as f32 * 1000.0 + (i * 37 % 11) as f32,
        1 => (i * 17 % 29) as f32 / 1000.0,
        2 => (i * 7 % 13) as f32,
        _ => 5.0,
    });
    let names = ["</script><b>a</b>", "b & c", "\"d\"", "<!-- e"].map(str::to_owned).to_vec();
    let labels =
        Labels { index: (0..120).map(|i| i % 3).collect(), names: ["<i>x</i>", "y", "z"].map(str::to_owned).to_vec() };
    Table { x, labels: Some(labels), names: Some(names), ..Table::default() }
}

#[test]
fn the_same_model_gives_the_same_page_and_it_has_every_section() {
    let settings = Report { prices: vec![1.0], ..Report::default() };
    let made = || {
        let mut page = page(&digits(300), &settings);
        // Times are what they are; all else is the same.
        page.summary.times.iter_mut().for_each(|(_, time)| *time = Duration::from_millis(1500));
        page.html().unwrap()
    };
    let (a, b) = (made(), made());
    assert_eq!(a, b);
    for id in ["summary", "training", "map", "walks", "denoising", "kernels", "worst", "misaligned-rows"] {
        assert!(a.contains(&format!("id=\"{id}\"")), "{id}");
    }
    for words in [
        "accuracy of a linear SVM on codes",
        "on inputs",
        "to the ideal kernel",
        "training 1.5 s, encoding 300 rows 1.5 s, fitting both linear SVMs 1.5 s",
        "validation, 45 rows",
    ] {
        assert!(a.contains(words), "{words}");
    }
    // Places of the template that were not filled; numbers of the text that are none.
    let text = a.split("<script").next().unwrap();
    assert!(!text.contains("{{") && !text.contains(">NaN"));
}

#[test]
fn without_the_time_of_training_the_page_says_where_it_is_shown() {
    let (known, unknown) = about(&table(), quick(), |subject| {
        let settings = Report { prices: vec![1.0], ..Report::default() };
        let html = |times| settings.gather(&Subject { times, ..*subject }, &Silent).unwrap().html().unwrap();
        (html(subject.times), html(&[("reading".to_owned(), Duration::from_millis(300))]))
    });
    assert!(known.contains("<dd>training 1.5 s, encoding") && !known.contains("Training time"));
    assert!(unknown.contains("<dd>reading 0.3 s, encoding") && unknown.contains("<dt>Training time</dt>"));
    assert!(unknown.contains("dkae fit --report shows it"));
}

#[test]
fn names_from_data_never_become_markup() {
    let html = page(&table(), &Report { prices: vec![1.0], ..Report::default() }).html().unwrap();
    for markup in ["<b>a</b>", "<b>rows</b>", "<b>note</b>", "<i>x</i>", "<!-- e"] {
        assert!(!html.contains(markup), "{markup}");
    }
    assert!(html.contains("&lt;b&gt;note&lt;/b&gt;") && html.contains("&lt;i&gt;x&lt;/i&gt;"));
    let json = html.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    assert!(!json.contains('<'));
    let data: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(data["classes"][0], "<i>x</i>");
    assert_eq!(data["looks"]["features"]["names"][0], "</script><b>a</b>");
}

#[test]
fn pictures_become_smaller_and_then_fewer_until_they_fit() {
    let table = digits(300);
    let bytes = |page: &Page| {
        let of = |i: usize| match &page.sheets[i] {
            Sheet::Pictures { png, .. } => png.len(),
            Sheet::Features { .. } => panic!("digits are pictures"),
        };
        of(page.rows.original) + of(page.rows.restored)
    };
    let side = |page: &Page| match page.looks {
        looks::Legend::Pictures { width, .. } => width,
        looks::Legend::Features { .. } => 0,
    };
    // The worst rows come besides: one of them.
    let settings = Report { prices: vec![1.0], worst: 1, ..Report::default() };
    let whole = page(&table, &settings);
    assert_eq!((whole.rows.count, side(&whole)), (90, 28));
    let smaller = page(&table, &Report { budget: bytes(&whole) * 3 / 4, ..settings.clone() });
    assert!(smaller.rows.count == 90 && side(&smaller) < 28 && bytes(&smaller) <= bytes(&whole) * 3 / 4);
    let fewer = page(&table, &Report { budget: bytes(&whole) / 8, ..settings });
    assert!(fewer.rows.count < 90 && fewer.rows.count > 5 && side(&fewer) == 16, "{}", fewer.rows.count);
    assert!(bytes(&fewer) <= bytes(&whole) / 6, "{} of {}", bytes(&fewer), bytes(&whole));
}

#[test]
fn a_page_is_under_5_megabytes_even_of_noise_in_colour() {
    let mut noise = rng::stream(5, Purpose::Demo, 0, 0);
    let patterns = Array2::from_shape_simple_fn((4, 3 * 32 * 32), || rng::below(&mut noise, 256) as f32);
    let x =
        Array2::from_shape_fn((2450, 3 * 32 * 32), |(i, j)| patterns[[i % 4, j]] + rng::below(&mut noise, 64) as f32);
    let table = Table { x, shape: Shape::Image { channels: 3, height: 32, width: 32 }, ..Table::default() };
    // By feature, so that the mean of the patterns, and with it whatever is decoded, is noise too.
    let recipe = Recipe { scale: Scale::Standard, ..quick() };
    about(&table, recipe, |subject| {
        let settings = Report { budget: 50_000_000, ..Report::default() };
        let page = settings.gather(subject, &Silent).unwrap();
        let bytes = page.html().unwrap().len();
        assert!(bytes < 5_000_000 && page.rows.count > 100, "{bytes} bytes, {} rows", page.rows.count);
        // Or nothing would have been put to the test.
        let ranked = Ranked::new(subject, settings.worst, &Silent).unwrap();
        assert!(settings.attempt(subject, None, &ranked, &Silent).unwrap().html().unwrap().len() > 5_000_000);
    });
}

#[test]
fn names_as_long_as_texts_are_cut() {
    let x = Array2::from_shape_fn((120, 300), |(i, j)| ((i * 31 + j * j * 17 + i * j) % 101) as f32);
    let names = (0..300).map(|j| format!("{j}{}", "<".repeat(20_000))).collect();
    let labels = Labels {
        index: (0..120).map(|i| i % 3).collect(),
        names: (0..3).map(|k| format!("{k}{}", "é".repeat(1_000_000))).collect(),
    };
    let table = Table { x, labels: Some(labels), names: Some(names), ..Table::default() };
    let page = page(&table, &Report { prices: vec![1.0], ..Report::default() });
    assert_eq!(page.rows.count, 36);
    assert_eq!(page.classes[1], format!("1{}…", "é".repeat(LETTERS - 2)));
    assert!(page.html().unwrap().len() < 1_500_000);
    assert_eq!(clipped(&"a".repeat(LETTERS)), "a".repeat(LETTERS));
}

#[test]
fn thousands_of_classes_are_not_shown_and_cost_no_time() {
    let rows = 6000;
    let x = Array2::from_shape_fn((rows, 4), |(i, j)| ((i * 37 + j * 101) % (97 + j)) as f32);
    let labels = Labels { index: (0..rows as u32).collect(), names: (0..rows).map(|i| format!("name {i}")).collect() };
    let table = Table { x, labels: Some(labels), ..Table::default() };
    about(&table, quick(), |subject| {
        let start = std::time::Instant::now();
        let page = Report::default().gather(subject, &Silent).unwrap();
        let html = page.html().unwrap();
        // One machine for each class took minutes; without them it is a second or two.
        assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
        assert!(page.summary.accuracies.is_none() && page.classes.is_empty());
        assert_eq!(page.rows.classes.len(), 0);
        assert!(html.contains("The rows have 6000 classes") && html.contains("sorted by cluster"));
        assert!(!html.contains("name 17"));
    });
}

/// The text of the page of a model that was made in another way.
fn text(table: &Table, recipe: Recipe) -> String {
    about(table, recipe, |subject| {
        let html = Report { prices: vec![1.0], ..Report::default() }.gather(subject, &Silent).unwrap().html().unwrap();
        html.split("<script").next().unwrap().to_owned()
    })
}

#[test]
fn captions_are_true_of_the_data() {
    let train = |change: fn(&mut Trainer)| {
        let mut recipe = quick();
        change(&mut recipe.train);
        recipe
    };
    let usual = text(&table(), quick());
    for words in ["held-out rows", "Each layer was first trained by itself", "are dashed", "codes of 10 numbers"] {
        assert!(usual.contains(words), "{words}");
    }
    let whole = text(&table(), Recipe { split: [1.0, 0.0, 0.0], ..quick() });
    assert!(!whole.contains("held-out") && whole.contains("The training rows farthest"));
    assert!(!whole.contains("dashed") && whole.contains("no validation rows"));
    let together = text(&table(), train(|train| train.pretrain = Some(Length::Steps(0))));
    assert!(!together.contains("by itself, then") && together.contains("trained together from the start"));
    let plain = text(&table(), train(|train| train.lambda = 0.0));
    assert!(plain.contains("not aligned with a kernel") && !plain.contains("L_c is the distance"));
    let narrow = text(&table(), train(|train| train.layers = vec![5, 1]));
    assert!(narrow.contains("codes of 1 number,") && narrow.contains("A code is one number"));
    assert!(!narrow.contains("two principal components"));
}

#[test]
fn tables_that_stand_still_name_rows_classes_and_errors_and_walks_go_all_the_way() {
    let page = text(&table(), quick());
    for words in ["squared error", "times the mean", "alignment", "<caption>row ", ", class y", "100 %</th>"] {
        assert!(page.contains(words), "{words}");
    }
    // 120 rows, of which 18 are for testing and 18 for validation.
    assert!(page.contains("36 rows are drawn."), "the map says how many rows it has");
}

#[test]
fn rows_have_the_numbers_of_their_file() {
    let own = about(&table(), quick(), |subject| Held::new(subject, 9, &[]).unwrap().numbers);
    let numbered = Table { numbers: Some((0..120).map(|i| 1000 + 2 * i).collect()), ..table() };
    let found = about(&numbered, quick(), |subject| Held::new(subject, 9, &[]).unwrap().numbers);
    assert_eq!(found, own.iter().map(|i| 1000 + 2 * i).collect::<Vec<_>>());
}

/// Errors row by row and alignments entry by entry, over all rows of both parts; the page has room for 7 of the 36.
#[test]
fn the_worst_of_all_held_out_rows_are_listed_worst_first_wherever_they_are() {
    let settings = Report { points: 7, worst: 9, prices: vec![1.0], ..Report::default() };
    about(&table(), quick(), |subject| {
        let page = settings.gather(subject, &Silent).unwrap();
        let (net, split) = (subject.model.net(), &subject.rows.split);
        let mut wanted: Vec<(f64, u32)> = Vec::new();
        for (part, own) in [(2, &split.test), (1, &split.validation)] {
            for (x, &number) in subject.rows.parts[part].rows().into_iter().zip(own) {
                let back = net.decode(net.encode(x.insert_axis(Axis(0))).unwrap().view()).unwrap();
                let error = x.iter().zip(&back).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>() / x.len() as f64;
                wanted.push((error, number as u32));
            }
        }
        let mean = wanted.iter().map(|w| w.0).sum::<f64>() / 36.0;
        assert_eq!(wanted.len(), 36);
        wanted.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (numbers, errors) = (page.rows.numbers.read_u32s(), page.rows.errors.read_f32s());
        let listed: Vec<u32> = page.worst.reconstructed.iter().map(|&i| numbers[i]).collect();
        assert_eq!(listed, wanted[..9].iter().map(|w| w.1).collect::<Vec<_>>());
        // Some of them were not among the first seven, and come from both parts.
        assert!(page.rows.count > 7 && page.rows.regular == 7 && numbers.len() == page.rows.count);
        assert!(split.validation.iter().any(|&i| listed.contains(&(i as u32))));
        assert!(split.test.iter().any(|&i| listed.contains(&(i as u32))));
        for (&i, wanted) in page.worst.reconstructed.iter().zip(&wanted) {
            assert!((f64::from(errors[i]) - wanted.0).abs() < 1e-5 * wanted.0);
        }
        assert!((page.worst.mean_error - mean).abs() < 1e-5 * mean);
        let html = page.html().unwrap();
        assert!(html.contains("farthest from their reconstruction, of all 18 test and 18 validation rows"));
        assert!(html.contains("Of the first 7 of 18 test rows these have the lowest"));
        // The script knows the part of every row, those that come last too.
        let parts = page.rows.parts.iter().flat_map(|&(name, count)| vec![name; count]).collect::<Vec<_>>();
        for (number, part) in numbers.iter().zip(parts) {
            let own = if part == "test" { &split.test } else { &split.validation };
            assert!(own.contains(&(*number as usize)), "{number} {part}");
        }
    });
}

#[test]
fn the_least_aligned_are_those_of_every_part_on_the_page() {
    let settings = Report { points: 30, worst: 30, prices: vec![1.0], ..Report::default() };
    about(&table(), quick(), |subject| {
        let held = Held::new(subject, settings.points, &[(1, 15)]).unwrap();
        assert_eq!((held.pieces(), held.x.nrows()), (vec![(2, 0, 18), (1, 18, 12)], 31));
        let page = settings.gather(subject, &Silent).unwrap();
        let codes = encode(subject.model, held.x.view()).unwrap();
        let mut wanted = Vec::new();
        for (part, start, count) in held.pieces() {
            let own: Vec<usize> = (0..count).collect();
            let mut p = Array2::zeros((count, count));
            subject.priors.unwrap()[part].block(&own, &own, p.view_mut());
            let of = |i: usize| codes.row(start + i).mapv(f64::from);
            for i in 0..count {
                let c: Vec<f64> = own.iter().map(|&j| of(i).dot(&of(j))).collect();
                let p: Vec<f64> = p.row(i).iter().map(|&v| f64::from(v)).collect();
                let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                wanted.push((dot(&c, &p) / (dot(&c, &c) * dot(&p, &p)).sqrt(), start + i));
            }
        }
        wanted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let found: Vec<usize> = page.worst.misaligned.iter().map(|m| m.row).collect();
        assert_eq!(found, wanted.iter().map(|w| w.1).collect::<Vec<_>>());
        for m in &page.worst.misaligned {
            let own = |row: usize| (row < 18) == (m.row < 18);
            assert!(own(m.by_prior) && own(m.by_codes) && m.by_codes != m.row, "{m:?}");
        }
        let words = "Of all 18 test rows and the first 12 of 18 validation rows these have the lowest";
        assert!(page.html().unwrap().contains(words));
    });
}

#[test]
fn thousands_of_rows_are_on_the_map() {
    let rows = 12_000;
    let x = Array2::from_shape_fn((rows, 3), |(i, j)| ((i * (37 + j) + i * i % 97) % (101 + 7 * j)) as f32);
    let labels =
        Labels { index: (0..rows as u32).map(|i| i % 5).collect(), names: (0..5).map(|k| k.to_string()).collect() };
    let table = Table { x, labels: Some(labels), ..Table::default() };
    about(&table, quick(), |subject| {
        let page = Report { prices: vec![1.0], ..Report::default() }.gather(subject, &Silent).unwrap();
        let (held, count) = (3600, page.rows.count);
        assert!(page.rows.regular == 3000 && (3000..=3012).contains(&count), "{count}");
        for packed in [&page.map.x, &page.map.y, &page.rows.classes] {
            assert_eq!(packed.read_u16s().len(), count);
        }
        assert_eq!((page.rows.numbers.read_u32s().len(), page.rows.errors.read_f32s().len()), (count, count));
        let mut numbers = page.rows.numbers.read_u32s();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count, "every row is there once");
        let html = page.html().unwrap();
        assert!(html.contains(&format!("The first 1000 of the {count} rows are drawn.")) && html.len() < 5_000_000);
        assert!(html.contains("of all 1800 test and 1800 validation rows") && held == 1800 + 1800);
        assert!(html.contains("Of all 1800 test rows and the first 1200 of 1800 validation rows these"));
    });
}

/// Another machine, fitted here, on inputs and on codes: swapped, both would be another's.
#[test]
fn accuracies_are_those_of_inputs_and_of_codes() {
    use dkae::Classify;
    use dkae::baseline::svm::LinearSvm;
    let mut recipe = quick();
    // One number tells less of three classes than the rows do.
    recipe.train.layers = vec![5, 1];
    let train = recipe.train.clone();
    about(&digits(400), Recipe { train, ..recipe }, |subject| {
        let settings = Report { prices: vec![0.1], ..Report::default() };
        let (rows, labels) = (subject.rows, classes(subject.rows).unwrap());
        let accuracy = |x: [Array2<f32>; 2]| {
            let svm = LinearSvm { c: 0.1, seed: settings.seed, ..LinearSvm::default() };
            let found = svm.fit(x[0].view(), &labels[0].index).unwrap().classify(x[1].view()).unwrap();
            found.iter().zip(&labels[2].index).filter(|(a, b)| a == b).count() as f64 / found.len() as f64
        };
        let inputs = accuracy([rows.parts[0].clone(), rows.parts[2].clone()]);
        let codes = accuracy([0, 2].map(|part| encode(subject.model, rows.parts[part].view()).unwrap()));
        assert!(inputs > codes + 0.1, "{inputs} {codes}");
        let page = settings.gather(subject, &Silent).unwrap();
        let found = page.summary.accuracies.unwrap();
        assert_eq!((found.inputs, found.codes, found.learned, found.tested), (inputs, codes, 280, 60));
    });
}

#[test]
fn units_are_told_beside_tables_and_not_beside_pictures() {
    let seen = "as the network sees rows (each feature to mean 0 and deviation 1)";
    let scaled = Recipe { scale: Scale::Standard, ..quick() };
    let page = text(&table(), scaled);
    for section in ["denoising", "worst"] {
        let own = page.split(&format!("<section id=\"{section}\"")).nth(1).unwrap().split("</section>").next().unwrap();
        assert!(own.contains(seen), "{section}");
    }
    let pictures = text(&digits(300), quick());
    assert!(!pictures.contains("as the network sees rows ("));
    // Pictures of decoded points stand still, six by six of 28 pixels and a gap of two.
    let map = pictures.split("id=\"map\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(
        map.contains("What the decoder makes of points spread evenly") && map.contains("Grid of pictures, 6 across")
    );
    assert!(map.contains(": the decoder sees no more than that") && !map.contains("hidden>: the decoder sees"));
    // Of tables there are none, and what is said of them is for whoever sees the live map.
    let map = page.split("id=\"map\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(!map.contains("Grid of pictures") && map.contains("<span class=\"live\" hidden>: the decoder sees"));
    assert!(map.contains("<span class=\"live\" hidden> A bar runs"));
}

#[test]
fn walks_of_pictures_name_their_clusters() {
    let page = text(&digits(300), quick());
    let walks = page.split("id=\"walks\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(walks.contains(">cluster 1 to 2</text>") && walks.contains("<p class=\"small\">Cluster 1: "));
    // Five clusters are in the figure.
    assert!(walks.contains("; cluster 5: ") && !walks.contains("cluster 6"));
}

#[test]
fn names_that_begin_alike_have_a_key_below_the_map() {
    let mut table = table();
    let names = ["one", "two", "three"].map(|end| format!("{}{end}", "a long beginning, ".repeat(6)));
    table.labels = Some(Labels { names: names.to_vec(), ..table.labels.unwrap() });
    let page = text(&table, quick());
    for name in &names {
        assert!(page.contains(&format!("<span>{name}</span></li>")), "{name}");
    }
    assert!(!text(&self::table(), quick()).contains("class=\"key\""));
}

#[test]
fn settings_that_show_nothing_are_refused() {
    for settings in [Report { points: 0, ..Report::default() }, Report { prices: vec![], ..Report::default() }] {
        assert!(settings.check().is_err());
    }
}
