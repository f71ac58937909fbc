//! What a run needs and where it ran: the folders, the Python with the peers, the machine's description.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::results::{Entry, Results, Row};
use crate::turns::Side;
use crate::{data, results};

/// One run of the benchmark.
pub struct Bench {
    /// Small sizes.
    pub quick: bool,
    /// Whether results are for the committed file and page; else they stay with the prepared data.
    pub committed: bool,
    /// Where prepared data are kept between works.
    pub folder: PathBuf,
    python: PathBuf,
    /// A library that peers load first: see [`answer_for_intel`].
    preload: Option<PathBuf>,
    machine: Machine,
}

/// Where a run took place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// Its widest vector instructions that matter here.
    pub vectors: String,
    /// How many cores the run could use.
    pub cores: usize,
    /// Memory in GB.
    pub memory_gb: f64,
    /// System, compiler, and the packages of the peers.
    pub versions: Vec<String>,
    /// The day, as year-month-day.
    pub day: String,
}

/// The folder of this package.
pub fn package() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    package().join("../..")
}

/// Where this benchmark keeps what it installs and prepares.
fn home() -> PathBuf {
    workspace().join("target/peers")
}

impl Bench {
    /// Sets everything up; the packages of the peers are installed when they are missing.
    pub fn new(quick: bool, python: Option<PathBuf>, as_installed: bool) -> Result<Self> {
        let bare = Self::without_peers(quick)?;
        let python = match python {
            Some(python) => python,
            None => install(&home().join("python"))?,
        };
        let mut machine = Machine::describe(&python)?;
        let preload = if as_installed { None } else { answer_for_intel(&home())? };
        if preload.is_some() {
            machine.versions.push("MKL on its path for Intel".into());
        }
        Ok(Bench { committed: bare.committed && !as_installed, python, preload, machine, ..bare })
    }

    /// The folders alone, for what runs no peer.
    pub fn without_peers(quick: bool) -> Result<Self> {
        let folder = home().join(if quick { "quick" } else { "full" });
        std::fs::create_dir_all(&folder)?;
        Ok(Bench {
            quick,
            committed: !quick,
            folder,
            python: PathBuf::new(),
            preload: None,
            machine: Machine::default(),
        })
    }

    /// `quick` in a quick run, else `full`.
    pub fn either<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Our side of a work.
    pub fn ours(&self, name: &str, work: &str, settings: &impl Serialize) -> Result<Side> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([work, "--settings", &serde_json::to_string(settings)?]);
        Side::start(name, command)
    }

    /// The peer's side of a work.
    pub fn peer(&self, name: &str, work: &str, settings: &impl Serialize) -> Result<Side> {
        let mut command = Command::new(&self.python);
        command.arg("-u").arg(package().join("peer/peer.py")).args([work, &serde_json::to_string(settings)?]);
        if let Some(library) = &self.preload {
            command.env("LD_PRELOAD", library);
        }
        Side::start(name, command)
    }

    /// A prepared file that is there already or is made now.
    pub fn prepared(&self, name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        let path = self.folder.join(name);
        if !path.exists() {
            eprintln!("   preparing {name}");
            make(&path).with_context(|| format!("preparing {}", path.display()))?;
        }
        Ok(path)
    }

    /// The file that results are kept in.
    pub fn kept(&self) -> PathBuf {
        if self.committed { package().join("results.json") } else { self.folder.join("results.json") }
    }

    /// Keeps the rows of a work.
    pub fn keep(&self, work: &str, rows: Vec<Row>) -> Result<()> {
        for row in &rows {
            println!("{row}");
        }
        self.change(|results| {
            results.works.insert(work.into(), Entry { machine: self.machine.clone(), rows });
        })
    }

    /// Changes the kept results.
    pub fn change(&self, change: impl FnOnce(&mut Results)) -> Result<()> {
        let mut results = results::load(&self.kept())?;
        change(&mut results);
        results::save(&results, &self.kept())
    }

    /// MNIST, or the embedded digits in a quick run.
    pub fn digits(&self) -> Result<dkae::data::Table> {
        if self.quick { Ok(data::embedded()) } else { data::mnist() }
    }
}

