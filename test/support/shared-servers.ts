import { randomBytes } from 'node:crypto';
import type { Address } from './admin';

export const STANDALONE_VARIABLE = 'LUANEST_TEST_REDIS_URL';
export const CLUSTER_VARIABLE = 'LUANEST_TEST_CLUSTER_NODES';

interface Stoppable {
  stop(): Promise<void>;
}

// Setup and teardown are loaded apart from each other, in one process: only its global object is common to them.
const holder = globalThis as { luanestSharedServers?: Stoppable[] };
export const sharedServers: Stoppable[] = (holder.luanestSharedServers ??= []);

/** The standalone server of this test run. Other files use it at the same time: keep to keys under `uniquePrefix()`. */
export function sharedRedisUrl(): string {
  return fromSetup(STANDALONE_VARIABLE);
}

/** All nodes of the Cluster of this test run. No faults here: suites that need them start a Cluster of their own. */
export function sharedClusterNodes(): Address[] {
  return JSON.parse(fromSetup(CLUSTER_VARIABLE)) as Address[];
}

/** A key prefix that no other test file and no other run uses. Letters, digits and dashes only. */
export function uniquePrefix(): string {
  return `test-${randomBytes(6).toString('hex')}`;
}

function fromSetup(variable: string): string {
  const value = process.env[variable];
  if (!value) throw new Error(`${variable} is not set: test/support/global-setup.ts must be Jest's globalSetup.`);
  return value;
}
