//! A call that is made again and again, and written down before each time.

use super::{
    play::{Turn, call_id},
    script::{Again, Call},
};
use serde_json::json;
use std::{fs::OpenOptions, io::Write, time::Duration};
use tokio::time::{MissedTickBehavior, interval};

impl Turn {
    /// Ends when the file is there that says so, or when the calls cannot be written down.
    pub(super) async fn again(&self, again: &Again, deaf: bool) {
        let mut tick = interval(Duration::from_millis(again.every_ms.max(1)));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for number in 1_u64.. {
            tick.tick().await;
            if again.until.exists() || (!deaf && *self.cancelled.borrow()) {
                return;
            }
            let text = format!("{} {number}", again.name);
            let mut line = OpenOptions::new();
            let noted = line.create(true).append(true).open(&again.log);
            if let Err(error) = noted.and_then(|mut file| file.write_all(format!("{text}\n").as_bytes())) {
                eprintln!("the calls cannot be written down: {error}");
                return;
            }
            let call = Call {
                tool: again.tool.clone(),
                args: json!({ "text": text }),
                unlisted: true,
                call_id: None,
                give_up_ms: Vec::new(),
            };
            // Whatever it is answered, the next one is made.
            let _ = self.make(&call, &call_id(), deaf).await;
        }
    }
}
