//! The objects of a store: found by name at once, for every request and most checks look one up, and listed in order.

use core::ops::Bound;

use crate::store::Version;

/// Every object there ever was, with its versions, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    /// In the order in which they were created; from `live` on, storage for more.
    entries: Vec<Object>,
    live: usize,
    /// The places in `entries`, in the order of names.
    order: Vec<u32>,
    /// The places in `entries`, each where the hash of its name says, or at the next free place; at least half of it
    /// is free.
    table: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Object {
    name: String,
    versions: Vec<Version>,
}

impl Objects {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new(), live: 0, order: Vec::new(), table: Vec::new() }
    }

    /// Forgets every object, and keeps the storage for others.
    pub(crate) fn clear(&mut self) {
        self.entries[..self.live].iter_mut().for_each(|object| object.versions.clear());
        self.live = 0;
        self.order.clear();
        self.table.fill(FREE);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&[Version]> {
        self.place(name).map(|place| self.entries[place].versions.as_slice())
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Vec<Version>> {
        self.place(name).map(|place| &mut self.entries[place].versions)
    }

    /// Returns the versions of an object, none if it is new.
    pub(crate) fn get_or_insert(&mut self, name: &str) -> &mut Vec<Version> {
        let place = match self.place(name) {
            Some(place) => place,
            None => self.insert(name),
        };
        &mut self.entries[place].versions
    }

    /// Returns the objects with their names, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &[Version])> {
        self.from(Bound::Unbounded)
    }

    /// Returns the objects from a name on, in order.
    pub(crate) fn from<'o>(&'o self, first: Bound<&str>) -> impl Iterator<Item = (&'o str, &'o [Version])> {
        let before = self.order.partition_point(|&place| {
            let name = self.entries[place as usize].name.as_str();
            match first {
                Bound::Excluded(first) => name <= first,
                Bound::Included(first) => name < first,
                Bound::Unbounded => false,
            }
        });
        self.order[before..].iter().map(|&place| {
            let Object { name, versions } = &self.entries[place as usize];
            (name.as_str(), versions.as_slice())
        })
    }

    /// Adds an object that is not there, without a version; returns its place.
    fn insert(&mut self, name: &str) -> usize {
        if self.live == self.entries.len() {
            self.entries.push(Object { name: String::new(), versions: Vec::with_capacity(4) });
        }
        let object = &mut self.entries[self.live];
        object.name.clear();
        object.name.push_str(name);
        let place = u32::try_from(self.live).expect("a store has fewer than billions of objects");
        self.live += 1;
        let before = self.order.partition_point(|&other| *self.entries[other as usize].name < *name);
        self.order.insert(before, place);
        if self.table.len() < 2 * self.live {
            self.table.clear();
            self.table.resize((4 * self.live).next_power_of_two().max(32), FREE);
            (0..=place).for_each(|place| self.enter(place));
        } else {
            self.enter(place);
        }
        place as usize
    }

    fn place(&self, name: &str) -> Option<usize> {
        let last = self.table.len().checked_sub(1)?;
        let mut at = spread(name) & last;
        loop {
            match self.table[at] {
                FREE => return None,
                place if *self.entries[place as usize].name == *name => return Some(place as usize),
                _ => at = (at + 1) & last,
            }
        }
    }

    fn enter(&mut self, place: u32) {
        let last = self.table.len() - 1;
        let mut at = spread(&self.entries[place as usize].name) & last;
        while self.table[at] != FREE {
            at = (at + 1) & last;
        }
        self.table[at] = place;
    }
}

/// Spreads names over a table: by all their bytes, eight at a time, where the last eight may overlap those before them.
fn spread(name: &str) -> usize {
    let step = |state: u64, word: u64| (state.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (words, rest) = name.as_bytes().as_chunks::<8>();
    let state = words.iter().fold(0, |state, word| step(state, u64::from_le_bytes(*word)));
    let last = match name.as_bytes().last_chunk::<8>() {
        Some(last) => u64::from_le_bytes(*last),
        None => rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    (step(state, last) >> 32) as usize
}

const FREE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::Objects;
    use core::ops::Bound;

    #[test]
    fn every_object_is_found_by_its_name_and_listed_in_order() {
        let mut objects = Objects::new();
        let name = |number: usize| format!("cells/{}/own.json", number * 7919 % 1000);
        for number in 0..1000 {
            assert!(objects.get(&name(number)).is_none());
            assert!(objects.get_or_insert(&name(number)).is_empty());
        }
        assert!((0..1000).all(|number| objects.get(&name(number)).is_some()));
        assert!(objects.get("cells/1000/own.json").is_none() && objects.get("").is_none());
        assert!(objects.iter().map(|(name, _)| name).is_sorted() && objects.iter().count() == 1000);
        let from = |first| objects.from(first).map(|(name, _)| name).next();
        assert_eq!(from(Bound::Included("cells/5/own.json")), Some("cells/5/own.json"));
        assert_eq!(from(Bound::Excluded("cells/5/own.json")), Some("cells/50/own.json"));
        assert_eq!(from(Bound::Included("cells/6")), Some("cells/6/own.json"));
        assert_eq!(from(Bound::Excluded("cells/999/own.json")), None);
    }

    #[test]
    fn what_was_cleared_is_forgotten() {
        let mut objects = Objects::new();
        for name in ["b", "a", "c"] {
            objects.get_or_insert(name);
        }
        objects.clear();
        assert!(objects.get("a").is_none() && objects.iter().next().is_none());
        assert!(objects.get_or_insert("d").is_empty());
        assert_eq!(objects.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["d"]);
    }
}
