//! One request's way through the server, stage by stage; a fault may befall it at each.
//!
//! Once its head is here a request has a task of its own: it is served whether or not anybody waits for the answer,
//! as at a store that does not know that its client has given up.

use core::future::pending;
use std::io;
use std::sync::Arc;

use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use tokio::time::sleep;

use crate::server::answer::Answer;
use crate::server::asked::Asked;
use crate::server::evaluate::{apply, condition, denied, tells_of_missing};
use crate::server::fault::Fault;
use crate::server::part::{Ending, Part};
use crate::server::plan::{Conditions, Plan};
use crate::server::shared::Shared;
use crate::server::signature::check;
use crate::server::wire::{Decided, Fate};

/// What comes of a request.
enum Outcome {
    Answered(Response<Part>, Fate),
    /// The connection is closed instead.
    Closed,
    /// Nothing, for as long as the client likes.
    Silence,
}

/// Serves one request of a connection; an error closes it.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    decided: Decided,
    connection: usize,
    request: Request<Incoming>,
) -> Result<Response<Part>, io::Error> {
    let (parts, body) = request.into_parts();
    let asked = Asked::new(&parts, &shared.bucket);
    let task = tokio::spawn(handle(shared, connection, asked, body));
    match task.await.map_err(io::Error::other)? {
        Outcome::Answered(response, fate) => {
            decided.set(fate);
            Ok(response)
        }
        Outcome::Closed => Err(io::ErrorKind::ConnectionAborted.into()),
        Outcome::Silence => pending().await,
    }
}

async fn handle(shared: Arc<Shared>, connection: usize, asked: Asked, body: Incoming) -> Outcome {
    let (number, faults) = shared.arrive(connection, &asked);
    let mut plan = Plan::of(&faults, &asked.method);
    let befell = |fault: Fault| shared.lock().befell(number, [fault]);
    if shared.is_dark() {
        return Outcome::Silence;
    }
    if let Some(fault) = plan.silence {
        befell(fault);
        return Outcome::Silence;
    }
    let early = plan.checks_early.map(|_| condition(&shared.lock().store, &asked, &plan.conditions));
    let Some(body) = read(body, plan.cut_request.map(|(_, after)| after)).await else {
        // Else the client went away.
        plan.cut_request.into_iter().for_each(|(fault, _)| befell(fault));
        return Outcome::Closed;
    };
    if let Some(answer) = unauthorised(&shared, &asked, &body) {
        return finish(&shared, number, &asked, answer, &plan);
    }
    if let Some((fault, answer)) = plan.refusal.take() {
        befell(fault);
        return finish(&shared, number, &asked, answer, &plan);
    }
    if let Some((fault, by)) = plan.late {
        befell(fault);
        shared.underway(1);
        tokio::spawn(async move {
            sleep(by).await;
            evaluate(&shared, number, &asked, &body, early, &mut plan);
            shared.underway(-1);
        });
        return Outcome::Closed;
    }
    if let Some((fault, by)) = plan.delay {
        befell(fault);
        shared.underway(1);
        sleep(by).await;
        shared.underway(-1);
    }
    let answer = evaluate(&shared, number, &asked, &body, early, &mut plan);
    if let Some((fault, by)) = plan.delay_answer {
        shared.lock().befell(number, [fault]);
        sleep(by).await;
    }
    match plan.drop {
        Some(fault) => {
            shared.lock().befell(number, [fault]);
            Outcome::Closed
        }
        None => finish(&shared, number, &asked, answer, &plan),
    }
}

/// Reads the body; nothing if the client went away, or if that is where the connection breaks.
async fn read(mut body: Incoming, cut: Option<usize>) -> Option<Bytes> {
    let mut whole = Vec::new();
    loop {
        if cut.is_some_and(|cut| whole.len() >= cut) {
            return None;
        }
        match body.frame().await {
            None => break,
            Some(frame) => {
                if let Ok(data) = frame.ok()?.into_data() {
                    whole.extend_from_slice(&data);
                }
                (whole.len() <= BODY_MAX).then_some(())?;
            }
        }
    }
    cut.is_none().then(|| whole.into())
}

/// Returns what is said to somebody who may not ask this.
fn unauthorised(shared: &Shared, asked: &Asked, body: &[u8]) -> Option<Answer> {
    let verify = shared.verify.as_ref()?;
    let now = shared.clock.seconds(shared.clock.now());
    check(asked, body, now, shared.region.as_deref(), &**verify).err().map(|answer| *answer)
}

/// Evaluates the request, at one instant.
fn evaluate(
    shared: &Shared,
    number: usize,
    asked: &Asked,
    body: &[u8],
    early: Option<Result<(), Box<Answer>>>,
    plan: &mut Plan,
) -> Answer {
    let mut held = shared.lock();
    // Read under the lock, so that versions are stamped in the order in which they are made.
    let at = shared.clock.now();
    let mut effects = Vec::new();
    let judged = early.unwrap_or_else(|| condition(&held.store, asked, &plan.conditions));
    let of = |judged: &Result<(), Box<Answer>>| judged.as_ref().map_err(|answer| answer.status).err();
    if of(&judged) != of(&condition(&held.store, asked, &Conditions::default())) {
        effects.extend(plan.conditions.faults.iter().copied().chain(plan.checks_early));
    }
    let (answer, changed) = match judged {
        Ok(()) => apply(&mut held.store, &shared.clock, at, asked, body, plan.page, &mut effects),
        Err(answer) => (*answer, false),
    };
    let hidden = plan.hides_missing.filter(|_| plan.failure.is_none() && tells_of_missing(asked, &answer));
    effects.extend(hidden.or(plan.failure.as_ref().map(|(fault, _)| *fault)));
    held.befell(number, effects);
    if changed {
        held.changed(number, asked.key());
    }
    drop(held);
    shared.noted();
    match plan.failure.take() {
        Some((_, failure)) => failure,
        None if hidden.is_some() => denied(),
        None => answer,
    }
}

/// Spoils the answer as planned, and spells it.
fn finish(shared: &Shared, number: usize, asked: &Asked, mut answer: Answer, plan: &Plan) -> Outcome {
    answer.date = Some(shared.clock.seconds(shared.clock.now()));
    let spoilt = plan.spoils.iter().filter(|(_, spoil)| answer.spoil(*spoil)).map(|(fault, _)| *fault);
    let mut effects: Vec<Fault> = spoilt.collect();
    let mut held = shared.lock();
    held.answered(number, answer.status);
    let cut =
        plan.cut_answer.map(|(fault, after)| (fault, after.unwrap_or_else(|| held.below(ANSWER_ABOUT))));
    // A chance cut may lie behind the end of a short answer.
    effects.extend(cut.filter(|(_, after)| *after < answer.length_min()).map(|(fault, _)| fault));
    effects.extend(plan.pace.map(|(fault, _)| fault).into_iter().chain(plan.close));
    held.befell(number, effects);
    drop(held);
    shared.noted();
    let closes = plan.close.is_some() || answer.ending == Ending::Short;
    let fate = Fate::new(cut.map(|(_, after)| after), plan.pace.map(|(_, pace)| pace), closes);
    Outcome::Answered(answer.into_response(&format!("{number:016X}"), asked.path()), fate)
}

/// About how long an answer to a read is; a chance cut lies before that.
const ANSWER_ABOUT: usize = 500;
/// Nothing of the protocol is a hundredth as long.
const BODY_MAX: usize = 5 << 20;
