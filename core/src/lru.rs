//! A map that remembers the most recently used entries, so that nothing grows without bound.

use alloc::collections::BTreeMap;
use core::hash::{Hash, Hasher};

/// A map of at most `cap` entries; a new one beyond that forgets the least recently inserted or renewed.
#[derive(Clone, Debug)]
pub(crate) struct Lru<K, V> {
    cap: usize,
    clock: u64,
    entries: BTreeMap<K, (u64, V)>,
    order: BTreeMap<u64, K>,
}

impl<K: Clone + Ord, V> Lru<K, V> {
    pub(crate) fn new(cap: usize) -> Self {
        Self { cap, clock: 0, entries: BTreeMap::new(), order: BTreeMap::new() }
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(_, value)| value)
    }

    /// Renews an entry, which may then be changed in place.
    pub(crate) fn renew(&mut self, key: &K) -> Option<&mut V> {
        let (stamp, value) = self.entries.get_mut(key)?;
        // The newest one is in its place already.
        if *stamp != self.clock
            && let Some(key) = self.order.remove(stamp)
        {
            self.clock += 1;
            *stamp = self.clock;
            self.order.insert(self.clock, key);
        }
        Some(value)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        if let Some(known) = self.renew(&key) {
            *known = value;
            return;
        }
        self.clock += 1;
        self.entries.insert(key.clone(), (self.clock, value));
        self.order.insert(self.clock, key);
        if self.entries.len() > self.cap
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.entries.remove(&oldest);
        }
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let (stamp, value) = self.entries.remove(key)?;
        self.order.remove(&stamp);
        Some(value)
    }
}

/// The entries and the order in which they would be forgotten; how often they were renewed changes nothing.
impl<K: Hash + Ord, V: Hash> Hash for Lru<K, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.cap.hash(state);
        self.order.len().hash(state);
        for key in self.order.values() {
            (key, self.entries.get(key).map(|(_, value)| value)).hash(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Lru;

    #[test]
    fn the_least_recently_renewed_entry_is_forgotten_first() {
        let mut lru = Lru::new(2);
        lru.insert('a', 1);
        lru.insert('b', 2);
        lru.insert('a', 3);
        lru.insert('c', 4);
        assert_eq!((lru.get(&'a'), lru.get(&'b'), lru.get(&'c')), (Some(&3), None, Some(&4)));
        assert_eq!(lru.remove(&'a'), Some(3));
        assert_eq!(lru.order.len(), 1);
    }
}
