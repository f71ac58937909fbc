//! A run killed at any moment and started again ends in the same model file, byte for byte, as one that was never
//! stopped; so does a run with another number of threads.

mod common;

use std::io::{BufRead, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{clouds, dkae, done, files, refused, stderr};

const FIT: &str = "fit clouds.csv --label kind --restarts 2 --max-components 4 --subset 60 --layers 96,64,24 \
                   --pretrain 300 --steps 1200 --validate-every 100 --checkpoint-every 25 --noise gauss:0.05";

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// The command, started and left to itself; what it says can be read.
fn start(folder: &Path, arguments: &str) -> Child {
    dkae()
        .current_dir(folder)
        .args(arguments.split_whitespace())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_killed_run_ends_in_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 400);
    done(folder.path(), &format!("{FIT} -o whole.dkae"));

    let arguments = format!("{FIT} -o killed.dkae");
    let checkpoint = folder.path().join("killed.dkae.checkpoint");
    let saved = || std::fs::metadata(&checkpoint).and_then(|m| m.modified()).ok();
    // Each attempt is killed some moments after it has saved a few times: between steps, within one, within a save.
    for (attempt, (saves, delay)) in [(1, 0), (3, 1), (9, 0), (2, 7), (5, 2), (14, 4)].into_iter().enumerate() {
        let mut child = start(folder.path(), &arguments);
        let (mut last, mut seen) = (saved(), 0);
        while seen < saves {
            assert!(child.try_wait().unwrap().is_none(), "attempt {attempt} ended before it was killed");
            let now = saved();
            seen += u32::from(now != last);
            last = now;
        }
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(stderr(&output).contains("going on from the checkpoint"), attempt > 0, "{}", stderr(&output));
    }
    // As a process killed within a save leaves them.
    for name in [".killed.dkae.checkpoint.dkaeAbC123.part", ".killed.dkae.dkaeAbC123.part"] {
        std::fs::write(folder.path().join(name), "half").unwrap();
    }
    done(folder.path(), &arguments);
    assert!(bytes(&folder.path().join("whole.dkae")) == bytes(&folder.path().join("killed.dkae")));
    // Neither the checkpoint nor anything of the killed processes is left.
    assert_eq!(files(folder.path()), ["clouds.csv", "killed.dkae", "whole.dkae"]);
}

/// What Ctrl-C does.
fn interrupt(child: &Child) {
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
}

#[test]
#[cfg(unix)]
fn ctrl_c_is_heard_while_a_kernel_is_fitted_and_while_a_large_matrix_is_decomposed() {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 4000);
    // 63 000 mixtures: minutes. A matrix of 4000 rows: tens of seconds.
    let kernel = "--label kind --restarts 700 --max-components 91 --subset 200";
    let before = files(folder.path());
    for (command, begun, stopped) in [
        (format!("fit clouds.csv {kernel} --layers 8,2 --steps 5 -o m.dkae"), "training, ", "fitting the kernel: "),
        (format!("kernel clouds.csv {kernel} -o k.npy"), "reading: ", "fitting the kernel: "),
        ("embed clouds.csv --label kind --method keca --candidates 2000 -o z.npy".into(), "preparing", "fitting: "),
    ] {
        let mut child = start(folder.path(), &command);
        let mut reader = std::io::BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains(begun) {
            assert!(reader.read_line(&mut said).unwrap() > 0, "ended early: {said}");
        }
        std::thread::sleep(Duration::from_millis(if begun == "preparing" { 3000 } else { 500 }));
        let asked = Instant::now();
        interrupt(&child);
        reader.read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
        assert!(asked.elapsed() < Duration::from_secs(3), "{:?}: {said}", asked.elapsed());
        assert!(said.contains(stopped), "{said}");
        assert_eq!(files(folder.path()), before, "{command}");
    }
}

#[test]
#[cfg(unix)]
fn ctrl_c_saves_a_checkpoint_and_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 400);
    done(folder.path(), &format!("{FIT} -o whole.dkae"));
    let arguments = format!("{FIT} --checkpoint-every 1000000 -o stopped.dkae");
    let arguments = arguments.replace("--checkpoint-every 25 ", "");
    let mut child = start(folder.path(), &arguments);
    // Training has begun when the first phase's line is out.
    let mut reader = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("pretraining layer 1") {
        assert!(reader.read_line(&mut said).unwrap() > 0, "ended early: {said}");
    }
    interrupt(&child);
    reader.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    let message = said.lines().last().unwrap_or_default();
    let expected =
        "error: stopped; progress is saved in stopped.dkae.checkpoint; to resume, give the same command again";
    assert_eq!(message, expected, "{said}");
    let text = done(folder.path(), "inspect stopped.dkae.checkpoint");
    for words in ["checkpoint of an unfinished fit", "of 8 features", "pretraining layer", "-o stopped.dkae"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let message = refused(folder.path(), "encode stopped.dkae.checkpoint clouds.csv --label kind -o c.npy", 1);
    assert!(message.contains("checkpoint of an unfinished run, not a model"), "{message}");
    assert_eq!(files(folder.path()), ["clouds.csv", "stopped.dkae.checkpoint", "whole.dkae"]);

    // Other settings are refused, with the reason.
    let message = refused(folder.path(), &format!("{arguments} --lambda 0.3"), 1);
    assert!(
        message.contains("stopped.dkae.checkpoint") && message.contains("lambda 0.1, and this one has 0.3"),
        "{message}"
    );

    done(folder.path(), &arguments);
    assert!(bytes(&folder.path().join("whole.dkae")) == bytes(&folder.path().join("stopped.dkae")));
    assert_eq!(files(folder.path()), ["clouds.csv", "stopped.dkae", "whole.dkae"]);
}

