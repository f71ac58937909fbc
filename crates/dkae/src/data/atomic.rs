//! Files that appear whole or not at all.
//!
//! Bytes go to a temporary file in the same folder; when all are written it is flushed to the disk and renamed to its
//! final name, which replaces an older file in one step. A writer that is dropped before that takes its temporary file
//! away with it. So neither a crash nor a full disk leaves half a file under the name the user gave.
//!
//! A process that is killed cannot take its temporary file away; the next writer of the same name does. It knows such a
//! file by its name and by its lock: a writer holds one on its temporary file, and the system lets go of it when the
//! process ends, however it ends.
//!
//! A path that is not a regular file (`/dev/stdout`, a pipe) cannot be renamed over and is written to directly.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempPath};

use crate::{Error, Result};

/// A file being written, which takes its final name at [`AtomicFile::commit`].
#[derive(Debug)]
pub struct AtomicFile {
    file: BufWriter<File>,
    /// The temporary name, removed when dropped; none when the target is written to directly.
    temporary: Option<TempPath>,
    /// The name to take: symbolic links resolved, so that a link keeps pointing at the new file.
    target: PathBuf,
    /// The name the user gave, for messages.
    path: PathBuf,
}

/// What the random part of a temporary name begins with, so that no other file looks like one.
const MARK: &str = "dkae";
/// Random characters after it.
const RANDOM: usize = 6;

/// The folder and the beginning of the temporary names of `target`.
fn temporary_names(target: &Path) -> Option<(&Path, String)> {
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    Some((folder, format!(".{}.{MARK}", target.file_name()?.to_string_lossy())))
}

/// Where a file is or is to be. A link whose file is not there yet stands for that file, too.
fn target_of(path: &Path) -> PathBuf {
    if let Ok(target) = path.canonicalize() {
        return target;
    }
    let mut target = path.to_owned();
    // As many links as Linux follows; what goes on after that is a circle.
    for _ in 0..40 {
        match std::fs::read_link(&target) {
            // Relative to the folder of the link; an absolute one takes the place of the folder.
            Ok(link) => target = target.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => return target,
        }
    }
    path.to_owned()
}

/// Removes what killed writers of `path` have left behind. Failing to is no failure of the write to come.
pub(crate) fn remove_stale(path: &Path) {
    let target = target_of(path);
    let Some((folder, prefix)) = temporary_names(&target) else { return };
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let random = name.to_str().and_then(|n| n.strip_prefix(&prefix)?.strip_suffix(".part"));
        if !random.is_some_and(|r| r.len() == RANDOM && r.bytes().all(|b| b.is_ascii_alphanumeric())) {
            continue;
        }
        // A file that a living writer holds is its own business. The lock is kept until the file is gone, so that a writer
        // who has just made it and waits for it sees that it is.
        if let Ok(file) = File::options().write(true).open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

impl AtomicFile {
    /// Starts a file that will be called `path`.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let target = target_of(&path);
        if target.exists() && !target.is_file() {
            let file = File::options().write(true).open(&target).map_err(Error::io(&path))?;
            return Ok(Self { file: BufWriter::new(file), temporary: None, target, path });
        }
        let (folder, prefix) =
            temporary_names(&target).ok_or_else(|| Error::format(&path, "", "is not the name of a file"))?;
        remove_stale(&target);
        let mut builder = Builder::new();
        builder.prefix(&prefix).rand_bytes(RANDOM).suffix(".part");
        // Temporary files are private by default; this one is to end up as any other new file, as the umask has it.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let refused = |e: std::io::Error| {
            // The error names the temporary file; the user knows the folder.
            let why = match folder.is_dir() {
                true => format!("cannot write in folder {}: {}", folder.display(), e.kind()),
                false => format!("there is no folder {}; make it first", folder.display()),
            };
            let source = std::io::Error::new(e.kind(), why);
            Error::Io { path: path.clone(), source }
        };
        let temporary = loop {
            let temporary: NamedTempFile = builder.tempfile_in(folder).map_err(refused)?;
            // Between its making and its locking another writer may have taken the file for a dead one's. Where the file
            // system has no locks, nobody removes anything.
            if temporary.as_file().lock().is_err() || temporary.path().exists() {
                break temporary;
            }
        };
        let (file, temporary) = temporary.into_parts();
        Ok(Self { file: BufWriter::new(file), temporary: Some(temporary), target, path })
    }

    /// The name the file will have, as the user gave it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Flushes everything to the disk and gives the file its name.
    pub fn commit(self) -> Result<()> {
        let Self { file, temporary, target, path } = self;
        let file = file.into_inner().map_err(|e| Error::io(&path)(e.into_error()))?;
        let Some(temporary) = temporary else { return Ok(()) };
        file.sync_all().map_err(Error::io(&path))?;
        temporary.persist(&target).map_err(|e| Error::io(&path)(e.error))?;
        // Only now: until the file has its name, the lock protects it.
        drop(file);
        // The new name itself lives in the folder. Not every file system can flush one, and the file is whole anyway.
        #[cfg(unix)]
        if let Some(folder) = target.parent().and_then(|p| File::open(p).ok()) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.file.seek(to)
    }
}

