//! When faults happen: rules, each with a fault, the requests it is for, and how often.

use core::num::NonZeroU32;

use crate::choices::{Choices, Prng};
use crate::server::fault::Fault;

/// A fault, and when it happens: always, unless something here says otherwise.
///
/// ```
/// use tenure_sim::server::{Fault, Rule};
///
/// let twice = Rule::new(Fault::Drop).on("PUT").below("nodes/").times(2);
/// let seldom = Rule::new(Fault::Hang).at_rate(0.01);
/// # let _ = (twice, seldom);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    fault: Fault,
    method: Option<&'static str>,
    key: Option<String>,
    skip: u32,
    times: Option<u32>,
    /// In millionths.
    rate: u32,
}

const MILLION: NonZeroU32 = NonZeroU32::new(1_000_000).expect("it is not zero");

impl Rule {
    /// Lets a fault befall every request.
    pub const fn new(fault: Fault) -> Self {
        Self { fault, method: None, key: None, skip: 0, times: None, rate: MILLION.get() }
    }

    /// Only requests with this method: `GET`, `PUT` or `DELETE`.
    #[must_use]
    pub fn on(self, method: &'static str) -> Self {
        Self { method: Some(method), ..self }
    }

    /// Only requests whose key, or prefix of a listing, has this text in it.
    #[must_use]
    pub fn below(self, text: impl Into<String>) -> Self {
        Self { key: Some(text.into()), ..self }
    }

    /// Not the first so many of these requests.
    #[must_use]
    pub fn after(self, requests: u32) -> Self {
        Self { skip: requests, ..self }
    }

    /// At most so often.
    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self { times: Some(times), ..self }
    }

    /// Each time with this probability, by the server's seed.
    #[must_use]
    pub fn at_rate(self, probability: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is between 0 and a million"
        )]
        let rate = (probability.clamp(0.0, 1.0) * f64::from(MILLION.get())).round() as u32;
        Self { rate, ..self }
    }

    /// Returns what goes wrong.
    pub const fn fault(&self) -> Fault {
        self.fault
    }

    fn takes(&mut self, method: &str, key: &str, chance: &mut Prng) -> bool {
        if self.method.is_some_and(|wanted| wanted != method)
            || self.key.as_ref().is_some_and(|wanted| !key.contains(wanted.as_str()))
            || self.times == Some(0)
        {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        if self.rate < MILLION.get() && chance.below(MILLION) >= self.rate {
            return false;
        }
        self.times = self.times.map(|left| left - 1);
        true
    }
}

/// The rules in force, and the chance they draw on.
#[derive(Debug)]
pub(crate) struct Script {
    rules: Vec<Rule>,
    chance: Prng,
}

impl Script {
    pub(crate) const fn new(rules: Vec<Rule>, seed: u64) -> Self {
        Self { rules, chance: Prng::new(seed) }
    }

    /// Puts other rules in force; chance goes on where it was.
    pub(crate) fn replace(&mut self, rules: Vec<Rule>) {
        self.rules = rules;
    }

    /// Decides what befalls a request.
    pub(crate) fn draw(&mut self, method: &str, key: &str) -> Vec<Fault> {
        let Self { rules, chance } = self;
        rules.iter_mut().filter_map(|rule| rule.takes(method, key, chance).then_some(rule.fault)).collect()
    }

    /// Draws a number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = u32::try_from(bound).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN);
        self.chance.below(bound) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::{Rule, Script};
    use crate::server::fault::Fault;

    #[test]
    fn a_rule_counts_only_the_requests_that_it_is_for() {
        let mut script =
            Script::new(vec![Rule::new(Fault::Hang).on("PUT").below("nodes/").after(1).times(2)], 0);
        let mut hangs = |method, key| script.draw(method, key) == [Fault::Hang];
        assert!(!hangs("GET", "p/nodes/a.json") && !hangs("PUT", "p/cells/a/own.json"));
        let taken: Vec<bool> = (0..5).map(|_| hangs("PUT", "p/nodes/a.json")).collect();
        assert_eq!(taken, [false, true, true, false, false]);
    }

    #[test]
    fn a_rate_is_kept_and_a_seed_repeats_it() {
        let draws = |seed| {
            let mut script = Script::new(vec![Rule::new(Fault::Drop).at_rate(0.1)], seed);
            (0..10_000).map(|_| script.draw("GET", "k").len()).collect::<Vec<_>>()
        };
        let taken: usize = draws(7).iter().sum();
        assert!((900..1100).contains(&taken), "{taken}");
        assert_eq!(draws(7), draws(7));
        assert_ne!(draws(7), draws(8));
    }

    #[test]
    fn all_rules_are_asked() {
        let mut script = Script::new(vec![Rule::new(Fault::NoTag), Rule::new(Fault::NoDate)], 0);
        assert_eq!(script.draw("GET", "k"), [Fault::NoTag, Fault::NoDate]);
    }
}