#[test]
#[cfg(unix)]
fn a_checkpoint_of_other_settings_is_refused_before_the_kernel_is_fitted() {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 400);
    let arguments = format!("{FIT} -o m.dkae");
    let mut child = start(folder.path(), &arguments);
    while !folder.path().join("m.dkae.checkpoint").exists() {
        assert!(child.try_wait().unwrap().is_none(), "ended before it was killed");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let saved = bytes(&folder.path().join("m.dkae.checkpoint"));
    // A kernel of minutes: who fits it first is not done in time.
    let slow = arguments.replace("--restarts 2 --max-components 4 --subset 60", "--restarts 700 --max-components 91");
    for (arguments, words) in [
        (format!("{slow} --lambda 0.3"), "lambda 0.1, and this one has 0.3"),
        (format!("{slow} --take 300"), "take none, and this one has 300"),
        (slow.clone(), "max-components 4, and this one has 91"),
    ] {
        let start = Instant::now();
        let message = refused(folder.path(), &arguments, 1);
        assert!(message.contains(words) && message.contains("remove it to start over"), "{message}");
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    }
    std::fs::write(folder.path().join("m.dkae.checkpoint"), &saved[..saved.len() / 2]).unwrap();
    let message = refused(folder.path(), &slow, 1);
    assert!(message.ends_with("; remove m.dkae.checkpoint to start over"), "{message}");
}

#[test]
fn what_a_killed_encode_leaves_is_gone_after_the_next() {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 60);
    done(folder.path(), "fit clouds.csv --label kind --lambda 0 --layers 4 --pretrain 1 --steps 2 -o m.dkae");
    // Enough for a second or more.
    let line = "1,2,3,4,5,6,7,8\n";
    std::fs::write(folder.path().join("long.csv"), line.repeat(500_000)).unwrap();
    let part = || files(folder.path()).into_iter().find(|name| name.ends_with(".part"));
    let encode = "encode m.dkae long.csv -o codes.npy";
    let begun = || {
        let child = start(folder.path(), encode);
        while part().is_none() {}
        child
    };
    let mut killed = begun();
    killed.kill().unwrap();
    killed.wait().unwrap();
    let left = part().expect("a killed process cannot remove its file");
    let living = begun();
    while files(folder.path()).contains(&left) {}
    // Another writer of the same name does not take away what the living one writes.
    done(folder.path(), "encode m.dkae clouds.csv --label kind -o codes.npy");
    assert_eq!(living.wait_with_output().unwrap().status.code(), Some(0));
    assert_eq!(files(folder.path()), ["clouds.csv", "codes.npy", "long.csv", "m.dkae"]);
}

#[test]
#[cfg(unix)]
fn ctrl_c_is_heard_while_a_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    // A pipe that nobody writes to: reading goes on for ever.
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("rows.csv")).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: there is no command `mkfifo`");
        return;
    }
    for arguments in ["fit rows.csv -o m.dkae", "kernel rows.csv -o k.npy", "inspect rows.csv"] {
        let writer = std::fs::File::options().read(true).write(true).open(folder.path().join("rows.csv")).unwrap();
        let child = start(folder.path(), arguments);
        std::thread::sleep(Duration::from_millis(700));
        let asked = Instant::now();
        interrupt(&child);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{arguments}: {}", stderr(&output));
        assert!(asked.elapsed() < Duration::from_secs(3) && stderr(&output).contains("error: stopped on request"));
        assert_eq!(files(folder.path()), ["rows.csv"], "{arguments}");
        drop(writer);
    }
}

#[test]
#[cfg(unix)]
fn a_second_ctrl_c_ends_the_command_at_once() {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 60);
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("rows.csv")).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: there is no command `mkfifo`");
        return;
    }
    // Nobody writes to the pipe, so that the command does not come to the moment at which it would stop.
    let _writer = std::fs::File::options().read(true).write(true).open(folder.path().join("rows.csv")).unwrap();
    let child = start(folder.path(), "embed clouds.csv --label kind --method pca --on rows.csv -o z.npy");
    std::thread::sleep(Duration::from_millis(700));
    interrupt(&child);
    // So soon after the first it is the same wish.
    interrupt(&child);
    std::thread::sleep(Duration::from_millis(600));
    let asked = Instant::now();
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("a second time"), "{}", stderr(&output));
    assert!(asked.elapsed() < Duration::from_secs(3));
    assert_eq!(files(folder.path()), ["clouds.csv", "rows.csv"]);
}

#[test]
fn one_thread_two_and_three_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    clouds(folder.path(), 400);
    for (layers, kernel) in [("96,64,24", "pck"), ("300,40", "rbf")] {
        for threads in [1, 2, 3] {
            done(
                folder.path(),
                &format!(
                    "fit clouds.csv --label kind --kernel {kernel} --layers {layers} --pretrain 20 --steps 60 \
                     --threads {threads} -o {threads}.dkae"
                ),
            );
        }
        let [one, two, three] = [1, 2, 3].map(|n| bytes(&folder.path().join(format!("{n}.dkae"))));
        assert!(one == two && one == three, "{kernel}");
    }
}
