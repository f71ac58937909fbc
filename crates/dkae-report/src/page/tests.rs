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
        pretrain: Length::Steps(5),
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
    let settings = Report { prices: vec![1.0], ..Report::default() };
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
        assert!(settings.attempt(subject, None, &Silent).unwrap().html().unwrap().len() > 5_000_000);
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
    let together = text(&table(), train(|train| train.pretrain = Length::Steps(0)));
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
    let own = about(&table(), quick(), |subject| Held::new(subject, 9).unwrap().numbers);
    let numbered = Table { numbers: Some((0..120).map(|i| 1000 + 2 * i).collect()), ..table() };
    let found = about(&numbered, quick(), |subject| Held::new(subject, 9).unwrap().numbers);
    assert_eq!(found, own.iter().map(|i| 1000 + 2 * i).collect::<Vec<_>>());
}

#[test]
fn settings_that_show_nothing_are_refused() {
    for settings in [Report { points: 0, ..Report::default() }, Report { prices: vec![], ..Report::default() }] {
        assert!(settings.check().is_err());
    }
}
