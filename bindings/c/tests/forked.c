/* A forked child: its parent's engine says so where it would wait, and one of its own works. */

#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

static int child(apf_engine *engine, apf_completions *queue, apf_ticket running) {
    apf_request request = request_by("alice");
    apf_outcome outcome;
    apf_completion completion;
    size_t count = 0;
    uint64_t due = 0;
    uint32_t level = 0;
    apf_stats *stats = NULL;
    /* Both seats are taken: it would have to wait, for a thread that is not here. */
    CHECK_STATUS(apf_submit(engine, &request, queue, 0, &outcome), APF_ERROR_FORKED);
    CHECK_STATUS(apf_admit(engine, &request, APF_NO_LIMIT, &outcome), APF_ERROR_FORKED);
    CHECK_STATUS(apf_completions_wait(queue, APF_NO_LIMIT, &completion, 1, &count), APF_ERROR_FORKED);
    CHECK_STATUS(apf_engine_reconfigure(engine, NULL, NULL), APF_ERROR_FORKED);
    CHECK_STATUS(apf_stats_new(engine, &stats), APF_ERROR_FORKED);
    CHECK_STATUS(apf_dump(engine, APF_TABLE_QUEUES, NULL, 0, &count), APF_ERROR_FORKED);
    CHECK_STATUS(apf_prometheus(engine, NULL, 0, &count), APF_ERROR_FORKED);
    CHECK_STATUS(apf_engine_next_timer(engine, &due), APF_ERROR_FORKED);
    CHECK_STATUS(apf_engine_set_time(engine, 5), APF_ERROR_FORKED);
    CHECK_STATUS(apf_level_find(engine, apf_str_of("only"), &level), APF_ERROR_FORKED);
    CHECK_STATUS(apf_completions_free(queue), APF_ERROR_FORKED);
    CHECK_STATUS(apf_engine_free(engine), APF_ERROR_FORKED);

    apf_engine *own = engine_with(2, 50, apf_engine_options_init());
    apf_completions *own_queue = NULL;
    OK(apf_completions_new(own, &own_queue));
    CHECK_STATUS(apf_finish(own, running), APF_ERROR_FOREIGN_TICKET);
    apf_outcome first = submit(own, &request, own_queue, 0);
    submit(own, &request, own_queue, 0);
    request.wait_limit_ns = 100000000; /* long enough not to be over before it waits */
    CHECK_EQ(submit(own, &request, own_queue, 7).kind, APF_OUTCOME_QUEUED);
    OK(apf_completions_wait(own_queue, APF_NO_LIMIT, &completion, 1, &count)); /* its own thread serves time-outs */
    CHECK_EQ(completion.outcome.reason, APF_REASON_TIME_OUT);
    OK(apf_finish(own, first.ticket));
    OK(apf_completions_free(own_queue));
    OK(apf_engine_free(own));
    return 0;
}

int main(void) {
    apf_engine *engine = engine_with(2, 50, apf_engine_options_init());
    apf_completions *queue = NULL;
    OK(apf_completions_new(engine, &queue));
    int fd = -1;
    OK(apf_completions_fd(queue, &fd));
    apf_request request = request_by("alice");
    apf_outcome first = submit(engine, &request, queue, 0), second = submit(engine, &request, queue, 0);
    apf_outcome waits = submit(engine, &request, queue, 3);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) _exit(child(engine, queue, first.ticket));
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    /* The parent has noticed nothing. */
    OK(apf_finish(engine, first.ticket));
    apf_completion completion;
    size_t count = 0;
    OK(apf_completions_poll(queue, &completion, 1, &count));
    CHECK_EQ(count, 1);
    CHECK_EQ(completion.outcome.ticket.bits[1], waits.ticket.bits[1]);
    OK(apf_finish(engine, completion.outcome.ticket));
    OK(apf_finish(engine, second.ticket));
    CHECK_EQ(level_stats(engine).seats_in_use, 0);
    OK(apf_completions_free(queue));
    OK(apf_engine_free(engine));
    return 0;
}
