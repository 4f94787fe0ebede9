//! The questions, one function each, and the order in which they are asked. A question that needs a record makes
//! its own.

mod access;
mod listing;
mod reads;
mod stamps;
mod timing;
mod writes;

use core::pin::Pin;

use tenure_core::FaultKind;

use super::bench::Bench;
use super::race;
use super::report::{Answer, Trouble, fails};
use super::words::advised;
use super::{Settings, report};

/// A question.
struct Question {
    name: &'static str,
    is_asked: fn(&Settings) -> bool,
    ask: Ask,
}

/// What a question does, as a value.
type Ask = for<'a> fn(&'a mut Bench) -> Pin<Box<dyn Future<Output = Answer> + 'a>>;

macro_rules! question {
    ($name:literal, $is_asked:expr, $ask:path) => {
        Question { name: $name, is_asked: $is_asked, ask: |bench| Box::pin($ask(bench)) }
    };
}

/// All questions, in the order in which they are asked.
const ALL: &[Question] = &[
    question!("access", always, access::read_missing),
    question!("access to listings", always, access::list),
    question!("clock", always, access::clock),
    question!("records", read_only, reads::existing),
    question!("remove", writing, access::remove),
    question!("create", writing, writes::create),
    question!("create again", writing, writes::create_again),
    question!("update", writing, writes::update),
    question!("stale update", writing, writes::stale_update),
    question!("update of a missing record", writing, writes::update_missing),
    question!("a tag for each version", writing, writes::tags_differ),
    question!("read after write", writing, reads::read_after_write),
    question!("conditional read", writing, reads::conditional_read),
    question!("bytes", writing, reads::bytes),
    question!("stamps", writing, stamps::stamps),
    question!("remove and create", writing, writes::remove_and_create),
    question!("listing", writing, listing::listing),
    question!("names", |settings| writing(settings) && settings.scratch, listing::names),
    question!("race of updates", racing, race::updates),
    question!("race of creates", racing, race::creates),
    question!("race of updates, bodies held back", splitting, race::updates_apart),
    question!("race of creates, bodies held back", splitting, race::creates_apart),
    question!("latency", |settings| settings.timed > 0, timing::latency),
];

/// Asks everything, and removes what was written.
pub(super) async fn all(mut bench: Bench) {
    let asked: Vec<_> = ALL.iter().filter(|question| (question.is_asked)(&bench.settings)).collect();
    let cleans = usize::from(!bench.settings.read_only);
    bench.desk().expect(asked.len() + cleans);
    let mut silent = 0;
    for question in asked {
        if bench.is_stopped() {
            break;
        }
        bench.desk().begin(question.name);
        let answer = (question.ask)(&mut bench).await.map_err(advised);
        silent = if is_silent(&answer) { silent + 1 } else { 0 };
        // Without an address and the right to write nothing more can be learned, and a store that is silent twice
        // in a row would be asked for hours.
        let ends = silent == 2 || is_hopeless(question.name, &answer);
        bench.note(|report| report.add(question.name, answer));
        if ends {
            break;
        }
    }
    if bench.desk().is_stopped() {
        bench.note(|report| {
            report.add("whole", Err(report::unclear("the questions were not asked to the end")))
        });
    }
    if bench.has_written() {
        bench.desk().begin("cleaned up");
        let answer = bench.clean().await.map_err(advised);
        bench.note(|report| report.add("cleaned up", answer));
    }
}

fn is_silent(answer: &Answer) -> bool {
    let kinds = [FaultKind::Network, FaultKind::Throttled, FaultKind::TimedOut, FaultKind::Unavailable];
    matches!(answer, Err(Trouble { cause: Some(cause), .. }) if kinds.contains(cause))
}

fn is_hopeless(name: &str, answer: &Answer) -> bool {
    let Err(trouble) = answer else { return false };
    match trouble.cause {
        Some(FaultKind::Config) => true,
        Some(FaultKind::Denied) => matches!(name, "remove" | "create"),
        Some(FaultKind::Network) => name == "access",
        _ => false,
    }
}

fn always(_: &Settings) -> bool {
    true
}

fn read_only(settings: &Settings) -> bool {
    settings.read_only
}

fn writing(settings: &Settings) -> bool {
    !settings.read_only
}

fn racing(settings: &Settings) -> bool {
    writing(settings) && settings.race.is_some()
}

fn splitting(settings: &Settings) -> bool {
    racing(settings) && settings.race.as_ref().is_some_and(|race| race.apart)
}

/// Checks that the record has this body, and says `sentence` if so.
async fn still(
    bench: &mut Bench,
    key: &tenure_core::Key,
    body: &[u8],
    sentence: &str,
) -> Result<String, Trouble> {
    if *bench.found(key).await?.1 == *body {
        return Ok(sentence.to_owned());
    }
    Err(fails(format!("{key} does not have the bytes it should have")))
}
