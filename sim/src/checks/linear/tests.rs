//! Histories by hand, both ways, and tiny ones at random against a judge that tries every order.

use super::model::{Act, Lock};
use super::search::{Mark, Unexplained, search};
use crate::choices::{Choices, Draw, Prng};

const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

/// Builds a history from lines that overlap as they are drawn: one act to a line, from `[` to `]`; without `]` it is
/// never answered.
fn history(lines: &[(&str, Act)]) -> (Vec<Act>, Vec<Mark>) {
    let acts = lines.iter().map(|line| line.1).collect();
    let width = lines.iter().map(|line| line.0.len()).max().unwrap_or(0);
    let mut marks = Vec::new();
    for column in 0..width {
        for (act, (line, _)) in lines.iter().enumerate() {
            match line.as_bytes().get(column) {
                Some(b'[') => marks.push(Mark::Call(act)),
                Some(b']') => marks.push(Mark::Return(act)),
                Some(_) | None => {}
            }
        }
    }
    (acts, marks)
}

fn holds(lines: &[(&str, Act)]) -> bool {
    let (acts, marks) = history(lines);
    let found = search(&acts, &marks, &[Lock::default()]).is_ok();
    assert_eq!(found, brute(&acts, &marks), "{lines:?}");
    found
}

const fn claim(node: usize, epoch: u64) -> Act {
    Act::Claim(node, Some(epoch))
}

#[test]
fn one_owner_after_another_is_an_order() {
    assert!(holds(&[
        ("[-]", claim(A, 1)),
        ("   [-]", Act::Verify(A, 1)),
        ("      [-]", Act::Release(A, 1)),
        ("         [-]", claim(B, 2)),
        ("            [-]", Act::Verify(B, 2)),
    ]));
}

#[test]
fn a_verify_after_the_next_claim_has_no_order() {
    assert!(!holds(&[("[-]", claim(A, 1)), ("   [-]", claim(B, 2)), ("      [-]", Act::Verify(A, 1)),]));
}

#[test]
fn a_verify_that_overlaps_the_next_claim_may_come_before_it() {
    assert!(holds(&[("[-]", claim(A, 1)), ("   [-----]", claim(B, 2)), ("     [----]", Act::Verify(A, 1)),]));
}

#[test]
fn two_verifies_under_one_claim_may_not_disagree() {
    // The first proves that the claim has taken effect, so the second cannot be before it, though both overlap it.
    assert!(!holds(&[
        ("[-]", claim(A, 1)),
        ("   [----------]", claim(B, 2)),
        ("    [-]", Act::Verify(B, 2)),
        ("       [-]", Act::Verify(A, 1)),
    ]));
    assert!(holds(&[
        ("[-]", claim(A, 1)),
        ("   [----------]", claim(B, 2)),
        ("       [-]", Act::Verify(B, 2)),
        ("    [-]", Act::Verify(A, 1)),
    ]));
}

#[test]
fn two_claims_of_one_epoch_have_no_order_even_at_the_same_time() {
    assert!(!holds(&[("[----]", claim(A, 1)), (" [--]", claim(B, 1))]));
}

#[test]
fn claims_that_overlap_are_ordered_by_their_epochs() {
    assert!(holds(&[("[----]", claim(A, 2)), (" [--]", claim(B, 1)), ("      [-]", Act::Verify(A, 2))]));
    assert!(!holds(&[("[----]", claim(A, 2)), (" [--]", claim(B, 1)), ("      [-]", Act::Verify(B, 1))]));
}

#[test]
fn epochs_never_fall() {
    assert!(!holds(&[("[-]", claim(A, 2)), ("   [-]", claim(B, 1))]));
}

#[test]
fn a_tenure_that_has_ended_is_not_verified_and_not_granted_again() {
    let end = Act::End(A, 1);
    assert!(!holds(&[("[-]", claim(A, 1)), ("   []", end), ("     [-]", Act::Verify(A, 1))]));
    assert!(holds(&[("[-]", claim(A, 1)), ("   []", end), ("  [--]", Act::Verify(A, 1))]));
    assert!(!holds(&[("[-]", claim(A, 1)), ("   []", end), ("     [-]", claim(A, 1))]));
    assert!(holds(&[("[-]", claim(A, 1)), ("   [-]", claim(A, 1))]));
}

