//! What is hidden from every session: the home, the configuration folder, and a key that lies elsewhere.

use etcetera::{BaseStrategy, choose_base_strategy};
use mate_engine::{Home, settings::ConfinementSettings};
use mate_runtime::confine::Confinement;

/// The confinement that the settings ask for, without what single sessions keep.
pub(crate) fn of_home(home: &Home, settings: &ConfinementSettings) -> Confinement {
    let mut hide = vec![home.path().to_owned(), crate::opening::key_place(home).path];
    if let Ok(base) = choose_base_strategy() {
        hide.extend([base.config_dir().join("agent-mate"), base.data_dir().join("agent-mate")]);
    }
    hide.extend(settings.hide.iter().cloned());
    Confinement {
        mode: settings.mode,
        means: settings.means,
        hide,
        keep: Vec::new(),
        show: settings.show.clone(),
    }
}
