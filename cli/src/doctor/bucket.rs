//! Questions about the bucket around the prefix: whether something will remove records, and what keeps them.

use core::time::Duration;

use tenure_sim::conformance::{Check, Report, Verdict};
use tenure_tokio::{Bucket, Question, Said};

use super::subject::Place;

/// How long a question may take; the answer is of use, but not needed.
const PATIENCE: Duration = Duration::from_secs(5);

/// Adds what the bucket's own settings say; nothing if there is no bucket, or if it could not even be written.
pub(super) async fn look(place: &Place, report: &mut Report) {
    let Some(bucket) = place.bucket() else { return };
    // A store that could not be reached is not asked again.
    if report.checks.iter().any(|check| check.name == "access" && check.cause.is_some()) {
        return;
    }
    for (name, question) in [
        ("lifecycle rules", Question::Lifecycle),
        ("old versions", Question::Versioning),
        ("region", Question::Location),
    ] {
        let said = match place.ask(question, PATIENCE).await {
            None => return,
            Some(Ok(said)) => said,
            Some(Err(fault)) => Said::Nothing(fault.to_string()),
        };
        report.checks.push(judge(name, bucket, &said));
    }
}

fn judge(name: &'static str, bucket: &Bucket, said: &Said) -> Check {
    let (verdict, sentence, advice) = match said {
        Said::Nothing(why) => (Verdict::Allowed, format!("could not see: {why}"), None),
        Said::Lifecycle(rules) => {
            let covering: Vec<_> = rules.iter().filter(|rule| rule.covers(bucket)).collect();
            match covering.as_slice() {
                [] => (Verdict::Holds, "no rule removes what is below the prefix".to_owned(), None),
                [rule, ..] => {
                    let may = if rule.is_narrow { "may remove" } else { "removes" };
                    let sentence =
                        format!("rule {:?} {may} by age what begins with {:?}", rule.id, rule.prefix);
                    let advice = "take the prefix out of the rule: an owner record that is removed makes epochs \
                                  start again, and fencing tokens go backwards";
                    (Verdict::Allowed, sentence, Some(advice.to_owned()))
                }
            }
        }
        Said::Versioning(false) => (Verdict::Holds, "old versions are not kept".to_owned(), None),
        Said::Versioning(true) => {
            let advice = "expire noncurrent versions after a day or so: each node writes its lease every third of a ttl";
            (Verdict::Allowed, "old versions are kept, and paid for".to_owned(), Some(advice.to_owned()))
        }
        Said::Location(region) if region == bucket.region() => {
            (Verdict::Holds, format!("the bucket is in {region}, for which requests are signed"), None)
        }
        Said::Location(region) => {
            let ours = bucket.region();
            let sentence = format!(
                "the bucket says it is in {region:?}; requests are signed for {ours:?}, and accepted"
            );
            (Verdict::Allowed, sentence, None)
        }
    };
    Check { name, verdict, sentence, advice, cause: None }
}

#[cfg(test)]
mod tests {
    use super::judge;
    use tenure_sim::conformance::Verdict;
    use tenure_tokio::{Bucket, Rule, Said, Settings};

    #[test]
    fn bl_32_a_rule_that_covers_the_prefix_is_warned_of() {
        let settings = Settings { endpoint: Some("http://127.0.0.1:1".into()), ..Settings::default() };
        let bucket = Bucket::parse("s3://bkt/prod", &settings).expect("legal");
        let rule = |prefix: &str| Rule { id: "old".into(), prefix: prefix.into(), is_narrow: false };
        let check = judge("lifecycle rules", &bucket, &Said::Lifecycle(vec![rule("logs/"), rule("")]));
        assert_eq!(check.verdict, Verdict::Allowed);
        assert!(check.sentence.contains("\"old\"") && check.advice.is_some(), "{check:?}");
        let check = judge("lifecycle rules", &bucket, &Said::Lifecycle(vec![rule("logs/")]));
        assert_eq!((check.verdict, check.advice), (Verdict::Holds, None));
    }
}
