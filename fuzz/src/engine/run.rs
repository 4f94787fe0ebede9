//! A driver and an application that do what the input says.

use std::sync::Arc;

use core::time::Duration;

use arbitrary::{Result, Unstructured};
use tenure_core::{
    Call, CellId, Command, Config, Defect, ETag, Engine, Entry, Epoch, Event, Fault, FaultKind, Instant, Key,
    ListOp, ListReply, NodeId, Notice, Now, Outcome, Page, ReadOp, ReadReply, RemoveId, RemoveReply,
    SessionId, Stamps, StoreTime, Tenure, Ticket, WallTime, WriteOp, WriteReply,
};

use super::witness::Witness;

/// The engine, what it waits for, and the witness.
pub(super) struct Run {
    engine: Engine,
    witness: Witness,
    cells: [CellId; 3],
    now: Instant,
    tickets: u64,
    tags: u64,
    reads: Vec<ReadOp>,
    writes: Vec<(WriteOp, Instant)>,
    lists: Vec<ListOp>,
    removes: Vec<RemoveId>,
}

/// One event may cause so many commands and no more; otherwise the engine talks to itself.
const COMMANDS_MAX: usize = 5000;

impl Run {
    /// Starts a session; most inputs have it join without trouble, since most decisions are made after that.
    pub(super) fn new(defect: Option<Defect>, input: &mut Unstructured<'_>) -> Self {
        let config = Config { defect, ..Config::new("me").with_ttl(Duration::from_secs(3)) };
        let engine = Engine::new(config.clone(), SessionId::new(1), 3).expect("a legal configuration");
        let mut run = Self {
            witness: Witness::new(engine.node().clone(), &config),
            engine,
            cells: ["a", "b", "c"].map(|name| CellId::new(name).expect("a legal name")),
            now: Instant::from_millis(0),
            tickets: 0,
            tags: 0,
            reads: Vec::new(),
            writes: Vec::new(),
            lists: Vec::new(),
            removes: Vec::new(),
        };
        if input.ratio(7, 8).unwrap_or_default() {
            run.call(Call::Join);
            // The probe's create and update, each tried twice, then the lease.
            for is_applied in [true, false, true, false, true] {
                let (op, sent) = run.writes.remove(0);
                let reply = if is_applied { run.applied() } else { WriteReply::Rejected };
                run.answer_write(&op, sent, reply);
            }
            assert!(run.engine.authority().is_some(), "a join without trouble succeeds");
        }
        run
    }

    /// Does the next thing.
    pub(super) fn step(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        let advance = match input.int_in_range(0..=9_u8)? {
            0..=3 => 0,
            4..=7 => input.int_in_range(0..=100)?,
            8 => input.int_in_range(100..=1500)?,
            _ => input.int_in_range(1000..=90_000)?,
        };
        self.now = self.now.after(Duration::from_millis(advance));
        match input.int_in_range(0..=15_u8)? {
            0..=3 => {
                let call = self.draw_call(input)?;
                self.call(call);
            }
            4 => {
                let ticket = Ticket::new(input.int_in_range(0..=self.tickets + 1)?);
                self.handle(Event::Cancel(ticket));
            }
            5 => self.handle(Event::Wake),
            6..=9 if !self.reads.is_empty() => {
                let op = self.reads.swap_remove(input.choose_index(self.reads.len())?);
                let reply = self.draw_read_reply(&op.key, input)?;
                self.witness.heard_read(&op, &reply);
                self.handle(Event::ReadDone(op.id, reply));
            }
            10..=14 if !self.writes.is_empty() => {
                let (op, sent) = self.writes.swap_remove(input.choose_index(self.writes.len())?);
                let reply = self.draw_write_reply(input)?;
                self.answer_write(&op, sent, reply);
            }
            _ if !self.lists.is_empty() => {
                let op = self.lists.swap_remove(input.choose_index(self.lists.len())?);
                let reply = self.draw_list_reply(input)?;
                self.handle(Event::ListDone(op.id, reply));
            }
            _ => {
                for id in core::mem::take(&mut self.removes) {
                    self.handle(Event::RemoveDone(id, RemoveReply::Removed));
                }
                self.handle(Event::Wake);
            }
        }
        Ok(())
    }

    /// Lets time end whatever is left.
    pub(super) fn end(mut self) {
        self.now = self.now.after(Duration::from_secs(3600));
        self.handle(Event::Wake);
        assert_eq!(self.engine.authority(), None, "authority ends with time");
    }

