//! A process cloned with its memory, as when a virtual machine is started twice from one snapshot.

use core::time::Duration;
use std::rc::Rc;

use tenure_core::Command;

use crate::app::App;
use crate::checks::Violation;
use crate::choices::{Choices, Draw};
use crate::node::{Machine, Session};
use crate::queue::Occasion;
use crate::view::Step;
use crate::world::World;

impl<C: Choices, A: App> World<'_, C, A> {
    /// Clones a process onto a machine of its own, whose clocks read the same. The answers to what the original has
    /// under way reach the original alone.
    pub(crate) fn clone_process(&mut self, of: usize) -> Result<(), Violation> {
        let original = &self.sessions[of];
        if self.machines.len() >= MACHINES_MAX || original.engine.fenced().is_some() {
            return Ok(());
        }
        let Some(process) = self.processes[of].fork() else { return Ok(()) };
        let (number, machine) = (self.sessions.len(), self.machines.len());
        let twin = Session {
            machine,
            engine: original.engine.clone(),
            seed: original.seed,
            lease_key: original.lease_key.clone(),
            renews_since: original.renews_since,
            held: original.held.clone(),
            watched: original.watched.clone(),
            is_running: true,
            garbled: original.garbled.clone(),
        };
        let original = &self.machines[original.machine];
        let clone = Machine::new(original.name.clone(), original.clock.clone());
        self.sessions.push(twin);
        self.processes.push(process);
        self.machines.push(clone);
        self.machines[machine].session = Some(number);
        self.emit(Some(number), &Step::Cloned(of))?;
        self.await_in_vain(of, number);
        // An engine that was heard out has nothing to say but how long to sleep.
        if let Command::Idle { until } = Rc::make_mut(&mut self.sessions[number].engine).poll()
            && let Some((at, generation)) = self.machines[machine].set_wake(until)
        {
            self.queue.plan(at.max(self.at), Occasion::Wake { machine, generation });
        }
        let soon = self.choices.between(Duration::ZERO, self.scenario.pace);
        self.queue.plan(self.at.after(soon), Occasion::Tick { session: number });
        Ok(())
    }
}

/// No machine is added beyond so many.
const MACHINES_MAX: usize = 8;
