//! Swapping a record and finding out what became of it, within a bounded number of attempts.
//!
//! All attempts of one swap send the same bytes under the same guard. After every answer but `Applied` the
//! record is read: our exact bytes mean that some attempt was applied, another version than the guarded one
//! that none can be any more, and the guarded version itself proves nothing, so the same bytes are sent again. Bytes that
//! are no record prove nothing either; those that stay are an error.

use core::sync::atomic::Ordering;
use core::time::Duration;
use std::sync::Arc;

use tenure_core::{
    AttemptId, BadRecord, ETag, Fault, FaultKind, Guard, Key, ListId, ListOp, ListReply, Op, Page, ReadId,
    ReadOp, ReadReply, Reply, WriteOp, WriteReply, check_record,
};

use super::{OwnershipError, OwnershipStore, Stored};
use crate::wait::pause;

/// How often a swap is sent.
const SWAPS: u32 = 6;
/// How often one read or listing is sent.
const READS: u32 = 3;
/// The least time to leave a throttling store alone.
const THROTTLE_MIN: Duration = Duration::from_secs(1);
/// The longest, whatever it asks for: the caller's thread is waiting.
const THROTTLE_MAX: Duration = Duration::from_secs(60);
const DELAY: Duration = Duration::from_millis(50);

/// What a read has shown about a swap.
enum Decision {
    Applied(ETag),
    /// What is read is no record, time after time.
    Corrupt(BadRecord),
    Lost,
    /// What the guard names is still there.
    Open,
}

impl OwnershipStore {
    /// Puts `body` in place of what `guard` names; returns its tag, or nothing if that was there no more.
    pub(super) fn swap(
        &self,
        key: &Key,
        guard: Guard,
        body: Vec<u8>,
    ) -> Result<Option<ETag>, OwnershipError> {
        let body: Arc<[u8]> = body.into();
        // Whether some attempt may have been applied, or may yet be.
        let mut open = false;
        // Whether one was put off or interfered with, and no read has shown since that it was not applied all the same: some
        // stores ask to slow down when too few of their disks have confirmed a write, and what interferes may be a copy
        // that a layer below sent on its own.
        let mut put_off = false;
        let mut rejections = 0;
        let mut last = Fault::new(FaultKind::Unavailable, "others keep interfering");
        for attempt in 1..=SWAPS {
            match self.send(key, &guard, &body) {
                WriteReply::Applied { etag } if !etag.is_weak() => return Ok(Some(etag)),
                // A proxy weakened the tag of a true answer, or answered by itself.
                WriteReply::Applied { .. } => {
                    open = true;
                    last = Fault::new(FaultKind::Malformed, "applied under a weak etag");
                }
                WriteReply::Conflict => put_off = true,
                WriteReply::NotApplied(fault) => last = fault,
                WriteReply::Refused(fault) if !(open || put_off) => return Err(OwnershipError::Store(fault)),
                WriteReply::Refused(fault) => last = fault,
                WriteReply::Rejected => rejections += 1,
                WriteReply::Throttled { after } => {
                    last = Fault::new(FaultKind::Throttled, "the writes were put off each time");
                    put_off = true;
                    pause(rest(after));
                    if attempt < SWAPS {
                        continue;
                    }
                }
                WriteReply::Unknown(fault) => {
                    open = true;
                    last = fault;
                }
            }
            match self.decide(key, &guard, &body) {
                Ok(Decision::Applied(etag)) => return Ok(Some(etag)),
                Ok(Decision::Corrupt(bad)) => return Err(OwnershipError::Bad(bad)),
                Ok(Decision::Lost) => return Ok(None),
                Ok(Decision::Open) => put_off = false,
                // A rejection whose reason cannot be seen may hide that an earlier copy of ours won.
                Err(fault) => {
                    open |= rejections > 0 || put_off;
                    last = fault;
                }
            }
            if attempt < SWAPS {
                pause(DELAY * attempt);
            }
        }
        if open {
            return Err(OwnershipError::Unsettled { key: key.clone(), fault: last });
        }
        if rejections == SWAPS {
            let why = match guard {
                Guard::Absent => "it rejects a create, and shows nothing there when it is read",
                Guard::Match(_) => "it rejects an update of the very version that it shows when it is read",
            };
            return Err(OwnershipError::Inconsistent { key: key.clone(), why });
        }
        Err(OwnershipError::Store(last))
    }

    fn decide(&self, key: &Key, guard: &Guard, body: &[u8]) -> Result<Decision, Fault> {
        for reads in 1..READS {
            let decision = self.look(key, guard, body)?;
            if !matches!(decision, Decision::Corrupt(_)) {
                return Ok(decision);
            }
            pause(DELAY * reads);
        }
        self.look(key, guard, body)
    }

