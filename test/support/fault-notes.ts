import { appendFileSync } from 'node:fs';

/** Counts of a run of the fault suites. */
export type FaultNote =
  | 'replies lost'
  | 'connections reset'
  | 'connections gone silent'
  | 'servers killed (SIGKILL)'
  | 'servers stopped (SIGSTOP)'
  | 'servers started again'
  | 'failovers'
  | 'slots moved'
  | 'workers killed (SIGKILL)'
  | 'workers stopped (SIGSTOP)'
  | 'scripts run by Redis'
  | 'messages, tasks, slots and grabs checked one by one'
  | 'handled more than once, as at-least-once allows'
  | 'lost';

/** Where `npm run test:faults` wants its notes; without it nothing is noted. */
export const FAULT_NOTES_VARIABLE = 'LUANEST_FAULT_NOTES';

/** Notes something for the report of `npm run test:faults`. */
export function note(what: FaultNote, count = 1): void {
  const file = process.env[FAULT_NOTES_VARIABLE];
  if (file) appendFileSync(file, `${JSON.stringify([what, count])}\n`);
}
