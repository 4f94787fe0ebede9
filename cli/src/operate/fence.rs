//! Judging a node by one version of its lease, and fencing it by that very version.

use core::time::Duration;
use std::thread;

use tenure_blocking::ownership::LeaseCasOutcome;
use tenure_core::{LeaseRecord, NodeId};

use crate::exit::Failure;
use crate::inspect::{Inspector, Life, LifeState};

/// How often to judge: a lease that has just ended is certain to have a few seconds later.
const LOOKS: u32 = 20;
/// How long to wait between two looks.
const PAUSE: Duration = Duration::from_millis(300);

/// What became of the attempt to fence a node.
#[derive(Debug)]
pub(super) enum Fencing {
    /// It was dead for good before.
    Already,
    /// Its lease had ended, and now it is dead for good.
    Fenced,
    /// It lives, or may: why.
    Refused(String),
}

/// Fences a node if its lease has ended by the store's clock.
///
/// # Errors
/// Says why the store cannot be asked, or what became of the fence is not known.
pub(super) fn fence(node: &NodeId, store: &Inspector) -> Result<Fencing, Failure> {
    for look in 1..=LOOKS {
        let Some(lease) = store.lease(node)? else {
            return Ok(if store.is_retired(node)? {
                Fencing::Already
            } else {
                Fencing::Refused("its lease is missing: a claim that waits finds out whether it lives".into())
            });
        };
        let life = store.judge(node, &lease);
        match life.state {
            LifeState::Dead if life.lease.as_ref().is_some_and(LeaseRecord::is_tombstone) => {
                return Ok(Fencing::Already);
            }
            LifeState::Dead => match store.fence(node, &lease)? {
                LeaseCasOutcome::Applied { .. } => return Ok(Fencing::Fenced),
                // It was renewed at the last moment, or fenced by another.
                LeaseCasOutcome::Rejected => continue,
            },
            LifeState::Expired => {}
            LifeState::Live => return Ok(Fencing::Refused(alive(&life))),
            LifeState::Unknown => {
                let why = "its lease has no time stamps to judge it by: a claim that waits finds out whether it lives";
                return Ok(Fencing::Refused(why.into()));
            }
        }
        if look < LOOKS {
            // Nothing can wake this thread early, and it has nothing else to do.
            thread::park_timeout(PAUSE);
        }
    }
    Ok(Fencing::Refused("its lease is about to end; try again".into()))
}

fn alive(life: &Life) -> String {
    let age = life.age.unwrap_or_default().as_secs_f64();
    match life.lease.as_ref().and_then(|lease| lease.ttl) {
        Some(ttl) => format!(
            "its lease is live: renewed {age:.1} s ago for {:.1} s; stop that node, or wait for its end",
            ttl.as_secs_f64()
        ),
        None => format!(
            "its lease is not known to have ended: stored {age:.1} s ago; stop that node, or wait for its end"
        ),
    }
}
