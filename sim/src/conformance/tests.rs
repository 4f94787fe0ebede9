//! The suite against a small store that can be wrong in one way at a time: each way must be found.

use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;

use tenure_core::{FaultKind, StoreClock};

use super::toy::{Toy, Wrong};
use super::{Check, Outcome, Race, Report, Settings, Step, Suite, Verdict, run, run_async};

fn settings() -> Settings {
    Settings { scratch: true, ..Settings::new(7) }
}

fn asked(wrong: Wrong) -> (Report, Toy) {
    let toy = Toy::new(wrong);
    let report = run(&mut Suite::new(settings()), &toy, |_| {});
    (report, toy)
}

/// The race alone is looked at.
fn raced(wrong: Wrong) -> Report {
    let toy = Toy::new(wrong);
    let race = Race { contenders: 4, rounds: 50, budget: Duration::from_secs(60), apart: true };
    let settings = Settings { race: Some(race), ..Settings::new(7) };
    run(&mut Suite::new(settings), &toy, |_| {})
}

/// Returns the names of the checks with this verdict.
fn names(report: &Report, verdict: Verdict) -> Vec<&'static str> {
    report.checks.iter().filter(|check| check.verdict == verdict).map(|check| check.name).collect()
}

#[test]
fn a_right_store_is_fit_and_nothing_is_left_in_it() {
    let (report, toy) = asked(Wrong::Nothing);
    assert!(report.is_fit(), "{report}");
    assert_eq!(names(&report, Verdict::Holds).len(), report.checks.len(), "{report}");
    assert!(toy.keys().is_empty());
    assert!(raced(Wrong::Nothing).is_fit());
}

#[test]
fn a_store_that_loses_requests_and_answers_is_still_fit() {
    let (report, toy) = asked(Wrong::LosesEveryThirdAnswer);
    assert!(report.is_fit(), "{report}");
    assert!(toy.keys().is_empty());
    let report = raced(Wrong::LosesEveryThirdAnswer);
    assert!(report.is_fit(), "{report}");
}

#[test]
fn each_way_to_be_wrong_is_found_by_the_check_that_is_there_for_it() {
    for (wrong, name) in [
        (Wrong::DatesGoBack, "stamps"),
        (Wrong::EndlessListing, "listing"),
        (Wrong::ForgetsARemoval, "remove and create"),
        (Wrong::IfMatchIgnored, "stale update"),
        (Wrong::IfNoneMatchIgnored, "create again"),
        (Wrong::ListsOutOfOrder, "listing"),
        (Wrong::MissingIsUpdated, "update of a missing record"),
        (Wrong::RejectsEverything, "create"),
        (Wrong::SameTagForSameLength, "a tag for each version"),
        (Wrong::StaleReads, "read after write"),
        (Wrong::StaleUnchanged, "conditional read"),
        (Wrong::TextOnly, "bytes"),
    ] {
        let (report, _) = asked(wrong);
        assert!(!report.is_fit(), "{wrong:?}");
        assert!(names(&report, Verdict::Fails).contains(&name), "{wrong:?}:\n{report}");
    }
}

#[test]
fn a_store_that_checks_and_then_writes_is_found_by_the_race_alone() {
    assert!(asked(Wrong::CheckedThenWritten).0.is_fit());
    let report = raced(Wrong::CheckedThenWritten);
    assert_eq!(
        names(&report, Verdict::Fails),
        [
            "race of updates",
            "race of creates",
            "race of updates, bodies held back",
            "race of creates, bodies held back",
        ],
        "{report}"
    );
}

#[test]
fn a_store_that_checks_before_it_has_the_body_is_found_by_holding_bodies_back_alone() {
    let report = raced(Wrong::ChecksBeforeTheBody);
    let wrong = ["race of updates, bodies held back", "race of creates, bodies held back"];
    assert_eq!(names(&report, Verdict::Fails), wrong, "{report}");
}

