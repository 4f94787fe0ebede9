//! How fast worlds run: the default mixture, and a small world of the real engine beside the same small protocol,
//! written down as a model, under shuttle and stateright. One run, one core, processor time.

mod model;
mod small;
mod threads;
mod world;

use tenure_benches::processor_seconds;

const ROUNDS: usize = 5;

fn main() {
    let steps = best(|| world::mixture(2000).steps as f64);
    let worlds = best(|| world::mixture(2000).worlds as f64);
    println!("the default mixture of worlds, one core");
    println!("| engine steps/s | worlds/s |\n|---|---|");
    println!("| {:.2} M | {worlds:.0} |\n", steps / 1e6);

    const RUNS: usize = 5000;
    let operations = world::operations(RUNS as u64) as f64 / RUNS as f64;
    let steps = world::run(RUNS as u64).steps as f64 / RUNS as f64;
    let ours = best(|| world::run(RUNS as u64).worlds as f64);
    let theirs = threads::run(1);
    let shuttle = best(|| {
        threads::run(RUNS);
        RUNS as f64
    });
    let states = best(|| model::run(300_000) as f64);
    println!("three nodes, one cell, lost and ambiguous messages, one core");
    println!("| simulator | what runs | runs/s | operations a run | operations/s |\n|---|---|---|---|---|");
    println!(
        "| tenure-sim | the engine, {steps:.0} steps a run, all checks | {ours:.0} | {operations:.1} | {:.0} |",
        ours * operations
    );
    println!(
        "| shuttle | a model of 100 lines, one check | {shuttle:.0} | {theirs} | {:.0} |",
        shuttle * theirs as f64
    );
    println!("| stateright, breadth first | the same model | {states:.0} distinct states/s | | |");
    println!(
        "| tenure-sim to shuttle | | {:.2} x | | {:.2} x |",
        ours / shuttle,
        ours * operations / shuttle / theirs as f64
    );
}

/// Returns the best rate of several rounds: whatever else the machine does only lowers it.
fn best(mut work: impl FnMut() -> f64) -> f64 {
    let rate = |_| {
        let (count, seconds) = processor_seconds(&mut work);
        count / seconds
    };
    (0..ROUNDS).map(rate).fold(0.0, f64::max)
}
