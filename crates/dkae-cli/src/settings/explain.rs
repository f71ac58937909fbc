//! What is wrong with a value in a settings file, for people: the key, what was expected, what is there, an example.
//!
//! The reader of TOML speaks of types (`invalid type: string "x", expected f32`); here its words become plain ones.

use std::fmt;

/// A value that is not what its key takes.
#[derive(Debug)]
pub struct WrongValue {
    /// The key with its table, as in `[train] lambda`.
    key: String,
    message: String,
}

impl fmt::Display for WrongValue {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.message)
    }
}

impl std::error::Error for WrongValue {}

/// An error of the reader of TOML, explained; as it is when it names no key.
pub fn explain(error: toml::de::Error) -> anyhow::Error {
    let text = error.to_string();
    // The key is on a line of its own, after the message.
    let path = text.lines().find_map(|line| line.trim().strip_prefix("in `")?.strip_suffix('`'));
    let Some(path) = path else { return error.into() };
    // Kernels in a sum are as those that stand alone.
    let path = path.strip_prefix("kernel.sum.parts.").filter(|rest| rest.starts_with("kernel")).unwrap_or(path);
    let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
    let example = EXAMPLES.iter().find(|(place, name, _)| (*place, *name) == (table, key));
    let example = example.map_or(String::new(), |(_, _, value)| format!("; for example: {key} = {value}"));
    let message = format!("{}{example}", plain(error.message()));
    WrongValue { key: named(table, key), message }.into()
}

/// A key with its table.
pub fn named(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("[{table}] {key}") }
}

/// The reader's words in plain ones.
fn plain(message: &str) -> String {
    let message = message.trim();
    let wrong = ["invalid type: ", "invalid value: ", "invalid "].iter().find_map(|start| message.strip_prefix(start));
    if let Some((found, expected)) = wrong.and_then(|rest| rest.rsplit_once(", expected ")) {
        return format!("expected {}, found {}", kind(expected), value(found));
    }
    let unknown = message.strip_prefix("unknown variant ").or_else(|| message.strip_prefix("unknown field "));
    if let Some((found, expected)) = unknown.and_then(|rest| rest.split_once(", expected ")) {
        return format!("expected {}, found {}", expected.replace('`', ""), found.replace('`', "'"));
    }
    // The library's own messages begin with the name of a setting, which is said already.
    match message.split_once(": ") {
        Some((name, rest)) if !name.contains(' ') => rest.to_owned(),
        _ => message.to_owned(),
    }
}

/// What a type of the reader is called.
fn kind(expected: &str) -> &str {
    match expected {
        "u64" | "u32" | "usize" => "a whole number from 0 up",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" | "path string" | "string only" => "text in quotes",
        "a character" => "a single character in quotes",
        "a sequence" => "a list",
        "an array of length 3" => "a list of three values",
        other if other.starts_with("struct ") || other == "map" => "a table",
        other => other,
    }
}

/// What was found: the value itself, without its type.
fn value(found: &str) -> String {
    match found.split_once('`').and_then(|(_, rest)| rest.strip_suffix('`')) {
        Some(value) => value.to_owned(),
        None => match found.split_once(' ') {
            Some(("string", text)) => format!("the text {text}"),
            Some(("length", count)) => count.to_owned(),
            _ => match found {
                "map" => "a table".to_owned(),
                "sequence" => "a list".to_owned(),
                // Said of anything but text where a name was expected.
                "unit variant" => "something else".to_owned(),
                other => other.to_owned(),
            },
        },
    }
}

/// A value for every key: its table, the key, the value as TOML has it.
const EXAMPLES: [(&str, &str, &str); 54] = [
    ("", "seed", "7"),
    ("", "take", "20000"),
    ("", "split", "[0.7, 0.15, 0.15]"),
    ("", "split-by", "[3, 1, 2]"),
    ("", "svd", "20"),
    ("", "scale", "\"standard\""),
    ("", "kernel", "\"rbf\""),
    ("", "train", "{ lambda = 0.1 }"),
    ("", "data", "{ label = \"class\" }"),
    ("", "prior", "\"p.npy\""),
    ("", "checkpoint-every", "500"),
    ("data", "format", "\"csv\""),
    ("data", "label", "\"class\""),
    ("data", "labels-file", "\"labels.txt\""),
    ("data", "group", "\"image\""),
    ("data", "header", "true"),
    ("data", "delimiter", "\";\""),
    ("data", "skip", "[\"id\", 3]"),
    ("data", "drop-label", "\"unknown\""),
    ("data", "allow-missing", "true"),
    ("data", "array", "\"x\""),
    ("data", "width", "5000"),
    ("data", "dense-limit", "2147483648"),
    ("train", "layers", "[500, 500, 2000]"),
    ("train", "hidden", "\"relu\""),
    ("train", "code", "\"linear\""),
    ("train", "output", "\"sigmoid\""),
    ("train", "tied", "true"),
    ("train", "lambda", "0.1"),
    ("train", "batch", "200"),
    ("train", "batches", "\"permutation\""),
    ("train", "init", "\"mirrored\""),
    ("train", "pretrain", "300"),
    ("train", "steps", "3000"),
    ("train", "rate", "0.001"),
    ("train", "schedule", "\"cosine\""),
    ("train", "clip", "1.0"),
    ("train", "weight-decay", "0.15"),
    ("train", "noise", "\"mask:0.2\""),
    ("train", "validate-every", "250"),
    ("train", "validation-rows", "4000"),
    ("train", "patience", "10"),
    ("kernel.pck", "restarts", "30"),
    ("kernel.pck", "max-components", "30"),
    ("kernel.pck", "subset", "200"),
    ("kernel.pck", "covariance", "\"diagonal\""),
    ("kernel.pck", "floor", "\"5%\""),
    ("kernel.pck", "start", "\"random\""),
    ("kernel.pck", "tolerance", "0.001"),
    ("kernel.pck", "max-iterations", "100"),
    ("kernel.rbf", "width", "\"15%\""),
    ("kernel.polynomial", "degree", "3"),
    ("kernel.polynomial", "gamma", "0.5"),
    ("kernel.polynomial", "offset", "1.0"),
];

