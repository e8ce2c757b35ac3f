/*
 * Shows the thread sanitizer where Swift's Mutex is taken and given back under contention.
 *
 * A Mutex of the module Synchronization is one atomic word and, on Linux, a futex. Its fast path is compiled into each
 * caller, where the sanitizer sees it. The slow path is in the runtime library, which is not instrumented: whoever had
 * to wait for a Mutex seems never to have taken it, and everything behind it looks like a race.
 *
 * Loaded ahead of the runtime (LD_PRELOAD), these take the place of the three slow paths, call them, and say what they
 * mean. Nothing is suppressed: what is not behind the Mutex is reported as before; sanitize.sh proves both each time.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

/* A method of Swift: its value comes in the register that Swift keeps for it. */
#define METHOD __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *

/* Weak: programs that the tests start, such as openssl, have no sanitizer. */
void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK_SLOW "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

METHOD void lock_slow(uint32_t thread, SELF mutex) __asm__(LOCK_SLOW);
METHOD bool try_lock_slow(SELF mutex) __asm__(TRY_LOCK_SLOW);
METHOD void unlock_slow(SELF mutex) __asm__(UNLOCK_SLOW);

METHOD void lock_slow(uint32_t thread, SELF mutex) {
    METHOD void (*original)(uint32_t, SELF) = dlsym(RTLD_NEXT, LOCK_SLOW);
    original(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

METHOD bool try_lock_slow(SELF mutex) {
    METHOD bool (*original)(SELF) = dlsym(RTLD_NEXT, TRY_LOCK_SLOW);
    bool is_locked = original(mutex);
    if (is_locked && __tsan_acquire) __tsan_acquire(mutex);
    return is_locked;
}

METHOD void unlock_slow(SELF mutex) {
    METHOD void (*original)(SELF) = dlsym(RTLD_NEXT, UNLOCK_SLOW);
    if (__tsan_release) __tsan_release(mutex);
    original(mutex);
}