/// Writes a whole file by `write`; `path` then holds all of it or what it held before.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("greeting.txt");
/// dkae::data::atomic::write_atomically(&path, |file| file.write_all(b"hello"))?;
/// assert_eq!(std::fs::read(&path)?, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_atomically(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<()> {
    let mut file = AtomicFile::create(&path)?;
    write(&mut file).map_err(Error::io(&path))?;
    file.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        write_atomically(&path, |f| f.write_all(b"old")).unwrap();
        let failed = write_atomically(&path, |f| {
            f.write_all(&vec![7; 100_000])?;
            Err(std::io::Error::other("no more room"))
        });
        assert!(failed.unwrap_err().to_string().contains("a.bin: no more room"));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(entries(folder.path()), 1);
        write_atomically(&path, |f| f.write_all(b"new")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(entries(folder.path()), 1);
    }

    #[test]
    fn what_a_killed_writer_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        let put = |name: &str| std::fs::write(folder.path().join(name), "half").unwrap();
        put(".a.bin.dkaeXy12Zq.part");
        let others = [
            ".a.bin.backup.part",
            ".a.bin.dkaeXy12Zq",
            ".a.bin.dkaeXy12Zq.part.old",
            ".a.bin.dkae-notes.part",
            ".a.bin.checkpoint.dkaeXy12Zq.part",
            ".b.bin.dkaeXy12Zq.part",
            "a.bin.dkaeXy12Zq.part",
        ];
        others.iter().for_each(|name| put(name));
        // Two that write the same name at once do not disturb each other.
        let mut first = AtomicFile::create(&path).unwrap();
        let mut second = AtomicFile::create(&path).unwrap();
        assert_eq!(entries(folder.path()), others.len() + 2);
        first.write_all(b"first").unwrap();
        second.write_all(b"second").unwrap();
        first.commit().unwrap();
        second.commit().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"second");
        assert!(others.iter().all(|name| folder.path().join(name).exists()));
        assert_eq!(entries(folder.path()), others.len() + 1);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let e = AtomicFile::create("no/such/folder/a.bin").unwrap_err().to_string();
        assert!(e.contains("no/such/folder/a.bin") && e.contains("there is no folder no/such/folder"), "{e}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error_that_names_the_file() {
        let e = write_atomically("/dev/full", |f| f.write_all(b"x")).unwrap_err().to_string();
        assert!(e.starts_with("/dev/full: No space left"), "{e}");
    }

    #[test]
    #[cfg(unix)]
    fn a_link_to_a_file_that_is_not_there_yet_is_written_through() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("inner")).unwrap();
        symlink("inner/real", at("near")).unwrap();
        symlink(at("near"), at("far")).unwrap();
        write_atomically(at("far"), |f| f.write_all(b"new")).unwrap();
        assert_eq!(std::fs::read(at("inner/real")).unwrap(), b"new");
        assert!(at("near").is_symlink() && at("far").is_symlink());
        // A link into a folder that is not there stays as it is.
        symlink("none/real", at("astray")).unwrap();
        let e = AtomicFile::create(at("astray")).unwrap_err().to_string();
        assert!(e.contains("astray: there is no folder") && e.contains("none"), "{e}");
    }

    #[test]
    #[cfg(unix)]
    fn a_link_stays_a_link_and_permissions_are_those_of_a_new_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        std::fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let mode = std::fs::metadata(&real).unwrap().permissions().mode();
        write_atomically(&link, |f| f.write_all(b"new")).unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&real).unwrap(), b"new");
        assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode(), mode);
    }
}
