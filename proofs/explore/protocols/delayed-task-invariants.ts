import type { Invariant } from '../engine/protocol';
import type { World } from '../engine/world';
import { partition, type Settings, type TaskState } from './delayed-task-state';

const { due, leased, tasks, runs, dead } = partition;

/** Notes which dead letters are gone, were replayed or were dropped. */
export function remember(state: TaskState, world: World): void {
  const { mustSee } = state.operator;
  for (const id of Object.keys(mustSee)) {
    if (Number(world.read('ZSCORE', dead, id)) !== mustSee[id]) delete mustSee[id];
  }
  const isThere = (id: string): boolean => world.read('HEXISTS', tasks, id) === 1;
  for (const id of new Set([...Object.keys(state.known), ...Object.keys(state.begun)])) {
    if (!isThere(id) && state.sentDone[id]) state.known[id] = 'gone';
    // A task that was never taken since has no run: it was replayed, or scheduled again.
    if (isThere(id) && world.read('HEXISTS', runs, id) === 0) state.begun[id] = 0;
  }
}

function placesOf(id: string, world: World): string[] {
  const places = { due, leased, dead };
  return Object.entries(places).flatMap(([name, key]) => (world.read('ZSCORE', key, id) === null ? [] : [name]));
}

export function invariants(settings: Settings): Invariant<TaskState>[] {
  const ids = Object.keys(settings.tasks);
  return [
    {
      words:
        'A task is never lost: after its scheduling was confirmed, Redis has it until it is done, cancelled or dropped. Not promised after an eviction or a failover.',
      broken: ({ known, disturbed }, world) => {
        const lost = ids.find((id) => known[id] === 'here' && world.read('HEXISTS', tasks, id) === 0);
        return disturbed || lost === undefined ? undefined : `${lost} is gone.`;
      },
    },
    {
      words:
        'A task that Redis has is waiting, leased or dead-lettered: exactly one of these. After an eviction a sweep repairs it.',
      broken: ({ disturbed }, world) => {
        if (disturbed) return undefined;
        const wrong = ids.find((id) => placesOf(id, world).length !== Number(world.read('HEXISTS', tasks, id)));
        return wrong && `${wrong} is ${placesOf(wrong, world).join(' and ') || 'in no set'}.`;
      },
    },
    {
      words: 'Two workers never have a lease on the same task, by their own clocks. The same condition.',
      broken: ({ workers, disturbed }, world) => {
        const running = Object.values(workers).flatMap((worker) =>
          worker.running.filter(({ until, outcome }) => outcome === '' && until > world.nowMs),
        );
        const twice = running.find(({ id }, index) => running.findIndex((other) => other.id === id) < index);
        return disturbed || twice === undefined ? undefined : `${twice.id} runs twice.`;
      },
    },
    {
      words:
        'A task is begun at most as often as its attempts, until it is replayed or scheduled again. Hand-backs do not count. The same condition.',
      broken: ({ begun, disturbed }) => {
        const often = ids.find((id) => (begun[id] ?? 0) > (settings.tasks[id]?.attempts ?? 0));
        return disturbed || often === undefined ? undefined : `${often} was begun ${begun[often]} times.`;
      },
    },
    {
      words:
        'A task that is done, cancelled or dropped does not run again. Pages, replays and drops of dead letters miss none that stays, and repeat none. Checked at each reply.',
      broken: () => undefined,
    },
  ];
}
