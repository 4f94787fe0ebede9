//! The objects of a store: found by name at once, for every request and most checks look one up, and listed in order.

use core::ops::Bound;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::store::Version;

/// Every object there ever was, with its versions, oldest first.
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    /// In the order in which they were created.
    entries: Vec<(Arc<str>, Vec<Version>)>,
    /// The places in `entries`, in the order of names.
    order: BTreeMap<Arc<str>, u32>,
    /// The places in `entries`, each where the hash of its name says, or at the next free place; at least half of it
    /// is free.
    table: Vec<u32>,
}

impl Objects {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new(), order: BTreeMap::new(), table: Vec::new() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&[Version]> {
        self.place(name).map(|place| self.entries[place].1.as_slice())
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Vec<Version>> {
        self.place(name).map(|place| &mut self.entries[place].1)
    }

    /// Adds an object that is not there.
    pub(crate) fn insert(&mut self, name: &str, versions: Vec<Version>) {
        let name: Arc<str> = name.into();
        let place = u32::try_from(self.entries.len()).expect("a store has fewer than billions of objects");
        self.order.insert(name.clone(), place);
        self.entries.push((name, versions));
        if self.table.len() < 2 * self.entries.len() {
            self.table.clear();
            self.table.resize((4 * self.entries.len()).next_power_of_two().max(32), FREE);
            (0..=place).for_each(|place| self.enter(place));
        } else {
            self.enter(place);
        }
    }

    /// Returns the objects with their names, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &[Version])> {
        self.from(Bound::Unbounded)
    }

    /// Returns the objects from a name on, in order.
    pub(crate) fn from<'o>(&'o self, first: Bound<&str>) -> impl Iterator<Item = (&'o str, &'o [Version])> {
        let places = self.order.range::<str, _>((first, Bound::Unbounded)).map(|(_, place)| *place as usize);
        places.map(|place| (self.entries[place].0.as_ref(), self.entries[place].1.as_slice()))
    }

    fn place(&self, name: &str) -> Option<usize> {
        let last = self.table.len().checked_sub(1)?;
        let mut at = spread(name) & last;
        loop {
            match self.table[at] {
                FREE => return None,
                place if *self.entries[place as usize].0 == *name => return Some(place as usize),
                _ => at = (at + 1) & last,
            }
        }
    }

    fn enter(&mut self, place: u32) {
        let last = self.table.len() - 1;
        let mut at = spread(&self.entries[place as usize].0) & last;
        while self.table[at] != FREE {
            at = (at + 1) & last;
        }
        self.table[at] = place;
    }
}

/// Spreads names over a table: by all their bytes, eight at a time.
fn spread(name: &str) -> usize {
    let step = |state: u64, word: u64| (state.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (words, rest) = name.as_bytes().as_chunks::<8>();
    let state = words.iter().fold(0, |state, word| step(state, u64::from_le_bytes(*word)));
    let last = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    (step(state, last) >> 32) as usize
}

const FREE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::Objects;

    #[test]
    fn every_object_is_found_by_its_name_and_listed_in_order() {
        let mut objects = Objects::new();
        let name = |number: usize| format!("cells/{}/own.json", number * 7919 % 1000);
        for number in 0..1000 {
            assert!(objects.get(&name(number)).is_none());
            objects.insert(&name(number), Vec::new());
        }
        assert!((0..1000).all(|number| objects.get(&name(number)).is_some()));
        assert!(objects.get("cells/1000/own.json").is_none() && objects.get("").is_none());
        assert!(objects.iter().map(|(name, _)| name).is_sorted() && objects.iter().count() == 1000);
    }
}
