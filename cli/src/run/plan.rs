//! When the command is told to end, and when it is ended: counted back from the end of authority.

use core::time::Duration;

use tenure_core::Config;

use crate::exit::Failure;

/// Two distances from the end of authority.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Plan {
    /// SIGTERM is due this long before the end.
    pub(super) term: Duration,
    /// SIGKILL is due this long before the end: enough for the system to act on it.
    pub(super) kill: Duration,
}

impl Plan {
    /// Plans with the grace that was asked for, or a fifth of the ttl.
    ///
    /// # Errors
    /// Refuses a grace that would leave a renewal no time: every late answer would end the command.
    pub(super) fn new(config: &Config, grace: Option<Duration>) -> Result<Self, Failure> {
        let kill = (config.ttl / 50).clamp(Duration::from_millis(20), Duration::from_millis(200));
        let term = grace.unwrap_or(config.ttl / 5).max(kill);
        let renewed = config.renew_every() * 11 / 10 + config.attempt_timeout;
        let most = config.ttl.saturating_sub(config.margin_hold).saturating_sub(renewed);
        if term >= most {
            return Err(Failure::usage(format_args!(
                "--grace ({term:?}) must be < ttl - margin_hold - ttl/3 * 1.1 - attempt_timeout ({most:?}), or \
                 no renewal would come in time; shorten it or raise --ttl"
            )));
        }
        Ok(Self { term, kill })
    }
}

#[cfg(test)]
mod tests {
    use super::Plan;
    use core::time::Duration;
    use tenure_core::Config;

    #[test]
    fn the_default_grace_fits_every_ttl() {
        for ms in [300, 1000, 3000, 10_000, 60_000] {
            let config = Config::new("n").with_ttl(Duration::from_millis(ms));
            let plan = Plan::new(&config, None).expect("fits");
            assert!(plan.kill <= plan.term && plan.kill < config.ttl / 5, "{ms}: {plan:?}");
        }
    }

    #[test]
    fn a_grace_without_room_is_refused_with_the_inequality() {
        let config = Config::new("n");
        let most = Duration::from_millis(3800);
        assert!(Plan::new(&config, Some(most)).is_ok());
        let error = Plan::new(&config, Some(Duration::from_secs(4))).expect_err("no room");
        assert!(error.to_string().contains("--grace (4s) must be <"), "{error}");
        assert_eq!(error.code(), 64);
    }

    #[test]
    fn without_grace_the_command_is_killed_before_the_end_all_the_same() {
        let plan = Plan::new(&Config::new("n"), Some(Duration::ZERO)).expect("fits");
        assert!(!plan.kill.is_zero());
        assert_eq!(plan.term, plan.kill);
    }
}
