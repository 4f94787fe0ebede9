//! Several contenders, one guard: exactly one may win.

use core::time::Duration;
use std::sync::Arc;

use tenure_core::{ETag, FaultKind, Guard, Key, Reply, WriteReply};

use super::bench::{Bench, Fate, Seen};
use super::report::{Answer, Trouble, fails, refused, unclear, undecided};
use super::suite::Release;
use super::words::{cause, told};

/// A race: how many contend, how often.
#[derive(Clone, Debug)]
pub struct Race {
    /// How many contend. A store that is slow under contention meets fewer in the end, at least two: each time a
    /// round takes more than a twentieth of the budget, half as many go on.
    pub contenders: u16,
    /// How many rounds of updates, and how many of creates.
    pub rounds: u16,
    /// How long each kind of race may take; whoever has not met all rounds by then has met enough if half of them
    /// were clear, and at least one.
    pub budget: Duration,
    /// Whether there are races, too, in which each body is held back after its first byte until all are there.
    pub apart: bool,
}

/// How long bodies are held back once all are there, so that the store has seen every first byte.
const SETTLE: Duration = Duration::from_millis(30);
/// What to do about a store with several winners.
const ADVICE: &str =
    "use another store: it checks a condition and then writes, so that two nodes would own one cell";

pub(super) async fn updates(bench: &mut Bench) -> Answer {
    rounds(bench, Kind::Update, Release::Whole).await
}

pub(super) async fn creates(bench: &mut Bench) -> Answer {
    rounds(bench, Kind::Create, Release::Whole).await
}

pub(super) async fn updates_apart(bench: &mut Bench) -> Answer {
    rounds(bench, Kind::Update, Release::AfterFirstByte(SETTLE)).await
}

pub(super) async fn creates_apart(bench: &mut Bench) -> Answer {
    rounds(bench, Kind::Create, Release::AfterFirstByte(SETTLE)).await
}

/// What the contenders try.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Create,
    Update,
}

/// What one round showed, when it showed nothing wrong.
enum Shown {
    /// One winner, and nobody else was told that he won.
    Winner(ETag),
    /// Nobody has won yet; a write that was not answered may still land. Why it was not, and what was said.
    Open(Option<FaultKind>, String),
}

async fn rounds(bench: &mut Bench, kind: Kind, release: Release) -> Answer {
    let Some(race) = bench.settings.race.clone() else { return Err(unclear("there is no race to run")) };
    let first = match (kind, release) {
        (Kind::Update, Release::Whole) => 40_000,
        (Kind::Update, Release::AfterFirstByte(_)) => 40_001,
        (Kind::Create, Release::Whole) => 41_000,
        (Kind::Create, Release::AfterFirstByte(_)) => 46_000,
    };
    let (mut contenders, mut clear, mut met) = (race.contenders.max(2), 0_u32, 0_u32);
    let (mut spent, mut open) = (Duration::ZERO, None);
    let mut key = bench.key(first);
    let mut current = None;
    while met < u32::from(race.rounds.min(4000)) && (spent < race.budget || met == 0) {
        let guard = match (kind, current.take()) {
            (Kind::Create, _) => {
                key = bench.key(first + u16::try_from(met).unwrap_or(u16::MAX));
                Guard::Absent
            }
            (Kind::Update, Some(etag)) => Guard::Match(etag),
            (Kind::Update, None) => Guard::Match(begin(bench, &key).await?),
        };
        met += 1;
        let (shown, took) = round(bench, &key, &guard, contenders, release, met).await?;
        match shown {
            Shown::Winner(etag) => {
                clear += 1;
                current = Some(etag);
            }
            Shown::Open(cause, sentence) => open = Some((cause, sentence)),
        }
        spent += took;
        if took > race.budget / 20 {
            contenders = (contenders / 2).max(2);
        }
    }
    if clear == 0 || clear * 2 < met {
        // A store that hardly ever answers clearly has not shown that it can keep one owner.
        let (cause, why) = open.unwrap_or_default();
        let sentence =
            format!("{clear} of {met} rounds were clear; of a write in the last that was not, {why}");
        return Err(undecided(cause, sentence));
    }
    let most = race.contenders.max(2);
    let who = if contenders == most { most.to_string() } else { format!("{most} to {contenders}") };
    Ok(format!("{who} contenders, {clear} clear rounds of {met}: exactly one winner each"))
}

/// Returns the tag of a version that no write of an earlier round can replace any more, however late it lands.
async fn begin(bench: &mut Bench, key: &Key) -> Result<ETag, Trouble> {
    let body = bench.body();
    match bench.read(key, None).await? {
        Seen::Missing | Seen::Unchanged(_) => bench.create(key, &body).await,
        Seen::Found { etag, .. } => match bench.write(key, &Guard::Match(etag), &body).await? {
            Fate::Applied(etag) => Ok(etag),
            // A late one came first; the tag that all the others name is gone all the same.
            Fate::Rejected => Ok(bench.found(key).await?.0),
        },
    }
}

/// Lets everybody write at the same instant, once, and judges what they were told and what is there now.
async fn round(
    bench: &mut Bench,
    key: &Key,
    guard: &Guard,
    contenders: u16,
    release: Release,
    number: u32,
) -> Result<(Shown, Duration), Trouble> {
    let bodies: Vec<Arc<[u8]>> = (0..contenders).map(|_| bench.body()).collect();
    let ops = bodies.iter().map(|body| bench.write_op(key, guard, body)).collect();
    let answers = bench.together(ops, release).await?;
    let took = answers.iter().map(|answer| answer.took).max().unwrap_or_default();
    let mut winners: Vec<(&Arc<[u8]>, ETag)> = Vec::new();
    let mut open = None;
    for (body, answer) in bodies.iter().zip(answers) {
        let Reply::Write(reply) = answer.reply else {
            return Err(fails(format!("a write of {key} was answered as if it were something else")));
        };
        match reply {
            WriteReply::Applied { etag } => winners.push((body, etag)),
            WriteReply::Rejected => {}
            WriteReply::Conflict
            | WriteReply::NotApplied(_)
            | WriteReply::Refused(_)
            | WriteReply::Throttled { .. }
            | WriteReply::Unknown(_) => open = Some((cause(&reply), told(&reply))),
        }
    }
    let shown = match (winners.as_slice(), open) {
        ([(body, etag)], _) => {
            let (found_tag, found_body, _) = bench.found(key).await?;
            if *found_body != ***body || found_tag != *etag {
                let sentence = format!("in round {number} the winner of {key} is not what is stored");
                return Err(fails(sentence).advise(ADVICE));
            }
            Shown::Winner(found_tag)
        }
        // Nobody was told, but what is stored says who won.
        ([], Some((cause, sentence))) => match bench.read(key, None).await? {
            Seen::Found { etag, body, .. } if bodies.iter().any(|ours| **ours == *body) => {
                Shown::Winner(etag)
            }
            Seen::Found { .. } | Seen::Missing | Seen::Unchanged(_) => Shown::Open(cause, sentence),
        },
        ([], None) => return Err(refused(guard, key, format!("in round {number} nobody won {key}"))),
        (several, _) => {
            let many = several.len();
            let sentence =
                format!("in round {number}, {many} of {contenders} contenders were told that they won {key}");
            return Err(fails(sentence).advise(ADVICE));
        }
    };
    Ok((shown, took))
}
