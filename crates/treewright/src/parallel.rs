//! Threads that share work as it comes, with results in the order of the work.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, mpsc};

use crate::error::{Code, Error, Result};

/// At most this much work is under way for each thread: enough that no thread waits for another, and memory stays bounded.
const UNDER_WAY: usize = 8;
/// Work that weighs something is under way together up to this weight; what weighs more waits until it is alone with what
/// weighs nothing.
const MAX_WEIGHT: usize = 1 << 15;

/// What happens, in order.
pub enum Event<R> {
    /// The next result.
    Done(R),
    /// Nothing more is done for now: results so far should be shown to those who wait for them.
    Idle,
}

/// How much work is under way.
struct Window {
    state: Mutex<WindowState>,
    changed: Condvar,
    size: usize,
}

#[derive(Default)]
struct WindowState {
    /// The weights of the work that is under way, in order.
    under_way: VecDeque<usize>,
    weight: usize,
    is_stopped: bool,
}

impl Window {
    /// Waits until there is room for one more, of some weight. `false` if no more is wanted.
    fn enter(&self, weight: usize) -> bool {
        let state = self.state.lock().expect("nobody panics here");
        let mut state = self
            .changed
            .wait_while(state, |state| {
                let is_full = state.under_way.len() >= self.size;
                let is_heavy = weight > 0 && state.weight > 0 && state.weight + weight > MAX_WEIGHT;
                (is_full || is_heavy) && !state.is_stopped
            })
            .expect("nobody panics here");
        state.under_way.push_back(weight);
        state.weight += weight;
        !state.is_stopped
    }

    fn leave(&self) {
        let mut state = self.state.lock().expect("nobody panics here");
        state.weight -= state.under_way.pop_front().expect("what is done was under way");
        drop(state);
        self.changed.notify_one();
    }

    fn stop(&self) {
        self.state.lock().expect("nobody panics here").is_stopped = true;
        self.changed.notify_one();
    }
}

/// Where the thread that feeds puts work.
pub struct Feeder<'a, T> {
    give: mpsc::Sender<(usize, T)>,
    window: &'a Window,
    n_given: usize,
}

impl<T> Feeder<'_, T> {
    /// Gives work to the first thread that is free; waits while too much is under way.
    ///
    /// # Errors
    /// When no more work is wanted, because a result was refused.
    pub fn give(&mut self, item: T) -> Result<()> {
        self.give_weighing(0, item)
    }

    /// The same for work that takes much memory, such as sentences of thousands of words, whose number is then the weight: with
    /// more than 32,768 of them under way it waits until others are done.
    ///
    /// # Errors
    /// As [`Feeder::give`].
    pub fn give_weighing(&mut self, weight: usize, item: T) -> Result<()> {
        if self.window.enter(weight) && self.give.send((self.n_given, item)).is_ok() {
            self.n_given += 1;
            return Ok(());
        }
        Err(stopped())
    }
}

fn stopped() -> Error {
    Error::new(Code::Io, "stopped")
}

/// Has `jobs` threads work on items, whichever is free, and hands the results to `take` in the order of the items. `worker`
/// makes what a thread works with.
///
/// # Errors
/// The first error of `take`; work that was not begun by then is left undone.
///
/// ```
/// let mut squares = Vec::new();
/// treewright::parallel::map(2, 1..=4, || |i| i * i, |square: u32| {
///     squares.push(square);
///     Ok(())
/// })?;
/// assert_eq!(squares, [1, 4, 9, 16]);
/// # Ok::<(), treewright::Error>(())
/// ```
pub fn map<T: Send, R: Send, W: FnMut(T) -> R + Send>(
    jobs: usize,
    items: impl IntoIterator<Item = T, IntoIter: Send>,
    worker: impl Fn() -> W,
    mut take: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    let mut items = items.into_iter();
    let feed = move |mut feeder: Feeder<'_, T>| items.try_for_each(|item| feeder.give(item));
    in_order(
        jobs,
        worker,
        feed,
        || (),
        |event| match event {
            Event::Done(result) => take(result),
            Event::Idle => Ok(()),
        },
    )
}

