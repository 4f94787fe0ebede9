//! What a world promises to the applications that run in it.

use core::cell::{Cell, RefCell};
use core::time::Duration;

use tenure_core::{Call, CellId, ClaimError, Epoch, Instant, NodeId, Notice, Outcome, Tenure, Ticket};
use tenure_sim::{App, Context, Failure, Faults, Prng, Rate, Report, Scenario, Witness, World, run_seeds};

#[test]
fn a_turn_asked_for_comes_at_its_time_by_the_clock_of_the_machine() {
    #[derive(Debug)]
    struct Sleeper<'t>(Option<Instant>, &'t Cell<u32>);
    impl App for Sleeper<'_> {
        fn on_turn(&mut self, ctx: &mut Context<'_>) {
            let now = ctx.now().mono;
            if self.0 == Some(now) {
                self.1.set(self.1.get() + 1);
            }
            if self.0.is_none_or(|due| due <= now) {
                self.0 = Some(now.after(PAUSE));
                ctx.turn_after(PAUSE);
            }
        }
    }
    let met = Cell::new(0);
    let scenario = Scenario { drift_ppm: 10_000, ..Scenario::calm() };
    run(scenario, 1, || Sleeper(None, &met)).expect("nothing is wrong with it");
    assert!(met.get() > 100, "{met:?}");
}

#[test]
fn the_memory_of_a_process_dies_with_it() {
    #[derive(Debug)]
    struct Newborn(Option<NodeId>);
    impl App for Newborn {
        fn on_turn(&mut self, ctx: &mut Context<'_>) {
            assert_eq!(self.0.get_or_insert_with(|| ctx.node().clone()), ctx.node());
        }
    }
    let born = Cell::new(0);
    let crash = Rate::percent(50);
    let faults = Faults { every: Duration::from_secs(3), crash, ..Faults::default() };
    let make = || {
        born.set(born.get() + 1);
        Newborn(None)
    };
    run(Scenario { faults, ..Scenario::calm() }, 1, make).expect("nothing is wrong with it");
    assert!(born.get() > 3, "{born:?}");
}

#[test]
fn what_is_asked_in_an_answer_is_done_and_answered() {
    /// Claims, verifies, acknowledges, releases: each step in the answer to the one before.
    #[derive(Debug)]
    struct Chain<'t>(bool, &'t Cell<u32>);
    impl App for Chain<'_> {
        fn on_turn(&mut self, ctx: &mut Context<'_>) {
            if !core::mem::replace(&mut self.0, true) {
                ctx.ask(claim(ctx, Duration::from_secs(60)));
            }
        }
        fn on_answer(&mut self, ticket: Ticket, call: &Call, outcome: &Outcome, ctx: &mut Context<'_>) {
            match (call, outcome) {
                (_, Outcome::Claimed(Ok(tenure))) => {
                    ctx.ask(Call::Verify(tenure.clone()));
                }
                (Call::Verify(tenure), Outcome::Verified(Ok(()))) => {
                    ctx.acknowledge(ticket, tenure);
                    ctx.ask(Call::Release(tenure.clone()));
                }
                (_, Outcome::Released(Ok(()))) => self.1.set(self.1.get() + 1),
                _ => panic!("{call:?} was answered by {outcome:?}"),
            }
        }
    }
    let done = Cell::new(0);
    let report = run(Scenario::calm(), 1, || Chain(false, &done)).expect("nothing is wrong with it");
    assert_eq!(done.get(), 3);
    assert_eq!(report.seen.times(Witness::Acknowledged), 3);
}

#[test]
fn an_acknowledgement_that_no_verify_stands_for_is_a_violation() {
    #[derive(Debug)]
    struct Hasty;
    impl App for Hasty {
        fn on_turn(&mut self, ctx: &mut Context<'_>) {
            ctx.ask(claim(ctx, Duration::ZERO));
        }
        fn on_answer(&mut self, ticket: Ticket, _: &Call, outcome: &Outcome, ctx: &mut Context<'_>) {
            if let Outcome::Claimed(Ok(tenure)) = outcome {
                ctx.acknowledge(ticket, tenure);
            }
        }
    }
    let failure = run(Scenario::calm(), 1, || Hasty).expect_err("it acknowledges on the word of a claim");
    assert_eq!(failure.violation.check, "history");
}