/// On a processor of AMD's, a library that makes PyTorch's MKL use its instructions.
///
/// MKL, which PyTorch is linked with, asks whether the processor is Intel's and without that leaves AVX-512 aside, which halves the
/// speed of its products. Its question is a function that a library loaded before it can answer. Few users know; a peer at its best does.
fn answer_for_intel(folder: &Path) -> Result<Option<PathBuf>> {
    if !std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default().contains("AuthenticAMD") {
        return Ok(None);
    }
    let (source, library) = (folder.join("intel.c"), folder.join("intel.so"));
    std::fs::write(&source, "int mkl_serv_intel_cpu_true(void) { return 1; }\n")?;
    let status = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    match status.context("cc, for the library that peers load first; --as-installed does without")? {
        status if status.success() => Ok(Some(library.canonicalize()?)),
        status => bail!("cc ended with {status}; --as-installed does without it"),
    }
}

/// A virtual environment with the packages of requirements.txt.
fn install(folder: &Path) -> Result<PathBuf> {
    let python = folder.join("bin/python");
    let ready = |python: &Path| {
        let imports = "import numpy, safetensors, scipy, sklearn, threadpoolctl, torch";
        Command::new(python).args(["-c", imports]).status().is_ok_and(|s| s.success())
    };
    if python.exists() && ready(&python) {
        return Ok(python);
    }
    eprintln!("== installing the peers into {} (about 5 GB, minutes)", folder.display());
    let run = |command: &mut Command| match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => bail!("{command:?} ended with {status}"),
        Err(error) => bail!("{command:?}: {error}"),
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    let requirements = package().join("requirements.txt");
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "-r"]).arg(requirements))?;
    if !ready(&python) {
        bail!("the packages in {} do not load; remove the folder and try again", folder.display());
    }
    Ok(python)
}

impl Machine {
    fn describe(python: &Path) -> Result<Self> {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let processor = read("/proc/cpuinfo");
        let entry = |name: &str| {
            processor
                .lines()
                .find(|l| l.starts_with(name))
                .and_then(|l| l.split_once(':'))
                .map_or("", |(_, v)| v.trim())
        };
        let flags: Vec<&str> = entry("flags").split(' ').collect();
        let vectors = ["avx512f", "avx2"].into_iter().find(|f| flags.contains(f)).unwrap_or("unknown");
        let memory = read("/proc/meminfo");
        let kilobytes = memory.lines().find_map(|l| l.strip_prefix("MemTotal:")).unwrap_or_default();
        let kilobytes: f64 = kilobytes.trim().trim_end_matches(" kB").parse().unwrap_or(f64::NAN);
        let output = |program: &Path, arguments: &[&str]| -> Result<String> {
            let output = Command::new(program).args(arguments).output()?;
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let packages = "import sys, numpy, scipy, sklearn, torch; \
                        print('Python', sys.version.split()[0]); \
                        [print(n, m.__version__) for n, m in \
                         [('NumPy', numpy), ('SciPy', scipy), ('scikit-learn', sklearn), ('PyTorch', torch)]]";
        let mut versions = vec![
            format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
            output(Path::new("rustc"), &["--version"])?.split(' ').take(2).collect::<Vec<_>>().join(" "),
        ];
        versions.extend(output(python, &["-c", packages])?.lines().map(str::to_owned));
        Ok(Machine {
            processor: entry("model name").to_owned(),
            vectors: vectors.to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gb: (kilobytes * 1.024e-5).round() / 10.0,
            versions,
            day: output(Path::new("date"), &["-u", "+%Y-%m-%d"])?,
        })
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Machine { processor, vectors, cores, memory_gb, versions, day } = self;
        write!(f, "{day}; {processor} ({vectors}), {cores} cores, {memory_gb} GB; {}", versions.join(", "))
    }
}
