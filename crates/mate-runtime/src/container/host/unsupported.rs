//! Stands in on systems that have no means to contain processes.

use crate::container::{
    Breach, ContainerError, ContainerRecord, ContainerSpec, Launch, Process, SignalKind, SpawnError,
};
use mate_model::containment::Means;
use std::{convert::Infallible, time::Duration};

/// Cannot be made here.
#[derive(Debug)]
pub(super) struct Keeper(Infallible);

impl Keeper {
    pub(super) async fn start(
        _: &ContainerSpec,
        _: Means,
        _: Duration,
    ) -> Result<(Self, ContainerRecord), ContainerError> {
        Err(ContainerError::Unsupported)
    }

    pub(super) async fn spawn(&self, _: Launch, _: Duration) -> Result<Process, SpawnError> {
        match self.0 {}
    }

    pub(super) async fn signal(&self, _: u64, _: SignalKind) -> Result<(), SpawnError> {
        match self.0 {}
    }

    pub(super) async fn kill_all(&self) -> Result<(), SpawnError> {
        match self.0 {}
    }

    pub(super) async fn count(&self, _: Duration) -> Result<usize, SpawnError> {
        match self.0 {}
    }

    pub(super) fn breaches(&self) -> Vec<Breach> {
        match self.0 {}
    }

    pub(super) fn close(&self) {
        match self.0 {}
    }

    pub(super) async fn ended(&self) {
        match self.0 {}
    }
}
