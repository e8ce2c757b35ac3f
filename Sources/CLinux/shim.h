#ifndef FANFARE_CLINUX_H
#define FANFARE_CLINUX_H

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/* Hidden behind _GNU_SOURCE, whose sockaddr union Swift cannot import. */
int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
int pthread_setname_np(pthread_t thread, const char *name);

#endif
