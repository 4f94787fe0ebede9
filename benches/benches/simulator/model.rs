//! The small protocol as a stateright model: every interleaving of sending, serving, answering and losing.

use stateright::{Checker, Model, Property};

use crate::small::{NODES, Node, Op, Record, Reply, is_one, serve};

/// How long the model runs, in ticks, and how many messages get lost.
const TICKS: u8 = 12;
const LOSSES: u8 = 2;

struct Small;

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct State {
    now: u8,
    record: Record,
    nodes: [Node; NODES],
    flights: [Flight; NODES],
    losses: u8,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Flight {
    Back(Reply),
    Idle,
    There(Op),
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Action {
    Lose(usize),
    Return(usize),
    Send(usize),
    Serve(usize),
    Tick,
}

impl Model for Small {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let nodes = [0, 1, 2].map(Node::new);
        vec![State { now: 1, record: Record::default(), nodes, flights: [Flight::Idle; NODES], losses: 0 }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.now < TICKS {
            actions.push(Action::Tick);
        }
        for (node, flight) in state.flights.iter().enumerate() {
            actions.push(match flight {
                Flight::Back(_) => Action::Return(node),
                Flight::Idle => Action::Send(node),
                Flight::There(_) => Action::Serve(node),
            });
            if state.losses < LOSSES && *flight != Flight::Idle {
                actions.push(Action::Lose(node));
            }
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = *state;
        match action {
            Action::Lose(node) => {
                next.losses += 1;
                next.flights[node] = Flight::Back(Reply::Unknown);
            }
            Action::Return(node) => {
                let Flight::Back(reply) = next.flights[node] else { return None };
                next.flights[node] = Flight::Idle;
                next.nodes[node].told(reply);
            }
            Action::Send(node) => next.flights[node] = Flight::There(next.nodes[node].next(next.now)),
            Action::Serve(node) => {
                let Flight::There(op) = next.flights[node] else { return None };
                next.flights[node] = Flight::Back(serve(&mut next.record, op, next.now));
            }
            Action::Tick => next.now += 1,
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("one owner", |_, state: &State| {
            is_one(state.nodes.iter().map(|node| node.until), state.now)
        })]
    }
}

/// Explores about so many distinct states, breadth first; returns how many it were.
pub fn run(states: usize) -> usize {
    let checker = Small.checker().target_state_count(states).spawn_bfs().join();
    checker.assert_properties();
    checker.unique_state_count()
}
