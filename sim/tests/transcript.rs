//! What a session did in a world replays outside of it: its transcript, fed to the harness of the engine's own tests,
//! gives exactly the arrows that it shows.

#[path = "../../core/tests/common/mod.rs"]
mod common;

use common::Scenario;
use tenure_core::Defect;
use tenure_sim::{Family, Plan, Prng, Scribe, Shrinker, Tape, Trace, Transcript};

#[test]
fn the_transcript_of_every_session_gives_the_arrows_that_it_shows() {
    let mut sessions = 0;
    let mut plans = vec![(Plan::default(), 60)];
    plans.extend(Family::ALL.iter().map(|&family| (Plan { family: Some(family), defect: None }, 15)));
    for (plan, seeds) in plans {
        for seed in 0..seeds {
            let scribe = Scribe::default();
            plan.watch(&mut Prng::new(seed), scribe.clone(), Trace::silent()).expect("holds");
            for transcript in scribe.transcripts() {
                assert_replays(&transcript, &format!("seed {seed:#x} of {:?}", plan.family));
                sessions += 1;
            }
        }
    }
    assert!(sessions > 500, "{sessions}");
}

#[test]
fn a_shrunk_failure_replays_with_its_bug_and_does_something_else_without() {
    for defect in [Defect::StealLive, Defect::UnknownIsLost, Defect::TrustOldTag] {
        let plan = Plan { defect: Some(defect), ..Plan::default() };
        let seed = (0..50).find(|&seed| plan.run(seed, Trace::silent()).is_err()).expect("caught");
        let shrunk = Shrinker::new(1000).shrink_seed(&plan, seed).expect("it fails");
        let scribe = Scribe::default();
        plan.watch(&mut Tape::new(&shrunk.tape), scribe.clone(), Trace::silent()).expect_err("it fails");
        let transcripts = scribe.transcripts();
        let mut differs = false;
        for mut transcript in transcripts {
            // The check may have cut the answer to the last event short.
            let shown = transcript.lines.clone();
            assert!(replay(&transcript).starts_with(&shown), "{defect:?}: {transcript}");
            transcript.config.defect = None;
            differs |= !replay(&transcript).starts_with(&shown);
        }
        assert!(differs, "{defect:?} shows in no session");
    }
}

fn assert_replays(transcript: &Transcript, of: &str) {
    let actual = replay(transcript);
    if actual != transcript.lines {
        let same = actual.lines().zip(transcript.lines.lines()).take_while(|(a, b)| a == b).count();
        let shown =
            |text: &str| text.lines().skip(same.saturating_sub(6)).take(12).collect::<Vec<_>>().join("\n");
        panic!(
            "session {} of {of} differs at line {same}\nin the world\n{}\nreplayed\n{}",
            transcript.session,
            shown(&transcript.lines),
            shown(&actual)
        );
    }
}

fn replay(transcript: &Transcript) -> String {
    let scenario = Scenario::of(transcript.config.clone(), transcript.session, transcript.seed);
    common::run(scenario, &transcript.lines)
}
