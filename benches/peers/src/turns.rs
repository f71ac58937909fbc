//! Sides that take turns: processes of which one computes while the others wait.
//!
//! A side says `ready` when its data are loaded, then answers every line it gets with one line of JSON: the seconds the
//! work took, its peak memory so far, and what is to be compared. Between turns there is a pause in which thread pools go to
//! sleep; they keep their own waiting policies, because telling PyTorch's threads not to spin at all would slow down its step.
//! That nobody computes out of turn is measured, and told when it happens.

use std::io::{BufRead, BufReader, Lines, StdinLock, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Time for the threads of the side before to fall asleep.
const PAUSE: Duration = Duration::from_millis(300);

/// What a side answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// Time of the work of this turn.
    pub seconds: f64,
    /// Peak memory of the process until now, in MB of 10^6 bytes.
    pub peak_mb: f64,
    /// What is compared with the other sides.
    #[serde(default)]
    pub value: Value,
}

impl Reply {
    /// What is compared, in the form it is known to have.
    pub fn value<T: DeserializeOwned>(&self) -> Result<T> {
        Ok(serde_json::from_value(self.value.clone())?)
    }

    /// One number of what is compared.
    pub fn number(&self, name: &str) -> Result<f64> {
        self.value[name].as_f64().with_context(|| format!("no number `{name}` in {}", self.value))
    }
}

/// The turns of our side, in its own process.
pub struct Turns {
    input: Lines<StdinLock<'static>>,
    announced: bool,
}

impl Turns {
    /// Nothing is said yet: data are loaded first.
    pub fn new() -> Self {
        Turns { input: std::io::stdin().lines(), announced: false }
    }

    /// Waits for the next turn; false when there is none.
    pub fn wait(&mut self) -> bool {
        if !self.announced {
            println!("ready");
            self.announced = true;
        }
        matches!(self.input.next(), Some(Ok(_)))
    }

    /// Ends a turn.
    pub fn done(&mut self, seconds: f64, value: Value) -> Result<()> {
        let mut out = std::io::stdout();
        writeln!(out, "{}", serde_json::to_string(&Reply { seconds, peak_mb: peak_mb()?, value })?)?;
        Ok(out.flush()?)
    }

    /// Takes turns until there are no more; `work` is timed by itself.
    pub fn serve(mut self, mut work: impl FnMut() -> Result<(f64, Value)>) -> Result<()> {
        while self.wait() {
            let (seconds, value) = work()?;
            self.done(seconds, value)?;
        }
        Ok(())
    }
}

/// The result of some work and its seconds.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

/// Peak memory of this process in MB.
pub fn peak_mb() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("peak memory is read from /proc, on Linux")?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).context("no VmHWM")?;
    Ok(1.024e-3 * line.split_whitespace().next().context("an empty VmHWM")?.parse::<f64>()?)
}

/// A side, as the driver sees it.
pub struct Side {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Side {
    /// Starts a side and waits until it is ready.
    pub fn start(name: &str, mut command: Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{name} could not be started"))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let mut side = Side { name: name.into(), child, input, output };
        let line = side.line()?;
        if line.trim() != "ready" {
            bail!("{name}: expected `ready`, found `{}`", line.trim());
        }
        Ok(side)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            bail!("{} ended before its turn was over; its messages are above", self.name);
        }
        Ok(line)
    }

    /// One turn.
    pub fn turn(&mut self) -> Result<Reply> {
        self.input.as_mut().context("no input")?.write_all(b"go\n")?;
        let line = self.line()?;
        serde_json::from_str(&line).with_context(|| format!("{}: `{}`", self.name, line.trim()))
    }

    /// Seconds of processor time it has used.
    fn used(&self) -> Option<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        // After the name in parentheses, user and system time are fields 12 and 13, in hundredths.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some((fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?) / 100.0)
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // Closing its input ends it.
        self.input = None;
        let _ = self.child.wait();
    }
}

/// Lets all sides take turns, `rounds` times after `warm_up` rounds that do not count; the replies side by side, those of the
/// warm-up first. Every other round goes backwards, so that none always comes after the same one.
pub fn alternate(sides: &mut [Side], warm_up: usize, rounds: usize) -> Result<Vec<Vec<Reply>>> {
    let mut replies = vec![Vec::new(); sides.len()];
    for round in 0..warm_up + rounds {
        for i in order(round, sides.len()) {
            std::thread::sleep(PAUSE);
            let before: Vec<_> = sides.iter().map(Side::used).collect();
            let (reply, seconds) = timed(|| sides[i].turn());
            let reply = reply?;
            let idle = sides.iter().zip(&before).enumerate().filter(|&(j, _)| j != i);
            for (_, (other, before)) in idle {
                let used = other.used().zip(*before).map_or(0.0, |(after, before)| after - before);
                if used > 0.02 * seconds + 0.02 {
                    eprintln!(
                        "   {} computed for {used:.2} s out of turn: its neighbours' times are too long",
                        other.name
                    );
                }
            }
            replies[i].push(reply);
        }
        let last = |i: usize| replies[i].last().map_or(f64::NAN, |r: &Reply| r.seconds);
        let times: Vec<String> =
            sides.iter().enumerate().map(|(i, s)| format!("{} {:.4} s", s.name, last(i))).collect();
        let name = if round < warm_up { "warm-up".into() } else { format!("round {}", round + 1 - warm_up) };
        let ratios: Vec<String> = (1..sides.len()).map(|i| format!("{:.2}", last(i) / last(0))).collect();
        eprintln!("   {name}: {}; over the first: {}", times.join(", "), ratios.join(", "));
    }
    Ok(replies)
}

/// Whose turn it is, one after the other.
fn order(round: usize, sides: usize) -> Vec<usize> {
    if round.is_multiple_of(2) { (0..sides).collect() } else { (0..sides).rev().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_before_changes_from_round_to_round() {
        assert_eq!([order(0, 3), order(1, 3)], [[0, 1, 2], [2, 1, 0]]);
    }

    /// A side in a line of shell: it answers every turn with its number.
    fn side(name: &str, seconds: &str) -> Side {
        let mut command = Command::new("sh");
        let script = format!(
            r#"echo ready; n=0; while read line; do n=$((n+1)); echo "{{\"seconds\": {seconds}, \"peak_mb\": 1, \"value\": {{\"turn\": $n}}}}"; done"#
        );
        command.args(["-c", &script]);
        Side::start(name, command).unwrap()
    }

    #[test]
    fn sides_take_turns_and_the_warm_up_comes_first() {
        let replies = alternate(&mut [side("a", "0.5"), side("b", "1.5")], 1, 2).unwrap();
        assert_eq!(replies.len(), 2);
        for (side, seconds) in replies.iter().zip([0.5, 1.5]) {
            assert_eq!(side.iter().map(|r| r.number("turn").unwrap()).collect::<Vec<_>>(), [1.0, 2.0, 3.0]);
            assert!(side.iter().all(|r| r.seconds == seconds));
        }
    }

    #[test]
    fn a_side_that_dies_or_babbles_is_an_error_that_names_it() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let message = |result: Result<Reply>| format!("{:#}", result.unwrap_err());
        let started = Side::start("peer", shell("echo hello"));
        assert!(format!("{:#}", started.err().unwrap()).contains("peer: expected `ready`, found `hello`"));
        let mut dies = Side::start("peer", shell("echo ready; read line")).unwrap();
        assert!(message(dies.turn()).contains("peer ended"));
        let mut babbles = Side::start("peer", shell("echo ready; read line; echo warning; read line")).unwrap();
        assert!(message(babbles.turn()).contains("peer: `warning`"));
    }
}