#[test]
fn what_is_allowed_is_noted_and_what_is_unclear_is_not_fit() {
    assert_eq!(names(&asked(Wrong::NoStamps).0, Verdict::Allowed), ["stamps"]);
    assert_eq!(names(&asked(Wrong::ReadsIgnoreTags).0, Verdict::Allowed), ["conditional read"]);
    let (report, _) = asked(Wrong::AlwaysUnknown);
    assert!(!report.is_fit());
    assert!(names(&report, Verdict::Unclear).contains(&"create"), "{report}");
    assert!(!raced(Wrong::AlwaysUnknown).is_fit());
    assert!(!Report::default().is_fit());
    assert_eq!(Settings::new(1).clock, StoreClock::HTTP);
}

#[test]
fn the_runner_of_futures_sees_what_the_runner_of_threads_sees() {
    for wrong in [Wrong::Nothing, Wrong::IfMatchIgnored, Wrong::NoStamps] {
        let toy = Toy::new(wrong);
        let race = Race { contenders: 4, rounds: 5, budget: Duration::from_secs(60), apart: true };
        let settings = Settings { race: Some(race), timed: 20, ..settings() };
        let blocking = run(&mut Suite::new(settings.clone()), &toy, |_| {});
        let mut suite = Suite::new(settings);
        let mut future = pin!(run_async(&mut suite, &toy, |_| {}));
        // The toy never waits, so that polling at once is all the executing there is.
        let report = loop {
            if let Poll::Ready(report) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                break report;
            }
        };
        let verdicts =
            |report: &Report| report.checks.iter().map(|c| (c.name, c.verdict)).collect::<Vec<_>>();
        assert_eq!(verdicts(&report), verdicts(&blocking), "{wrong:?}");
        assert!(toy.keys().is_empty());
    }
}

#[test]
fn bl_02_a_wrongly_accepted_write_is_unfit_whatever_else_is_denied() {
    for (wrong, sentence) in [
        (Wrong::IfMatchIgnored, "If-Match is ignored"),
        (Wrong::IfNoneMatchIgnored, "If-None-Match is ignored"),
        (Wrong::MissingIsUpdated, "a removed record comes back"),
    ] {
        let (mut report, _) = asked(wrong);
        assert!(report.to_string().contains(sentence), "{report}");
        let denied = Check {
            name: "listing",
            verdict: Verdict::Unclear,
            sentence: String::new(),
            advice: None,
            cause: Some(FaultKind::Denied),
        };
        report.checks.insert(0, denied);
        assert_eq!(report.outcome(), Outcome::Unfit, "{wrong:?}");
    }
}

/// Whoever reads a verdict that keeps cells out of a store wants to know what would change it.
#[test]
fn whatever_is_not_as_it_should_be_says_what_to_do() {
    for wrong in Wrong::ALL {
        for report in [asked(wrong).0, raced(wrong)] {
            for check in &report.checks {
                let is_open = matches!(check.verdict, Verdict::Fails | Verdict::Unclear);
                assert!(!is_open || check.advice.is_some(), "{wrong:?}: {check}");
            }
        }
    }
    let advice = |wrong, name| {
        let (report, _) = asked(wrong);
        let check = report.checks.iter().find(|check| check.name == name).expect("it was asked");
        check.advice.clone().unwrap_or_default()
    };
    for name in ["create", "update", "stale update"] {
        assert!(advice(Wrong::WeakTags, name).contains("proxy"), "{name}");
    }
    for wrong in [Wrong::EndlessListing, Wrong::ListsOutOfOrder] {
        assert!(advice(wrong, "listing").contains("rely on what is listed"), "{wrong:?}");
    }
}

#[test]
fn a_store_that_makes_no_sense_every_time_fails_and_names_no_internals() {
    let (report, _) = asked(Wrong::Garbled);
    assert_eq!(report.outcome(), Outcome::Unfit, "{report}");
    let check = report.checks.iter().find(|check| check.name == "create").expect("it was asked");
    assert_eq!((check.verdict, check.cause), (Verdict::Fails, Some(FaultKind::Malformed)), "{report}");
    assert!(
        check.sentence.ends_with("it may have been applied: the store's answer makes no sense"),
        "{check}"
    );
}