/// Has `jobs` threads do the work that `feed` gives, whichever is free, and hands the results to `take` in the order of the
/// work, as soon as they are there. `worker` makes what a thread works with.
///
/// `feed` has a thread of its own, so that results are handed on while it waits for input. When it should wait no
/// longer, since a result was refused, `unblock` is called.
///
/// # Errors
/// The first error of `take`, then work that was not begun is left undone; or that of `feed`, after the results of what it
/// gave before.
///
/// # Panics
/// When a worker does.
pub fn in_order<T: Send, R: Send, W: FnMut(T) -> R + Send>(
    jobs: usize,
    worker: impl Fn() -> W,
    feed: impl FnOnce(Feeder<'_, T>) -> Result<()> + Send,
    unblock: impl Fn(),
    mut take: impl FnMut(Event<R>) -> Result<()>,
) -> Result<()> {
    let (give, work) = mpsc::channel::<(usize, T)>();
    let (done, results) = mpsc::channel::<(usize, std::thread::Result<R>)>();
    let work = Mutex::new(work);
    let jobs = jobs.max(1);
    let window = Window { state: Mutex::default(), changed: Condvar::new(), size: UNDER_WAY * jobs };
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (mut worker, done, work) = (worker(), done.clone(), &work);
            scope.spawn(move || {
                let next = || work.lock().expect("nobody panics while waiting").recv();
                while let Ok((number, item)) = next() {
                    // A panic is handed on, too: nobody must wait for a result that never comes.
                    let result = catch_unwind(AssertUnwindSafe(|| worker(item)));
                    if done.send((number, result)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(done);
        let feeder = Feeder { give, window: &window, n_given: 0 };
        let feeding = scope.spawn(move || feed(feeder));
        let mut panic = None;
        let taken = take_in_order(&results, &window, |event| match event {
            Event::Done(Ok(result)) => take(Event::Done(result)),
            Event::Done(Err(payload)) => {
                panic = Some(payload);
                Err(stopped())
            }
            Event::Idle => take(Event::Idle),
        });
        // The threads end when nobody wants their results; the feeder, when nobody wants its work.
        drop(results);
        window.stop();
        if taken.is_err() {
            unblock();
        }
        let fed = feeding.join().unwrap_or_else(|panic| resume_unwind(panic));
        panic.map_or(taken.and(fed), |panic| resume_unwind(panic))
    })
}

/// Hands results on until all threads have ended.
fn take_in_order<R>(
    results: &mpsc::Receiver<(usize, R)>,
    window: &Window,
    mut take: impl FnMut(Event<R>) -> Result<()>,
) -> Result<()> {
    // What came too early: the next result to take is the first.
    let mut early: VecDeque<Option<R>> = VecDeque::new();
    let mut n_taken = 0;
    let mut is_idle = true;
    loop {
        let next = match results.try_recv() {
            Ok(next) => next,
            Err(mpsc::TryRecvError::Disconnected) => return Ok(()),
            Err(mpsc::TryRecvError::Empty) => {
                if !is_idle {
                    take(Event::Idle)?;
                    is_idle = true;
                }
                match results.recv() {
                    Ok(next) => next,
                    Err(mpsc::RecvError) => return Ok(()),
                }
            }
        };
        let (number, result) = next;
        let place = number - n_taken;
        if early.len() <= place {
            early.resize_with(place + 1, || None);
        }
        early[place] = Some(result);
        while let Some(Some(_)) = early.front() {
            take(Event::Done(early.pop_front().flatten().expect("it was just seen")))?;
            n_taken += 1;
            is_idle = false;
            window.leave();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    /// Gives all of these, up to the first that is not wanted.
    fn give_all(mut feeder: Feeder<'_, u64>, items: impl IntoIterator<Item = u64>) -> Result<()> {
        items.into_iter().try_for_each(|item| feeder.give(item))
    }

    /// Large work is under way alone, or together up to a weight; small work next to it.
    #[test]
    fn large_work_waits_for_large_work() {
        let weights = [0, 20_000, 12_768, 1, 90_000, 0, 0, 32_768, 2, 5];
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let feed = |mut feeder: Feeder<'_, usize>| {
            weights.into_iter().try_for_each(|weight| feeder.give_weighing(weight, weight))
        };
        let work = || {
            |weight: usize| {
                let sum = now.fetch_add(weight, Ordering::SeqCst) + weight;
                most.fetch_max(if sum == weight { 0 } else { sum }, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(5));
                now.fetch_sub(weight, Ordering::SeqCst);
                weight
            }
        };
        let mut taken = Vec::new();
        let take = |event| {
            if let Event::Done(weight) = event {
                taken.push(weight);
            }
            Ok(())
        };
        in_order(4, work, feed, || (), take).expect("no errors");
        assert_eq!(taken, weights);
        assert!(most.into_inner() <= 90_000, "no large work next to the largest");
    }

    #[test]
    fn results_come_in_order_and_work_under_way_is_bounded() {
        for jobs in [1, 2, 5] {
            let (n_given, n_taken, most) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
            let mut taken = Vec::new();
            let work = || {
                |i: u64| {
                    // Early work takes longer than what comes after it.
                    std::thread::sleep(Duration::from_micros(i * 7919 % 400));
                    i * i
                }
            };
            let take = |event| {
                if let Event::Done(square) = event {
                    n_taken.fetch_add(1, Ordering::SeqCst);
                    taken.push(square);
                }
                Ok(())
            };
            let feed = |mut feeder: Feeder<'_, u64>| {
                for i in 0..200 {
                    feeder.give(i)?;
                    let n = 1 + n_given.fetch_add(1, Ordering::SeqCst);
                    most.fetch_max(n - n_taken.load(Ordering::SeqCst).min(n), Ordering::SeqCst);
                }
                Ok(())
            };
            in_order(jobs, work, feed, || (), take).expect("no errors");
            assert!(taken.into_iter().eq((0..200).map(|i| i * i)), "{jobs} jobs");
            assert!(most.into_inner() <= UNDER_WAY * jobs);
        }
    }

    #[test]
    #[should_panic(expected = "seven")]
    fn a_panic_is_handed_on() {
        let work = || |i: u64| assert_ne!(i, 7, "not seven");
        map(2, 0.., work, |()| Ok(())).expect("no errors");
    }

    /// What feeds may wait for an answer before it gives the next.
    #[test]
    fn a_result_is_handed_on_while_the_feeder_waits() {
        let (answer, answers) = mpsc::channel::<u64>();
        let feed = move |mut feeder: Feeder<'_, u64>| {
            for i in 0..5 {
                feeder.give(i)?;
                assert_eq!(answers.recv(), Ok(i + 1));
            }
            Ok(())
        };
        let mut last = None;
        let take = |event| {
            match event {
                Event::Done(result) => last = Some(result),
                Event::Idle => {
                    answer.send(last.take().expect("a result before it is idle")).expect("it waits");
                }
            }
            Ok(())
        };
        in_order(2, || |i: u64| i + 1, feed, || (), take).expect("no errors");
    }

    #[test]
    fn an_error_ends_it() {
        let error = || Error::at(Code::Unwritable, 1, 1, "full");
        let taken = |stop: u64| {
            let mut n = 0;
            let take = |event| {
                if let Event::Done(_) = event {
                    n += 1;
                }
                if n == stop { Err(error()) } else { Ok(()) }
            };
            let ends = in_order(2, || |i: u64| i, |feeder| give_all(feeder, 0..), || (), take);
            assert_eq!(ends.expect_err("endless").code, Code::Unwritable);
            n
        };
        assert_eq!([taken(1), taken(50)], [1, 50]);
        let mut taken = Vec::new();
        let take = |event| {
            if let Event::Done(i) = event {
                taken.push(i);
            }
            Ok(())
        };
        let feed = |feeder: Feeder<'_, u64>| give_all(feeder, 0..3).and(Err(error()));
        let fed = in_order(3, || |i: u64| i, feed, || (), take);
        assert_eq!(fed.expect_err("fed three").code, Code::Unwritable);
        assert_eq!(taken, [0, 1, 2], "what was given is done");
    }

    /// A feeder that waits for input that never comes is woken.
    #[test]
    fn an_error_wakes_the_feeder() {
        let (wake, woken) = mpsc::channel::<()>();
        let feed = move |mut feeder: Feeder<'_, u64>| {
            feeder.give(0)?;
            woken.recv().expect("woken by a message");
            feeder.give(1)
        };
        let error = Error::at(Code::Unwritable, 1, 1, "full");
        let unblock = || wake.send(()).expect("it waits");
        let ends = in_order(1, || |i: u64| i, feed, unblock, |_| Err(error.clone()));
        assert_eq!(ends, Err(error));
    }
}
