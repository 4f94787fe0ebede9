//! Several contenders, one guard: exactly one may win.

use core::time::Duration;
use std::sync::{Arc, Barrier};
use std::{panic, thread};

use tenure_core::{ETag, Guard, Key, Op, Reply};

use super::bench::{Bench, Fate};
use super::report::{Answer, Report, Trouble, Verdict, fails, unclear};

/// A race: how many contend, how often.
#[derive(Clone, Debug)]
pub struct Race {
    /// Which probe keys to use; another seed than that of any other run at the same time.
    pub seed: u64,
    /// How many contend, each in a thread of its own.
    pub contenders: usize,
    /// How many rounds of updates, and how many of creates.
    pub rounds: u16,
    /// How long one request may take.
    pub timeout: Duration,
}

/// The shared half of a contender.
#[derive(Clone, Copy)]
struct Store<'a> {
    execute: &'a (dyn Fn(Op) -> Reply + Sync),
    pause: &'a (dyn Fn(Duration) + Sync),
}

/// Lets contenders race for one record: rounds of updates of one version, and rounds of creates. Each sends one
/// write of its own bytes, and settles it if the answer leaves its fate open.
pub fn race(
    settings: &Race,
    execute: &(dyn Fn(Op) -> Reply + Sync),
    pause: &(dyn Fn(Duration) + Sync),
) -> Report {
    let store = Store { execute, pause };
    let mut report = Report::default();
    let (mut execute, mut pause) = (|op| (store.execute)(op), |time| (store.pause)(time));
    let mut bench = Bench::new(settings.seed, settings.timeout, &mut execute, &mut pause);
    report.add("race of updates", updates(settings, store, &mut bench));
    report.add("race of creates", creates(settings, store, &mut bench));
    report.add("cleaned up after the races", bench.clean());
    report
}

fn updates(settings: &Race, store: Store<'_>, bench: &mut Bench<'_>) -> Answer {
    let (key, body) = (bench.key(0), bench.body());
    let mut etag = bench.create(&key, &body)?;
    let mut clear = 0;
    for number in 1..=settings.rounds {
        match round(settings, store, bench, &key, &Guard::Match(etag), number) {
            Ok(()) => clear += 1,
            Err((Verdict::Unclear, _)) => {}
            Err(trouble) => return Err(trouble),
        }
        etag = bench.found(&key)?.0;
    }
    conclude(settings, clear, "updates of one version")
}

fn creates(settings: &Race, store: Store<'_>, bench: &mut Bench<'_>) -> Answer {
    let mut clear = 0;
    for number in 1..=settings.rounds {
        let key = bench.key(number);
        match round(settings, store, bench, &key, &Guard::Absent, number) {
            Ok(()) => clear += 1,
            Err((Verdict::Unclear, _)) => {}
            Err(trouble) => return Err(trouble),
        }
        bench.remove(&key)?;
    }
    conclude(settings, clear, "creates of one record")
}

fn round(
    settings: &Race,
    store: Store<'_>,
    bench: &mut Bench<'_>,
    key: &Key,
    guard: &Guard,
    number: u16,
) -> Result<(), Trouble> {
    let bodies: Vec<Arc<[u8]>> = (0..settings.contenders).map(|_| bench.body()).collect();
    let fates = contend(settings, store, key, guard, &bodies);
    let mut winners: Vec<(&Arc<[u8]>, &ETag)> = Vec::new();
    let mut open = None;
    for (body, fate) in bodies.iter().zip(&fates) {
        match fate {
            Ok(Fate::Applied(etag)) => winners.push((body, etag)),
            Ok(Fate::Rejected) => {}
            Err((Verdict::Unclear, sentence)) => open = Some(sentence.clone()),
            Err(trouble) => return Err(trouble.clone()),
        }
    }
    match (winners.as_slice(), open) {
        ([(body, etag)], _) => {
            let (found_tag, found_body, _) = bench.found(key)?;
            if *found_body == ***body && found_tag == **etag {
                return Ok(());
            }
            Err(fails(format!("in round {number} the winner of {key} is not what is stored")))
        }
        ([], Some(sentence)) => Err(unclear(sentence)),
        ([], None) => Err(fails(format!("in round {number} nobody won {key}"))),
        (several, _) => {
            let (many, all) = (several.len(), settings.contenders);
            Err(fails(format!("in round {number}, {many} of {all} contenders were told that they won {key}")))
        }
    }
}

/// Lets everybody write at the same instant, and returns what each learned.
fn contend(
    settings: &Race,
    store: Store<'_>,
    key: &Key,
    guard: &Guard,
    bodies: &[Arc<[u8]>],
) -> Vec<Result<Fate, Trouble>> {
    let barrier = Barrier::new(bodies.len());
    thread::scope(|scope| {
        let contender = |body: Arc<[u8]>| {
            let barrier = &barrier;
            move || {
                let (mut execute, mut pause) = (|op| (store.execute)(op), |time| (store.pause)(time));
                let mut bench = Bench::new(settings.seed, settings.timeout, &mut execute, &mut pause);
                barrier.wait();
                bench.write(key, guard, &body)
            }
        };
        let running: Vec<_> = bodies.iter().map(|body| scope.spawn(contender(body.clone()))).collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|cause| panic::resume_unwind(cause)))
            .collect()
    })
}

fn conclude(settings: &Race, clear: u16, what: &str) -> Answer {
    let (rounds, contenders) = (settings.rounds, settings.contenders);
    // A store that hardly ever answers clearly has not shown that it can keep one owner.
    if u32::from(clear) * 2 < u32::from(rounds) || clear == 0 {
        return Err(unclear(format!(
            "{clear} of {rounds} rounds of {what} were clear, the others timed out"
        )));
    }
    Ok(format!("{contenders} contenders, {clear} clear rounds of {what}: exactly one winner each"))
}
