#ifndef FANFARE_CYAML_H
#define FANFARE_CYAML_H

#include <yaml.h>

#endif