#[test]
fn an_offer_is_for_its_receiver_at_its_epoch_and_for_others_at_the_next() {
    let offer = Act::Transfer(A, 1, B);
    assert!(holds(&[("[-]", claim(A, 1)), ("   [-]", offer), ("      [-]", claim(B, 2))]));
    assert!(!holds(&[("[-]", claim(A, 1)), ("   [-]", offer), ("      [-]", claim(C, 2))]));
    assert!(holds(&[("[-]", claim(A, 1)), ("   [-]", offer), ("      [-]", claim(C, 3))]));
    // The receiver may have accepted before the sender learns that its offer was made.
    assert!(holds(&[("[-]", claim(A, 1)), ("   [-----]", offer), ("     [-]", claim(B, 2))]));
}

#[test]
fn a_release_may_find_the_cell_taken_over_but_never_somebody_elses_at_its_own_epoch() {
    assert!(holds(&[("[-]", claim(A, 1)), ("   [-]", claim(B, 2)), ("      [-]", Act::Release(A, 1))]));
    assert!(!holds(&[("[-]", claim(B, 1)), ("   [-]", Act::Release(A, 1))]));
}

#[test]
fn a_claim_without_an_answer_may_have_taken_effect_once_at_any_time_since() {
    let lost = Act::Claim(B, None);
    assert!(holds(&[("[-]", claim(A, 1)), ("   [", lost), ("    [-]", Act::Verify(A, 1))]));
    assert!(holds(&[("[-]", claim(A, 1)), ("   [", lost), ("    [-]", Act::Verify(B, 2))]));
    let both = [("[-]", claim(A, 1)), ("   [", lost), ("    [-]", Act::Verify(B, 2))];
    assert!(!holds(&[both[0], both[1], both[2], ("       [-]", Act::Verify(A, 1))]));
    // It took effect at one epoch, not at two, and not before it was asked for.
    assert!(!holds(&[both[0], both[1], both[2], ("       [-]", Act::Verify(B, 3))]));
    assert!(!holds(&[("   [", lost), ("[-]", Act::Verify(B, 2))]));
}

#[test]
fn a_release_without_an_answer_may_not_have_taken_effect() {
    let lost = Act::Release(A, 1);
    assert!(holds(&[("[-]", claim(A, 1)), ("   [", lost), ("    [-]", Act::Verify(A, 1))]));
    assert!(holds(&[("[-]", claim(A, 1)), ("   [", lost), ("    [-]", claim(B, 2))]));
}

#[test]
fn many_open_acts_are_judged_without_trying_every_order() {
    // Twelve claims at once, in the worst order, again and again.
    let mut acts = Vec::new();
    let mut marks = Vec::new();
    for round in 0..50 {
        let first = acts.len();
        for node in 0..12 {
            acts.push(claim(node, round * 12 + 12 - node as u64));
            marks.push(Mark::Call(first + node));
        }
        marks.extend((0..12).map(|node| Mark::Return(first + node)));
    }
    assert_eq!(search(&acts, &marks, &[Lock::default()]).map(|ends| ends.len()), Ok(1));
}

#[test]
fn what_has_no_effect_is_judged_however_much_of_it_is_open() {
    let acts = [vec![claim(A, 1)], vec![Act::Verify(A, 1); 100]].concat();
    let calls = (0..acts.len()).map(Mark::Call);
    let marks: Vec<Mark> = calls.chain((0..acts.len()).rev().map(Mark::Return)).collect();
    assert_eq!(search(&acts, &marks, &[Lock::default()]).map(|ends| ends.len()), Ok(1));
}

