//! How long single requests take: what the ttl must leave room for.

use core::time::Duration;

use tenure_core::{Guard, Key, ReadReply, Reply, WriteReply};

use crate::conformance::bench::Bench;
use crate::conformance::latency::Latency;
use crate::conformance::report::{Answer, fails, unclear};

/// Times creates of keys of their own, since some stores take only one write a second of one key, and reads.
pub(super) async fn latency(bench: &mut Bench) -> Answer {
    let (mut writes, mut reads) = (Vec::new(), Vec::new());
    let first = 30_000;
    for index in first..first + bench.settings.timed {
        let (key, body) = (Key::probe(bench.settings.seed << 16 | u64::from(index)), bench.body());
        if !bench.settings.read_only {
            let key = bench.remember(key.clone());
            let op = bench.write_op(&key, &Guard::Absent, &body);
            let answer = bench.one(op).await?;
            if matches!(answer.reply, Reply::Write(WriteReply::Applied { .. })) {
                writes.push(answer.took);
            }
        }
        let op = bench.read_op(&key, None);
        let answer = bench.one(op).await?;
        if matches!(answer.reply, Reply::Read(ReadReply::Found { .. } | ReadReply::Missing)) {
            reads.push(answer.took);
        }
    }
    let (writes, reads) = (Latency::new(writes), Latency::new(reads));
    bench.note(|report| (report.writes, report.reads) = (writes.clone(), reads.clone()));
    let Some(reads) = reads else { return Err(unclear("no read was answered")) };
    if bench.settings.read_only {
        return Ok(format!("reads take {}", spell(&reads)));
    }
    let Some(writes) = writes.filter(|writes| writes.count() * 2 >= usize::from(bench.settings.timed)) else {
        return Err(unclear("fewer than half of the writes were answered"));
    };
    let times = format!("writes take {}, reads {}", spell(&writes), spell(&reads));
    // The least ttls of the core's configuration, for whole-second stamps and for fine ones.
    let least = Duration::from_millis(if bench.settings.clock.unit.is_zero() { 50 } else { 3000 });
    match writes.ttl(least) {
        None => {
            Err(fails(format!("{times}: too slow for the longest ttl, 60 s")).advise("use a nearer store"))
        }
        Some(ttl) => Ok(format!("{times}; a ttl from {} s on costs no lease", ttl.as_secs_f64())),
    }
}

fn spell(latency: &Latency) -> String {
    let ms = |permille| latency.permille(permille).as_secs_f64() * 1000.0;
    format!("{:.1} ms (p50), {:.1} (p90), {:.1} (p99), {:.1} (max)", ms(500), ms(900), ms(990), ms(1000))
}