#[test]
fn a_cancelled_claim_is_answered_at_once_or_never_and_any_other_call_all_the_same() {
    #[derive(Debug)]
    struct Fickle<'t>(Option<Ticket>, &'t Cell<u32>);
    impl App for Fickle<'_> {
        fn on_turn(&mut self, ctx: &mut Context<'_>) {
            if let Some(claim) = self.0.take() {
                ctx.cancel(claim);
            } else {
                self.0 = Some(ctx.ask(claim(ctx, Duration::from_secs(30))));
                let peers = ctx.ask(Call::Peers);
                ctx.cancel(peers);
            }
        }
        fn on_answer(&mut self, ticket: Ticket, _: &Call, outcome: &Outcome, _: &mut Context<'_>) {
            if matches!(outcome, Outcome::Peers(Ok(_))) {
                self.1.set(self.1.get() + 1);
            } else {
                assert_eq!(self.0.take(), Some(ticket), "{outcome:?}");
            }
        }
    }
    let listed = Cell::new(0);
    run(Scenario::calm(), 1, || Fickle(None, &listed)).expect("nothing is wrong with it");
    assert!(listed.get() > 30, "{listed:?}");
}

#[test]
fn a_message_reaches_the_process_it_was_meant_for_and_no_other() {
    #[derive(Debug)]
    struct Gossip<'t>(&'t Cell<u32>);
    impl App for Gossip<'_> {
        fn on_turn(&mut self, ctx: &mut Context<'_>) {
            for other in ctx.others().cloned().collect::<Vec<_>>() {
                ctx.tell(&other, other.as_str());
            }
        }
        fn on_message(&mut self, from: &NodeId, text: &str, ctx: &mut Context<'_>) {
            assert!(text == ctx.node().as_str() && from != ctx.node());
            self.0.set(self.0.get() + 1);
        }
    }
    let heard = Cell::new(0);
    let rates = (Rate::percent(30), Rate::percent(30));
    let faults =
        Faults { every: Duration::from_secs(2), crash: rates.0, message_lost: rates.1, ..Faults::default() };
    run(Scenario { faults, ..Scenario::calm() }, 1, || Gossip(&heard)).expect("nothing is wrong with it");
    assert!(heard.get() > 50, "{heard:?}");
}

