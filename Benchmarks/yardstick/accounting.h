// What the server, this program and the machine have used.
#pragma once

struct cpu_time {
    double server;                     // of all its threads, in seconds
    double server_user, server_system; // the split, in ticks of 10 ms
    double own, machine, stolen;
};

struct memory {
    double resident, proportional, private_pages; // of the server, in KiB
    double slab, sockets;                         // of the kernel
};

// Measures the processes of a comma-separated list, and their children. Returns how many.
int accounting_start(const char *processes);
struct cpu_time cpu_time(void);
struct memory memory(void);
