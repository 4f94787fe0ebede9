//! `cargo sim explore`: small worlds, completely.

use std::process::ExitCode;

use tenure_core::Defect;
use tenure_sim::small::{Mishap, Scope, Search, Wish};

pub(crate) fn main(words: impl Iterator<Item = String>) -> ExitCode {
    let words: Vec<String> = words.collect();
    let has = |w: &str| words.iter().any(|x| x == w);
    let val = |w: &str| words.iter().position(|x| x == w).map(|p| words[p + 1].clone());
    let num = |w: &str, d: u32| val(w).map_or(d, |v| v.parse().expect("number"));
    let mut scope = if has("--http") { Scope::http() } else { Scope::fine() };
    if has("--drift") {
        scope = scope.with_drift();
    }
    if has("--disagreement") {
        scope = scope.with_disagreement();
    }
    if has("--silent") {
        scope.stamping.has_modified = false;
        scope.stamping.has_date = false;
    }
    scope.nodes = num("--nodes", 2) as usize;
    scope.cells = num("--cells", 1) as usize;
    scope.faults = num("--faults", 1) as u8;
    scope.horizon = num("--ticks", scope.horizon);
    if let Some(m) = val("--mishaps") {
        scope.mishaps = m
            .split(',')
            .map(|n| *Mishap::ALL.iter().find(|x| format!("{x:?}") == n).expect("mishap"))
            .collect();
    }
    if let Some(m) = val("--asks") {
        scope.asks = m
            .split(',')
            .map(|n| {
                let (w, c) = n.split_once('=').expect("=");
                (
                    match w {
                        "claim" => Wish::Claim,
                        "wait" => Wish::ClaimWaiting,
                        "leave" => Wish::Leave,
                        "release" => Wish::Release,
                        "transfer" => Wish::Transfer,
                        _ => Wish::Verify,
                    },
                    c.parse().expect("n"),
                )
            })
            .collect();
    }
    if let Some(d) = val("--defect") {
        scope = scope.with_defect(Some(*Defect::ALL.iter().find(|x| format!("{x:?}") == d).expect("defect")));
    }
    let watch = crate::Stopwatch::start();
    let _ = std::panic::take_hook();
    let result = Search::new(&scope).run(|s| eprintln!("{} {} {}", s.depth, s.states, s.transitions));
    match result {
        Ok(s) => {
            let t = watch.seconds();
            println!(
                "{s:?} {t:.1} s {:.0} states/s {:.0} transitions/s",
                s.states as f64 / t,
                s.transitions as f64 / t
            );
            ExitCode::SUCCESS
        }
        Err(c) => {
            println!("{}\ndepth {}", c.failure, c.depth);
            ExitCode::FAILURE
        }
    }
}
