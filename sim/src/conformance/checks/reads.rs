//! Reads: that they show the last write, under its tag, byte for byte.

use std::sync::Arc;

use tenure_core::Key;

use crate::conformance::bench::{Bench, Seen};
use crate::conformance::report::{Answer, allowed, fails, weak};

/// What to do about a store that shows old versions.
const READ_THE_PRIMARY: &str = "point at the primary region without a cache in between, or use another store";

pub(super) async fn read_after_write(bench: &mut Bench) -> Answer {
    let (key, mut body) = (bench.key(7), bench.body());
    let mut etag = bench.create(&key, &body).await?;
    for _ in 0..8 {
        let (read_tag, read_body, _) = bench.found(&key).await?;
        if *read_body != *body {
            return Err(fails("a read after a write showed an older version").advise(READ_THE_PRIMARY));
        }
        if read_tag != etag {
            return Err(fails(format!("a write answered with the tag {etag}, a read with {read_tag}")));
        }
        body = bench.body();
        etag = bench.update(&key, &etag, &body).await?;
    }
    Ok("every read after a write showed what was written, under the tag the write was given".to_owned())
}

pub(super) async fn conditional_read(bench: &mut Bench) -> Answer {
    let (key, first, second) = (bench.key(8), bench.body(), bench.body());
    let old = bench.create(&key, &first).await?;
    let unchanged = match bench.read(&key, Some(&old)).await? {
        Seen::Unchanged(_) => true,
        Seen::Found { etag, body, .. } if etag == old && *body == *first => false,
        other @ (Seen::Found { .. } | Seen::Missing) => {
            return Err(fails(format!("a read of an unchanged record was answered with {other:?}")));
        }
    };
    bench.update(&key, &old, &second).await?;
    match bench.read(&key, Some(&old)).await? {
        Seen::Found { body, .. } if *body == *second => {}
        other @ (Seen::Found { .. } | Seen::Missing | Seen::Unchanged(_)) => {
            return Err(fails(format!("a read of a changed record was answered with {other:?}"))
                .advise(READ_THE_PRIMARY));
        }
    }
    if unchanged {
        Ok("a read of an unchanged record says so, of a changed one shows it".to_owned())
    } else {
        Err(allowed("a read of an unchanged record sends it whole: If-None-Match is ignored on reads"))
    }
}

pub(super) async fn bytes(bench: &mut Bench) -> Answer {
    let every: Vec<u8> = (0..=255).collect();
    let bodies =
        [&b"x"[..], "{\"text\":\"\u{e9}\u{65e5}\u{1f600}\\n\"}\r\n".as_bytes(), &every, &every.repeat(64)];
    for (body, index) in bodies.into_iter().zip(9..) {
        let key = bench.key(index);
        bench.create(&key, &Arc::from(body)).await?;
        if *bench.found(&key).await?.1 != *body {
            return Err(fails(format!("{} bytes came back changed", body.len()))
                .advise("look for a proxy that rewrites bodies, and go round it"));
        }
    }
    Ok("bytes of every value came back as they were".to_owned())
}

/// Looks at one record that is there already, without writing.
pub(super) async fn existing(bench: &mut Bench) -> Answer {
    for prefix in [Key::LEASES, Key::OWNERS] {
        let (page, _) = bench.list(prefix, None).await?;
        let key = page.entries.iter().find_map(|entry| {
            Key::node(&entry.key)
                .map(|node| Key::lease(&node))
                .or_else(|| Key::cell(&entry.key).map(|cell| Key::owner(&cell)))
        });
        let Some(key) = key else { continue };
        let Seen::Found { etag, stamps, .. } = bench.read(&key, None).await? else { continue };
        if etag.is_weak() {
            return Err(weak(format_args!("the tag {etag} of {key}")));
        }
        if stamps.modified.is_none() || stamps.date.is_none() {
            return Err(allowed(
                "an answer lacks stamps: a dead node is judged by watching it, which is slower",
            ));
        }
        return Ok(format!("{key} has a tag and is stamped"));
    }
    Err(allowed("there is no record to look at yet"))
}
