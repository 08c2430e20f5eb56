/* Undoes what a lab network made: its own at the end, or what a killed run left. Each step may be
 * done already, so it can be killed and repeated. */
#pragma once
#include "net/lab_gear.h"

/* Undoes all that the lock's record tells of; the lock is held. What belongs to an earlier boot is
 * gone; what belongs to another namespace than the present one can only be unnamed. The first error
 * after all was tried. */
MUST_CHECK int lab_undo(struct lab_gear *g, struct lab_lock *lock);
/* Takes the lock if a killed run left it, undoes and deletes it. 0 also when there is nothing, or
 * when a living process has it. */
MUST_CHECK int lab_undo_leftover(struct lab_gear *g);
