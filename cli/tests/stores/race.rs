//! Two agents race for one cell, again and again.

use core::time::Duration;

use serde_json::json;
use tenure_blocking::clock;

use crate::bucket::{Server, say};
use crate::process::Answer;
use crate::stage::{Driver, Stage};

const ROUNDS: u64 = 1000;

#[test]
fn two_agents_that_race_for_one_cell_have_one_winner_each_time_and_consecutive_epochs() {
    let stage = Stage::new(Server::MiniStack, "race").with_ttl(Duration::from_secs(10));
    let mut agents = [stage.node(Driver::Tokio, "a"), stage.node(Driver::Tokio, "b")];
    let begin = clock::mono();
    let mut wins = [0_u64; 2];
    for epoch in 1..=ROUNDS {
        // Who is asked first has a head start, so they take turns.
        let first = usize::from(epoch % 2 == 0);
        let mut ids = [0; 2];
        for at in [first, 1 - first] {
            ids[at] = agents[at].send(json!({ "do": "claim", "cell": "c", "wait_ms": 0 }));
        }
        let answers = [0, 1].map(|at| agents[at].answer(ids[at]));
        let winner = judge(epoch, &answers);
        wins[winner] += 1;
        let released = agents[winner].about("release", "c");
        assert_eq!(released, Ok(json!({ "cell": "c", "epoch": epoch })));
    }
    let took = clock::mono().since(begin);
    let record = stage.place.owner("c").expect("claimed").record;
    assert_eq!(record.epoch.get(), ROUNDS);
    say(format_args!("{ROUNDS} races in {took:.1?}: one winner each, epochs 1 to {ROUNDS}, wins {wins:?}"));
    assert!(wins.iter().all(|won| *won > 0), "no races: one of them always came too late ({wins:?})");
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
