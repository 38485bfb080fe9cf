// An HTTP server on one thread and one epoll loop, with the engine in front of its work. Requests that wait are beside
// the others in the loop: their completions arrive through one more descriptor. Who is refused is told 429 and
// Retry-After; who hangs up while waiting gives its place up.
//
//     http_server [PORT] [SEATS] [MILLISECONDS OF WORK]
//
// It believes the header `X-Remote-User`, as a server behind an authenticating proxy would. `/metrics` is the engine's
// own account, and is served without asking the engine. Ends on SIGTERM or SIGINT.

#define _GNU_SOURCE
#include <apf.h>

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char configuration_text[] =
    "apiVersion: flowcontrol.apiserver.k8s.io/v1\n"
    "kind: PriorityLevelConfiguration\n"
    "metadata: {name: web}\n"
    "spec:\n"
    "  type: Limited\n"
    "  limited:\n"
    "    nominalConcurrencyShares: 1000\n"
    "    limitResponse: {type: Queue, queuing: {queues: 16, handSize: 2, queueLengthLimit: 2}}\n"
    "---\n"
    "apiVersion: flowcontrol.apiserver.k8s.io/v1\n"
    "kind: FlowSchema\n"
    "metadata: {name: web}\n"
    "spec:\n"
    "  priorityLevelConfiguration: {name: web}\n"
    "  matchingPrecedence: 500\n"
    "  distinguisherMethod: {type: ByUser}\n"
    "  rules:\n"
    "  - subjects: [{kind: Group, group: {name: 'system:authenticated'}}]\n"
    "    nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}]\n";

enum { READING, WAITING, WORKING, CLOSED };
enum { MOST_EVENTS = 64 };

// One connection, one request.
typedef struct connection {
    struct connection *next; // in the list of those that work, or of those that have been closed
    int fd;
    int state;
    apf_ticket ticket;
    uint64_t done_at_ms; // when its work is done
    size_t length;
    char head[4096];
} connection;

typedef struct server {
    apf_engine *engine;
    apf_completions *queue;
    int epoll;
    uint64_t work_ms;
    connection *first_working, *last_working; // all work takes as long, so the first is done first
    connection *closed; // freed after the events at hand, which may still name them
} server;

static uint64_t now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

static void watch(const server *own, int fd, void *what) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = what};
    if (epoll_ctl(own->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        perror("epoll_ctl");
        exit(1);
    }
}

static void close_connection(server *own, connection *from) {
    close(from->fd);
    from->state = CLOSED;
    from->next = own->closed;
    own->closed = from;
}

// The answers are small: they fit into the socket's buffer, or the client is not worth waiting for.
static void answer(server *own, connection *to, const char *status, const char *headers, const char *body, size_t size) {
    char head[512];
    const int length = snprintf(head, sizeof head,
                                "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\nConnection: close\r\n\r\n", status, headers, size);
    if (send(to->fd, head, (size_t)length, MSG_NOSIGNAL | MSG_MORE) == length) {
        (void)!send(to->fd, body, size, MSG_NOSIGNAL);
    }
    shutdown(to->fd, SHUT_WR);
    close_connection(own, to);
}

static void answer_text(server *own, connection *to, const char *status, const char *headers, const char *body) {
    answer(own, to, status, headers, body, strlen(body));
}

static void begin_work(server *own, connection *of, const apf_outcome *admitted) {
    of->state = WORKING;
    of->ticket = admitted->ticket;
    of->done_at_ms = now_ms() + own->work_ms;
    of->next = NULL;
    if (own->first_working == NULL) {
        own->first_working = of;
    } else {
        own->last_working->next = of;
    }
    own->last_working = of;
}

static void refuse(server *own, connection *to, const apf_outcome *rejected) {
    char headers[64], body[64];
    const apf_str reason = apf_reason_name(rejected->reason);
    snprintf(headers, sizeof headers, "Retry-After: %u\r\n", rejected->retry_after_seconds);
    snprintf(body, sizeof body, "%.*s\n", (int)reason.len, reason.data);
    answer_text(own, to, "429 Too Many Requests", headers, body);
}

