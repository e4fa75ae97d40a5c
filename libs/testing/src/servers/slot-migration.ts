import { withAdmin } from './admin';
import { viewOf } from './cluster-view';
import type { RedisServer } from './redis-server';

const BATCH = 100;

/** Begins to move a hash slot. `from` then replies ASK for keys that it does not have, and `to` accepts commands for them. */
export async function beginMigration(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
  await setSlot(to, slot, 'IMPORTING', await idOf(from));
  await setSlot(from, slot, 'MIGRATING', await idOf(to));
}

/** Moves at most `count` keys of a slot. Returns the number of moved keys. */
export function migrateKeys(slot: number, from: RedisServer, to: RedisServer, count: number): Promise<number> {
  return withAdmin(from, async (admin) => {
    let moved = 0;
    while (moved < count) {
      const batch = Math.min(count - moved, BATCH);
      const keys = (await admin.callBuffer('CLUSTER', 'GETKEYSINSLOT', slot, batch)) as Buffer[];
      if (keys.length === 0) break;
      await admin.call('MIGRATE', to.host, to.port, '', 0, 5_000, 'KEYS', ...keys);
      moved += keys.length;
    }
    return moved;
  });
}

/** Makes `to` the owner of the slot. Returns the node id of `to`. */
export async function giveSlot(slot: number, from: RedisServer, to: RedisServer): Promise<string> {
  const target = await idOf(to);
  await setSlot(to, slot, 'NODE', target); // First, so that the slot never lacks an owner.
  await setSlot(from, slot, 'NODE', target);
  return target;
}

export async function endMigration(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
  await setSlot(from, slot, 'STABLE');
  await setSlot(to, slot, 'STABLE');
}

async function idOf(node: RedisServer): Promise<string> {
  return (await viewOf(node)).self.id;
}

async function setSlot(node: RedisServer, slot: number, ...how: string[]): Promise<void> {
  await withAdmin(node, (admin) => admin.call('CLUSTER', 'SETSLOT', slot, ...how));
}
