//! The questions, one function each. A question that needs a record makes its own.

use core::time::Duration;
use std::sync::Arc;

use tenure_core::{CellId, ETag, Guard, Key, StoreTime};

use super::Settings;
use super::bench::{Bench, Fate, Seen};
use super::report::{Answer, Trouble, allowed, fails, unclear};

/// A question.
type Ask = fn(&mut Bench<'_>, &Settings) -> Answer;

/// All questions that need only probe keys, in the order in which they are asked.
pub(super) const ALL: [(&str, Ask); 12] = [
    ("create", create),
    ("create again", create_again),
    ("update", update),
    ("stale update", stale_update),
    ("update of a missing record", update_missing),
    ("a tag for each version", tags_differ),
    ("read after write", read_after_write),
    ("conditional read", conditional_read),
    ("bytes", bytes),
    ("stamps", stamps),
    ("remove and create", remove_and_create),
    ("listing", listing),
];

fn create(bench: &mut Bench<'_>, _: &Settings) -> Answer {
    let (key, body) = (bench.key(0), bench.body());
    let etag = bench.create(&key, &body)?;
    if etag.is_weak() {
        return Err(fails(format!("the tag {etag} is weak: no update can be guarded by it")));
    }
    Ok("a missing record was created under the guard that it is absent".to_owned())
}

fn create_again(bench: &mut Bench<'_>, _: &Settings) -> Answer {
    let (key, first, second) = (bench.key(1), bench.body(), bench.body());
    bench.create(&key, &first)?;
    match bench.write(&key, &Guard::Absent, &second)? {
        Fate::Applied(_) => Err(fails("a record that existed was created again: If-None-Match is ignored")),
        Fate::Rejected => still(bench, &key, &first, "a second create was rejected and changed nothing"),
    }
}

fn update(bench: &mut Bench<'_>, _: &Settings) -> Answer {
    let (key, first, second) = (bench.key(2), bench.body(), bench.body());
    let etag = bench.create(&key, &first)?;
    bench.update(&key, &etag, &second)?;
    still(bench, &key, &second, "an update under the current tag was applied")
}

fn stale_update(bench: &mut Bench<'_>, _: &Settings) -> Answer {
    let (key, first, second, third) = (bench.key(3), bench.body(), bench.body(), bench.body());
    let stale = bench.create(&key, &first)?;
    bench.update(&key, &stale, &second)?;
    match bench.write(&key, &Guard::Match(stale), &third)? {
        Fate::Applied(_) => Err(fails("an update under an old tag was applied: If-Match is ignored")),
        Fate::Rejected => {
            still(bench, &key, &second, "an update under an old tag was rejected and changed nothing")
        }
    }
}

fn update_missing(bench: &mut Bench<'_>, _: &Settings) -> Answer {
    let (key, other, body) = (bench.key(4), bench.key(5), bench.body());
    let etag = bench.create(&other, &body)?;
    let body = bench.body();
    match bench.write(&key, &Guard::Match(etag), &body)? {
        Fate::Applied(_) => {
            Err(fails("an update of a missing record created it: a removed record comes back"))
        }
        Fate::Rejected => match bench.read(&key, None)? {
            Seen::Missing => Ok("an update of a missing record was rejected".to_owned()),
            Seen::Found { .. } | Seen::Unchanged(_) => {
                Err(fails("an update of a missing record was rejected, and yet it is there now"))
            }
        },
    }
}

fn tags_differ(bench: &mut Bench<'_>, _: &Settings) -> Answer {
    let (key, body) = (bench.key(6), bench.body());
    let mut tags = vec![bench.create(&key, &body)?];
    for _ in 0..4 {
        let body = bench.body();
        let next = bench.update(&key, &tags[tags.len() - 1], &body)?;
        if tags.contains(&next) {
            return Err(fails(format!(
                "two versions of the same length, written at once, share the tag {next}"
            )));
        }
        tags.push(next);
    }
    Ok("versions of the same length, written one right after the other, have different tags".to_owned())
}

fn read_after_write(bench: &mut Bench<'_>, _: &Settings) -> Answer {
    let (key, mut body) = (bench.key(7), bench.body());
    let mut etag = bench.create(&key, &body)?;
    for _ in 0..8 {
        let (read_tag, read_body, _) = bench.found(&key)?;
        if *read_body != *body {
            return Err(fails("a read after a write showed an older version"));
        }
        if read_tag != etag {
            return Err(fails(format!("a write answered with the tag {etag}, a read with {read_tag}")));
        }
        body = bench.body();
        etag = bench.update(&key, &etag, &body)?;
    }
    Ok("every read after a write showed what was written, under the tag the write was given".to_owned())
}

fn conditional_read(bench: &mut Bench<'_>, _: &Settings) -> Answer {
    let (key, first, second) = (bench.key(8), bench.body(), bench.body());
    let old = bench.create(&key, &first)?;
    let unchanged = match bench.read(&key, Some(&old))? {
        Seen::Unchanged(_) => true,
        Seen::Found { etag, body, .. } if etag == old && *body == *first => false,
        other @ (Seen::Found { .. } | Seen::Missing) => {
            return Err(fails(format!("a read of an unchanged record was answered with {other:?}")));
        }
    };
    bench.update(&key, &old, &second)?;
    match bench.read(&key, Some(&old))? {
        Seen::Found { body, .. } if *body == *second => {}
        other @ (Seen::Found { .. } | Seen::Missing | Seen::Unchanged(_)) => {
            return Err(fails(format!("a read of a changed record was answered with {other:?}")));
        }
    }
    if unchanged {
        Ok("a read of an unchanged record says so, of a changed one shows it".to_owned())
    } else {
        Err(allowed("a read of an unchanged record sends it whole: If-None-Match is ignored on reads"))
    }
}

fn bytes(bench: &mut Bench<'_>, _: &Settings) -> Answer {
    let every: Vec<u8> = (0..=255).collect();
    let bodies =
        [&b"x"[..], "{\"text\":\"\u{e9}\u{65e5}\u{1f600}\\n\"}\r\n".as_bytes(), &every, &every.repeat(64)];
    for (body, index) in bodies.into_iter().zip(9..) {
        let key = bench.key(index);
        bench.create(&key, &Arc::from(body))?;
        if *bench.found(&key)?.1 != *body {
            return Err(fails(format!("{} bytes came back changed", body.len())));
        }
    }
    Ok("bytes of every value came back as they were".to_owned())
}

fn stamps(bench: &mut Bench<'_>, settings: &Settings) -> Answer {
    // On top of what the stamps are said to be worth: a file system's clock may move in ticks.
    let slack = settings.clock.unit + settings.clock.margin + Duration::from_millis(20);
    let (key, body) = (bench.key(20), bench.body());
    let mut etag = bench.create(&key, &body)?;
    let mut last: Option<(StoreTime, StoreTime)> = None;
    for _ in 0..4 {
        let stamps = bench.found(&key)?.2;
        let (Some(modified), Some(date)) = (stamps.modified, stamps.date) else {
            return Err(allowed(
                "an answer lacks stamps: a dead node is judged by watching it, which is slower",
            ));
        };
        if modified > date.after(slack) {
            return Err(fails(format!("a version is stamped {:?} after the answer", modified.since(date))));
        }
        if let Some((last_modified, last_date)) = last {
            if last_date > date.after(slack) {
                return Err(fails(format!("the store's time went back by {:?}", last_date.since(date))));
            }
            if last_modified > modified.after(slack) {
                let back = last_modified.since(modified);
                return Err(fails(format!("a version is stamped {back:?} before the one it replaced")));
            }
            if last_date > modified.after(slack) {
                let back = last_date.since(modified);
                return Err(fails(format!("a version is stamped {back:?} before it was written")));
            }
        }
        last = Some((modified, date));
        let body = bench.body();
        etag = bench.update(&key, &etag, &body)?;
    }
    Ok("versions and answers are stamped by clocks that agree and do not go back".to_owned())
}

fn remove_and_create(bench: &mut Bench<'_>, _: &Settings) -> Answer {
    let (key, first, second) = (bench.key(21), bench.body(), bench.body());
    let etag = bench.create(&key, &first)?;
    bench.remove(&key)?;
    if bench.read(&key, None)? != Seen::Missing {
        return Err(fails("a removed record is still there"));
    }
    if bench.write(&key, &Guard::Match(etag), &second)? != Fate::Rejected {
        return Err(fails("an update of a removed record was applied"));
    }
    bench.remove(&key)?;
    bench.create(&key, &second)?;
    still(bench, &key, &second, "a removed record is missing, and can be created again")
}

/// Lists many keys, page by page.
fn listing(bench: &mut Bench<'_>, settings: &Settings) -> Answer {
    // The highest indices, so that they cannot meet a key of another question.
    let first = u16::MAX - settings.listed.min(60_000);
    let mut expected: Vec<(Key, ETag)> = Vec::new();
    for index in first..u16::MAX {
        let (key, body) = (bench.key(index), bench.body());
        let etag = bench.create(&key, &body)?;
        expected.push((key, etag));
    }
    let prefix = bench.prefix();
    let mut listed = Vec::new();
    let (mut after, mut pages, mut tagged) = (None, 0, true);
    loop {
        let page = bench.list(&prefix, after.clone())?;
        pages += 1;
        tagged &= page.entries.iter().all(|entry| entry.etag.is_some());
        listed.extend(page.entries);
        if page.next.is_none() {
            break;
        }
        if page.next == after || pages > expected.len() + 64 {
            return Err(fails(format!("a listing did not end after {pages} pages")));
        }
        after = page.next;
    }
    if let Some(pair) = listed.windows(2).find(|pair| pair[0].key >= pair[1].key) {
        return Err(fails(format!("{} is listed before {}", pair[0].key, pair[1].key)));
    }
    if let Some(entry) = listed.iter().find(|entry| !entry.key.starts_with(&prefix)) {
        return Err(fails(format!("{} is listed below {prefix}", entry.key)));
    }
    for (key, etag) in &expected {
        let Some(entry) = listed.iter().find(|entry| entry.key == key.as_str()) else {
            return Err(fails(format!("{key} was written and is not listed")));
        };
        if entry.etag.as_ref().is_some_and(|listed| listed != etag) {
            return Err(fails(format!("{key} has the tag {etag} and is listed with {:?}", entry.etag)));
        }
    }
    let narrow = expected.first().map_or(prefix, |(key, _)| key.to_string());
    let narrowed = bench.list(&narrow, None)?.entries.len();
    if narrowed != 1 {
        return Err(fails(format!("{narrowed} keys are listed below {narrow}, which is one key")));
    }
    if !tagged {
        return Err(allowed("listings show no tags: every lease must be read to see whether it changed"));
    }
    Ok(format!("{} keys were listed in {pages} pages, each once and in order", listed.len()))
}

/// Uses the strangest names a cell can have.
pub(super) fn names(bench: &mut Bench<'_>) -> Answer {
    let every = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:$-";
    let longest = "$".repeat(255);
    for name in [every, &longest, "...", "-", "a:b", "A:B", "a$2Fb", "$"] {
        let cell = CellId::new(name).map_err(|error| unclear(error.to_string()))?;
        let (key, body) = (bench.note(Key::owner(&cell)), bench.body());
        bench.create(&key, &body)?;
        still(bench, &key, &body, "")?;
        let listed = bench.list(key.as_str(), None)?;
        if !listed.entries.iter().any(|entry| entry.key == key.as_str()) {
            return Err(fails(format!("{key} was written and is not listed under that name")));
        }
    }
    Ok("every legal character is kept as it is".to_owned())
}

/// Checks that the record has this body, and says `sentence` if so.
fn still(bench: &mut Bench<'_>, key: &Key, body: &[u8], sentence: &str) -> Result<String, Trouble> {
    if *bench.found(key)?.1 == *body {
        return Ok(sentence.to_owned());
    }
    Err(fails(format!("{key} does not have the bytes it should have")))
}