// What became of a request, at once or later.
static void decided(server *own, connection *of, apf_status status, const apf_outcome *outcome) {
    if (status != APF_OK) {
        answer_text(own, of, "500 Internal Server Error", "", "\n");
    } else if (outcome->kind == APF_OUTCOME_ADMITTED) {
        begin_work(own, of, outcome);
    } else if (outcome->kind == APF_OUTCOME_QUEUED) {
        of->state = WAITING;
        of->ticket = outcome->ticket;
    } else {
        refuse(own, of, outcome);
    }
}

static void end_work(server *own) {
    const uint64_t now = now_ms();
    while (own->first_working != NULL && own->first_working->done_at_ms <= now) {
        connection *done = own->first_working;
        own->first_working = done->next;
        apf_finish(own->engine, done->ticket);
        answer_text(own, done, "200 OK", "", "done\n");
    }
}

static void metrics(server *own, connection *to) {
    size_t size = 0;
    apf_prometheus(own->engine, NULL, 0, &size);
    const size_t capacity = size + size / 8; // it may have grown by the next call
    char *text = malloc(capacity);
    if (text != NULL && apf_prometheus(own->engine, text, capacity, &size) == APF_OK) {
        answer(own, to, "200 OK", "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n", text, size);
    } else {
        answer_text(own, to, "500 Internal Server Error", "", "\n");
    }
    free(text);
}

// The value of a header in a head that ends with a zero; empty when there is none.
static apf_str header(const char *head, const char *name) {
    const size_t length = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line != NULL; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
            const char *value = line + length + 1;
            value += strspn(value, " ");
            return apf_str_new(value, strcspn(value, "\r"));
        }
    }
    return apf_str_of(NULL);
}

// A whole head has come.
static void serve(server *own, connection *from) {
    char method[16], path[256];
    if (sscanf(from->head, "%15[A-Z] %255[^ ?]", method, path) != 2 || path[0] != '/') {
        answer_text(own, from, "400 Bad Request", "", "\n");
        return;
    }
    if (strcmp(path, "/metrics") == 0) {
        metrics(own, from);
        return;
    }
    for (char *letter = method; *letter != 0; ++letter) {
        *letter = (char)(*letter - 'A' + 'a');
    }
    const apf_str user = header(from->head, "X-Remote-User");
    const apf_str groups[] = {apf_str_of(user.len != 0 ? "system:authenticated" : "system:unauthenticated")};
    apf_request request = apf_request_init();
    request.user = user.len != 0 ? user : apf_str_of("system:anonymous");
    request.groups = groups;
    request.group_count = 1;
    request.verb = apf_str_of(method);
    request.path = apf_str_of(path);
    apf_outcome outcome = {0};
    const apf_status status = apf_submit(own->engine, &request, own->queue, (uint64_t)(uintptr_t)from, &outcome);
    decided(own, from, status, &outcome);
}

static void receive(server *own, connection *from) {
    const size_t room = sizeof from->head - 1 - from->length;
    const ssize_t got = recv(from->fd, from->head + from->length, room, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got > 0 && from->state == READING) {
        from->length += (size_t)got;
        from->head[from->length] = 0;
        if (strstr(from->head, "\r\n\r\n") != NULL) {
            serve(own, from);
        } else if (from->length == sizeof from->head - 1) {
            answer_text(own, from, "431 Request Header Fields Too Large", "", "\n");
        }
        return;
    }
    // It has hung up, or sends what nobody asked for.
    if (from->state == READING) {
        close_connection(own, from);
    } else if (from->state == WAITING) {
        if (apf_cancel(own->engine, from->ticket) == APF_OK) {
            close_connection(own, from); // no completion will name it
        }
    } else {
        epoll_ctl(own->epoll, EPOLL_CTL_DEL, from->fd, NULL); // work goes on, and is answered in vain
    }
}

