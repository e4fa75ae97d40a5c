import { appendFileSync } from 'node:fs';

/** Names of counts in the report of `npm run test:faults`. Those of servers and proxies come from note-server-faults.cjs. */
export type FaultNote =
  | 'workers killed (SIGKILL)'
  | 'workers stopped (SIGSTOP)'
  | 'messages, tasks, slots and grabs checked one by one'
  | 'handled more than once, as at-least-once allows'
  | 'lost';

/** Environment variable with the path of the file for the notes. If it is not set, `note` does nothing. */
export const FAULT_NOTES_VARIABLE = 'LUANEST_FAULT_NOTES';

/** Adds to a count in the report of `npm run test:faults`. */
export function note(what: FaultNote, count = 1): void {
  const file = process.env[FAULT_NOTES_VARIABLE];
  if (file) appendFileSync(file, `${JSON.stringify([what, count])}\n`);
}
