//! `dkae encode`, `decode` and `reconstruct`: a file in, a file out, block by block.

use anyhow::{Context, Result};
use dkae::Error;
use dkae::data::stream;
use ndarray::{Array2, ArrayView2};
use serde_json::json;

use crate::flags::Convert;
use crate::rows::{Like, load_model, say_header, shown, together};
use crate::screen::{self, Screen, count, stop_requested};

/// What to do to the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Encode,
    Decode,
    Reconstruct,
}

pub fn run(
    Convert { files: flags, reading }: &Convert,
    direction: Direction,
    screen: Screen,
) -> Result<serde_json::Value> {
    let model = load_model(&flags.model, &flags.data)?;
    let (input, output, name): (_, _, fn(usize) -> String) = match direction {
        Direction::Encode => (model.input_width(), model.code_width(), |i| format!("code{}", i + 1)),
        Direction::Decode => (model.code_width(), model.input_width(), |i| format!("feature{}", i + 1)),
        Direction::Reconstruct => (model.input_width(), model.input_width(), |i| format!("feature{}", i + 1)),
    };
    let mut options = reading.options();
    // A sparse file of few rows may not mention the last words of the vocabulary.
    options.width = options.width.or((direction != Direction::Decode).then_some(input));
    let mut source = stream::open(&flags.data, &options)?;
    let like = Like { width: input, ..Like::model(&flags.model, &model) };
    if direction == Direction::Decode {
        like.check_width(&flags.data, source.width(), "codes")?;
    } else {
        like.check_width(&flags.data, source.width(), "rows")?;
        like.check_names(&flags.data, source.names())?;
    }
    say_header(&flags.data, options.format, source.names(), screen)?;
    let names: Vec<String> = match &model.about().names {
        Some(names) if direction != Direction::Encode => names.clone(),
        _ => (0..output).map(name).collect(),
    };
    let convert = |x: ArrayView2<f32>| -> dkae::Result<Array2<f32>> {
        match direction {
            Direction::Encode => model.encode(x),
            Direction::Decode => model.decode(x),
            Direction::Reconstruct => model.reconstruct(x),
        }
    };
    let verb = match direction {
        Direction::Encode => "encoding",
        Direction::Decode => "decoding",
        Direction::Reconstruct => "reconstructing",
    };
    let mut sink = stream::create(&flags.output, output, Some(&names))?;
    let progress = screen.rows(verb, source.rows_hint());
    let (mut rows, mut missing) = (0, 0);
    let mut seen = like.seen().filter(|_| direction != Direction::Decode);
    let together = together(source.width(), &options);
    while let Some(block) = source.next_block(together)? {
        if stop_requested() {
            return Err(Error::Interrupted.into());
        }
        if direction != Direction::Decode {
            like.check_counts(&flags.data, rows, block.view())?;
        }
        seen.iter_mut().for_each(|seen| seen.look(block.view()));
        missing += block.rows().into_iter().filter(|row| !row.iter().all(|v| v.is_finite())).count();
        sink.write(convert(block.view())?.view())?;
        rows += block.nrows();
        progress.add(block.nrows());
    }
    if rows == 0 {
        return Err(Error::format(&flags.data, "", "the file has no rows").into());
    }
    source.warnings().iter().for_each(screen::warn);
    seen.and_then(|seen| seen.warning(&like, &flags.data)).iter().for_each(screen::warn);
    sink.finish().with_context(|| "the result was not written")?;
    if missing > 0 {
        let file = flags.data.display();
        screen::warn(format!("{file}: {missing} of {} have missing values; their results are NaN", count(rows, "row")));
    }
    progress.finish(rows);
    Ok(json!({ "rows": rows, "columns": output, "output": shown(&flags.output) }))
}
