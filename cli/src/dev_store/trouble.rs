//! What `--fault` says.

use core::fmt;

use tenure_sim::server::{Fault, Rule};

/// A rule for the server, and how it was written.
#[derive(Clone, Debug)]
pub(crate) struct Trouble(pub(crate) Rule, String);

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.1)
    }
}

/// Takes the name of a fault, and how often it happens.
pub(crate) fn trouble(text: &str) -> Result<Trouble, String> {
    let (name, rate) = text.split_once(':').unwrap_or((text, "1"));
    let fault =
        Fault::named(name).ok_or_else(|| format!("there is no fault {name}; see tenure dev-store --help"))?;
    match rate.parse() {
        Ok(rate) if (0.0..=1.0).contains(&rate) => {
            Ok(Trouble(Rule::new(fault).at_rate(rate), text.to_owned()))
        }
        Ok(_) | Err(_) => Err(format!("the rate {rate} is no number from 0 to 1")),
    }
}

/// Lists what can go wrong, for `--help`.
pub(crate) fn help() -> String {
    let names = |is_unfit: bool| {
        let faults = Fault::all().filter(|(_, fault)| fault.is_unfit() == is_unfit);
        let mut lines = vec![String::new()];
        for (name, _) in faults {
            let line = lines.last_mut().expect("there is a first line");
            if line.len() + name.len() > 95 {
                lines.push(format!("  {name}"));
            } else {
                *line += &format!("  {name}");
            }
        }
        lines.join("\n")
    };
    format!(
        "It prints what another shell must be told. What it stores is in memory, and gone when it ends: with Ctrl-C, and \
         then it exits 0.\n\nFaults that tenure must live with as long as they come and go:\n{}\n\nFaults that make a store unfit:\n{}",
        names(false),
        names(true)
    )
}
