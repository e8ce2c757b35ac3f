// What to do: the command line of the load generator.
#pragma once
#include <netinet/in.h>
#include <stdbool.h>

enum mode { MODE_PUSHER, MODE_RAW, MODE_NATS, MODE_MQTT };
enum scenario { SCENARIO_FANOUT, SCENARIO_CHURN, SCENARIO_IDLE };
enum publishing { PUBLISH_PUSHER_HTTP, PUBLISH_HTTP, PUBLISH_WEBSOCKET };
// permessage-deflate with the server's context reset for each message, or kept.
enum deflate { DEFLATE_OFF, DEFLATE_RESET, DEFLATE_KEPT };

struct options {
    enum mode mode;
    enum scenario scenario;
    enum publishing publishing;
    enum deflate deflate;
    bool uses_tls, tracks;
    int port, publish_port;
    int subscribers, channels, subscriptions, size;
    int unanswered_max, connecting_max, concurrency;
    long messages, warmup, window;
    double rate, duration, seconds_max, drain, settle, rest, idle;
    const char *host, *path, *publish_path, *key, *secret, *app_id, *channel, *label, *processes;
    struct sockaddr_in address, publish_address;
};

extern struct options options;

// Reads the command line; ends the program when it makes no sense.
void options_parse(int argc, char **argv);
// Prints why, and ends the program.
void give_up(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
