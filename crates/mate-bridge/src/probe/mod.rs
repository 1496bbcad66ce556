//! Looking at one connection as a session would use it: greet, list, and say in words what is wrong.
//!
//! Calls no tool, so it changes nothing. What an upstream says is untrusted, and is redacted by whoever shows it.

mod child;
mod ear;
mod explain;
mod finding;
mod second_look;
mod tools;

pub use finding::{Code, Finding, Probe, ProbedTool};

use crate::{
    config::{ConnectionSpec, Limits, Spawner, Transport},
    upstream::{HttpUpstream, StdioUpstream, Upstream},
};
use child::Watched;
use ear::Ear;
use std::{sync::Arc, time::Duration};

/// How long is waited for the end of a program that has closed its output.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Connects, lists the tools, and ends the connection again. Bounded by `limits`.
pub async fn probe(spec: ConnectionSpec, spawner: Arc<dyn Spawner>, limits: Limits) -> Probe {
    let ear = Arc::new(Ear::with_roots(spec.roots));
    let watched = Arc::new(Watched::over(spawner));
    let mut probe = Probe::default();
    let upstream = match upstream(&spec, &limits, &ear, &watched) {
        Ok(upstream) => upstream,
        Err(why) => {
            probe.problem = Some(explain::unusable(&why));
            return probe;
        }
    };
    match upstream.hello().await {
        Ok(hello) => {
            probe.protocol = Some(hello.version.clone());
            tools::list(&*upstream, &hello, &spec, &limits, &mut probe).await;
            let unlisted = probe.problem.as_ref().is_some_and(|problem| problem.code == Code::CannotList);
            if let (true, Transport::Http(http)) = (unlisted, &spec.transport)
                && let Some(refused) = second_look::refused(http, &limits).await
            {
                probe.problem = Some(refused);
            }
        }
        Err(why) => {
            watched.settle(LAST_WORDS).await;
            probe.problem = Some(match &spec.transport {
                Transport::Stdio(stdio) => explain::program(stdio, &why, &watched, &ear),
                Transport::Http(http) => second_look::explain(http, &why, &limits).await,
            });
        }
    }
    upstream.close().await;
    probe.said = ear.said();
    probe
}

fn upstream(
    spec: &ConnectionSpec,
    limits: &Limits,
    ear: &Arc<Ear>,
    watched: &Arc<Watched>,
) -> Result<Arc<dyn Upstream>, String> {
    let start = spec.start_timeout.unwrap_or(limits.start);
    let (limits, ear) = (limits.clone(), Arc::clone(ear));
    Ok(match &spec.transport {
        Transport::Stdio(stdio) => {
            let spawner: Arc<dyn Spawner> = Arc::clone(watched) as Arc<dyn Spawner>;
            let name = spec.name.as_str().into();
            Arc::new(StdioUpstream::new(name, stdio.clone(), start, limits, spawner, ear))
        }
        Transport::Http(http) => Arc::new(HttpUpstream::new(http, start, limits, ear)?),
    })
}
