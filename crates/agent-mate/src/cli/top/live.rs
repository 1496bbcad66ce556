//! Looking, drawing, and hearing keys, until somebody quits.

use super::{
    act::Act,
    board::{Board, Wish},
    frame::frame,
    keys::{Decoder, Key},
    picture::{Item, Looker, Picture, Why, last_operations},
    terminal::Terminal,
    words::Detail,
};
use crate::cli::{
    Context,
    client::Client,
    exit::{Exit, Failure},
};
use mate_guard::text;
use rustix::process::{Signal, getpid, kill_process};
use std::{future::pending, pin::Pin, time::Duration};
use tokio::{
    io::AsyncReadExt,
    signal::unix::{SignalKind, signal},
};

/// Between two looks, and between two drawings; microseconds.
const BEAT: i64 = 1_000_000;
/// For each request of a look there is a pause before the next one, so that an account's bound on requests is far away; microseconds.
const PAUSE: i64 = 25_000;
/// How long the rest of a key may take.
const REST: Duration = Duration::from_millis(50);

type Doing<'a, T> = Option<Pin<Box<dyn Future<Output = T> + 'a>>>;
type Looked<'a> = (Looker<'a>, Result<Picture, Failure>, Option<(String, Result<Detail, Failure>)>);

/// Everything that goes on while `top` is shown.
struct Live<'a> {
    client: &'a Client,
    context: &'a Context,
    board: Board,
    decoder: Decoder,
    /// Here between two looks.
    looker: Option<Looker<'a>>,
    looking: Doing<'a, Looked<'a>>,
    acting: Doing<'a, Result<&'static str, Failure>>,
    /// When to look next, on the clock that never goes back.
    due: i64,
}

/// What happened.
enum News<'a> {
    Typed(usize),
    Looked(Box<Looked<'a>>),
    Acted(Result<&'static str, Failure>),
    Asked,
    Beat,
}

/// Shows everything until somebody quits.
pub(super) async fn run<'a>(
    picture: Picture,
    looker: Looker<'a>,
    client: &'a Client,
    context: &'a Context,
) -> Result<Exit, Failure> {
    let unheard = |error| Failure::internal(format!("signals cannot be heard: {error}"));
    let mut resized = signal(SignalKind::window_change()).map_err(unheard)?;
    let mut asked_to_end = signal(SignalKind::terminate()).map_err(unheard)?;
    let mut hung_up = signal(SignalKind::hangup()).map_err(unheard)?;
    let mut interrupted = signal(SignalKind::interrupt()).map_err(unheard)?;
    let mut live = Live {
        client,
        context,
        board: Board::default(),
        decoder: Decoder::default(),
        looker: Some(looker),
        looking: None,
        acting: None,
        due: context.screen.clock.monotonic() + BEAT,
    };
    live.board.see(picture);
    let (mut input, mut bytes) = (tokio::io::stdin(), [0; 256]);
    let mut terminal = Terminal::take(&context.screen)?;
    loop {
        live.begin_look();
        let size = Terminal::size();
        terminal.draw(frame(&mut live.board, size, &context.screen), size)?;
        let pause = live.pause();
        let news = tokio::select! {
            read = input.read(&mut bytes) => match read {
                Ok(0) | Err(_) => News::Asked,
                Ok(count) => News::Typed(count),
            },
            looked = ended(&mut live.looking) => News::Looked(Box::new(looked)),
            acted = ended(&mut live.acting) => News::Acted(acted),
            _ = resized.recv() => News::Beat,
            _ = asked_to_end.recv() => News::Asked,
            _ = hung_up.recv() => News::Asked,
            _ = interrupted.recv() => News::Asked,
            () = tokio::time::sleep(pause) => News::Beat,
        };
        let keys = match news {
            News::Asked => return Ok(Exit::Done),
            News::Typed(count) => live.decoder.push(bytes.get(..count).unwrap_or_default()),
            News::Looked(looked) => {
                live.looked(*looked)?;
                Vec::new()
            }
            News::Acted(acted) => {
                live.acted(acted);
                Vec::new()
            }
            News::Beat => live.decoder.settle().into_iter().collect(),
        };
        if live.keys(keys, &mut terminal)? {
            return Ok(Exit::Done);
        }
    }
}

/// The end of what is being done; never, where nothing is.
async fn ended<T>(doing: &mut Doing<'_, T>) -> T {
    let Some(future) = doing else { return pending().await };
    let done = future.await;
    *doing = None;
    done
}