    /// Reads what has become of a record that was to be swapped.
    fn look(&self, key: &Key, guard: &Guard, body: &[u8]) -> Result<Decision, Fault> {
        Ok(match (self.read(key)?, guard) {
            (Some(found), _) if *found.body == *body => Decision::Applied(found.etag),
            (Some(found), Guard::Match(expected)) if found.etag == *expected => Decision::Open,
            (None, Guard::Absent) => Decision::Open,
            (Some(found), _) => match check_record(key, &found.body) {
                Ok(()) => Decision::Lost,
                Err(why) => {
                    let (key, etag, why) = (key.clone(), found.etag, why.to_string());
                    Decision::Corrupt(BadRecord::Corrupt { key, etag, why })
                }
            },
            (None, _) => Decision::Lost,
        })
    }

    fn send(&self, key: &Key, guard: &Guard, body: &Arc<[u8]>) -> WriteReply {
        let op = WriteOp {
            id: AttemptId::new(self.next_request()),
            key: key.clone(),
            guard: guard.clone(),
            body: body.clone(),
            timeout: self.timeout,
        };
        match self.store.execute(Op::Write(op)) {
            Reply::Write(reply) => reply,
            Reply::List(_) | Reply::Read(_) | Reply::Remove(_) => WriteReply::Unknown(wrong_kind()),
        }
    }

    /// Reads a record whatever it is; nothing if it is missing.
    pub(super) fn read(&self, key: &Key) -> Result<Option<Stored<()>>, Fault> {
        self.patiently(|| {
            let id = ReadId::new(self.next_request());
            let op = ReadOp { id, key: key.clone(), unless: None, timeout: self.timeout };
            match self.store.execute(Op::Read(op)) {
                Reply::Read(ReadReply::Found { etag, body, stamps }) => {
                    Ok(Some(Stored { record: (), etag, body, stamps }))
                }
                Reply::Read(ReadReply::Missing) => Ok(None),
                Reply::Read(ReadReply::Throttled { after }) => Err(throttled(after)),
                Reply::Read(ReadReply::Failed(fault)) => Err((fault, DELAY)),
                Reply::Read(ReadReply::Unchanged(_))
                | Reply::List(_)
                | Reply::Remove(_)
                | Reply::Write(_) => Err((wrong_kind(), DELAY)),
            }
        })
    }

    /// Lists one page.
    pub(super) fn list(&self, prefix: &str, after: Option<Arc<str>>) -> Result<Page, OwnershipError> {
        self.patiently(|| {
            let id = ListId::new(self.next_request());
            let op = ListOp { id, prefix: prefix.into(), after: after.clone(), timeout: self.timeout };
            match self.store.execute(Op::List(op)) {
                Reply::List(ListReply::Page(page)) => Ok(page),
                Reply::List(ListReply::Throttled { after }) => Err(throttled(after)),
                Reply::List(ListReply::Failed(fault)) => Err((fault, DELAY)),
                Reply::Read(_) | Reply::Remove(_) | Reply::Write(_) => Err((wrong_kind(), DELAY)),
            }
        })
        .map_err(OwnershipError::Store)
    }

    /// Asks again, as often as is of use, after the time that the failure calls for.
    fn patiently<T>(&self, ask: impl Fn() -> Result<T, (Fault, Duration)>) -> Result<T, Fault> {
        for _ in 1..READS {
            match ask() {
                Ok(answer) => return Ok(answer),
                Err((fault, _)) if !is_passing(&fault) => return Err(fault),
                Err((_, delay)) => pause(delay),
            }
        }
        ask().map_err(|(fault, _)| fault)
    }

    fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }
}

/// Tells whether the same question may have a better answer soon.
fn is_passing(fault: &Fault) -> bool {
    matches!(
        fault.kind,
        FaultKind::Network | FaultKind::Throttled | FaultKind::TimedOut | FaultKind::Unavailable
    )
}

fn throttled(after: Option<Duration>) -> (Fault, Duration) {
    let fault = Fault::new(FaultKind::Throttled, "the reads were put off each time");
    (fault, rest(after))
}

/// Returns how long to leave a throttling store alone that asks for `after`.
fn rest(after: Option<Duration>) -> Duration {
    after.unwrap_or_default().clamp(THROTTLE_MIN, THROTTLE_MAX)
}

fn wrong_kind() -> Fault {
    Fault::new(FaultKind::Malformed, "the answer was not one to the question")
}

#[cfg(test)]
mod tests {
    use super::rest;
    use core::time::Duration;

    #[test]
    fn a_throttling_store_is_left_alone_for_a_second_to_a_minute() {
        for (after, secs) in [(None, 1), (Some(7), 7), (Some(u64::from(u32::MAX)), 60)] {
            assert_eq!(rest(after.map(Duration::from_secs)), Duration::from_secs(secs));
        }
    }
}