#[test]
fn more_than_can_be_judged_is_said_to_be_too_much() {
    let acts: Vec<Act> = (0..129).map(|node| claim(node, node as u64 + 1)).collect();
    let calls: Vec<Mark> = (0..acts.len()).map(Mark::Call).collect();
    assert_eq!(search(&acts, &calls, &[Lock::default()]), Err(Unexplained::TooMuch));
    // So many claims that any number of them may have come before the answer, which none explains.
    let acts: Vec<Act> =
        (0..60).map(|node| claim(node, node as u64 + 1)).chain([Act::Verify(A, 99)]).collect();
    let marks = [&calls[..61], &[Mark::Return(60)]].concat();
    assert_eq!(search(&acts, &marks, &[Lock::default()]), Err(Unexplained::TooMuch));
}

#[test]
fn tiny_histories_are_judged_as_by_trying_every_order() {
    let mut choices = Prng::new(0x11ea);
    let mut verdicts = [0_u32; 2];
    for _ in 0..60_000 {
        let (acts, marks) = some_history(&mut choices);
        let found = search(&acts, &marks, &[Lock::default()]).is_ok();
        assert_eq!(found, brute(&acts, &marks), "{acts:?} {marks:?}");
        verdicts[usize::from(found)] += 1;
    }
    assert!(verdicts.iter().all(|&count| count > 5000), "{verdicts:?}");
}

fn some_history(choices: &mut impl Choices) -> (Vec<Act>, Vec<Mark>) {
    let mut acts = Vec::new();
    let mut marks = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let count = 1 + choices.number(5);
    while acts.len() < count || !open.is_empty() {
        if acts.len() < count && choices.number(2) == 0 {
            acts.push(some_act(choices));
            marks.push(Mark::Call(acts.len() - 1));
            open.push(acts.len() - 1);
        } else if !open.is_empty() {
            let act = open.swap_remove(choices.number(open.len()));
            // A claim of unknown epoch is one without an answer.
            if choices.number(6) > 0 && !matches!(acts[act], Act::Claim(_, None)) {
                marks.push(Mark::Return(act));
            }
        }
    }
    (acts, marks)
}

fn some_act(choices: &mut impl Choices) -> Act {
    let node = choices.number(2);
    let epoch = 1 + choices.number(3) as u64;
    match choices.number(9) {
        0 => Act::Claim(node, None),
        1 => Act::End(node, epoch),
        2 => Act::Release(node, epoch),
        3 => Act::Transfer(node, epoch, choices.number(3)),
        4 | 5 => Act::Verify(node, epoch),
        6 => Act::Given(node, epoch, choices.number(3)),
        _ => Act::Claim(node, Some(epoch)),
    }
}

/// Tries every order of every subset that contains the answered acts.
fn brute(acts: &[Act], marks: &[Mark]) -> bool {
    let place = |mark| marks.iter().position(|other| *other == mark);
    let spans: Vec<(usize, Option<usize>)> = (0..acts.len())
        .map(|act| (place(Mark::Call(act)).expect("every act is called"), place(Mark::Return(act))))
        .collect();
    brute_from(acts, &spans, 0, Lock::default())
}

fn brute_from(acts: &[Act], spans: &[(usize, Option<usize>)], done: u32, lock: Lock) -> bool {
    let is_open = |act: usize| done >> act & 1 == 0;
    if (0..acts.len()).all(|act| !is_open(act) || spans[act].1.is_none()) {
        return true;
    }
    // Whoever was answered before another was called comes before it.
    let first_answer = (0..acts.len()).filter(|&act| is_open(act)).filter_map(|act| spans[act].1).min();
    (0..acts.len()).filter(|&act| is_open(act)).any(|act| {
        let may_be_next = first_answer.is_none_or(|answer| spans[act].0 < answer);
        let nexts: Vec<Lock> = match acts[act] {
            Act::Claim(node, None) => {
                (1..8).filter_map(|epoch| lock.after(Act::Claim(node, Some(epoch)))).collect()
            }
            known @ (Act::Claim(..)
            | Act::End(..)
            | Act::Given(..)
            | Act::Release(..)
            | Act::Transfer(..)
            | Act::Verify(..)) => lock.after(known).into_iter().collect(),
        };
        may_be_next && nexts.into_iter().any(|next| brute_from(acts, spans, done | 1 << act, next))
    })
}
