//! Listings: all keys, each once, in order, to the end; and the names that keys may have.

use tenure_core::{CellId, ETag, Key};

use super::still;
use crate::conformance::bench::Bench;
use crate::conformance::report::{Answer, allowed, fails, unclear, weak};

/// What to do about a listing that is not what is there.
const USE_ANOTHER: &str =
    "use another store, or another version of this one: nobody could rely on what is listed";

/// Lists many keys, page by page.
pub(super) async fn listing(bench: &mut Bench) -> Answer {
    // The highest indices, so that they cannot meet a key of another question.
    let first = u16::MAX - bench.settings.listed.min(60_000);
    let keys: Vec<_> = (first..u16::MAX).map(|index| bench.key(index)).collect();
    let tags = bench.create_all(&keys).await?;
    let expected: Vec<(Key, ETag)> = keys.into_iter().zip(tags).collect();
    let prefix = bench.prefix();
    let mut listed = Vec::new();
    let (mut after, mut pages, mut tagged) = (None, 0, true);
    loop {
        let page = bench.list(&prefix, after.clone()).await?.0;
        pages += 1;
        tagged &= page.entries.iter().all(|entry| entry.etag.is_some());
        listed.extend(page.entries);
        if page.next.is_none() {
            break;
        }
        if page.next == after || pages > expected.len() + 64 {
            return Err(fails(format!("a listing did not end after {pages} pages")).advise(USE_ANOTHER));
        }
        after = page.next;
    }
    if let Some(pair) = listed.windows(2).find(|pair| pair[0].key >= pair[1].key) {
        return Err(fails(format!("{} is listed before {}", pair[0].key, pair[1].key)).advise(USE_ANOTHER));
    }
    if let Some(entry) = listed.iter().find(|entry| !entry.key.starts_with(&prefix)) {
        return Err(fails(format!("{} is listed below {prefix}", entry.key)).advise(USE_ANOTHER));
    }
    for (key, etag) in &expected {
        let Some(entry) = listed.iter().find(|entry| entry.key == key.as_str()) else {
            return Err(fails(format!("{key} was written and is not listed")).advise(USE_ANOTHER));
        };
        if let Some(listed) = entry.etag.as_ref().filter(|listed| *listed != etag) {
            if etag.is_weak() {
                return Err(weak(format_args!("the tag {etag} of {key}")));
            }
            let sentence = format!("{key} has the tag {etag} and is listed with {listed}");
            return Err(fails(sentence).advise(USE_ANOTHER));
        }
    }
    let narrow = expected.first().map_or(prefix, |(key, _)| key.to_string());
    let narrowed = bench.list(&narrow, None).await?.0.entries.len();
    if narrowed != 1 {
        let sentence = match narrowed {
            0 => format!("nothing is listed below {narrow}, which is a key"),
            _ => format!("{narrowed} keys are listed below {narrow}, which is one key"),
        };
        return Err(fails(sentence).advise(USE_ANOTHER));
    }
    if !tagged {
        return Err(allowed("listings show no tags: every lease must be read to see whether it changed"));
    }
    let spelled = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let (keys, pages) = (spelled(listed.len(), "key"), spelled(pages, "page"));
    Ok(format!("every key was listed once and in order: {keys} in {pages}"))
}

/// Uses the strangest names a cell can have.
pub(super) async fn names(bench: &mut Bench) -> Answer {
    let every = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:$-";
    let longest = "$".repeat(255);
    for name in [every, &longest, "...", "-", "a:b", "A:B", "a$2Fb", "$"] {
        let cell = CellId::new(name).map_err(|error| unclear(error.to_string()))?;
        let (key, body) = (bench.remember(Key::owner(&cell)), bench.body());
        bench.create(&key, &body).await?;
        still(bench, &key, &body, "").await?;
        let listed = bench.list(key.as_str(), None).await?.0;
        if !listed.entries.iter().any(|entry| entry.key == key.as_str()) {
            let sentence = format!("{key} was written and is not listed under that name");
            return Err(fails(sentence).advise(USE_ANOTHER));
        }
    }
    Ok("every legal character is kept as it is".to_owned())
}
