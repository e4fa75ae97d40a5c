import { queueScripts } from './queue/queue.scripts';
import { workerScripts } from './worker/worker.scripts';

export const delayedTaskScripts = [...queueScripts, ...workerScripts];
