import { randomBytes } from 'node:crypto';
import type { Address } from './admin';

export const STANDALONE_VARIABLE = 'LUANEST_TEST_REDIS_URL';
export const CLUSTER_VARIABLE = 'LUANEST_TEST_CLUSTER_NODES';

interface Stoppable {
  stop(): Promise<void>;
}

// Jest loads setup and teardown separately in one process, so they can share values only by the global object.
const holder = globalThis as { luanestSharedServers?: Stoppable[] };
export const sharedServers: Stoppable[] = (holder.luanestSharedServers ??= []);

/** The standalone server of this test run. Other test files use it at the same time, so use only keys under `uniquePrefix()`. */
export function sharedRedisUrl(): string {
  return fromSetup(STANDALONE_VARIABLE);
}

/** All nodes of the Cluster of this test run. Suites that need faults must start their own Cluster. */
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
