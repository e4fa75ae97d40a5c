import { queueScripts } from './queue/queue.scripts';
import { workerScripts } from './worker/worker.scripts';

/** All scripts of this lib, which the module registers. */
export const delayedTaskScripts = [...queueScripts, ...workerScripts];
