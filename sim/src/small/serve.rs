//! The store's part of a small world: requests are served, at once and one after the other.

use core::time::Duration;
use std::rc::Rc;

use tenure_core::{Key, Op, Reply};

use super::SmallWorld;
use super::flight::Flight;
use super::print::print;
use super::residue::Residue;
use super::scope::Wish;
use crate::checks::Violation;
use crate::choices::{Choices, Draw};
use crate::store::Visit;
use crate::view::Step;

impl SmallWorld {
    /// Serves a request that has reached the store.
    pub(super) fn serve(&mut self, place: usize, choices: &mut impl Choices) -> Result<(), Violation> {
        let reply = self.execute(place, choices)?;
        self.flights[place].answer(reply);
        self.drop_if_done(place);
        Ok(())
    }

    pub(super) fn execute(&mut self, place: usize, choices: &mut impl Choices) -> Result<Reply, Violation> {
        let ahead = self.stamp_ahead(place, choices);
        let Flight { session, op, until, .. } = &self.flights[place];
        let (session, op, is_late) = (*session, op.clone(), until.is_none());
        let visit = Visit {
            at: self.at(),
            by: Some(session),
            modified_ahead: ahead,
            date_ahead: ahead,
            ..Visit::default()
        };
        let reply = match &*op {
            // Looking changes nothing: the store stays shared.
            Op::List(op) => Reply::List(self.store.list(op, visit)),
            Op::Read(op) => Reply::Read(self.store.read(op, visit)),
            Op::Remove(_) | Op::Write(_) => {
                let reply = Rc::make_mut(&mut self.store).execute(&op, visit);
                self.stored();
                reply
            }
        };
        // How old it is, and whether it is a copy, no check asks; to remember it would tell equal states apart.
        let (is_again, age) = (false, Duration::ZERO);
        self.emit(Some(session), &Step::Served { op: &op, reply: &reply, is_late, is_again, age })?;
        Ok(reply)
    }

    /// Takes the print of a store that has changed.
    pub(super) fn stored(&mut self) {
        self.store_print = if self.setting.is_exact { print(&*self.store) } else { self.residue() };
        if let Some(pool) = &self.pool {
            self.store = pool.store(self.store_print, self.store.clone());
        }
    }

    /// Returns the print of what can still matter of the store.
    pub(super) fn residue(&self) -> u128 {
        let may_verify = self.setting.scope.asks.iter().any(|&(wish, _)| wish == Wish::Verify);
        print(&Residue { store: &self.store, may_verify })
    }

    /// Chooses how far the stamp of a lease is off: by half the disagreement, either way.
    pub(super) fn stamp_ahead(&self, place: usize, choices: &mut impl Choices) -> i64 {
        let most = self.setting.scope.disagreement();
        let own = &self.sessions[self.flights[place].session].lease_key;
        let is_lease = match &*self.flights[place].op {
            Op::List(_) => true,
            // Nobody looks at the stamps of a lease of its own.
            Op::Read(op) => op.key != *own && op.key.as_str().starts_with(Key::LEASES),
            Op::Remove(_) => false,
            Op::Write(op) => op.key.as_str().starts_with(Key::LEASES),
        };
        if most.is_zero() || !is_lease {
            return 0;
        }
        let half = i64::try_from((most / 2).as_nanos()).unwrap_or(i64::MAX);
        choices.one_of(&[half, -half])
    }
}
