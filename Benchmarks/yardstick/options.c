#include "options.h"
#include "delivery.h"
#include <arpa/inet.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options options = {
    .host = "127.0.0.1",
    .key = "app-key",
    .secret = "app-secret",
    .app_id = "1",
    .channel = "bench-",
    .label = "server",
    .subscribers = 100,
    .channels = 1,
    .subscriptions = 1,
    .size = 64,
    .unanswered_max = 64,
    .connecting_max = 256,
    .concurrency = 64,
    .warmup = 50,
    .window = 8,
    .seconds_max = 120,
    .drain = 10,
    .settle = 2,
    .idle = 1,
};

static const char usage[] =
    "usage: wsload --url ws://127.0.0.1:PORT[/PATH] [options]\n"
    "\n"
    "Loads a WebSocket pub/sub server, checks that each message arrives once and in order, and\n"
    "prints one line of JSON. It sends to 127.0.0.0/8 only, and ends by itself.\n"
    "\n"
    "what to measure\n"
    "  --scenario fanout|many|churn|idle   fanout and many are one; churn connects and closes\n"
    "  --n N               subscribers (100)\n"
    "  --channels N        channels, which the subscribers share evenly (1)\n"
    "  --subscriptions N   channels of each subscriber; Pusher only (1)\n"
    "  --size BYTES        of a message's data, 34 at least (64)\n"
    "  --messages N        to publish; or, for churn, connections to open\n"
    "  --window N          saturation: messages outstanding, counted in deliveries (8)\n"
    "  --rate N            instead of saturation: messages a second, due at fixed times\n"
    "  --duration SECONDS  instead of --messages (2)\n"
    "  --warmup N          messages before the measured ones (50)\n"
    "  --concurrency N     churn: connections at a time (64)\n"
    "  --settle SECONDS    idle: pause before memory is read (2)\n"
    "  --rest SECONDS      idle: pause after that, before CPU is counted (0)\n"
    "  --idle SECONDS      idle: how long CPU is counted (1)\n"
    "\n"
    "whom to measure\n"
    "  --mode pusher|raw|nats-ws|mqtt-ws   the protocol over the WebSocket (pusher)\n"
    "  --pub pusher-http|http|ws           signed HTTP API, plain POST, or over a WebSocket\n"
    "  --pub-port PORT, --pub-path PATH    of HTTP publishes; %c stands for the channel\n"
    "  --key, --secret, --app-id           of the app (app-key, app-secret, 1)\n"
    "  --channel PREFIX    of channel names (bench-); private- and presence- are signed\n"
    "  --recovery off|position  subscribe with a position, so that messages are numbered and kept\n"
    "  --deflate nct|ctx   offer permessage-deflate, without or with the server's context\n"
    "  --pid PID[,PID]     of the server, whose CPU and memory are read; children count too\n"
    "  --label TEXT        for the report\n"
    "\n"
    "bounds\n"
    "  --depth N           unanswered HTTP publishes (64)\n"
    "  --connect-inflight N  connections being set up (256)\n"
    "  --drain SECONDS     without a delivery, after which the run has failed (10)\n"
    "  --max-seconds N     of the whole run (120)\n";

void give_up(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("wsload: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(2);
}

// The place of a word in a list that ends with NULL.
static int choice(const char *option, const char *word, const char *const *words) {
    for (int i = 0; words[i]; i++) {
        if (strcmp(word, words[i]) == 0) return i;
    }
    give_up("--%s does not know '%s'", option, word);
}

static void parse_url(const char *url) {
    const char *rest = strstr(url, "://");
    if (!rest) give_up("--url must begin with ws:// or wss://");
    options.uses_tls = strncmp(url, "wss", 3) == 0;
    rest += 3;
    size_t count = strcspn(rest, ":/");
    options.host = strndup(rest, count);
    if (strcmp(options.host, "localhost") == 0) options.host = "127.0.0.1";
    rest += count;
    options.port = options.uses_tls ? 443 : 80;
    if (*rest == ':') options.port = atoi(rest + 1);
    rest = strchr(rest, '/');
    if (rest && rest[1]) options.path = strdup(rest);
}

// A benchmark that someone points at the Internet by mistake would be an attack.
static struct sockaddr_in loopback(const char *host, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) {
        give_up("the host must be a numeric 127.x.y.z address, not '%s'", host);
    }
    if (ntohl(address.sin_addr.s_addr) >> 24 != 127) give_up("only 127.0.0.0/8 is allowed");
    return address;
}

static const char *const modes[] = {"pusher", "raw", "nats-ws", "mqtt-ws", NULL};
static const char *const scenarios[] = {"fanout", "churn", "idle", "many", NULL};
static const char *const publishings[] = {"pusher-http", "http", "ws", NULL};
static const char *const deflates[] = {"off", "nct", "ctx", NULL};
static const char *const trackings[] = {"off", "position", NULL};

