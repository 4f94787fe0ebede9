//! A small ownership protocol, as one would write it down for a model checker: one record with compare-and-swap,
//! renewed while it is held, fenced once its time is over, and taken only when nobody holds it.
//!
//! Pure decisions of one node; `threads.rs` and `model.rs` bring it messages that get lost.

/// How many nodes there are.
pub const NODES: usize = 3;

/// How long a claim lasts, in ticks.
pub const TTL: u8 = 4;

/// The one record.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Record {
    pub owner: Option<u8>,
    pub epoch: u8,
    /// The write that made this version: node and number. It is the tag by which versions are compared.
    pub write: (u8, u8),
    /// When the store took it.
    pub stamp: u8,
}

/// What a node asks of the store.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Op {
    Read,
    /// Put this record in the place of the version that this write made.
    Swap {
        record: Record,
        guard: (u8, u8),
    },
}

/// What it is told.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Reply {
    Applied,
    Found(Record),
    Rejected,
    Unknown,
}

/// What one node knows.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Node {
    me: u8,
    writes: u8,
    /// The record as it was last seen; nothing if it has to be read first.
    seen: Option<Record>,
    /// A write whose fate is not known, its guard, and when it was first sent.
    open: Option<(Record, (u8, u8), u8)>,
    /// When its authority ends; it has none before the first claim.
    pub until: u8,
}

impl Node {
    pub fn new(me: u8) -> Self {
        Self { me, ..Self::default() }
    }

    /// Decides what to ask next. A write that may still land is sent again byte for byte.
    pub fn next(&mut self, now: u8) -> Op {
        let Some(seen) = self.seen else { return Op::Read };
        if let Some((record, guard, _)) = self.open {
            return Op::Swap { record, guard };
        }
        let (owner, epoch) = match seen.owner {
            Some(owner) if owner == self.me => (Some(self.me), seen.epoch),
            Some(_) if now >= seen.stamp + TTL => (None, seen.epoch),
            Some(_) => return Op::Read,
            None => (Some(self.me), seen.epoch + 1),
        };
        self.writes += 1;
        let record = Record { owner, epoch, write: (self.me + 1, self.writes), stamp: 0 };
        self.open = Some((record, seen.write, now));
        Op::Swap { record, guard: seen.write }
    }

    /// Takes the answer to what was asked last.
    pub fn told(&mut self, reply: Reply) {
        match (reply, self.open) {
            (Reply::Applied, Some((record, ..))) => self.settled(record),
            (Reply::Found(found), Some((record, ..))) if found.write == record.write => self.settled(found),
            (Reply::Found(found), Some((_, guard, _))) if found.write == guard => self.seen = Some(found),
            (Reply::Found(found), _) => (self.seen, self.open) = (Some(found), None),
            // An earlier copy may have won: only a read tells.
            (Reply::Applied | Reply::Rejected | Reply::Unknown, _) => self.seen = None,
        }
    }

    fn settled(&mut self, record: Record) {
        if let Some((_, _, sent)) = self.open.take()
            && record.owner == Some(self.me)
        {
            self.until = self.until.max(sent + TTL);
        }
        self.seen = Some(record);
    }
}

/// Serves one request.
pub fn serve(current: &mut Record, op: Op, now: u8) -> Reply {
    match op {
        Op::Read => Reply::Found(*current),
        Op::Swap { record, guard } if current.write == guard => {
            *current = Record { stamp: now, ..record };
            Reply::Applied
        }
        Op::Swap { .. } => Reply::Rejected,
    }
}

/// Tells whether at most one node has authority now.
pub fn is_one(nodes: impl IntoIterator<Item = u8>, now: u8) -> bool {
    nodes.into_iter().filter(|until| now < *until).count() <= 1
}