impl<'a> Live<'a> {
    /// Until the next thing that is to be done without anybody asking.
    fn pause(&self) -> Duration {
        if self.decoder.is_between() {
            return REST;
        }
        let left =
            if self.looking.is_some() { BEAT } else { self.due - self.context.screen.clock.monotonic() };
        Duration::from_micros(left.clamp(1_000, BEAT).unsigned_abs())
    }

    /// Looks, when it is time, and at what is open.
    fn begin_look(&mut self) {
        if self.context.screen.clock.monotonic() < self.due {
            return;
        }
        let Some(mut looker) = self.looker.take() else { return };
        let (client, now) = (self.client, self.context.screen.clock.now());
        let open = self.board.open.as_ref().map(|open| open.item.clone());
        self.looking = Some(Box::pin(async move {
            let detail = match open {
                Some(item) => Some((item.id().to_owned(), known(&item, client).await)),
                None => None,
            };
            let picture = looker.look(now).await;
            (looker, picture, detail)
        }));
    }

    fn looked(&mut self, (looker, picture, detail): Looked<'a>) -> Result<(), Failure> {
        self.looker = Some(looker);
        let asked = picture.as_ref().map_or(0, |picture| picture.asked);
        let pause = i64::try_from(asked).unwrap_or(0) * PAUSE;
        // A line that was opened meanwhile is looked at next.
        let unknown = self.board.open.as_ref().is_some_and(|open| open.detail.is_none())
            && detail.as_ref().is_none_or(|(id, _)| !self.board.is_open(id));
        if !unknown {
            self.due = self.context.screen.clock.monotonic() + pause.max(BEAT);
        }
        match picture {
            Ok(picture) => self.board.see(picture),
            Err(failure) if failure.exit == Exit::NotFound => return Err(failure),
            // Sessions go on without a coordinator, and so does this.
            Err(failure) => self.board.away = text::line(&failure.detail, 200),
        }
        match detail {
            Some((id, Ok(detail))) => self.board.know(&id, detail),
            Some((_, Err(failure))) if failure.exit == Exit::NotFound => self.board.open = None,
            Some((_, Err(failure))) => self.board.done(&failure.detail),
            None => {}
        }
        Ok(())
    }

    fn acted(&mut self, acted: Result<&'static str, Failure>) {
        match acted {
            Ok(said) => self.board.done(said),
            Err(failure) if failure.exit == Exit::Unreachable => {
                let words = format!("Nobody knows whether it was done, look again: {}", failure.detail);
                self.board.done(&words);
            }
            Err(failure) => self.board.done(&format!("Not done: {}", failure.detail)),
        }
        self.due = 0;
    }

    /// Takes keys; whether somebody quits.
    fn keys(&mut self, keys: Vec<Key>, terminal: &mut Terminal) -> Result<bool, Failure> {
        for key in keys {
            match self.board.key(key, self.context.screen.clock.monotonic()) {
                Wish::Nothing => {}
                Wish::Quit => return Ok(true),
                Wish::Redraw => terminal.forget(),
                Wish::Look => self.due = 0,
                Wish::Suspend => suspend(terminal)?,
                Wish::Do(act) => self.act(act),
            }
        }
        Ok(false)
    }

    fn act(&mut self, act: Act) {
        if self.acting.is_some() {
            self.board.done("Not done: the coordinator has not answered the last wish yet.");
            return;
        }
        self.board.done("asking ...");
        self.acting = Some(Box::pin(act.carry_out(self.client)));
    }
}

/// Everything that is known of a line.
async fn known(item: &Item, client: &Client) -> Result<Detail, Failure> {
    let about = match item.why {
        Why::Approval => Some(client.get(&["approvals", item.id()], &[]).await?),
        Why::UnknownCall => Some(client.get(&["operations", item.id()], &[]).await?),
        Why::UnknownTask | Why::SetAside | Why::Proposed | Why::Failed | Why::Running | Why::Waiting => None,
    };
    let task = client.get(&["tasks", item.task()], &[]).await?;
    let (mut tail, mut asked) = (String::new(), 0);
    // A journal that is not readable hides nothing else.
    let calls = last_operations(client, item.task(), &mut tail, &mut asked).await.unwrap_or_default();
    Ok(Detail { about, task, calls })
}

/// Stops this program until it is asked to go on, with the terminal as it was.
fn suspend(terminal: &mut Terminal) -> Result<(), Failure> {
    terminal.leave();
    kill_process(getpid(), Signal::TSTP)
        .map_err(|error| Failure::internal(format!("it cannot be suspended: {error}")))?;
    terminal.enter()
}