enum kind { INTEGER, LONG, REAL, TEXT, OTHER };

// An option is a name and where its value goes.
static const struct {
    const char *name;
    enum kind kind;
    void *value;
} known[] = {
    {"n", INTEGER, &options.subscribers},
    {"channels", INTEGER, &options.channels},
    {"subscriptions", INTEGER, &options.subscriptions},
    {"size", INTEGER, &options.size},
    {"depth", INTEGER, &options.unanswered_max},
    {"connect-inflight", INTEGER, &options.connecting_max},
    {"concurrency", INTEGER, &options.concurrency},
    {"pub-port", INTEGER, &options.publish_port},
    {"messages", LONG, &options.messages},
    {"warmup", LONG, &options.warmup},
    {"window", LONG, &options.window},
    {"rate", REAL, &options.rate},
    {"duration", REAL, &options.duration},
    {"max-seconds", REAL, &options.seconds_max},
    {"drain", REAL, &options.drain},
    {"settle", REAL, &options.settle},
    {"rest", REAL, &options.rest},
    {"idle", REAL, &options.idle},
    {"pub-path", TEXT, &options.publish_path},
    {"key", TEXT, &options.key},
    {"secret", TEXT, &options.secret},
    {"app-id", TEXT, &options.app_id},
    {"channel", TEXT, &options.channel},
    {"label", TEXT, &options.label},
    {"pid", TEXT, &options.processes},
    {"url", OTHER, NULL},
    {"mode", OTHER, NULL},
    {"scenario", OTHER, NULL},
    {"pub", OTHER, NULL},
    {"deflate", OTHER, NULL},
    {"recovery", OTHER, NULL},
};
enum { KNOWN_COUNT = sizeof known / sizeof *known };

static void set_choice(const char *name, const char *value) {
    if (strcmp(name, "url") == 0) {
        parse_url(value);
    } else if (strcmp(name, "mode") == 0) {
        options.mode = choice(name, value, modes);
    } else if (strcmp(name, "scenario") == 0) {
        int scenario = choice(name, value, scenarios);
        options.scenario = scenario <= SCENARIO_IDLE ? (enum scenario)scenario : SCENARIO_FANOUT;
    } else if (strcmp(name, "pub") == 0) {
        options.publishing = choice(name, value, publishings);
    } else if (strcmp(name, "recovery") == 0) {
        options.tracks = choice(name, value, trackings) == 1;
    } else {
        options.deflate = choice(name, value, deflates);
    }
}

static void check(void) {
    if (!options.port) give_up("--url ws://127.0.0.1:PORT[/PATH] is required; see --help");
    if (options.size < MARKER_LENGTH) options.size = MARKER_LENGTH;
    if (options.size > 60000) give_up("--size is %d bytes; 60000 is the most", options.size);
    if (options.subscribers < 1 || options.channels < 1) give_up("--n and --channels begin at 1");
    if (options.subscriptions < 1 || options.subscriptions > options.channels) {
        give_up("--subscriptions must be from 1 to --channels");
    }
    if (options.subscriptions > 1 && options.mode != MODE_PUSHER) {
        give_up("--subscriptions needs --mode pusher");
    }
    if (options.tracks && options.mode != MODE_PUSHER) give_up("--recovery needs --mode pusher");
    if (!options.messages && !options.duration) options.duration = 2;
    if (!options.publish_port) options.publish_port = options.port;
    options.address = loopback(options.host, options.port);
    options.publish_address = loopback(options.host, options.publish_port);
    if (!options.path && options.mode == MODE_PUSHER) {
        static char path[512];
        snprintf(path, sizeof path, "/app/%s?protocol=7&client=wsload&version=1", options.key);
        options.path = path;
    } else if (!options.path) {
        options.path = "/";
    }
}

void options_parse(int argc, char **argv) {
    struct option list[KNOWN_COUNT + 2] = {{"help", no_argument, NULL, KNOWN_COUNT}};
    for (int i = 0; i < KNOWN_COUNT; i++) {
        list[i + 1] = (struct option){known[i].name, required_argument, NULL, i};
    }
    for (int which; (which = getopt_long(argc, argv, "", list, NULL)) != -1;) {
        if (which == KNOWN_COUNT) {
            fputs(usage, stdout);
            exit(0);
        }
        if (which < 0 || which > KNOWN_COUNT) exit(2);
        void *value = known[which].value;
        switch (known[which].kind) {
        case INTEGER:
            *(int *)value = atoi(optarg);
            break;
        case LONG:
            *(long *)value = atol(optarg);
            break;
        case REAL:
            *(double *)value = atof(optarg);
            break;
        case TEXT:
            *(const char **)value = optarg;
            break;
        case OTHER:
            set_choice(known[which].name, optarg);
            break;
        }
    }
    check();
}
