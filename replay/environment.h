/* environment.json: where a run happened. No host name, no paths. */
#ifndef REPLAY_ENVIRONMENT_H
#define REPLAY_ENVIRONMENT_H

#include "gpu/client.h"
#include "replay/evidence.h"

/* `res`: a phase's result, for the device and the loaded libraries; NULL when none was had. */
RP_MUST rp_code environment_put(rp_err *e, const evidence *ev, const result *res,
                                const client_device *probed);

#endif
