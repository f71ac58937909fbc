//! The threads that compute: how many there are, and that subnormal numbers are flushed to zero on each of them.
//!
//! Saturated units make subnormal gradients, and x86 handles those in microcode: the products for the weight gradients
//! took three times as long before they were flushed. The flag lives in a register of each thread, so all heavy work
//! runs inside [`run`], on a pool whose threads set it when they start; the caller's own thread is left as it was.
//!
//! How many threads there are is a setting of the program ([`set_count`]); a library, or a test, that wants another
//! number for some work of its own takes [`with_count`], which nobody else notices.
//!
//! Results never depend on the number of threads: work is cut into pieces by its size alone, and sums are taken in a
//! fixed order.

use std::cell::{Cell, RefCell};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::Result;
use crate::progress::Progress;

struct Pool {
    /// The process that made the pool: threads do not survive a fork, so a child needs its own.
    process: u32,
    threads: usize,
    pool: Arc<ThreadPool>,
}

/// The most threads that can be asked for; more is a slip of the pen, and no system has room for a million.
pub const MOST: usize = 1024;

static POOL: Mutex<Option<Pool>> = Mutex::new(None);
static WANTED: Mutex<usize> = Mutex::new(0);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets how many threads compute in this process from now on, at most [`MOST`]; 0 means one per core. For programs: it
/// changes what others in the process get, too.
pub fn set_count(threads: usize) {
    *lock(&WANTED) = threads;
}

/// How many threads compute.
pub fn count() -> usize {
    if COMPUTING.get() {
        return rayon::current_num_threads();
    }
    match OWN.with_borrow(|own| own.as_ref().map(|pool| pool.current_num_threads())) {
        Some(threads) => threads,
        None => or_one_per_core(*lock(&WANTED)),
    }
}

fn or_one_per_core(threads: usize) -> usize {
    match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n.min(MOST),
    }
}

/// Runs `work` on the computing threads and waits for it. Nested calls stay where they are.
pub fn run<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    // Already on a computing thread: its pool is the one in use.
    if COMPUTING.get() {
        return work();
    }
    let own = OWN.with_borrow(Option::clone);
    own.unwrap_or_else(pool).install(work)
}

/// Runs `work` on the calling thread; whatever it [runs](run) on computing threads has `threads` of them (at most [`MOST`];
/// 0 means one per core), made for it and gone afterwards. Other threads of the process keep the number they had, which
/// makes this the way for libraries. On a computing thread it changes nothing: work that is under way keeps its threads.
pub fn with_count<R>(threads: usize, work: impl FnOnce() -> R) -> R {
    /// Puts back what was there, also when the work panics.
    struct Restore(Option<Arc<ThreadPool>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            OWN.set(self.0.take());
        }
    }
    let _restore = Restore(OWN.replace(Some(Arc::new(build(or_one_per_core(threads))))));
    work()
}

/// Runs work that cannot ask whether to stop, such as another crate's, on a thread of its own, and asks meanwhile. After a
/// wish to stop nobody waits for it: the thread ends when the work does, and the result is dropped.
pub fn aside<R: Send + 'static>(progress: &dyn Progress, work: impl FnOnce() -> R + Send + 'static) -> Result<R> {
    let (send, result) = channel();
    let body = move || {
        flush_subnormals();
        // An error means that nobody waits any longer.
        let _ = send.send(work());
    };
    let thread = std::thread::Builder::new().name("dkae-aside".into()).spawn(body);
    let thread = thread.expect("the system has room for one more thread");
    loop {
        match result.recv_timeout(Duration::from_millis(20)) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => progress.check()?,
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => unreachable!("work that ended has sent its result"),
            },
        }
    }
}

thread_local! {
    static COMPUTING: Cell<bool> = const { Cell::new(false) };
    /// The threads that [`with_count`] made for the work of this one.
    static OWN: RefCell<Option<Arc<ThreadPool>>> = const { RefCell::new(None) };
}

fn build(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|i| format!("dkae-{i}"))
        .start_handler(|_| {
            COMPUTING.set(true);
            flush_subnormals();
        })
        .build()
        .expect("the system has room for a few threads")
}

