import { queueScripts } from './queue/queue.scripts';
import { workerScripts } from './worker/worker.scripts';

/** Every script of this lib, for registration. */
export const delayedTaskScripts = [...queueScripts, ...workerScripts];
