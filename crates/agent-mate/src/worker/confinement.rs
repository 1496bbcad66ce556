//! What this session's processes must not see.

use super::Worker;
use crate::confinement;
use mate_engine::Home;
use mate_runtime::container::ContainerSpec;
use std::path::{Path, PathBuf};

impl Worker {
    /// What a container of this session needs.
    pub(super) fn container_spec(&self) -> ContainerSpec {
        let home = &self.engine.home;
        let mut confinement = confinement::of_home(home, &self.settings.confinement);
        confinement.keep.extend([self.folder.bridge(), self.exe.clone()]);
        confinement.keep.extend(workspace_in(home, Path::new(&self.session.workspace)));
        ContainerSpec {
            confinement,
            means: self.settings.containment.means,
            limits: self.registration.limits,
            ..ContainerSpec::new(self.exe.clone(), self.folder.path().to_owned())
        }
    }
}

/// The workspace, if it is one that a session has within the home: this one's, or that of a session from which it goes
/// on. No other part of the home is ever shown, whatever a project calls its workspace.
fn workspace_in(home: &Home, workspace: &Path) -> Option<PathBuf> {
    let session = workspace.parent()?;
    let is_own = workspace.file_name()? == "workspace" && session.parent()? == home.path().join("sessions");
    is_own.then(|| workspace.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_home_is_shown_but_a_sessions_workspace() {
        let home = Home::at("/h".into());
        let own = Path::new("/h/sessions/ses_1/workspace");
        assert_eq!(workspace_in(&home, own), Some(own.to_owned()));
        for other in
            ["/h", "/", "/h/sessions", "/h/sessions/ses_1", "/h/sessions/workspace", "/h/a/b/workspace"]
        {
            assert_eq!(workspace_in(&home, Path::new(other)), None, "{other}");
        }
        assert_eq!(workspace_in(&home, Path::new("/h/sessions/ses_1/../../workspace")), None);
    }
}
