import { Server } from '../../../libs/memory-redis/src/server';
import { mocker, type Block, type Test } from './test-tree';
import { virtualTime } from './virtual-time';

/** Longest time of a test with its hooks, ms: by the time of the test, and in fact. */
export interface Limits {
  readonly virtualMs: number;
  readonly realMs: number;
}

const servers = new Set<Server>();

/** Notes the in-memory servers of this process, so that they can be emptied. */
export function noteServers(): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called with its object
  const { open } = Server.prototype;
  Server.prototype.open = function (...args) {
    servers.add(this);
    return open.apply(this, args);
  };
}

/** Runs a test alone, with the hooks of all blocks around it. @returns why it failed; undefined if it passed */
export async function runTest(test: Test, limits: Limits): Promise<string | undefined> {
  emptyServers();
  const blocks = chainOf(test.block);
  const from = { virtual: virtualTime.nowMs(), real: virtualTime.realMs() };
  const step = (work: () => unknown): Promise<unknown> =>
    virtualTime.until(
      Promise.resolve().then(work),
      from.virtual + limits.virtualMs - virtualTime.nowMs(),
      from.real + limits.realMs - virtualTime.realMs(),
    );
  let failure: string | undefined;
  try {
    for (const { hooks } of blocks) for (const hook of hooks.beforeAll) await step(hook);
    for (const { hooks } of blocks) for (const hook of hooks.beforeEach) await step(hook);
    await step(test.run);
  } catch (error) {
    failure = String(error instanceof Error ? error.message : error) || 'failed';
  }
  for (const kind of ['afterEach', 'afterAll'] as const) {
    for (const { hooks } of [...blocks].reverse()) {
      for (const hook of hooks[kind]) {
        try {
          await virtualTime.until(Promise.resolve().then(hook), 30_000, failure === undefined ? limits.realMs : 2_000);
        } catch (error) {
          failure ??= String(error instanceof Error ? error.message : error) || 'failed';
        }
      }
    }
  }
  mocker.restoreAllMocks();
  virtualTime.clear();
  return failure;
}

function chainOf(block: Block): Block[] {
  return [...(block.parent === undefined ? [] : chainOf(block.parent)), block];
}

function emptyServers(): void {
  for (const server of servers) {
    for (const session of [...server.sessions]) server.forget(session);
    const session = server.open(
      () => undefined,
      () => undefined,
    );
    server.execute(session, ['FLUSHALL']);
    server.execute(session, ['SCRIPT', 'FLUSH']);
    server.forget(session);
  }
}
