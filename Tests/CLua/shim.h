#ifndef FANFARE_CLUA_H
#define FANFARE_CLUA_H

#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>
#include <lua5.1/lualib.h>
#include <stdbool.h>
#include <stdio.h>

/* Executes the command whose name and arguments are on the stack, and pushes its result. Returns whether that is an error. */
typedef bool (*shim_lua_command)(lua_State *state, void *context);

/* Raises an error here, and not in Swift, whose frames a jump must not leave. */
static inline int shim_lua_execute(lua_State *state) {
    shim_lua_command command = (shim_lua_command)lua_touserdata(state, lua_upvalueindex(1));
    bool is_error = command(state, lua_touserdata(state, lua_upvalueindex(2)));
    return is_error && lua_toboolean(state, lua_upvalueindex(3)) ? lua_error(state) : 1;
}

/* Pushes a function that executes commands, and raises their errors or returns them. */
static inline void shim_lua_pushcommand(
    lua_State *state, shim_lua_command command, void *context, bool raises
) {
    lua_pushlightuserdata(state, (void *)command);
    lua_pushlightuserdata(state, context);
    lua_pushboolean(state, raises);
    lua_pushcclosure(state, shim_lua_execute, 3);
}

/* Writes a number as Redis passes it to a command; returns its length. */
static inline int shim_lua_format(char *text, size_t size, double number) {
    return snprintf(text, size, "%.17g", number);
}

#endif
