import { NOW, type ScriptStates } from '../../../test/support/script-states';

/** Commands that the user of the scripts needs. */
export const WRITES = ['ZADD', 'ZREM', 'ZREMRANGEBYRANK', 'HSET', 'HDEL', 'SET'];

/** Writes a task that waits, one that runs, and a dead letter; and the time for which workers wait. */
export function putTasks(states: ScriptStates, waits: string | number = NOW + 100): void {
  states.put('ZADD', 'due', NOW + 50, 'waits');
  states.put('ZADD', 'leased', NOW + 60, 'runs');
  states.put('ZADD', 'dead', NOW - 70, 'dead');
  states.put('HSET', 'tasks', 'waits', 'w', 'runs', 'r', 'dead', 'd');
  states.put('HSET', 'runs', 'waits', '1 r t 4 5 6 e', 'runs', '2 l t 7 8 9 e', 'dead', '3 d t 1 2 3 e');
  states.put('SET', 'waits', waits, 'PX', 7_000);
}
