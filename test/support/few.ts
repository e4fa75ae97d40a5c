import { LONG } from './size';

/**
 * Returns what a suite runs on that is not a contract suite. In `npm test` that is the last of a lib's servers, the Cluster: its rules on
 * keys are the stricter ones, and it has several partitions. `npm run test:servers` and `npm run test:faults` run on all of them.
 */
export const few = <Server>(servers: Server[]): Server[] =>
  LONG || process.env.LUANEST_ALL_SERVERS === '1' ? servers : servers.slice(-1);
