//! A transcript as a test: what pastes into a file of `core/tests`.

use core::fmt;
use core::time::Duration;

use tenure_core::Config;

use super::Transcript;

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "#[test]\nfn what_session_{}_did() {{\n    check(", self.number)?;
        let Config {
            addr,
            ttl,
            drift_permille,
            margin_hold,
            clock,
            attempt_timeout,
            poll,
            patience,
            trouble_rate,
            meta,
            ..
        } = &self.config;
        writeln!(f, "        Scenario::of(\n            Config {{")?;
        let text = |text: &str| format!("{text:?}.to_owned()");
        if let Some(addr) = addr {
            writeln!(f, "                addr: Some({}),", text(addr))?;
        }
        writeln!(f, "                ttl: {},", Span(*ttl))?;
        writeln!(f, "                drift_permille: {drift_permille},")?;
        writeln!(f, "                margin_hold: {},", Span(*margin_hold))?;
        let (unit, margin) = (Span(clock.unit), Span(clock.margin));
        writeln!(f, "                clock: StoreClock {{ unit: {unit}, margin: {margin} }},")?;
        writeln!(f, "                attempt_timeout: {},", Span(*attempt_timeout))?;
        writeln!(f, "                poll: {},", Span(*poll))?;
        writeln!(f, "                patience: {},", Span(*patience))?;
        let rate = trouble_rate.map_or_else(|| "None".to_owned(), |rate| format!("NonZeroU32::new({rate})"));
        if *trouble_rate != Config::new("n").trouble_rate {
            writeln!(f, "                trouble_rate: {rate},")?;
        }
        if !meta.is_empty() {
            let facts = meta.iter().map(|(key, value)| format!("({}, {})", text(key), text(value)));
            writeln!(f, "                meta: [{}].into(),", facts.collect::<Vec<_>>().join(", "))?;
        }
        writeln!(f, "                ..Config::new({:?})\n            }},", self.config.name)?;
        writeln!(f, "            {},\n            {:#x},\n        ),", self.session, self.seed)?;
        write!(f, "        r#\"\n{}        \"#,\n    );\n}}", self.lines)
    }
}

/// A span as an expression.
struct Span(Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_nanos() {
            0 => write!(f, "Duration::ZERO"),
            nanos if nanos % 1_000_000 == 0 => write!(f, "Duration::from_millis({})", nanos / 1_000_000),
            nanos => write!(f, "Duration::from_nanos({nanos})"),
        }
    }
}
