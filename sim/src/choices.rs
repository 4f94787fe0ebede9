//! The one source of chance: whoever answers [`Choices::below`] decides everything random in a world.
//!
//! Zero is the quiet answer everywhere (no fault, the first option, the shortest delay), so that a [`Tape`]
//! that has run out leads a world to a calm end.

use core::num::NonZeroU32;
use core::time::Duration;

/// Answers every question a world leaves to chance.
///
/// A world asks nothing else: not the time, not the operating system, not the order of a hash map. So whoever answers
/// decides the whole world, and the same answers give the same world again. [`Prng`] answers by a seed, [`Tape`] from a
/// record, [`Recorder`] makes one; an implementation of your own may let a fuzzer decide. [`Draw`] has handy ways to ask.
pub trait Choices {
    /// Returns a number below `bound`.
    fn below(&mut self, bound: NonZeroU32) -> u32;

    /// Answers whether something happens that happens so many times in a million. Whoever overrides this must agree with
    /// [`below`](Self::below) about what a number from a tape means.
    fn chance(&mut self, millionths: NonZeroU32) -> bool {
        self.below(MILLION) >= MILLION.get().saturating_sub(millionths.get())
    }

    /// Is told that the world turns to what happens next; answers whether it should. What is asked until the next
    /// time belongs together.
    fn goes_on(&mut self) -> bool {
        true
    }

    /// Is told whose turn it now is, as a number that is the same for what happens to one machine in one way.
    fn turns_to(&mut self, _whose: u64) {}
}

/// Choices that follow from a seed: equal seeds give equal worlds.
#[derive(Clone, Debug)]
pub struct Prng(u64);

impl Prng {
    /// Starts the sequence that belongs to `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }
}

impl Choices for Prng {
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let high = mix(self.0) >> 32;
        // A product's upper half is below the bound; the bias is far below what a world could show.
        ((high * u64::from(bound.get())) >> 32) as u32
    }
}

/// Recorded choices: replays a world, and is what a shrinker cuts and a fuzzer supplies.
#[derive(Clone, Debug)]
pub struct Tape<'t> {
    rest: &'t [u32],
}

impl<'t> Tape<'t> {
    /// Starts at the first of `choices`; past the last it answers 0.
    pub const fn new(choices: &'t [u32]) -> Self {
        Self { rest: choices }
    }
}

impl Tape<'_> {
    /// Writes choices as one word for a command line: numbers between dots, `z9` for nine zeros, and none of the
    /// zeros at the end, which a tape reads anyway.
    pub fn to_text(choices: &[u32]) -> String {
        let mut words: Vec<String> = Vec::new();
        let mut zeros = 0;
        for choice in choices {
            if *choice == 0 {
                zeros += 1;
                continue;
            }
            match zeros {
                0 => {}
                1 => words.push("0".to_owned()),
                _ => words.push(format!("z{zeros}")),
            }
            zeros = 0;
            words.push(choice.to_string());
        }
        if words.is_empty() { "0".to_owned() } else { words.join(".") }
    }

    /// Reads what [`to_text`](Self::to_text) wrote.
    ///
    /// # Errors
    /// Returns the first word that is none.
    pub fn parse(text: &str) -> Result<Vec<u32>, &str> {
        let mut choices = Vec::new();
        for word in text.trim().split('.') {
            let zeros = word.strip_prefix('z').map(|zeros| {
                zeros
                    .parse::<usize>()
                    .ok()
                    .filter(|zeros| *zeros <= LENGTH_MAX - choices.len().min(LENGTH_MAX))
            });
            match zeros {
                Some(Some(zeros)) => choices.resize(choices.len() + zeros, 0),
                Some(None) => return Err(word),
                None => choices.push(word.parse().map_err(|_| word)?),
            }
        }
        choices.truncate(choices.iter().rposition(|&choice| choice > 0).map_or(0, |last| last + 1));
        Ok(choices)
    }
}

impl Choices for Tape<'_> {
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        let Some((first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        // An edited tape may hold numbers that were legal elsewhere.
        *first % bound
    }
}

/// Passes the choices of another source through and keeps them, as the [`Tape`] that replays the world.
#[derive(Debug)]
pub struct Recorder<'c, C> {
    source: &'c mut C,
    taken: Vec<u32>,
}

impl<'c, C: Choices> Recorder<'c, C> {
    /// Records what `source` answers from now on.
    pub const fn new(source: &'c mut C) -> Self {
        Self { source, taken: Vec::new() }
    }

    /// Returns the tape.
    pub fn into_tape(self) -> Vec<u32> {
        self.taken
    }
}

