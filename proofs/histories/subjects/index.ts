import { grab } from './grab';
import { limiter } from './limiter';
import { lock } from './lock';
import { once } from './once';
import type { Subject } from './subject';
import { tasks } from './tasks';

export const subjects: readonly Subject[] = [lock, limiter, once, grab, tasks];

/** @throws Error if there is no such subject */
export function subjectOf(name: string): Subject {
  const found = subjects.find((one) => one.name === name);
  if (found === undefined) {
    throw new Error(`There is no subject "${name}". Subjects: ${subjects.map((one) => one.name).join(', ')}.`);
  }
  return found;
}
