//! Conditional writes: what compare-and-swap rests on.

use tenure_core::{Guard, Key};

use super::still;
use crate::conformance::bench::{Bench, Fate, Seen};
use crate::conformance::report::{Answer, Trouble, Verdict, allowed, fails, weak};
use crate::conformance::suite::Spelling;

/// What to do about a store whose conditional writes cannot be trusted.
const USE_ANOTHER: &str = "use another store: two nodes would own one cell";

pub(super) async fn create(bench: &mut Bench) -> Answer {
    let (key, body) = (bench.key(0), bench.body());
    let etag = bench.create(&key, &body).await?;
    if etag.is_weak() {
        return Err(weak(format_args!("the tag {etag}")));
    }
    Ok("a missing record was created under the guard that it is absent".to_owned())
}

pub(super) async fn create_again(bench: &mut Bench) -> Answer {
    let (key, first, second) = (bench.key(1), bench.body(), bench.body());
    bench.create(&key, &first).await?;
    match bench.write(&key, &Guard::Absent, &second).await? {
        Fate::Applied(_) => {
            Err(fails("a record that existed was created again: If-None-Match is ignored")
                .advise(USE_ANOTHER))
        }
        Fate::Rejected => {
            still(bench, &key, &first, "a second create was rejected and changed nothing").await
        }
    }
}

/// Finds out, too, how this store wants tags to be spelled.
pub(super) async fn update(bench: &mut Bench) -> Answer {
    let (key, first, second) = (bench.key(2), bench.body(), bench.body());
    let etag = bench.create(&key, &first).await?;
    let refused = match bench.update(&key, &etag, &second).await {
        Ok(_) => return still(bench, &key, &second, "an update under the current tag was applied").await,
        Err(trouble) if trouble.verdict == Verdict::Fails => trouble,
        Err(trouble) => return Err(trouble),
    };
    let Some(setting) = bench.settings.other_spelling else { return Err(refused) };
    bench.spelling = Spelling::Other;
    match other_spelling(bench, &key, &Guard::Match(etag)).await {
        Ok(()) => {
            bench.note(|report| report.settings.push(setting));
            Err(allowed("an update is applied only if its tag is spelled in another way, and then rightly")
                .advise(format!("set {setting} for this store")))
        }
        Err(_) => {
            bench.spelling = Spelling::AsSet;
            Err(if refused.advice.is_none() { refused.advise(USE_ANOTHER) } else { refused })
        }
    }
}

/// Checks that the right tag in the other spelling is accepted, and a stale one refused.
async fn other_spelling(bench: &mut Bench, key: &Key, guard: &Guard) -> Result<(), Trouble> {
    let (second, third) = (bench.body(), bench.body());
    if bench.write(key, guard, &second).await? == Fate::Rejected {
        return Err(fails("the other spelling was rejected, too"));
    }
    match bench.write(key, guard, &third).await? {
        Fate::Rejected => Ok(()),
        Fate::Applied(_) => Err(fails("in the other spelling a stale tag is accepted, too")),
    }
}

pub(super) async fn stale_update(bench: &mut Bench) -> Answer {
    let (key, first, second, third) = (bench.key(3), bench.body(), bench.body(), bench.body());
    let old = bench.create(&key, &first).await?;
    bench.update(&key, &old, &second).await?;
    match bench.write(&key, &Guard::Match(old), &third).await? {
        Fate::Applied(_) => {
            Err(fails("an update under an old tag was applied: If-Match is ignored").advise(USE_ANOTHER))
        }
        Fate::Rejected => still(bench, &key, &second, "an update under an old tag was rejected").await,
    }
}

pub(super) async fn update_missing(bench: &mut Bench) -> Answer {
    let (other, key, body) = (bench.key(4), bench.key(5), bench.body());
    let etag = bench.create(&other, &body).await?;
    let body = bench.body();
    match bench.write(&key, &Guard::Match(etag), &body).await? {
        Fate::Applied(_) => {
            Err(fails("an update of a missing record created it: a removed record comes back")
                .advise(USE_ANOTHER))
        }
        Fate::Rejected => match bench.read(&key, None).await? {
            Seen::Missing => Ok("an update of a missing record was rejected".to_owned()),
            Seen::Found { .. } | Seen::Unchanged(_) => {
                Err(fails("an update of a missing record was rejected, and yet it is there now")
                    .advise(USE_ANOTHER))
            }
        },
    }
}

/// BL-33: a tag made of size and time is the same for two versions of one second.
pub(super) async fn tags_differ(bench: &mut Bench) -> Answer {
    let (key, body) = (bench.key(6), bench.body());
    let mut tags = vec![bench.create(&key, &body).await?];
    let mut last = body;
    for _ in 0..4 {
        last = bench.body();
        let next = bench.update(&key, &tags[tags.len() - 1], &last).await?;
        if tags.contains(&next) {
            return Err(fails(format!(
                "two versions of the same length, written at once, share the tag {next}"
            ))
            .advise(USE_ANOTHER));
        }
        tags.push(next);
    }
    // No two versions of a record have equal bytes, so either answer will do.
    let again = bench.update(&key, &tags[tags.len() - 1], &last).await?;
    let equal = if tags.contains(&again) { "equal" } else { "different" };
    Ok(format!(
        "versions of the same length, written one right after the other, have different tags (equal bytes: {equal} tags)"
    ))
}

pub(super) async fn remove_and_create(bench: &mut Bench) -> Answer {
    let (key, first, second) = (bench.key(21), bench.body(), bench.body());
    let etag = bench.create(&key, &first).await?;
    bench.remove(&key).await?;
    if bench.read(&key, None).await? != Seen::Missing {
        return Err(fails("a removed record is still there").advise(USE_ANOTHER));
    }
    if bench.write(&key, &Guard::Match(etag), &second).await? != Fate::Rejected {
        return Err(fails("an update of a removed record was applied").advise(USE_ANOTHER));
    }
    bench.remove(&key).await?;
    bench.create(&key, &second).await?;
    still(bench, &key, &second, "a removed record is missing, and can be created again").await
}
