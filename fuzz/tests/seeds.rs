//! Every property over its seeds, over damaged seeds and over random bytes: what libFuzzer starts from, in seconds.

use core::num::NonZeroU32;
use std::fs;
use std::path::Path;

use tenure_fuzz::TARGETS;
use tenure_sim::{Choices, Prng};

/// How often each seed is damaged, and how many random inputs there are, for each target.
const ROUNDS: u32 = 300;

#[test]
fn every_target_has_seeds_and_holds_on_them() {
    for (name, check) in TARGETS {
        let seeds = seeds(name);
        assert!(seeds.len() >= 3, "{name} has {} seeds", seeds.len());
        for (file, seed) in seeds {
            run(&format!("{name}/{file}"), *check, &seed);
        }
    }
}

#[test]
fn every_target_holds_on_damaged_seeds() {
    for (name, check) in TARGETS {
        let mut chance = Prng::new(1);
        let seeds = seeds(name);
        for round in 0..ROUNDS {
            let (file, seed) = &seeds[below(&mut chance, seeds.len())];
            let (_, other) = &seeds[below(&mut chance, seeds.len())];
            let damaged = damage(seed, other, &mut chance);
            run(&format!("{name}/{file}, damaged in round {round}"), *check, &damaged);
        }
    }
}

#[test]
fn every_target_holds_on_random_bytes() {
    for (name, check) in TARGETS {
        let mut chance = Prng::new(2);
        for round in 0..ROUNDS {
            let input: Vec<u8> = (0..below(&mut chance, 2000)).map(|_| byte(&mut chance)).collect();
            run(&format!("{name}, random round {round}"), *check, &input);
        }
    }
}

fn run(what: &str, check: fn(&[u8]), input: &[u8]) {
    // The panic's own message says what broke; this one says with which bytes.
    if std::panic::catch_unwind(|| check(input)).is_err() {
        panic!("{what}: {}", input.escape_ascii());
    }
}

fn seeds(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name);
    let mut seeds: Vec<(String, Vec<u8>)> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("the folder can be listed").path())
        .map(|path| (path.display().to_string(), fs::read(&path).expect("a seed can be read")))
        .collect();
    seeds.sort();
    seeds
}

/// Changes some bytes, cuts the seed off, or goes on with another one.
fn damage(seed: &[u8], other: &[u8], chance: &mut Prng) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=below(chance, 8) {
        let at = below(chance, bytes.len() + 1);
        match below(chance, 5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, byte(chance)),
            2 => {
                bytes.truncate(at);
                bytes.extend_from_slice(&other[below(chance, other.len() + 1)..]);
            }
            _ if at < bytes.len() => bytes[at] = byte(chance),
            _ => {}
        }
    }
    bytes
}

fn byte(chance: &mut Prng) -> u8 {
    u8::try_from(below(chance, 256)).expect("below 256")
}

fn below(chance: &mut Prng, bound: usize) -> usize {
    match u32::try_from(bound).ok().and_then(NonZeroU32::new) {
        Some(bound) => chance.below(bound) as usize,
        None => 0,
    }
}
