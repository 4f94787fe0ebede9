//! Metadata that take connections and say nothing any more, under a node that needs them.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::Arc;

use tenure_sim::server::{Fault, Options, Rule, Server as Store};

use super::child::{TTL, Talking, command};
use super::loopback::{Act, Server};
use super::{at, instance};

/// How late a process may be scheduled on a busy machine.
const SLACK: Duration = Duration::from_millis(400);

#[test]
fn bl_11_metadata_that_hang_hold_up_no_fence() {
    let hangs = Arc::new(AtomicBool::new(false));
    let is_hanging = Arc::clone(&hangs);
    let metadata =
        Server::start(move |seen| if is_hanging.load(Ordering::SeqCst) { Act::Hang } else { instance(seen) });
    let store = Store::start(Options::default()).expect("a loopback port");
    let environment = [("AWS_EC2_METADATA_SERVICE_ENDPOINT", at(&metadata))];
    let environment = environment.each_ref().map(|(name, value)| (*name, value.as_str()));
    let child = Talking::start(command("holds", "s3://tenure", &store.endpoint(), &environment));
    assert_eq!(child.hear(), "held");
    let asked = metadata.seen().len();
    // From now on the keys are refused, and whoever asks for others waits.
    hangs.store(true, Ordering::SeqCst);
    store.faults([Rule::new(Fault::Expired)]);
    assert_eq!(child.hear(), "over");
    let over = store.now();
    assert!(["credentials", "expired"].contains(&child.hear().as_str()));
    let told = store.now();
    let seen = store.seen();
    let is_renewal = |seen: &&tenure_sim::server::Seen| seen.key.starts_with("nodes/") && seen.applied;
    let renewed = seen.iter().rfind(is_renewal).expect("it joined").at;
    // A renewal counts from its first send, just before it arrives; a tenth of the ttl is kept for stopping.
    let authority = TTL - TTL / 10;
    assert!(over.since(renewed) <= authority + SLACK, "{:?} after the last renewal", over.since(renewed));
    assert!(over.since(renewed) + SLACK >= authority, "{:?} after the last renewal", over.since(renewed));
    assert!(told.since(over) <= SLACK, "told {:?} later", told.since(over));
    // It did ask, and was not answered.
    assert!(metadata.seen().len() > asked, "nobody asked for keys");
}
