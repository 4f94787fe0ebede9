//! For each planted defect a small world in which it must be found, and pinned worlds that hold.

use tenure_core::Defect;

use super::scope::{Mishap, Scope, Wish};

/// A small world that aims at a defect.
#[derive(Clone, Debug)]
pub struct Aim {
    /// What is planted.
    pub defect: Defect,
    /// The world, with the defect in every node.
    pub scope: Scope,
    /// How many moves a shortest counterexample takes.
    pub depth: u32,
}

/// Returns the small worlds that aim at a defect: at the rules about time, the fence, settling and giving up.
///
/// For the other defects nobody has found one yet, or there is none: those that only show when somebody puts old owner
/// records back or removes them (`GrantRegressed`, `GrantStaleOwn`, `VerifyFromMemory`) no small world can show.
pub fn aims() -> Vec<Aim> {
    use Mishap::{Astray, Conflict, DatedLate, LeaseRemoved, Pause};
    use Wish::{Claim, Leave, Release, Transfer};
    let fine = || Scope { rivals_rest: true, only_guarantees: true, ..Scope::fine(4) };
    let seconds = || Scope { rivals_rest: true, only_guarantees: true, ..Scope::whole_seconds(6) };
    let strict = |scope: Scope| Scope { only_guarantees: false, ..scope };
    let claim = [(Claim, 1)];
    let twice = [(Claim, 2), (Release, 1)];
    let hits = |faults, mishaps: &[_]| fine().asking(&claim).with_faults(faults, mishaps);
    let settles = |faults, mishaps: &[_]| fine().asking(&twice).with_faults(faults, mishaps);
    let stalls = [(Astray, 1), (Pause, 1)];
    let pause = [(Pause, 1)];
    let table = [
        (Defect::ActUntilReleaseConfirmed, fine().asking(&[(Claim, 1), (Release, 1)]).without_faults(), 7),
        (Defect::ActUntilTransferConfirmed, fine().asking(&[(Claim, 1), (Transfer, 1)]).without_faults(), 7),
        (Defect::AdoptByName, settles(2, &[(Astray, 2)]), 12),
        (Defect::ConflictIsLost, strict(settles(1, &[(Conflict, 1)])), 5),
        (Defect::GrantWithoutLease, strict(settles(2, &stalls)), 12),
        (Defect::JudgeByOwnClock, Scope { walls_are_off: true, ..hits(0, &[]) }, 9),
        (Defect::NoHoldMargin, hits(1, &pause).with_drift(), 14),
        (Defect::NoMargin, seconds().with_disagreement().asking(&claim).with_faults(1, &pause), 15),
        (Defect::NoUnit, seconds().asking(&claim).with_faults(1, &pause), 15),
        // A session of few cells gives them back in the very step that sends the tombstone.
        (Defect::LeaveBeforeRelease, strict(fine()).asking(&[(Leave, 1)]).without_faults(), 1),
        (Defect::LateRevival, strict(hits(2, &stalls)), 9),
        (Defect::MissingIsDead, hits(1, &[(LeaseRemoved, 1)]), 8),
        (Defect::RecreateLease, strict(hits(1, &[(LeaseRemoved, 1)])), 8),
        (Defect::SilenceFromIssue, hits(2, &stalls).without_stamps().asking(&[(Claim, 2)]), 24),
        (Defect::StealUnfenced, hits(2, &[(DatedLate, 1), (Pause, 1)]), 16),
        (Defect::StealLive, hits(0, &[]), 5),
        (Defect::TrustOldTag, strict(settles(2, &[(Astray, 2)])), 8),
        (
            Defect::TtlFromLastAttempt,
            Scope { horizon: 8, config: Scope::fine(5).config, ..hits(3, &[(Astray, 2), (Pause, 1)]) },
            29,
        ),
        (Defect::TtlFromReply, hits(2, &stalls), 20),
        (Defect::UnknownIsApplied, settles(2, &[(Astray, 2)]), 7),
        (Defect::UnknownIsLost, strict(settles(2, &[(Astray, 2)])), 6),
    ];
    let aim =
        |(defect, scope, depth): (_, Scope, _)| Aim { defect, scope: scope.with_defect(Some(defect)), depth };
    table.into_iter().map(aim).collect()
}

/// A small world that was explored completely, with what that must come to.
///
/// Another number of states is no failure by itself, but it must be explained: it means that engines, checks or
/// the world's rules tell more or fewer situations apart than before. Fewer may mean that something cannot happen
/// any more that did.
#[derive(Clone, Debug)]
pub struct Pin {
    /// What is special about it.
    pub name: &'static str,
    /// The world.
    pub scope: Scope,
    /// How many distinct states it has for a [narrow](super::Search::narrowly) search.
    pub states: u64,
    /// How many moves lead to those farthest away.
    pub depth: u32,
    /// Whether it is small enough to be explored without optimisation.
    pub is_quick: bool,
}

/// Returns the worlds whose sizes are known.
pub fn pins() -> Vec<Pin> {
    use Mishap::{Astray, Pause};
    use Wish::{Claim, Release};
    let any = u8::MAX;
    let stalls = [(Astray, any), (Pause, any)];
    let claim = [(Claim, 1)];
    vec![
        Pin {
            name: "two nodes, one cell, one fault of any kind",
            scope: Scope::fine(4).asking(&claim).with_faults(1, &Mishap::ALL.map(|mishap| (mishap, any))),
            states: 28_594,
            depth: 38,
            is_quick: true,
        },
        Pin {
            name: "two nodes, two cells, no fault",
            scope: Scope { cells: 2, ..Scope::fine(3) }.asking(&[(Claim, 1), (Release, 1)]).without_faults(),
            states: 50_025,
            depth: 43,
            is_quick: false,
        },
        Pin {
            name: "silence instead of stamps, drift, one fault",
            scope: Scope::fine(4).with_drift().without_stamps().asking(&claim).with_faults(1, &stalls),
            states: 37_978,
            depth: 36,
            is_quick: false,
        },
        Pin {
            name: "three nodes, one cell, one pause",
            scope: Scope { nodes: 3, ..Scope::fine(3) }.asking(&claim).with_faults(1, &[(Pause, 1)]),
            states: 109_848,
            depth: 59,
            is_quick: false,
        },
        Pin {
            name: "two nodes, one cell, two faults",
            scope: Scope::fine(4).asking(&claim).with_faults(2, &stalls),
            states: 208_331,
            depth: 43,
            is_quick: false,
        },
        Pin {
            name: "whole seconds, drift and disagreement, one fault",
            scope: Scope { rivals_rest: true, ..Scope::whole_seconds(6) }
                .with_drift()
                .with_disagreement()
                .asking(&claim)
                .with_faults(1, &stalls),
            states: 675_028,
            depth: 37,
            is_quick: false,
        },
    ]
}