#[test]
fn a_cell_that_is_wanted_and_never_claimed_breaks_g4() {
    #[derive(Debug)]
    struct Dreamer;
    impl App for Dreamer {
        fn on_turn(&mut self, _: &mut Context<'_>) {}
        fn wants(&self, cell: &CellId, _: bool) -> bool {
            cell.as_str() == "c2"
        }
    }
    let failure = run(Scenario::calm(), 1, || Dreamer).expect_err("nobody claims anything");
    assert_eq!(failure.violation.to_string(), "G4: nobody who wants c2 has it in time");
}

#[test]
fn an_application_that_is_never_content_is_found_and_shown() {
    #[derive(Debug)]
    struct Sulk;
    impl App for Sulk {
        fn on_turn(&mut self, _: &mut Context<'_>) {}
        fn is_content(&self) -> bool {
            false
        }
    }
    let failure = run(Scenario::calm(), 1, || Sulk).expect_err("it lacks something for ever");
    assert_eq!(failure.violation.check, "content");
    assert!(failure.violation.why.ends_with("is not content in time: Sulk"), "{}", failure.violation);
}

#[test]
fn an_application_that_asks_in_every_answer_is_stopped() {
    #[derive(Debug)]
    struct Nag;
    impl App for Nag {
        fn on_turn(&mut self, ctx: &mut Context<'_>) {
            ctx.ask(Call::Publish { load: None, meta: None });
        }
        fn on_answer(&mut self, _: Ticket, call: &Call, _: &Outcome, ctx: &mut Context<'_>) {
            ctx.ask(call.clone());
        }
    }
    let failure = run(Scenario::calm(), 1, || Nag).expect_err("it never comes to an end");
    assert_eq!(failure.violation.check, "liveness");
}

#[test]
fn a_session_that_leaves_tells_its_application_and_is_followed_by_a_new_one() {
    #[derive(Debug)]
    struct Guest<'t>(&'t RefCell<Vec<NodeId>>);
    impl App for Guest<'_> {
        fn on_turn(&mut self, ctx: &mut Context<'_>) {
            ctx.ask(Call::Leave);
        }
        fn on_notice(&mut self, notice: &Notice, ctx: &mut Context<'_>) {
            if let Notice::Fenced(_) = notice {
                self.0.borrow_mut().push(ctx.node().clone());
                // Nothing is refused for being late: it is answered, with an error.
                ctx.ask(claim(ctx, Duration::ZERO));
            }
        }
        fn on_answer(&mut self, _: Ticket, _: &Call, outcome: &Outcome, _: &mut Context<'_>) {
            assert!(
                matches!(outcome, Outcome::Left | Outcome::Claimed(Err(ClaimError::Fenced(_)))),
                "{outcome:?}"
            );
        }
    }
    let left = RefCell::new(Vec::new());
    run(Scenario { machines: 1, ..Scenario::calm() }, 1, || Guest(&left)).expect("nothing is wrong with it");
    let left = left.into_inner();
    assert!(left.len() > 3 && left.windows(2).all(|pair| pair[0] < pair[1]), "{left:?}");
}

#[test]
fn the_lowest_failing_seed_is_found_with_its_trace_even_if_it_is_a_panic() {
    #[derive(Debug)]
    struct Brittle(u64);
    impl App for Brittle {
        fn on_turn(&mut self, ctx: &mut Context<'_>) {
            if self.0 == 7 {
                ctx.note("is about to break");
                let tenure = Tenure { cell: ctx.cells()[0].clone(), epoch: Epoch::FIRST };
                ctx.acknowledge(Ticket::new(99), &tenure);
            }
            assert!(self.0 != 9, "it broke");
        }
    }
    let world = |seed, trace| {
        World::with_app(Scenario::calm(), &mut Prng::new(seed), || Brittle(seed)).with_trace(trace).run()
    };
    let found = run_seeds(0..100, world).expect_err("seeds 7 and 9 break");
    assert_eq!((found.seed, found.failure.violation.check), (7, "history"));
    assert!(found.to_string().contains(" is about to break\n"), "{found}");
    let found = run_seeds(8..100, world).expect_err("seed 9 breaks");
    assert_eq!((found.seed, found.failure.violation.to_string().as_str()), (9, "panic: it broke"));
    assert_eq!(run_seeds(10..30, world).expect("the others hold").worlds, 20);
}

#[test]
fn a_calm_world_is_one_in_which_nothing_goes_wrong() {
    for seed in 0..20 {
        let mut choices = Prng::new(seed);
        let report = World::new(Scenario::calm(), &mut choices).run().expect("holds");
        for quiet in [Witness::Crash, Witness::FencedByExpiry, Witness::LateLanding, Witness::Throttled] {
            assert_eq!(report.seen.times(quiet), 0, "{quiet:?} in {seed}");
        }
    }
}

fn run<A: App>(scenario: Scenario, seed: u64, make: impl FnMut() -> A) -> Result<Report, Box<Failure>> {
    World::with_app(scenario, &mut Prng::new(seed), make).run()
}

fn claim(ctx: &Context<'_>, wait: Duration) -> Call {
    Call::Claim { cell: ctx.cells()[0].clone(), wait }
}

const PAUSE: Duration = Duration::from_millis(1234);
