//! Is there an order? The search for a sequence of acts that explains what everybody was told.
//!
//! An act takes effect at one instant between its call and its answer (Herlihy and Wing, TOPLAS 1990). The search goes
//! through the history once, from answer to answer, and keeps every state that the lock may be in, together with
//! which of the open acts have taken effect in it (Wing and Gong, JPDC 1993; the idea to let an act take effect only
//! when an answer demands it is Lowe's, "Testing for linearizability", 2017). States that are equal are one, so what
//! it costs depends on how many acts are open at once, and not on how long the history is.

use std::collections::BTreeSet;

use super::model::{Act, Lock};

/// One end of an act, by its place in the list of acts.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Mark {
    /// It was asked for.
    Call(usize),
    /// It was answered. An act without an answer may have taken effect at any time since its call, or never.
    Return(usize),
}

/// A state that the lock may be in, and the open acts that have taken effect in it, as bits.
type World = (Lock, u128);

/// Why there is no order, as far as can be told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Unexplained {
    /// No order explains the answer to this act.
    Act(usize),
    /// So much is open at once that looking for an order would take too long.
    TooMuch,
}

/// Goes through a history; returns the states that the lock may be in at its end if it is in one of `starts` before.
///
/// # Errors
/// Says what no order explains.
pub(super) fn search(acts: &[Act], marks: &[Mark], starts: &[Lock]) -> Result<Vec<Lock>, Unexplained> {
    if let Some(ends) = in_a_row(acts, marks, starts) {
        return ends;
    }
    let mut open = Open::default();
    let mut worlds: Vec<World> = starts.iter().map(|lock| (*lock, 0)).collect();
    let matters = matters(acts, marks);
    for mark in marks {
        match *mark {
            Mark::Call(act) if matters[act] => open.begin(act)?,
            Mark::Call(_) => {}
            Mark::Return(act) => {
                worlds = answered(acts, &open, open.place(act), worlds)?;
                if worlds.is_empty() {
                    return Err(Unexplained::Act(act));
                }
                open.end(act);
            }
        }
    }
    let mut ends: Vec<Lock> = worlds.into_iter().map(|(lock, _)| lock).collect();
    ends.sort_unstable();
    ends.dedup();
    Ok(ends)
}

/// Does the same for a history in which each act was answered before the next was asked for, as most are between two
/// moments at which nothing was open: there is one order, and nothing to search.
fn in_a_row(acts: &[Act], marks: &[Mark], starts: &[Lock]) -> Option<Result<Vec<Lock>, Unexplained>> {
    let (pairs, []) = marks.as_chunks::<2>() else { return None };
    let pair = |pair: &[Mark; 2]| match *pair {
        [Mark::Call(act), Mark::Return(answered)] if act == answered => acts[act].epoch().map(|_| act),
        [Mark::Call(_) | Mark::Return(_), _] => None,
    };
    if pairs.iter().any(|marks| pair(marks).is_none()) {
        return None;
    }
    let mut locks = starts.to_vec();
    for act in pairs.iter().filter_map(pair) {
        locks = locks.into_iter().filter_map(|lock| lock.after(acts[act])).collect();
        if locks.is_empty() {
            return Some(Err(Unexplained::Act(act)));
        }
    }
    locks.sort_unstable();
    locks.dedup();
    Some(Ok(locks))
}

/// Tells which acts can make a difference. An end without an answer does not: it only forbids what would be legal
/// without it.
fn matters(acts: &[Act], marks: &[Mark]) -> Vec<bool> {
    let mut matters: Vec<bool> =
        acts.iter().map(|act| matches!(act, Act::Claim(..) | Act::Given(..) | Act::Transfer(..))).collect();
    for mark in marks {
        match mark {
            Mark::Call(_) => {}
            Mark::Return(act) => matters[*act] = true,
        }
    }
    matters
}

/// Returns the epochs at which a claim without an answer may have been granted, as far as that makes a difference: at
/// one that somebody acted at, or in the gap after it.
fn guesses(acts: &[Act]) -> Vec<u64> {
    let mut epochs: Vec<u64> = acts.iter().filter_map(|act| act.epoch()).collect();
    epochs.extend(epochs.iter().map(|epoch| epoch + 1).collect::<Vec<_>>());
    epochs.sort_unstable();
    epochs.dedup();
    epochs
}

/// Returns what may be once the act in this place has been answered: it has taken effect, after some of the others.
fn answered(acts: &[Act], open: &Open, place: usize, worlds: Vec<World>) -> Result<Vec<World>, Unexplained> {
    let mut todo: Vec<World> = worlds.into_iter().map(|world| with_idle(acts, open, world)).collect();
    let mut seen: BTreeSet<World> = todo.iter().copied().collect();
    let mut found = Vec::new();
    while let Some((lock, done)) = todo.pop() {
        if done >> place & 1 == 1 {
            found.push((lock, done & !(1 << place)));
            continue;
        }
        for (other, act) in open.acts() {
            if done >> other & 1 == 1 {
                continue;
            }
            for next in effects(acts, act, lock) {
                let world = with_idle(acts, open, (next, done | 1 << other));
                if seen.insert(world) {
                    todo.push(world);
                }
            }
        }
        if seen.len() > WORLDS_MAX {
            return Err(Unexplained::TooMuch);
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Lets every open act take effect that has none now: nothing is gained by waiting, however many there are.
fn with_idle(acts: &[Act], open: &Open, (lock, mut done): World) -> World {
    for (place, act) in open.acts() {
        if lock.after(acts[act]) == Some(lock) {
            done |= 1 << place;
        }
    }
    (lock, done)
}

/// Returns what an act may make of the lock.
fn effects(acts: &[Act], act: usize, lock: Lock) -> impl Iterator<Item = Lock> {
    let (known, guesses) = match acts[act] {
        Act::Claim(_, None) => (None, guesses(acts)),
        Act::Claim(..)
        | Act::End(..)
        | Act::Given(..)
        | Act::Release(..)
        | Act::Transfer(..)
        | Act::Verify(..) => (lock.after(acts[act]), Vec::new()),
    };
    let node = acts[act].node();
    let guessed = guesses.into_iter().filter_map(move |epoch| lock.after(Act::Claim(node, Some(epoch))));
    known.into_iter().chain(guessed)
}

/// The acts that are open, each in a place of its own.
#[derive(Debug, Default)]
struct Open(Vec<Option<usize>>);

impl Open {
    fn begin(&mut self, act: usize) -> Result<(), Unexplained> {
        match self.0.iter().position(|place| place.is_none()) {
            Some(place) => self.0[place] = Some(act),
            None if self.0.len() < OPEN_MAX => self.0.push(Some(act)),
            None => return Err(Unexplained::TooMuch),
        }
        Ok(())
    }

    fn end(&mut self, act: usize) {
        let place = self.place(act);
        self.0[place] = None;
    }

    fn place(&self, act: usize) -> usize {
        self.0.iter().position(|open| *open == Some(act)).expect("an answered act is open")
    }

    fn acts(&self) -> impl Iterator<Item = (usize, usize)> {
        self.0.iter().enumerate().filter_map(|(place, act)| Some((place, (*act)?)))
    }
}

/// How many acts may be open at once: one for each bit of a [`World`].
const OPEN_MAX: usize = u128::BITS as usize;

/// How many states are looked at for one answer.
const WORLDS_MAX: usize = 1 << 16;