#[cfg(test)]
mod tests {
    use super::super::file::tables;
    use super::*;
    use crate::settings::Settings;

    fn place(table: &str, key: &str, value: &str) -> String {
        if table.is_empty() { format!("{key} = {value}\n") } else { format!("[{table}]\n{key} = {value}\n") }
    }

    #[test]
    fn every_key_has_an_example_that_can_be_read() {
        for (table, keys) in tables() {
            // Kernels are values of the key `kernel`; the parts of a sum are explained by its text; the seed is at the top.
            let none = |key: &str| table == "kernel" || table == "kernel.sum" || (key == "seed" && !table.is_empty());
            for key in keys.iter().filter(|key| !none(key)) {
                let found = EXAMPLES.iter().find(|(place, name, _)| (*place, *name) == (table, key));
                assert!(found.is_some(), "[{table}] {key} has no example");
            }
        }
        for (table, key, value) in EXAMPLES {
            let text = place(table, key, value);
            assert!(Settings::parse(&text).is_ok(), "{text}: {:?}", Settings::parse(&text).err());
        }
    }

    /// Of all keys, so that a change of the reader's words does not pass unseen.
    #[test]
    fn a_value_of_a_wrong_kind_is_explained_with_its_key_and_an_example() {
        for (table, key, example) in EXAMPLES {
            let text = place(table, key, if example == "true" { "3" } else { "true" });
            let said = Settings::parse(&text).unwrap_err().to_string();
            let words = format!("{}: expected ", named(table, key));
            assert!(said.starts_with(&words) && said.ends_with(&format!("; for example: {key} = {example}")), "{said}");
            for jargon in ["invalid", "struct", "usize", "u64", "f32", "variant", "sequence", "boolean"] {
                assert!(!said.contains(jargon), "{said}");
            }
        }
    }

    #[test]
    fn messages_say_what_was_expected_and_what_is_there() {
        for (text, said) in [
            (
                "seed = 'seven'",
                "seed: expected a whole number from 0 up, found the text \"seven\"; for example: seed = 7",
            ),
            ("seed = -1", "seed: expected a whole number from 0 up, found -1; for example: seed = 7"),
            (
                "split = [0.5, 0.5]",
                "split: expected a list of three values, found 2; for example: split = [0.7, 0.15, 0.15]",
            ),
            (
                "[train]\nlambda = 'x'",
                "[train] lambda: expected a number, found the text \"x\"; for example: lambda = 0.1",
            ),
            (
                "[train]\ntied = 'yes'",
                "[train] tied: expected true or false, found the text \"yes\"; for example: tied = true",
            ),
            (
                "[train]\nhidden = 'swish'",
                "[train] hidden: expected one of sigmoid, tanh, relu, linear, found 'swish'; for example: hidden = \"relu\"",
            ),
            (
                "[train]\nsteps = 'many'",
                "[train] steps: expected a number of steps, or '100 paper-epochs', found 'many'; for example: steps = 3000",
            ),
            (
                "[kernel.rbf]\nwidth = 'wide'",
                "[kernel.rbf] width: expected a positive number or a share such as 15%, found 'wide'; for example: \
                 width = \"15%\"",
            ),
            (
                "[[kernel.sum.parts]]\nweight = 1.0\n[kernel.sum.parts.kernel.pck]\nsubset = 'all'",
                "[kernel.pck] subset: expected a whole number from 0 up, found the text \"all\"; for example: subset = 200",
            ),
            (
                "[data]\nskip = 'a'",
                "[data] skip: expected a list, found the text \"a\"; for example: skip = [\"id\", 3]",
            ),
        ] {
            assert_eq!(Settings::parse(text).unwrap_err().to_string(), said);
        }
    }
}
