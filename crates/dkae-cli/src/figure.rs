//! Files of figures: the name says the format.

use std::path::Path;

use anyhow::Result;
use dkae::Error;
use dkae_report::Figure;

use crate::screen::warn;

/// Picture pixels per figure pixel in PNGs.
const SCALE: f64 = 2.0;

/// Refuses names that do not say a format.
pub fn check_name(flag: &'static str, path: &Path) -> Result<()> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("svg" | "png") => match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
                Err(Error::setting(flag, format!("{}: there is no folder {}", path.display(), folder.display())).into())
            }
            _ => Ok(()),
        },
        _ => {
            let message = format!("{}: figures are written as svg or png; name the file so", path.display());
            Err(Error::setting(flag, message).into())
        }
    }
}

/// Writes a figure as its name says.
pub fn save(path: &Path, figure: &Figure) -> Result<()> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("png") => {
            figure.save_png(path, SCALE)?;
            if let [first, more @ ..] = &figure.unreadable_texts()[..] {
                let more = if more.is_empty() { "" } else { " and other texts" };
                warn(format!(
                    "{}: letters of `{first}`{more} are drawn as boxes: the typeface of png pictures lacks them; name the \
                     file .svg to see them",
                    path.display()
                ));
            }
            Ok(())
        }
        _ => Ok(figure.save_svg(path)?),
    }
}
