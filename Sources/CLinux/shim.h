#ifndef FANFARE_CLINUX_H
#define FANFARE_CLINUX_H

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/* Hidden behind _GNU_SOURCE, whose sockaddr union Swift cannot import. */
int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);

#endif