impl<C: Choices> Choices for Recorder<'_, C> {
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        let choice = self.source.below(bound);
        self.taken.push(choice);
        choice
    }

    fn goes_on(&mut self) -> bool {
        self.source.goes_on()
    }
}

/// How often something happens, in millionths.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Rate(u32);

impl Rate {
    /// It never happens.
    pub const NEVER: Self = Self(0);

    /// It happens `percent` times in a hundred; more than 100 counts as always.
    pub const fn percent(percent: u32) -> Self {
        if percent >= 100 { Self(MILLION.get()) } else { Self(percent * 10_000) }
    }

    /// It happens `permille` times in a thousand; more than 1000 counts as always.
    pub const fn permille(permille: u32) -> Self {
        if permille >= 1000 { Self(MILLION.get()) } else { Self(permille * 1000) }
    }
}

/// Handy questions, in terms of the one that [`Choices`] answers; every source of chance has them.
///
/// ```
/// use core::time::Duration;
/// use tenure_sim::{Draw, Prng, Rate, Tape};
///
/// let mut dice = Prng::new(7);
/// assert!(dice.number(6) < 6);
/// assert!(dice.between(Duration::from_secs(1), Duration::from_secs(2)).as_secs() == 1);
///
/// // A tape that has run out gives the quiet answers: zero, the first option, no, the shortest time.
/// let mut quiet = Tape::new(&[]);
/// assert_eq!((quiet.number(6), quiet.one_of(&["wait", "run"])), (0, "wait"));
/// assert!(!quiet.happens(Rate::percent(99)));
/// ```
pub trait Draw: Choices {
    /// Draws a number below `bound`; 0 if that is 0.
    fn number(&mut self, bound: usize) -> usize {
        match u32::try_from(bound).ok().and_then(NonZeroU32::new) {
            Some(bound) => self.below(bound) as usize,
            None => 0,
        }
    }

    /// Draws one of `options`; the first is the quiet one.
    ///
    /// # Panics
    /// If there are none.
    fn one_of<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.number(options.len())]
    }

    /// Draws whether something of this rate happens now. Asks nothing if it never does.
    fn happens(&mut self, rate: Rate) -> bool {
        NonZeroU32::new(rate.0).is_some_and(|millionths| self.chance(millionths))
    }

    /// Draws a time from `least` to just below `most`.
    fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let (least, most) = (nanos(least), nanos(most));
        let part = u128::from(most.saturating_sub(least)) * u128::from(self.below(FINEST));
        Duration::from_nanos(least + (part >> FINEST.trailing_zeros()) as u64)
    }
}

impl<C: Choices + ?Sized> Draw for C {}

/// Scrambles 64 bits so that each of them depends on all of them.
pub(crate) const fn mix(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// More choices than any world asks for.
const LENGTH_MAX: usize = 10_000_000;
/// Of how many parts rates are.
pub(crate) const MILLION: NonZeroU32 = NonZeroU32::new(1_000_000).expect("not zero");
const FINEST: NonZeroU32 = NonZeroU32::new(1 << 24).expect("not zero");

#[cfg(test)]
mod tests {
    use super::{Choices, Draw, Prng, Rate, Recorder, Tape};
    use core::num::NonZeroU32;
    use core::time::Duration;

    #[test]
    fn a_recorded_seed_replays_from_its_tape_and_then_reads_zero() {
        let mut prng = Prng::new(7);
        let mut recorder = Recorder::new(&mut prng);
        let bound = NonZeroU32::new(10).expect("not zero");
        let drawn: Vec<u32> = (0..50).map(|_| recorder.below(bound)).collect();
        assert!(drawn.iter().all(|&choice| choice < 10) && drawn.iter().any(|&choice| choice != drawn[0]));
        let taken = recorder.into_tape();
        let mut tape = Tape::new(&taken);
        assert_eq!((0..50).map(|_| tape.below(bound)).collect::<Vec<_>>(), drawn);
        assert_eq!(tape.below(bound), 0);
    }

    #[test]
    fn zero_is_the_quiet_answer() {
        let mut quiet = Tape::new(&[]);
        assert!(!quiet.happens(Rate::percent(99)));
        assert_eq!(quiet.between(Duration::from_secs(1), Duration::from_secs(2)), Duration::from_secs(1));
        assert_eq!(quiet.one_of(&["first", "second"]), "first");
    }

    #[test]
    fn rates_are_met() {
        let mut prng = Prng::new(1);
        let hits = (0..100_000).filter(|_| prng.happens(Rate::percent(10))).count();
        assert!((9_000..11_000).contains(&hits), "{hits}");
        assert!(prng.happens(Rate::percent(100)) && !prng.happens(Rate::NEVER));
    }
}
