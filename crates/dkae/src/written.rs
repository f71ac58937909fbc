//! Values as people write them in settings files: with the spelling of the flags, or as a table that names what a number is.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use crate::{Error, Result};

/// A number, or a share of something.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number, or a share in quotes such as \"15%\"")]
pub(crate) enum Amount {
    /// `2.5`
    Number(f64),
    /// `"2.5"` or `"15%"`
    Text(String),
    /// `{ value = 2.5 }`
    Table(BTreeMap<String, f64>),
}

impl Amount {
    /// The number and whether it is a share; `names` is what tables call the one and the other.
    pub fn read(self, setting: &'static str, names: [&str; 2]) -> Result<(f64, bool)> {
        match self {
            Amount::Number(value) => Ok((value, false)),
            Amount::Text(text) => amount(setting, &text),
            Amount::Table(table) => match only(&table) {
                Some((name, value)) if name == names[0] => Ok((value, false)),
                Some((name, value)) if name == names[1] => Ok((value, true)),
                _ => Err(Error::setting(setting, format!("expected a table with `{}` or `{}`", names[0], names[1]))),
            },
        }
    }
}

/// `2.5` or `15%` as a number and whether it is a share.
pub(crate) fn amount(setting: &'static str, text: &str) -> Result<(f64, bool)> {
    let (number, share) = text.strip_suffix('%').map_or((text, false), |number| (number, true));
    match number.trim().parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok((if share { value / 100.0 } else { value }, share)),
        _ => {
            let message = format!("expected a positive number or a share such as 15%, found '{text}'");
            Err(Error::setting(setting, message))
        }
    }
}

/// The entry of a table that has one alone.
pub(crate) fn only<T: Copy>(table: &BTreeMap<String, T>) -> Option<(&str, T)> {
    match table.len() {
        1 => table.iter().next().map(|(name, &value)| (name.as_str(), value)),
        _ => None,
    }
}

/// A name, which may be a number: of a class, a group, a column.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a name in quotes, or a number")]
pub(crate) enum Word {
    Text(String),
    Whole(i64),
    Number(f64),
}

impl From<Word> for String {
    fn from(word: Word) -> String {
        match word {
            Word::Text(text) => text,
            Word::Whole(number) => number.to_string(),
            Word::Number(number) => number.to_string(),
        }
    }
}

/// For `deserialize_with`.
pub(crate) fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<Word>::deserialize(deserializer)?.map(String::from))
}

/// For `deserialize_with`.
pub(crate) fn three_words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<[String; 3]>, D::Error> {
    Ok(Option::<[Word; 3]>::deserialize(deserializer)?.map(|words| words.map(String::from)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read::{Column, ReadOptions};
    use crate::kernel::{Floor, Width};
    use crate::recipe::Recipe;
    use crate::train::Noise;

    fn read<T: for<'a> Deserialize<'a>>(json: &str) -> Result<T, String> {
        serde_json::from_str(json).map_err(|e| e.to_string())
    }

    #[test]
    fn amounts_are_written_as_the_flags_write_them_or_as_tables() {
        for json in ["2.5", "\"2.5\"", r#"{"value": 2.5}"#] {
            assert_eq!(read(json), Ok(Width::Value(2.5)), "{json}");
        }
        for json in [r#""15%""#, r#"" 15 %""#, r#"{"median-fraction": 0.15}"#] {
            assert_eq!(read(json), Ok(Width::MedianFraction(0.15)), "{json}");
        }
        assert_eq!(read("3"), Ok(Floor::Absolute(3.0)));
        assert_eq!(read(r#""5%""#), Ok(Floor::Relative(0.05)));
        assert_eq!(read(r#"{"relative": 0.05}"#), Ok(Floor::Relative(0.05)));
        for (json, words) in [
            ("\"wide\"", "expected a positive number or a share such as 15%, found 'wide'"),
            ("\"-1\"", "found '-1'"),
            ("true", "expected a number, or a share in quotes"),
            (r#"{"fraction": 1}"#, "`value` or `median-fraction`"),
            (r#"{"value": 1, "median-fraction": 1}"#, "`value` or `median-fraction`"),
        ] {
            let message = read::<Width>(json).unwrap_err();
            assert!(message.contains(words), "{message}");
        }
    }

    #[test]
    fn noise_is_written_as_the_flag_writes_it_or_as_a_table() {
        for json in [r#""mask:0.25""#, r#"{"mask": 0.25}"#] {
            assert_eq!(read(json), Ok(Noise::Mask(0.25)), "{json}");
        }
        assert_eq!(read(r#""gauss:0.5""#), Ok(Noise::Gauss(0.5)));
        assert_eq!(read("\"none\""), Ok(Noise::None));
        for json in ["\"salt:1\"", "3", r#"{"salt": 1}"#] {
            let message = read::<Noise>(json).unwrap_err();
            assert!(message.contains("mask:SHARE"), "{message}");
        }
    }

    #[test]
    fn names_may_be_numbers() {
        assert_eq!(read("7"), Ok(Column::Number(7)));
        assert_eq!(read("\"7\""), Ok(Column::Number(7)));
        assert!(read::<Column>("0").unwrap_err().contains("counted from 1"));
        assert!(read::<Column>("true").unwrap_err().contains("a name in quotes, or a number"));
        let options: ReadOptions = read(r#"{"skip": [1, "b"], "drop-label": 3}"#).unwrap();
        assert_eq!(options.skip, [Column::Number(1), Column::Name("b".into())]);
        assert_eq!(options.drop_label.as_deref(), Some("3"));
        let recipe: Recipe = read(r#"{"split-by": [1, "b", 2.5]}"#).unwrap();
        assert_eq!(recipe.split_by, Some(["1", "b", "2.5"].map(str::to_owned)));
        assert_eq!(read::<Recipe>(r#"{"split-by": null}"#).unwrap().split_by, None);
    }
}
