//! Threads that share work as it comes, with results in the order of the work.

use std::collections::VecDeque;
use std::sync::{Mutex, mpsc};

use treewright::Result;

/// For each thread so much work is under way at most: enough that no thread waits for another, and memory stays bounded.
const UNDER_WAY: usize = 8;

/// Has `jobs` threads do the work that `feed` gives, whoever is free, and gives the results to `take` in the order of the
/// work. `worker` makes what a thread works with.
///
/// # Errors
/// The first error of `take`, then work that was not begun is left undone; or that of `feed`, behind the results of what it
/// gave before.
pub fn in_order<T: Send, R: Send, W: FnMut(T) -> R + Send>(
    jobs: usize,
    worker: impl Fn() -> W,
    feed: impl FnOnce(&mut dyn FnMut(T) -> Result<()>) -> Result<()>,
    mut take: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    let (give, work) = mpsc::channel::<(usize, T)>();
    let (done, results) = mpsc::channel::<(usize, R)>();
    let work = Mutex::new(work);
    std::thread::scope(|scope| {
        // When this ends, however it does, nothing more is given and no result is waited for: the threads end, too.
        let (give, results) = (give, results);
        for _ in 0..jobs {
            let (mut worker, done, work) = (worker(), done.clone(), &work);
            scope.spawn(move || {
                let next = || work.lock().expect("nobody panics while waiting").recv();
                while let Ok((number, item)) = next() {
                    if done.send((number, worker(item))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(done);
        // What came too early: the next result to take is the first.
        let mut early: VecDeque<Option<R>> = VecDeque::new();
        let (mut given, mut taken) = (0, 0);
        // Takes what is done, and waits until no more than `most` is under way.
        let mut take_results = |given: usize, most: usize| -> Result<()> {
            loop {
                let next = if given - taken > most {
                    results.recv().expect("a worker answers")
                } else if let Ok(next) = results.try_recv() {
                    next
                } else {
                    return Ok(());
                };
                let (number, result) = next;
                let place = number - taken;
                if early.len() <= place {
                    early.resize_with(place + 1, || None);
                }
                early[place] = Some(result);
                while let Some(Some(_)) = early.front() {
                    take(early.pop_front().flatten().expect("it was just seen"))?;
                    taken += 1;
                }
            }
        };
        let mut is_stopped = false;
        let fed = feed(&mut |item| {
            give.send((given, item)).expect("the workers wait for work");
            given += 1;
            take_results(given, UNDER_WAY * jobs - 1).inspect_err(|_| is_stopped = true)
        });
        if !is_stopped {
            take_results(given, 0)?;
        }
        fed
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use treewright::{Code, Error};

    use super::*;

    #[test]
    fn results_come_in_order_and_work_under_way_is_bounded() {
        for jobs in [1, 2, 5] {
            let (under_way, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let mut taken = Vec::new();
            let work = || {
                |i: u64| {
                    // Early work takes longer than what comes behind.
                    std::thread::sleep(Duration::from_micros(i * 7919 % 400));
                    i * i
                }
            };
            let feed = |give: &mut dyn FnMut(u64) -> Result<()>| {
                (0..200).try_for_each(|i| {
                    most.fetch_max(1 + under_way.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
                    give(i)
                })
            };
            let take = |square| {
                under_way.fetch_sub(1, Ordering::Relaxed);
                taken.push(square);
                Ok(())
            };
            in_order(jobs, work, feed, take).expect("no errors");
            assert!(taken.into_iter().eq((0..200).map(|i| i * i)), "{jobs} jobs");
            assert!(most.into_inner() <= UNDER_WAY * jobs);
        }
    }

    #[test]
    fn an_error_ends_it() {
        let error = || Error::new(Code::Io, 1, 1, "full");
        let taken = |stop: u64| {
            let mut n = 0;
            let take = |_| {
                n += 1;
                if n == stop { Err(error()) } else { Ok(()) }
            };
            let ends =
                in_order(2, || |i: u64| i, |give| (0..).try_for_each(give), take).expect_err("endless");
            assert_eq!(ends.code, Code::Io);
            n
        };
        assert_eq!([taken(1), taken(50)], [1, 50]);
        let mut taken = Vec::new();
        let take = |i| {
            taken.push(i);
            Ok(())
        };
        let fed = in_order(3, || |i: u64| i, |give| (0..3).try_for_each(give).and(Err(error())), take);
        assert_eq!(fed.expect_err("fed three").code, Code::Io);
        assert_eq!(taken, [0, 1, 2], "what was given is done");
    }
}
