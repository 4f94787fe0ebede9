//! Does the store keep the condition on which a record is about to be replaced? A node asks that when it joins. An operator
//! may come another way, through a proxy that drops the header, and would write over whatever is there.

use core::hash::{BuildHasher, Hasher};
use core::sync::atomic::Ordering;
use core::time::Duration;
use std::collections::hash_map::RandomState;
use std::sync::Arc;
use std::thread;

use tenure_blocking::ownership::OwnershipError;
use tenure_core::{
    AttemptId, Fault, FaultKind, Guard, JoinError, Key, Op, RemoveId, RemoveOp, Reply, WriteOp, WriteReply,
};

use super::{Inspector, TIMEOUT};
use crate::exit::Failure;

/// How many objects are tried with: answers that prove nothing may come at any time.
const ROUNDS: u32 = 4;
/// How long to wait between two: a store that throttles wants a second.
const PAUSE: Duration = Duration::from_secs(1);

impl Inspector {
    /// Writes an object of its own under a guard that does not hold for it, unless such a guard was kept before.
    ///
    /// # Errors
    /// Says that the store is unfit, for it took that, or why it cannot be asked.
    pub(crate) fn probe(&self, guard: &Guard) -> Result<(), Failure> {
        let is_kept = match guard {
            Guard::Absent => &self.keeps_absent,
            Guard::Match(_) => &self.keeps_match,
        };
        if is_kept.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut last = Fault::new(FaultKind::Unavailable, "others keep interfering");
        for round in 1..=ROUNDS {
            let key = Key::probe(RandomState::new().build_hasher().finish());
            let answer = match self.put(&key, Guard::Absent, br#"{"probe":1}"#) {
                WriteReply::Applied { .. } => self.put(&key, guard.clone(), br#"{"probe":2}"#),
                // A copy of that very write may have won.
                WriteReply::Rejected => WriteReply::Conflict,
                unclear @ (WriteReply::Conflict
                | WriteReply::NotApplied(_)
                | WriteReply::Refused(_)
                | WriteReply::Throttled { .. }
                | WriteReply::Unknown(_)) => unclear,
            };
            // One that stays is litter, not a danger.
            let id = RemoveId::new(self.id());
            let _ = self.store.execute(Op::Remove(RemoveOp { id, key, timeout: TIMEOUT }));
            match answer {
                WriteReply::Applied { .. } => {
                    let why = "it overwrote an object although the condition of the write did not hold";
                    return Err(JoinError::Unfit(why.into()).into());
                }
                WriteReply::Rejected => {
                    is_kept.store(true, Ordering::Relaxed);
                    return Ok(());
                }
                WriteReply::Refused(fault) => return Err(OwnershipError::Store(fault).into()),
                WriteReply::NotApplied(fault) | WriteReply::Unknown(fault) => last = fault,
                WriteReply::Throttled { .. } => {
                    last = Fault::new(FaultKind::Throttled, "it asks for fewer writes")
                }
                WriteReply::Conflict => {}
            }
            if round < ROUNDS {
                // Nothing can wake this thread early, and it has nothing else to do.
                thread::park_timeout(PAUSE);
            }
        }
        Err(OwnershipError::Store(last).into())
    }

    fn put(&self, key: &Key, guard: Guard, body: &[u8]) -> WriteReply {
        let id = AttemptId::new(self.id());
        let op = WriteOp { id, key: key.clone(), guard, body: Arc::from(body), timeout: TIMEOUT };
        match self.store.execute(Op::Write(op)) {
            Reply::Write(reply) => reply,
            Reply::List(_) | Reply::Read(_) | Reply::Remove(_) => WriteReply::Unknown(Fault::new(
                FaultKind::Malformed,
                "the answer was not one to the question",
            )),
        }
    }
}
