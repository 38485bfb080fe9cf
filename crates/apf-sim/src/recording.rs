//! What became of each request of a run, as columns: one value a request, in the order of their arrivals.

use apf_core::Reason;

/// No time yet, or never.
pub const NEVER: i64 = -1;

/// How a request stands at the end of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Fate {
    /// It still waits.
    Waiting,
    /// It executes, or holds seats after its end.
    Executing,
    /// It was served, and its seats are back.
    Served,
    /// It was refused: queue full.
    QueueFull,
    /// It was refused: no seats, and it may not wait.
    ConcurrencyLimit,
    /// It was refused after waiting: time-out.
    TimeOut,
    /// It was refused after waiting: its caller had left.
    Cancelled,
}

impl Fate {
    /// All of them; the position is the number in [`Recording::fate`].
    pub const ALL: [Fate; 7] = [
        Fate::Waiting,
        Fate::Executing,
        Fate::Served,
        Fate::QueueFull,
        Fate::ConcurrencyLimit,
        Fate::TimeOut,
        Fate::Cancelled,
    ];

    /// `waiting`, `executing`, `served`, or the reason of a refusal.
    pub fn name(self) -> &'static str {
        match self {
            Fate::Waiting => "waiting",
            Fate::Executing => "executing",
            Fate::Served => "served",
            Fate::QueueFull => Reason::QueueFull.as_str(),
            Fate::ConcurrencyLimit => Reason::ConcurrencyLimit.as_str(),
            Fate::TimeOut => Reason::TimeOut.as_str(),
            Fate::Cancelled => Reason::Cancelled.as_str(),
        }
    }

    fn of(reason: Reason) -> Fate {
        match reason {
            Reason::QueueFull => Fate::QueueFull,
            Reason::ConcurrencyLimit => Fate::ConcurrencyLimit,
            Reason::TimeOut => Fate::TimeOut,
            Reason::Cancelled => Fate::Cancelled,
        }
    }
}

/// The requests of a run. Times are nanoseconds of simulated time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    /// When it arrived.
    pub arrival: Vec<i64>,
    /// When it began to execute, [`NEVER`] if it did not.
    pub start: Vec<i64>,
    /// When its seats came back or it was refused, [`NEVER`] when that is after the end of the run.
    pub end: Vec<i64>,
    /// Seats: those that it holds, or wanted.
    pub seats: Vec<u32>,
    /// Its level, an index into [`levels`](Self::levels).
    pub level: Vec<u32>,
    /// Its FlowSchema, an index into [`schemas`](Self::schemas).
    pub schema: Vec<u32>,
    /// Its client or user, an index into [`clients`](Self::clients).
    pub client: Vec<u32>,
    /// Its [`Fate`] as a number.
    pub fate: Vec<u8>,
    /// Names of the levels. A level that was removed and came back is there once.
    pub levels: Vec<String>,
    /// Names of the FlowSchemas.
    pub schemas: Vec<String>,
    /// Names of the clients or users.
    pub clients: Vec<String>,
}

impl Recording {
    /// Number of requests.
    pub fn len(&self) -> usize {
        self.arrival.len()
    }

    /// Whether there was no request.
    pub fn is_empty(&self) -> bool {
        self.arrival.is_empty()
    }

    /// The same in another order: `order` has the new place of each.
    pub(crate) fn into_order(self, order: &[u32]) -> Recording {
        fn permuted<T: Copy + Default>(column: &[T], order: &[u32]) -> Vec<T> {
            let mut permuted = vec![T::default(); column.len()];
            for (value, place) in column.iter().zip(order) {
                permuted[*place as usize] = *value;
            }
            permuted
        }
        Recording {
            arrival: permuted(&self.arrival, order),
            start: permuted(&self.start, order),
            end: permuted(&self.end, order),
            seats: permuted(&self.seats, order),
            level: permuted(&self.level, order),
            schema: permuted(&self.schema, order),
            client: permuted(&self.client, order),
            fate: permuted(&self.fate, order),
            ..self
        }
    }

    /// A request arrives; answers its place.
    pub(crate) fn arrived(&mut self, now: u64, level: u32, schema: u32, client: u32, seats: u64) -> u32 {
        self.arrival.push(now as i64);
        self.start.push(NEVER);
        self.end.push(NEVER);
        self.seats.push(seats as u32);
        self.level.push(level);
        self.schema.push(schema);
        self.client.push(client);
        self.fate.push(Fate::Waiting as u8);
        self.arrival.len() as u32 - 1
    }

    pub(crate) fn started(&mut self, place: u32, now: u64, seats: u64) {
        let place = place as usize;
        self.start[place] = now as i64;
        self.seats[place] = seats as u32;
        self.fate[place] = Fate::Executing as u8;
    }

    pub(crate) fn released(&mut self, place: u32, now: u64) {
        let place = place as usize;
        self.end[place] = now as i64;
        self.fate[place] = Fate::Served as u8;
    }

    pub(crate) fn refused(&mut self, place: u32, now: u64, reason: Reason) {
        let place = place as usize;
        self.end[place] = now as i64;
        self.fate[place] = Fate::of(reason) as u8;
    }
}