    fn call(&mut self, call: Call) {
        self.tickets += 1;
        let ticket = Ticket::new(self.tickets);
        if let Call::Verify(tenure) = &call {
            self.witness.asked(ticket, Key::owner(&tenure.cell));
        }
        self.handle(Event::Call(ticket, call));
    }

    fn answer_write(&mut self, op: &WriteOp, sent: Instant, reply: WriteReply) {
        self.witness.heard_write(op, sent, &reply);
        self.handle(Event::WriteDone(op.id, reply));
    }

    fn handle(&mut self, event: Event) {
        let now = Now { mono: self.now, wall: WallTime::from_nanos(self.now.as_nanos() ^ 0xffff) };
        self.engine.handle(now, event);
        let mut commands = 0;
        loop {
            commands += 1;
            assert!(commands < COMMANDS_MAX, "the engine does not come to rest");
            match self.engine.poll() {
                Command::Done(ticket, Outcome::Verified(Ok(()))) => self.witness.judge_verified(ticket),
                Command::Done(..) => {}
                Command::Idle { .. } => break,
                Command::List(op) => {
                    assert!(!self.witness.is_fenced, "{op:?} after the fence");
                    self.lists.push(op);
                }
                Command::Notify(Notice::Fenced(_)) => self.witness.is_fenced = true,
                Command::Notify(_) => {}
                Command::Read(op) => {
                    assert!(!self.witness.is_fenced, "{op:?} after the fence");
                    self.witness.sent_read(&op);
                    self.reads.push(op);
                }
                Command::Remove(op) => {
                    let key = op.key.as_str();
                    assert!(key.starts_with("probe/") || key.starts_with("nodes/"), "{key} is never removed");
                    self.removes.push(op.id);
                }
                Command::Write(op) => {
                    self.witness.judge_write(&op, self.now);
                    self.writes.push((op, self.now));
                }
            }
        }
        self.witness.judge_belief(&self.engine, &self.cells, now);
    }

    fn draw_call(&self, input: &mut Unstructured<'_>) -> Result<Call> {
        let cell = input.choose(&self.cells)?.clone();
        let wait = Duration::from_millis(input.int_in_range(0..=5000)?);
        let now = Now { mono: self.now, wall: WallTime::default() };
        let held = self.engine.tenure(&cell, now);
        let epoch = Epoch::new(input.int_in_range(1..=4)?).expect("not zero");
        let tenure = held.unwrap_or_else(|| Tenure { cell: cell.clone(), epoch });
        Ok(match input.int_in_range(0..=15_u8)? {
            0..=5 => Call::Claim { cell, wait },
            6 | 7 => Call::Release(tenure),
            8 => Call::Transfer { tenure, to: self.draw_node(input)? },
            9 | 10 => Call::Verify(tenure),
            11 => Call::Locate { cell, max_age: wait },
            12 => Call::Peers,
            13 => Call::Publish { load: None, meta: None },
            14 if input.ratio(1, 4)? => Call::Leave,
            14 => Call::Join,
            _ => Call::Claim { cell, wait: Duration::MAX },
        })
    }

    fn draw_node(&self, input: &mut Unstructured<'_>) -> Result<NodeId> {
        let other =
            NodeId::parse(["b.1", "c.1"][usize::from(input.arbitrary::<bool>()?)]).expect("a legal id");
        Ok(if input.ratio(1, 4)? { self.engine.node().clone() } else { other })
    }

    fn draw_read_reply(&mut self, key: &Key, input: &mut Unstructured<'_>) -> Result<ReadReply> {
        let stamps = self.draw_stamps(input)?;
        let body: Vec<u8> = match input.int_in_range(0..=15_u8)? {
            0 | 1 => return Ok(ReadReply::Missing),
            2 | 3 => return Ok(ReadReply::Unchanged(stamps)),
            4 => return Ok(ReadReply::Throttled { after: Some(Duration::from_secs(input.arbitrary()?)) }),
            5 => return Ok(ReadReply::Failed(draw_fault(input)?)),
            6..=8 => match self.witness.last(key) {
                Some(ours) => ours.to_vec(),
                None => return Ok(ReadReply::Missing),
            },
            9 => input.arbitrary::<&[u8]>()?.to_vec(),
            _ if Key::cell(key.as_str()).is_some() => self.draw_owner(input)?.into_bytes(),
            _ => self.draw_lease(key, input)?.into_bytes(),
        };
        Ok(ReadReply::Found { etag: self.draw_tag(key, input)?, body: body.into(), stamps })
    }

