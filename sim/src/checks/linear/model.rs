//! What a cell is to the applications: a lock whose holders are numbered by rising epochs.

/// A node, by any number that tells it from the others.
pub(super) type Node = usize;

/// What one application was told, or may have brought about without being told.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Act {
    /// The node was granted the cell at this epoch. Nothing if nobody was told: it may have been granted any.
    Claim(Node, Option<u64>),
    /// The node, which had the cell at this epoch, was told that the other one has it at the next: the offer was
    /// accepted, or that node took the cell over by itself, which looks the same from outside.
    Given(Node, u64, Node),
    /// The node was told that its tenure of this epoch is over.
    End(Node, u64),
    /// The node gave up its tenure of this epoch.
    Release(Node, u64),
    /// The node offered the cell, which it held at this epoch, to another one: at the next epoch.
    Transfer(Node, u64, Node),
    /// The node was told that it holds the cell at this epoch.
    Verify(Node, u64),
}

/// The lock.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct Lock {
    /// The highest epoch granted or offered.
    epoch: u64,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
enum Phase {
    /// Nobody has ever had it.
    #[default]
    New,
    /// This node had it last.
    Free(Node),
    Held(Node),
    Offered(Node),
}

impl Act {
    /// Returns the node that acts.
    pub(super) const fn node(self) -> Node {
        match self {
            Self::Claim(node, _)
            | Self::End(node, _)
            | Self::Given(node, ..)
            | Self::Release(node, _)
            | Self::Transfer(node, ..)
            | Self::Verify(node, _) => node,
        }
    }

    /// Returns the epoch at which it acts, if that is known.
    pub(super) const fn epoch(self) -> Option<u64> {
        match self {
            Self::Claim(_, epoch) => epoch,
            Self::End(_, epoch)
            | Self::Given(_, epoch, _)
            | Self::Release(_, epoch)
            | Self::Transfer(_, epoch, _)
            | Self::Verify(_, epoch) => Some(epoch),
        }
    }
}

impl Lock {
    /// Returns the lock after an act whose epoch is known, or nothing if the act is impossible now.
    pub(super) fn after(self, act: Act) -> Option<Self> {
        let Self { epoch: highest, phase } = self;
        match act {
            Act::Claim(_, None) => None,
            Act::Claim(node, Some(epoch)) => {
                // Who holds the cell may be told so again; an offer has the epoch of its receiver.
                let is_known = matches!(phase, Phase::Held(own) | Phase::Offered(own) if own == node);
                let is_legal = epoch > highest || (epoch == highest && is_known);
                is_legal.then_some(Self { epoch, phase: Phase::Held(node) })
            }
            // What has been taken over is over all the same.
            Act::End(_, epoch) | Act::Release(_, epoch) if epoch < highest => Some(self),
            Act::End(node, epoch) | Act::Release(node, epoch) => {
                let is_legal = epoch == highest && phase.is_of(node);
                is_legal.then_some(Self { epoch, phase: Phase::Free(node) })
            }
            Act::Given(_, epoch, to) if highest == epoch + 1 && phase.concerns(to) => Some(self),
            Act::Given(node, epoch, to) | Act::Transfer(node, epoch, to) => {
                let is_legal = epoch == highest && phase.is_of(node);
                is_legal.then_some(Self { epoch: epoch + 1, phase: Phase::Offered(to) })
            }
            Act::Verify(node, epoch) => (epoch == highest && phase == Phase::Held(node)).then_some(self),
        }
    }
}

impl Phase {
    /// Tells whether the highest epoch was granted to this node.
    fn is_of(self, node: Node) -> bool {
        matches!(self, Self::Free(own) | Self::Held(own) if own == node)
    }

    /// Tells whether the highest epoch was granted or offered to this node.
    fn concerns(self, node: Node) -> bool {
        self == Self::Offered(node) || self.is_of(node)
    }
}
