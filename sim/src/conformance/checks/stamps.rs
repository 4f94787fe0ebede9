//! The store's clock as its answers show it: what judging the dead rests on.

use core::time::Duration;

use tenure_core::StoreTime;

use crate::conformance::bench::Bench;
use crate::conformance::report::{Answer, Trouble, allowed, fails};

const ROUNDS: usize = 6;

pub(super) async fn stamps(bench: &mut Bench) -> Answer {
    let clock = bench.settings.clock;
    let (key, body) = (bench.key(20), bench.body());
    let mut etag = bench.create(&key, &body).await?;
    let mut last: Option<(StoreTime, StoreTime)> = None;
    // By how much any two stamps contradict each other.
    let mut apart = Duration::ZERO;
    for _ in 0..ROUNDS {
        let stamps = bench.found(&key).await?.2;
        let (Some(modified), Some(date)) = (stamps.modified, stamps.date) else {
            return Err(allowed(
                "an answer lacks stamps: a dead node is judged by watching it, which is slower",
            ));
        };
        let mut compare = |earlier: StoreTime, later: StoreTime, what: &str| {
            apart = apart.max(earlier.since(later));
            // On top of what the stamps are said to be worth: a file system's clock may move in ticks.
            let slack = clock.unit + clock.margin + Duration::from_millis(20);
            if earlier > later.after(slack) { Err(contradict(earlier.since(later), what)) } else { Ok(()) }
        };
        compare(modified, date, "a version is stamped later than the answer that shows it, by")?;
        if let Some((last_modified, last_date)) = last {
            compare(last_date, date, "the store's time went back by")?;
            compare(last_modified, modified, "a version is stamped before the one it replaced, by")?;
            compare(last_date, modified, "a version is stamped before it was written, by")?;
        }
        last = Some((modified, date));
        let body = bench.body();
        etag = bench.update(&key, &etag, &body).await?;
    }
    let needed = apart.saturating_sub(clock.unit);
    Ok(format!(
        "versions and answers are stamped by clocks that agree and do not go back (margin needed {:.1} s, kept {:.1} s)",
        needed.as_secs_f64(),
        clock.margin.as_secs_f64(),
    ))
}

fn contradict(by: Duration, what: &str) -> Trouble {
    fails(format!("{what} {:.1} s", by.as_secs_f64()))
        .advise("set the clocks of the store's servers (NTP): dead nodes are judged by them")
}
