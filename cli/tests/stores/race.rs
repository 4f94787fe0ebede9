//! Two agents race for one cell, again and again.

use core::time::Duration;

use serde_json::json;
use tenure_blocking::clock;

use crate::bucket::{Server, say};
use crate::process::{Answer, Process};
use crate::stage::{Driver, Stage};

const ROUNDS: u64 = 1000;

#[test]
fn two_agents_that_race_for_one_cell_have_one_winner_each_time_and_consecutive_epochs() {
    let stage = Stage::new(Server::MiniStack, "race").with_ttl(Duration::from_secs(10));
    let mut agents = [stage.node(Driver::Tokio, "a"), stage.node(Driver::Tokio, "b")];
    let begin = clock::mono();
    let mut wins = [0_u64; 2];
    let mut last = 0;
    for epoch in 1..=ROUNDS {
        let ids = claim_together(&mut agents, last, epoch % 2 == 0);
        let answers = [0, 1].map(|at| agents[at].answer(ids[at]));
        last = judge(epoch, &answers);
        wins[last] += 1;
        let released = agents[last].about("release", "c");
        assert_eq!(released, Ok(json!({ "cell": "c", "epoch": epoch })));
    }
    let took = clock::mono().since(begin);
    let record = stage.place.owner("c").expect("claimed").record;
    assert_eq!(record.epoch.get(), ROUNDS);
    // Who comes too late reads that the cell is held; only who comes in time can be refused by the guard.
    let close = stage.count(&["write cells/c/own.json", "-> rejected"]);
    say(format_args!(
        "{ROUNDS} races in {took:.1?}: one winner each, epochs 1 to {ROUNDS}, wins {wins:?}, {close} decided by the guard"
    ));
    assert!(wins.iter().all(|won| *won > 0), "one of them always came too late: {wins:?}");
    assert!(close > 0, "no race was ever close");
}

/// Lets both agents claim the cell, and returns the ids of the requests.
///
/// The last owner knows the record and needs one request, the other has to read it first. So that not always the
/// same one wins, the last owner is held up in some rounds: it lists the nodes first.
fn claim_together(agents: &mut [Process; 2], last: usize, is_held_up: bool) -> [u64; 2] {
    let mut ids = [0; 2];
    for at in [1 - last, last] {
        if at == last && is_held_up {
            agents[at].ask(json!({ "do": "peers" })).expect("it can be listed");
        }
        ids[at] = agents[at].send(json!({ "do": "claim", "cell": "c", "wait_ms": 0 }));
    }
    ids
}

/// Returns who won; there must be one winner, at this epoch, and the other must know that it lost.
#[track_caller]
fn judge(epoch: u64, answers: &[Answer; 2]) -> usize {
    let winner = match answers {
        [Ok(_), Err(_)] => 0,
        [Err(_), Ok(_)] => 1,
        _ => panic!("round {epoch} has not one winner: {answers:?}"),
    };
    let won = json!({ "cell": "c", "epoch": epoch });
    assert_eq!(answers[winner], Ok(won), "round {epoch}");
    let lost = answers[1 - winner].as_ref().expect_err("the other's");
    assert!(lost["kind"] == "held" || lost["kind"] == "contended", "round {epoch}: the loser learns {lost}");
    winner
}
