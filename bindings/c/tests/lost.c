/* Public report A15: handlers that fail, are abandoned or never look at their completions leak no seat. */

#include "test.h"

#include <setjmp.h>

/* How a C host ends a request on every way out of its handler. */
struct handler {
    const apf_engine *engine;
    apf_ticket ticket;
};

static void end(struct handler *handler) { OK(apf_finish(handler->engine, handler->ticket)); }

static jmp_buf out;

static void serve(int round) {
    switch (round % 3) {
    case 0: return;            /* served */
    case 1: longjmp(out, 1);   /* failed deep inside */
    default: return;           /* abandoned: its caller goes on without it */
    }
}

int main(void) {
    apf_engine *engine = engine_with(2, 200, apf_engine_options_init());
    apf_completions *queue = NULL;
    OK(apf_completions_new(engine, &queue));
    apf_request request = request_by("alice");

    for (volatile int round = 0; round < 100; round++) {
        struct handler handler = {engine, submit(engine, &request, queue, 0).ticket};
        if (setjmp(out) == 0) serve(round);
        end(&handler);
        CHECK_STATUS(apf_finish(engine, handler.ticket), APF_ERROR_STALE_TICKET); /* and never twice */
    }
    CHECK_EQ(level_stats(engine).seats_in_use, 0);

    /* 100 that wait and are given up: before and after their grant. */
    apf_outcome first = submit(engine, &request, queue, 0), second = submit(engine, &request, queue, 0);
    apf_ticket tickets[100];
    for (int at = 0; at < 100; at++) tickets[at] = submit(engine, &request, queue, 1).ticket;
    OK(apf_finish(engine, first.ticket)); /* grants the first of them, which nobody takes */
    for (int at = 0; at < 100; at++) OK(apf_cancel(engine, tickets[at]));
    OK(apf_finish(engine, second.ticket));
    apf_completion completions[8];
    size_t count = 9;
    OK(apf_completions_poll(queue, completions, 8, &count));
    CHECK_EQ(count, 0);
    apf_level_stats stats = level_stats(engine);
    CHECK_EQ(stats.seats_in_use, 0);
    CHECK_EQ(stats.requests_waiting, 0);
    CHECK_EQ(stats.current_limit, 2);

    /* The 101st runs at once, on two free seats. */
    request.initial_seats = 2;
    apf_outcome last = submit(engine, &request, NULL, 0);
    CHECK_EQ(last.kind, APF_OUTCOME_ADMITTED);
    OK(apf_finish(engine, last.ticket));

    /* A whole queue of completions that its host throws away. */
    request.initial_seats = 1;
    first = submit(engine, &request, queue, 0);
    second = submit(engine, &request, queue, 0);
    for (int at = 0; at < 100; at++) submit(engine, &request, queue, 1);
    OK(apf_finish(engine, first.ticket));
    OK(apf_finish(engine, second.ticket));
    OK(apf_completions_free(queue));
    stats = level_stats(engine);
    CHECK_EQ(stats.seats_in_use, 0);
    CHECK_EQ(stats.requests_waiting, 0);
    OK(apf_engine_free(engine));
    return 0;
}
