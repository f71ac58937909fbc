//! What a command reads and writes, looked at before it does anything.

use std::path::{Path, PathBuf};

use super::Command;
use crate::rows::is_model;

impl Command {
    /// An output that is also an input, or another output, would be lost: nobody means that.
    pub fn refuse_overwriting(&self) -> dkae::Result<()> {
        let refuse = |flag: &'static str, path: &Path, why| {
            let message = format!("{} is also {why}, and would be lost; write to another file", path.display());
            Err(dkae::Error::setting(flag, message))
        };
        let (outputs, inputs) = self.files();
        let inputs: Vec<PathBuf> = inputs.into_iter().filter_map(|path| real(path)).collect();
        let mut written = Vec::new();
        for (flag, path, place) in outputs.iter().filter_map(|(flag, path)| Some((flag, path, real(path)?))) {
            if inputs.contains(&place) {
                return refuse(flag, path, "read");
            }
            if written.contains(&place) {
                return refuse(flag, path, "written by the same command");
            }
            written.push(place);
        }
        Ok(())
    }

    /// A model where rows or settings belong: most likely the arguments are in the wrong order.
    pub fn refuse_models(&self) -> dkae::Result<()> {
        let (model, usage) = self.usage();
        // When the model is none, whoever loads it says that the two are swapped.
        if model.is_some_and(|path| !is_model(path)) {
            return Ok(());
        }
        let (_, inputs) = self.files();
        let others = inputs.into_iter().filter(|path| !model.is_some_and(|model| std::ptr::eq(*path, model)));
        match others.into_iter().find(|path| is_model(path)) {
            None => Ok(()),
            Some(path) => {
                let message = format!("is a model, and something else was expected there; the call is: dkae {usage}");
                Err(dkae::Error::format(path, "", message))
            }
        }
    }

    /// The model that the command uses, and how it is called, in short.
    fn usage(&self) -> (Option<&PathBuf>, &'static str) {
        let used = self.model_files().map(|(files, _)| &files.model);
        match self {
            Command::Fit(_) => (None, "fit DATA -o MODEL"),
            Command::Kernel(_) => (None, "kernel DATA -o FILE"),
            Command::Embed(_) => (None, "embed DATA -o FILE"),
            Command::Align(_) => (None, "align A B"),
            Command::Encode(_) => (used, "encode MODEL DATA -o CODES"),
            Command::Decode(_) => (used, "decode MODEL CODES -o FILE"),
            Command::Reconstruct(_) => (used, "reconstruct MODEL DATA -o FILE"),
            Command::Denoise(_) => (used, "denoise MODEL DATA -o FILE"),
            Command::Walk(_) => (used, "walk MODEL DATA --from I --to J -o FILE"),
            Command::Cluster(_) => (used, "cluster MODEL DATA -o FILE"),
            Command::Report(r) => (Some(&r.model), "report MODEL DATA"),
            Command::Classify(c) => (c.model.as_ref(), "classify DATA --label COLUMN --model MODEL"),
            _ => (None, "--help"),
        }
    }

    /// What the command writes, by the flag that says so, and what it reads. The main result comes first: where two are the
    /// same it is the other that is wrong.
    fn files(&self) -> (Vec<(&'static str, PathBuf)>, Vec<&PathBuf>) {
        fn by<'a>(flag: &'static str, paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<(&'static str, PathBuf)> {
            paths.into_iter().map(|path| (flag, path.clone())).collect()
        }
        if let Some((files, reading)) = self.model_files() {
            let (figure, clean) = match self {
                Command::Walk(w) => (&w.figure, &None),
                Command::Denoise(d) => (&None, &d.fit),
                _ => (&None, &None),
            };
            return (
                [by("output", [&files.output]), by("figure", figure)].concat(),
                [&files.model, &files.data].into_iter().chain(clean).chain(&reading.labels_file).collect(),
            );
        }
        match self {
            Command::Demo(d) => (by("output", &d.files()), Vec::new()),
            Command::Fit(f) => (
                [by("output", &f.output), by("report", &f.page()), by("write-config", &f.write_config)].concat(),
                f.data.iter().chain(&f.config).chain(&f.kernel.prior).chain(&f.reading.labels_file).collect(),
            ),
            Command::Kernel(k) => (by("output", [&k.output]), k.data.iter().chain(&k.reading.labels_file).collect()),
            Command::Embed(e) => (
                [by("output", [&e.output]), by("reconstruct", &e.reconstruct), by("figure", &e.figure)].concat(),
                e.data.iter().chain(&e.on).chain(&e.reading.labels_file).collect(),
            ),
            Command::Align(a) => (Vec::new(), vec![&a.first, &a.second]),
            Command::Report(r) => (
                by("output", [&r.page()]),
                r.data.iter().chain([&r.model]).chain(&r.prior).chain(&r.reading.labels_file).collect(),
            ),
            Command::Classify(c) => (
                by("output", &c.output),
                c.data
                    .iter()
                    .chain(&c.train)
                    .chain(&c.validation)
                    .chain(&c.validation_labels)
                    .chain(&c.test)
                    .chain(&c.test_labels)
                    .chain(&c.predict)
                    .chain(&c.model)
                    .chain(&c.prior)
                    .chain(&c.reading.labels_file)
                    .collect(),
            ),
            _ => (Vec::new(), Vec::new()),
        }
    }
}

/// Where a file is or would be; nothing for what is not a plain file, such as /dev/null.
fn real(path: &Path) -> Option<PathBuf> {
    match path.canonicalize() {
        Ok(path) => path.is_file().then_some(path),
        Err(_) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(folder.canonicalize().ok()?.join(path.file_name()?))
        }
    }
}
