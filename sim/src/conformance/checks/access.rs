//! Whether the store can be reached, and what these credentials may do.

use core::time::Duration;

use tenure_core::FaultKind;

use crate::conformance::bench::{Bench, Seen};
use crate::conformance::report::{Answer, Trouble, allowed, fails};

/// Beyond this much a store refuses requests for their time; ours are then signed with the store's.
const OFFSET_MAX: Duration = Duration::from_secs(300);

/// Without the right to list, a store denies the reading of what is not there.
pub(super) async fn read_missing(bench: &mut Bench) -> Answer {
    let key = bench.key(0);
    match bench.read(&key, None).await {
        Ok(Seen::Missing) => Ok("a key that is not there is said to be missing".to_owned()),
        Ok(Seen::Found { .. }) => Err(fails(format!("{key}, which nobody wrote, is there"))
            .advise("remove what is left below probe/, or look who else writes below this prefix")),
        Ok(Seen::Unchanged(_)) => Err(fails("a plain read was answered as a conditional one")),
        Err(trouble) => Err(rights(
            trouble,
            "grant s3:GetObject on the prefix, and s3:ListBucket on the bucket: without it a missing key is denied",
        )),
    }
}

pub(super) async fn list(bench: &mut Bench) -> Answer {
    let prefix = bench.prefix();
    match bench.list(&prefix, None).await {
        Ok((page, _)) if page.entries.is_empty() => {
            Ok("a prefix with nothing below it lists nothing".to_owned())
        }
        Ok((page, _)) => Err(fails(format!("{} is listed below {prefix}", page.entries[0].key))
            .advise("remove it, or look who else writes below this prefix")),
        Err(trouble) => Err(rights(trouble, "grant s3:ListBucket on the bucket")),
    }
}

/// Compares the store's clock with this machine's. Nothing but signatures depends on it.
pub(super) async fn clock(bench: &mut Bench) -> Answer {
    let prefix = bench.prefix();
    let (page, answer) = bench.list(&prefix, None).await?;
    let Some(date) = page.date else {
        return Err(allowed(
            "the store shows no time: a dead node is judged by watching it, which is slower",
        ));
    };
    let middle = answer.sent.wall.after(answer.took / 2).as_nanos();
    // The stamp is cut to the unit, so its own middle is half of it later.
    let shown = date.after(bench.settings.clock.unit / 2).as_nanos();
    let offset = Duration::from_nanos(shown.abs_diff(middle));
    let ahead = i64::try_from(offset.as_millis()).unwrap_or(i64::MAX) * if shown < middle { -1 } else { 1 };
    bench.note(|report| report.store_ahead_ms = Some(ahead));
    let direction = if shown < middle { "behind" } else { "ahead of" };
    let sentence = format!("the store's clock is {:.1} s {direction} this machine's", offset.as_secs_f64());
    if offset > OFFSET_MAX {
        return Err(allowed(sentence + "; requests are signed with the store's time")
            .advise("set this machine's clock: the expiry it publishes for foreign readers is as wrong"));
    }
    Ok(sentence)
}

/// Creates and removes one key before anything else is written, so that no more than one can be left behind.
pub(super) async fn remove(bench: &mut Bench) -> Answer {
    let (key, body) = (bench.key(22), bench.body());
    let created = bench.create(&key, &body).await;
    created.map_err(|trouble| rights(trouble, "grant s3:PutObject on the prefix"))?;
    let removed = bench.remove(&key).await;
    removed.map_err(|trouble| {
        rights(
            trouble,
            "grant s3:DeleteObject on probe/, nodes/ and retired/ below the prefix; no other is removed",
        )
    })?;
    Ok("a record was created and removed".to_owned())
}

fn rights(trouble: Trouble, advice: &str) -> Trouble {
    // What is wrong with the keys themselves is said with what to do about it: it names their variables.
    let is_of_keys = trouble.sentence.contains("AWS_");
    if trouble.cause == Some(FaultKind::Denied) && !is_of_keys { trouble.advise(advice) } else { trouble }
}
