//! Fingerprints: 128 bits that stand for a whole situation.
//!
//! Two situations of one search with one print are taken for the same. With ten million situations the chance
//! that any two differ all the same is about 10^-25.

use core::hash::{Hash, Hasher};

/// Hashes a value to 128 bits, the same on every run.
pub(super) fn print(value: &impl Hash) -> u128 {
    let mut lanes = Lanes { low: SEEDS[0], high: SEEDS[1] };
    value.hash(&mut lanes);
    let (low, high) = (fold(lanes.low ^ lanes.high.rotate_left(32), SEEDS[2]), fold(lanes.high, SEEDS[3]));
    u128::from(high ^ low) << 64 | u128::from(low)
}

/// Two lanes that take in the same words with different multipliers.
struct Lanes {
    low: u64,
    high: u64,
}

impl Hasher for Lanes {
    fn finish(&self) -> u64 {
        self.low ^ self.high
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
        let rest = chunks.remainder();
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        // The length keeps a short tail apart from one that ends in zeros.
        self.write_u64(u64::from_le_bytes(word) ^ (bytes.len() as u64) << 56);
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.low = fold(self.low ^ word, SEEDS[2]);
        self.high = fold(self.high ^ word.rotate_left(32), SEEDS[3]).wrapping_add(self.low.rotate_left(17));
    }

    fn write_u128(&mut self, number: u128) {
        self.write_u64(number as u64);
        self.write_u64((number >> 64) as u64);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }
}

/// Takes a print for its own hash: it is scrambled already.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Printed(u64);

impl Hasher for Printed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only prints are hashed")
    }

    fn write_u64(&mut self, half: u64) {
        self.0 = half;
    }

    fn write_u128(&mut self, print: u128) {
        self.0 = print as u64;
    }
}

/// Multiplies to 128 bits and folds the halves together.
const fn fold(word: u64, by: u64) -> u64 {
    let product = word as u128 * by as u128;
    (product as u64) ^ (product >> 64) as u64
}

/// The fractional digits of the square roots of 2, 3, 5 and 7, made odd.
const SEEDS: [u64; 4] =
    [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1];

#[cfg(test)]
mod tests {
    use super::print;
    use std::collections::BTreeSet;

    #[test]
    fn values_that_differ_a_little_have_prints_that_differ_much() {
        let mut prints = BTreeSet::new();
        for number in 0..100_000_u64 {
            prints.insert(print(&number));
            prints.insert(print(&(number, 0_u64)));
            prints.insert(print(&(0_u64, number, 0_u8)));
        }
        assert_eq!(prints.len(), 300_000);
        // Each half alone tells them apart too.
        assert_eq!(prints.iter().map(|print| *print as u64).collect::<BTreeSet<_>>().len(), 300_000);
        assert_eq!(prints.iter().map(|print| (print >> 64) as u64).collect::<BTreeSet<_>>().len(), 300_000);
    }

    #[test]
    fn texts_that_share_a_beginning_or_end_in_zeros_differ() {
        let texts = ["", "\0", "\0\0", "a", "a\0", "abcdefgh", "abcdefgh\0", "abcdefghi"];
        let prints: BTreeSet<u128> = texts.iter().map(print).collect();
        assert_eq!(prints.len(), texts.len());
    }
}