/// The threads of the process.
fn pool() -> Arc<ThreadPool> {
    let threads = or_one_per_core(*lock(&WANTED));
    let process = std::process::id();
    let mut slot = lock(&POOL);
    match &*slot {
        Some(p) if p.process == process && p.threads == threads => p.pool.clone(),
        old => {
            if old.as_ref().is_some_and(|p| p.process != process) {
                // The parent's threads are not here to be joined: dropping the pool would wait for them for ever.
                std::mem::forget(slot.take());
            }
            let pool = Arc::new(build(threads));
            *slot = Some(Pool { process, threads, pool: pool.clone() });
            pool
        }
    }
}

/// Makes this thread treat subnormal numbers as zero, as operands and as results.
#[allow(unsafe_code)]
fn flush_subnormals() {
    #[cfg(target_arch = "x86_64")]
    {
        const FLUSH_TO_ZERO: u32 = 1 << 15;
        const DENORMALS_ARE_ZERO: u32 = 1 << 6;
        let mut control: u32 = 0;
        // SAFETY: reads and writes the SSE control register, which every x86-64 processor has; only the two bits above
        // change, rounding and exception masks stay as they were. The thread was started by this crate.
        unsafe {
            std::arch::asm!("stmxcsr [{}]", in(reg) &mut control, options(nostack));
            control |= FLUSH_TO_ZERO | DENORMALS_ARE_ZERO;
            std::arch::asm!("ldmxcsr [{}]", in(reg) &control, options(nostack));
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        const FLUSH_TO_ZERO: u64 = 1 << 24;
        // SAFETY: as above, for the floating-point control register of 64-bit ARM.
        unsafe {
            let mut control: u64;
            std::arch::asm!("mrs {}, fpcr", out(reg) control, options(nomem, nostack));
            control |= FLUSH_TO_ZERO;
            std::arch::asm!("msr fpcr, {}", in(reg) control, options(nomem, nostack));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn subnormals_are_zero_on_every_computing_thread_and_only_there() {
        let half = |x: f32| std::hint::black_box(x) * std::hint::black_box(0.5);
        let flushed = run(|| rayon::broadcast(|_| half(f32::MIN_POSITIVE) == 0.0));
        assert!(!flushed.is_empty() && flushed.iter().all(|&f| f), "{flushed:?}");
        assert!(half(f32::MIN_POSITIVE) > 0.0);
    }

    #[test]
    fn a_count_of_ones_own_is_used_and_put_back() {
        let used = || (count(), run(|| (count(), rayon::broadcast(|_| ()).len())));
        let before = count();
        for n in [1, 3] {
            let inner = with_count(n, || (used(), with_count(2, used), used()));
            assert_eq!(inner, ((n, (n, n)), (2, (2, 2)), (n, (n, n))));
        }
        assert!(std::panic::catch_unwind(|| with_count(before + 1, || panic!("on purpose"))).is_err());
        assert_eq!(count(), before);
    }

    #[test]
    fn more_threads_than_any_machine_needs_are_not_made() {
        assert_eq!([1, MOST, MOST + 1, usize::MAX].map(or_one_per_core), [1, MOST, MOST, MOST]);
    }

    #[test]
    fn nobody_waits_for_work_aside_once_asked_to_stop() {
        use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        /// Asks to stop at the third question.
        #[derive(Default)]
        struct Third(AtomicUsize);
        impl Progress for Third {
            fn stop(&self) -> bool {
                self.0.fetch_add(1, SeqCst) >= 2
            }
        }
        // This work ends only when it is let go, which is after the wish was heard.
        let (let_go, gate) = channel::<()>();
        let stopped = aside(&Third::default(), move || gate.recv().is_ok());
        assert!(matches!(stopped, Err(crate::Error::Interrupted)), "{stopped:?}");
        drop(let_go);
        assert_eq!(aside(&crate::progress::Silent, || 6 * 7).unwrap(), 42);
        let panics = std::panic::catch_unwind(|| aside(&crate::progress::Silent, || panic!("on purpose")));
        assert_eq!(panics.unwrap_err().downcast_ref(), Some(&"on purpose"));
    }
}