#[test]
fn bl_33_a_tag_that_two_versions_of_one_length_share_is_unfit() {
    let (report, _) = asked(Wrong::SameTagForSameLength);
    assert_eq!(report.outcome(), Outcome::Unfit);
    assert!(names(&report, Verdict::Fails).contains(&"a tag for each version"), "{report}");
}

#[test]
fn bl_08_the_other_spelling_of_tags_is_found_and_must_refuse_stale_ones() {
    let asked = |wrong, other_spelling| {
        let toy = Toy::new(wrong);
        let report = run(&mut Suite::new(Settings { other_spelling, ..settings() }), &toy, |_| {});
        assert!(toy.keys().is_empty(), "{wrong:?}");
        report
    };
    let report = asked(Wrong::BareTags, Some("if-match=bare"));
    assert_eq!((report.outcome(), report.is_fit()), (Outcome::FitWithSettings, true), "{report}");
    assert_eq!(report.settings, ["if-match=bare"]);
    assert_eq!(names(&report, Verdict::Allowed), ["update"], "{report}");
    for (wrong, other) in [(Wrong::BareTags, None), (Wrong::BareTagsUnchecked, Some("if-match=bare"))] {
        let report = asked(wrong, other);
        assert_eq!(report.outcome(), Outcome::Unfit, "{wrong:?}");
        assert_eq!(report.settings, Vec::<&str>::new());
        assert!(names(&report, Verdict::Fails).contains(&"update"), "{report}");
    }
}

#[test]
fn a_missing_right_or_bucket_ends_the_questions_and_is_told_from_unfit() {
    for (wrong, outcome, cause) in [
        (Wrong::DeniesWrites, Outcome::Denied, FaultKind::Denied),
        (Wrong::DeniesRemovals, Outcome::Denied, FaultKind::Denied),
        (Wrong::MissingBucket, Outcome::Config, FaultKind::Config),
    ] {
        let (report, toy) = asked(wrong);
        assert_eq!(report.outcome(), outcome, "{wrong:?}:\n{report}");
        assert!(
            report.checks.iter().any(|check| check.cause == Some(cause) && check.verdict == Verdict::Unclear)
        );
        assert!(toy.keys().len() <= 1, "{wrong:?} leaves {:?}", toy.keys());
    }
}

#[test]
fn a_reading_look_writes_nothing() {
    let toy = Toy::new(Wrong::DeniesWrites);
    let settings = Settings { read_only: true, timed: 20, ..settings() };
    let mut suite = Suite::new(settings);
    loop {
        match suite.step() {
            Step::Execute(batch) => {
                for op in &batch.ops {
                    assert!(matches!(op, tenure_core::Op::List(_) | tenure_core::Op::Read(_)), "{op:?}");
                }
                let execute = |op| super::Subject::execute(&toy, op, batch.spelling);
                let now = super::Subject::now(&toy);
                let answer = |op| super::Answer { reply: execute(op), sent: now, took: Duration::ZERO };
                suite.answer(batch.ops.clone().into_iter().map(answer).collect());
            }
            Step::Pause(_) => {}
            Step::Done => break,
        }
    }
    let report = suite.report();
    assert!(report.is_fit(), "{report}");
    assert!(report.reads.is_some() && report.writes.is_none());
}

#[test]
fn a_suite_that_is_stopped_removes_what_it_wrote_and_is_not_fit() {
    for after in [1, 10, 40, 100] {
        let toy = Toy::new(Wrong::Nothing);
        let stop = |suite: &mut Suite| {
            if suite.progress().requests >= after {
                suite.stop();
            }
        };
        let report = run(&mut Suite::new(settings()), &toy, stop);
        assert_eq!(report.outcome(), Outcome::Unclear, "{report}");
        assert_eq!(toy.keys(), Vec::<String>::new());
    }
}

#[test]
fn a_runner_that_loses_answers_learns_nothing_and_hangs_nothing() {
    let mut suite = Suite::new(settings());
    for _ in 0..1000 {
        match suite.step() {
            Step::Execute(_) => suite.answer(Vec::new()),
            Step::Pause(_) => {}
            Step::Done => {
                assert_eq!(suite.report().outcome(), Outcome::Unclear);
                return;
            }
        }
    }
    panic!("it asks without end");
}
