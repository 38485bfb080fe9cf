//! A crowd of futures on tokio's runtime of one thread, the counterpart of a crowd of goroutines.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use apf::Dispatcher;
use apf::clock::Clock;
use apf_benches::Hashes;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::{LocalSet, yield_now};

use super::admission::Admission;
use super::dispatcher::list;
use super::{SEATS, level, request};
use crate::rounds::Peer;

/// How one request is served.
pub trait Client: Clone + 'static {
    /// Waits for a seat, lets the others run once, and gives the seat back.
    fn request(&self, flow: u64) -> impl Future<Output = ()>;

    /// Requests served and, of these, those that had to wait.
    fn served(&self) -> (u64, u64);
}

/// Tasks that make one request after the other.
pub struct Crowd<C> {
    client: C,
    runtime: Runtime,
    tasks: u32,
}

/// Tasks that share the seats of a level, as in the reference's benchmark.
pub const TASKS: u32 = SEATS + 200;

impl<C: Client> Crowd<C> {
    /// [`TASKS`] of them.
    ///
    /// # Panics
    ///
    /// When there is no runtime.
    pub fn new(client: C) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        Self { client, runtime: runtime.expect("a runtime of one thread"), tasks: TASKS }
    }
}

impl<C: Client> Peer for Crowd<C> {
    fn serve(&mut self, requests: u64) {
        let (served_before, waited_before) = self.client.served();
        let left = Rc::new(Cell::new(requests));
        let tasks = LocalSet::new();
        for number in 0..self.tasks {
            let (client, left) = (self.client.clone(), Rc::clone(&left));
            let mut flows = Hashes::beginning_at(u64::from(number) << 32);
            tasks.spawn_local(async move {
                while let Some(rest) = left.get().checked_sub(1) {
                    left.set(rest);
                    client.request(flows.draw()).await;
                }
            });
        }
        self.runtime.block_on(tasks);
        let (served, waited) = self.client.served();
        assert!(
            waited - waited_before + u64::from(SEATS) >= served - served_before,
            "nearly every request waits"
        );
    }

    fn served(&self) -> u64 {
        self.client.served().0
    }
}

/// Requests of a level behind a gate or a lock.
pub struct OfLevel<A> {
    admission: Arc<A>,
    clock: Clock,
    waited: Rc<Cell<u64>>,
}

impl<A> Clone for OfLevel<A> {
    fn clone(&self) -> Self {
        let Self { admission, clock, waited } = self;
        Self { admission: Arc::clone(admission), clock: clock.clone(), waited: Rc::clone(waited) }
    }
}

impl<A: Admission> OfLevel<A> {
    /// Of a level of so many queues.
    pub fn new(queues: u32, clock: Clock) -> Self {
        Self { admission: Arc::new(A::around(level(queues, SEATS))), clock, waited: Rc::default() }
    }
}

impl<A: Admission + 'static> Client for OfLevel<A> {
    async fn request(&self, flow: u64) {
        let (mut handle, runs) = self.admission.start(self.clock.now(), request(flow));
        if !runs {
            self.waited.set(self.waited.get() + 1);
            poll_fn(|context| match self.admission.poll(&mut handle, context.waker()) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            })
            .await;
        }
        yield_now().await;
        self.admission.finish(self.clock.now(), handle);
    }

    fn served(&self) -> (u64, u64) {
        (self.admission.dispatched(), self.waited.get())
    }
}

/// Permits of a semaphore, first come, first served.
#[derive(Clone)]
pub struct OfSemaphore {
    semaphore: Rc<Semaphore>,
    served: Rc<Cell<(u64, u64)>>,
}

impl OfSemaphore {
    /// As many permits as a level has seats.
    pub fn new() -> Self {
        Self { semaphore: Rc::new(Semaphore::new(SEATS as usize)), served: Rc::default() }
    }
}

impl Default for OfSemaphore {
    fn default() -> Self {
        Self::new()
    }
}

impl Client for OfSemaphore {
    async fn request(&self, _: u64) {
        let waits = u64::from(self.semaphore.available_permits() == 0);
        let permit = self.semaphore.acquire().await.expect("it is open");
        yield_now().await;
        drop(permit);
        let (served, waited) = self.served.get();
        self.served.set((served + 1, waited + waits));
    }

    fn served(&self) -> (u64, u64) {
        self.served.get()
    }
}

/// Whole requests through a dispatcher, by a thousand users.
#[derive(Clone)]
pub struct OfDispatcher {
    dispatcher: Dispatcher,
    users: Rc<Vec<String>>,
}

/// Everyone in one level of 64 queues that borrows nothing; with 23 seats in all it has 16.
const ONE_LEVEL: &str = "
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: crowded}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 500
    borrowingLimitPercent: 0
    limitResponse: {type: Queue, queuing: {queues: 64, handSize: 8, queueLengthLimit: 1000}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: everyone}
spec:
  priorityLevelConfiguration: {name: crowded}
  matchingPrecedence: 2
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: Group, group: {name: '*'}}]
    resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true}]
";

impl OfDispatcher {
    /// With the built-in objects around the one level.
    ///
    /// # Panics
    ///
    /// When the level has another number of seats than the others'.
    pub fn new(clock: Clock) -> Self {
        let loaded = apf_config::load_str("one-level.yaml", ONE_LEVEL, apf_config::Strictness::Strict);
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics.first());
        let objects = apf_config::bootstrap::with_own(&loaded.objects);
        let dispatcher = Dispatcher::builder().seats(23).objects(objects).clock(clock).build();
        let dispatcher = dispatcher.expect("a valid configuration");
        let limit = dispatcher
            .stats()
            .levels
            .iter()
            .find(|level| level.level == "crowded")
            .map(|level| level.current_limit);
        assert_eq!(limit, Some(SEATS));
        Self { dispatcher, users: Rc::new((0..1024).map(|user| format!("user-{user}")).collect()) }
    }
}

impl Client for OfDispatcher {
    async fn request(&self, flow: u64) {
        let user = &self.users[flow as usize % self.users.len()];
        let permit = self.dispatcher.admit(list(user)).await.expect("it is admitted in time");
        yield_now().await;
        drop(permit);
    }

    fn served(&self) -> (u64, u64) {
        let mut sum = (0, 0);
        for schema in self.dispatcher.stats().schemas {
            sum.0 += schema.dispatched;
            // Those admitted at once have waited for no time at all.
            sum.1 += schema.waited.count() - schema.waited.counts[0];
        }
        sum
    }
}
