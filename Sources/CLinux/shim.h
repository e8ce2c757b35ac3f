#ifndef FANFARE_CLINUX_H
#define FANFARE_CLINUX_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Declared only with _GNU_SOURCE, whose sockaddr union Swift cannot import. */
int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
int dup3(int fd, int other, int flags);
int pthread_setname_np(pthread_t thread, const char *name);

/* send(2) without glibc's cancellation point, which costs time in every call of a multithreaded
   process; these threads are never cancelled. */
static inline ssize_t shim_send(int fd, const void *bytes, size_t count, int flags) {
    return syscall(SYS_sendto, fd, bytes, count, flags, (void *)0, (socklen_t)0);
}

/* A descriptor of a process (pidfd_open(2), Linux 5.3), which unlike a process ID is never reused. */
static inline int shim_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

static inline int shim_pidfd_send_signal(int fd, int number) {
    return (int)syscall(SYS_pidfd_send_signal, fd, number, (void *)0, 0);
}

#endif
