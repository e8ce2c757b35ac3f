// wsload: loads a WebSocket pub/sub server, checks each delivery, and prints what it cost.
//
// A reader begins in scenarios.c, which says what is measured; publisher.c sends the messages,
// connection.c and websocket.c move the bytes, protocol.c knows what each kind of server speaks,
// and delivery.c judges what arrives.
#include "delivery.h"
#include "digests.h"
#include "event_loop.h"
#include "options.h"
#include "scenarios.h"
#include <signal.h>
#include <sys/resource.h>

static void raise_descriptor_limit(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    rlim_t needed = (rlim_t)options.subscribers + 64;
    if (needed > limit.rlim_max) {
        give_up("--n %d needs %lu file descriptors, and the hard limit is %lu", options.subscribers,
                needed, limit.rlim_max);
    }
}

int main(int argc, char **argv) {
    options_parse(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit();
    hmac_set_key(options.secret);
    delivery_prepare();
    event_loop_start();
    bool is_ok = false;
    switch (options.scenario) {
    case SCENARIO_FANOUT:
        is_ok = run_fanout();
        break;
    case SCENARIO_CHURN:
        is_ok = run_churn();
        break;
    case SCENARIO_IDLE:
        is_ok = run_idle();
        break;
    }
    return is_ok ? 0 : 1;
}
