// What is measured: fan-out, churn or idle connections.
#pragma once
#include "connection.h"

// Each prints its line of JSON, and returns whether all went as it must.
bool run_fanout(void);
bool run_churn(void);
bool run_idle(void);

// Churn: a connection is subscribed, and may leave; …
void churn_leave(struct connection *connection);
// … it is closed, and the next one may come.
void churn_closed(struct connection *connection);