    fn draw_owner(&self, input: &mut Unstructured<'_>) -> Result<String> {
        let epoch: u64 = if input.ratio(1, 8)? { input.arbitrary()? } else { input.int_in_range(0..=5)? };
        let node = if input.ratio(1, 4)? { String::new() } else { self.draw_node(input)?.to_string() };
        let write = match input.int_in_range(0..=3_u8)? {
            0 => String::new(),
            1 => format!(r#","write":"{node}#1""#),
            _ => format!(r#","write":"{}#{}""#, self.draw_node(input)?, input.int_in_range(0..=20_u64)?),
        };
        Ok(format!(r#"{{"node":"{node}","epoch":{epoch}{write}}}"#))
    }

    fn draw_lease(&self, key: &Key, input: &mut Unstructured<'_>) -> Result<String> {
        let node = match Key::node(key.as_str()) {
            Some(node) if input.ratio(7, 8)? => node,
            Some(_) | None => self.draw_node(input)?,
        };
        let expires: u64 = input.int_in_range(0..=100_000)?;
        let ttl: u64 = input.int_in_range(0..=61_000)?;
        let fenced = if input.ratio(1, 4)? { r#","fenced_by":"c.1""# } else { "" };
        let expires = if fenced.is_empty() || input.ratio(1, 2)? { expires } else { 0 };
        let ttl = if input.ratio(3, 4)? { format!(r#","ttl_ms":{ttl}"#) } else { String::new() };
        Ok(format!(r#"{{"node":"{node}","expires_ms":{expires}{ttl}{fenced}}}"#))
    }

    fn draw_write_reply(&mut self, input: &mut Unstructured<'_>) -> Result<WriteReply> {
        Ok(match input.int_in_range(0..=15_u8)? {
            0 => WriteReply::Conflict,
            1 => WriteReply::NotApplied(draw_fault(input)?),
            2 => WriteReply::Refused(draw_fault(input)?),
            3 | 4 => WriteReply::Rejected,
            5 => {
                WriteReply::Throttled { after: Some(Duration::from_millis(input.arbitrary::<u16>()?.into())) }
            }
            6..=8 => WriteReply::Unknown(draw_fault(input)?),
            _ => self.applied(),
        })
    }

    fn draw_list_reply(&mut self, input: &mut Unstructured<'_>) -> Result<ListReply> {
        if input.ratio(1, 4)? {
            return Ok(ListReply::Failed(draw_fault(input)?));
        }
        let Stamps { modified, date } = self.draw_stamps(input)?;
        let mut entries = Vec::new();
        for _ in 0..input.int_in_range(0..=3_u8)? {
            let node = Key::lease(&self.draw_node(input)?);
            let etag = self.draw_tag(&node, input)?;
            self.witness.heard_tag(node.clone(), &etag);
            let key = if input.ratio(1, 8)? { input.arbitrary()? } else { node.as_str().to_owned() };
            entries.push(Entry { key, etag: Some(etag), modified });
        }
        let next = if input.ratio(1, 4)? { Some(Arc::from("more")) } else { None };
        Ok(ListReply::Page(Page { entries, next, date }))
    }

    fn draw_stamps(&self, input: &mut Unstructured<'_>) -> Result<Stamps> {
        let at = |input: &mut Unstructured<'_>| {
            let millis: u64 = match input.int_in_range(0..=7_u8)? {
                0 => return Ok(None),
                1 => input.arbitrary()?,
                _ => 1_000_000 + self.now.as_millis() + input.int_in_range(0..=80_000)?,
            };
            Ok(Some(StoreTime::from_millis(millis)))
        };
        Ok(Stamps { modified: at(input)?, date: at(input)? })
    }

    /// Draws a tag that the key has had, or a new one.
    fn draw_tag(&mut self, key: &Key, input: &mut Unstructured<'_>) -> Result<ETag> {
        let known = self.witness.tag(key, input.int_in_range(0..=7)?);
        Ok(match known {
            Some(known) if input.ratio(2, 3)? => known,
            Some(_) | None => self.fresh_tag(),
        })
    }

    fn applied(&mut self) -> WriteReply {
        WriteReply::Applied { etag: self.fresh_tag() }
    }

    fn fresh_tag(&mut self) -> ETag {
        self.tags += 1;
        ETag::new(format!("\"{}\"", self.tags).as_bytes()).expect("not empty")
    }
}

fn draw_fault(input: &mut Unstructured<'_>) -> Result<Fault> {
    let kinds = [
        FaultKind::Config,
        FaultKind::Denied,
        FaultKind::Malformed,
        FaultKind::Network,
        FaultKind::Throttled,
        FaultKind::TimedOut,
        FaultKind::Unavailable,
        FaultKind::Unfit,
    ];
    Ok(Fault::new(*input.choose(&kinds)?, ""))
}