static void take_completions(server *own) {
    apf_completion completions[MOST_EVENTS];
    size_t count = 0;
    if (apf_completions_poll(own->queue, completions, MOST_EVENTS, &count) != APF_OK) {
        return;
    }
    for (size_t index = 0; index < count; ++index) {
        connection *of = (connection *)(uintptr_t)completions[index].user_data;
        decided(own, of, completions[index].status, &completions[index].outcome);
    }
}

static void accept_all(server *own, int listener) {
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        connection *new = calloc(1, sizeof *new);
        if (new == NULL) {
            close(fd);
            return;
        }
        new->fd = fd;
        watch(own, fd, new);
    }
}

static int listen_on(uint16_t port) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const int yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 128) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
        perror("listen");
        exit(1);
    }
    printf("listening on port %u\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

static apf_engine *new_engine(int64_t seats) {
    apf_configuration configuration = apf_configuration_init();
    configuration.text = apf_str_of(configuration_text);
    apf_engine_options options = apf_engine_options_init();
    options.seats = seats;
    options.configuration = &configuration;
    apf_engine *engine = NULL;
    apf_problems *problems = NULL;
    const apf_status status = apf_engine_new(&options, &engine, &problems);
    size_t count = 0;
    if (problems != NULL) {
        apf_problems_count(problems, &count);
    }
    for (size_t index = 0; index < count; ++index) {
        apf_problem problem = apf_problem_init();
        apf_problems_get(problems, index, &problem);
        fprintf(stderr, "%.*s\n", (int)problem.text.len, problem.text.data);
    }
    apf_problems_free(problems);
    if (status != APF_OK) {
        const apf_str why = apf_status_text(status);
        fprintf(stderr, "no engine: %.*s\n", (int)why.len, why.data);
        exit(1);
    }
    return engine;
}

static void free_closed(server *own) {
    while (own->closed != NULL) {
        connection *gone = own->closed;
        own->closed = gone->next;
        free(gone);
    }
}

int main(int count, char **arguments) {
    const uint16_t port = count > 1 ? (uint16_t)atoi(arguments[1]) : 8080;
    const int64_t seats = count > 2 ? atoll(arguments[2]) : 100;
    // Before there is an engine: its thread has the signal mask of the one that makes it.
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigaddset(&end, SIGINT);
    sigprocmask(SIG_BLOCK, &end, NULL);
    server own = {.work_ms = count > 3 ? (uint64_t)atoll(arguments[3]) : 50};
    own.engine = new_engine(seats);
    own.epoll = epoll_create1(EPOLL_CLOEXEC);
    int completed = -1;
    if (own.epoll < 0 || apf_completions_new(own.engine, &own.queue) != APF_OK ||
        apf_completions_fd(own.queue, &completed) != APF_OK) {
        fprintf(stderr, "no descriptors\n");
        return 1;
    }
    int signals = signalfd(-1, &end, SFD_CLOEXEC);
    int listener = listen_on(port);
    // Connections are told apart from these three by their addresses.
    watch(&own, completed, &completed);
    watch(&own, signals, &signals);
    watch(&own, listener, &listener);

    for (bool running = true; running;) {
        struct epoll_event events[MOST_EVENTS];
        int timeout = -1;
        if (own.first_working != NULL) {
            const uint64_t now = now_ms();
            timeout = own.first_working->done_at_ms > now ? (int)(own.first_working->done_at_ms - now) : 0;
        }
        const int ready = epoll_wait(own.epoll, events, MOST_EVENTS, timeout);
        for (int index = 0; index < ready; ++index) {
            void *what = events[index].data.ptr;
            if (what == &completed) {
                take_completions(&own);
            } else if (what == &listener) {
                accept_all(&own, listener);
            } else if (what == &signals) {
                running = false;
            } else if (((connection *)what)->state != CLOSED) {
                receive(&own, what);
            }
        }
        end_work(&own);
        free_closed(&own);
    }
    // Connections that are open go with the process; requests go with the engine.
    apf_completions_free(own.queue);
    apf_engine_free(own.engine);
    return 0;
}
