//! What `doctor` says of containment: each means is tried as a session would use it.

use crate::cli::Check;
use mate_engine::Settings;
use mate_model::containment::{Containment, HeldLimit, Limits, Means, MeansChoice};
use mate_runtime::container::{Container, ContainerSpec};
use std::{env, path::Path};

/// So much that no trial is ever held up by them.
const TRIAL: Limits = Limits { memory: Some(1 << 40), processes: Some(10_000), cpu: Some(10_000) };

/// Makes containers, as sessions would, and ends them.
pub(crate) async fn check(settings: &Path) -> Check {
    // Settings that cannot be read are another check's.
    let wanted = Settings::read(settings).unwrap_or_default().containment.means;
    let chosen = match attempt(wanted).await {
        Ok(containment) => containment,
        Err(error) => {
            let detail = format!("sessions cannot be contained by `{wanted}`, so none can run: {error:#}");
            return Check::ill("containment", detail);
        }
    };
    let mut others = Vec::new();
    for means in Means::ALL.iter().copied().filter(|means| *means != chosen.means) {
        others.push(match attempt(alone(means)).await {
            Ok(_) => format!("{means}: offered"),
            Err(error) => format!("{means}: not offered ({error:#})"),
        });
    }
    let cgroup = if chosen.with_cgroup && chosen.means != Means::Cgroup { " and a cgroup" } else { "" };
    Check::well(
        "containment",
        format!(
            "sessions are contained by {}{cgroup}; limits: {}; {}",
            chosen.means,
            chosen.limits.iter().map(held).collect::<Vec<_>>().join(", "),
            others.join("; ")
        ),
    )
}

const fn alone(means: Means) -> MeansChoice {
    match means {
        Means::PidNamespace => MeansChoice::PidNamespace,
        Means::Cgroup => MeansChoice::Cgroup,
        Means::Subreaper => MeansChoice::Subreaper,
    }
}

fn held(limit: &HeldLimit) -> String {
    match limit.enforced_by {
        Some(enforcer) => format!("{} by the {enforcer}", limit.kind),
        None => format!("{} not enforced", limit.kind),
    }
}

async fn attempt(means: MeansChoice) -> anyhow::Result<Containment> {
    let folder = tempfile::tempdir()?;
    let spec = ContainerSpec {
        means,
        limits: TRIAL,
        ..ContainerSpec::new(env::current_exe()?, folder.path().to_owned())
    };
    let container = Container::start(&spec).await?;
    let containment = container.record().containment();
    container.kill().await?;
    Ok(containment)
}
