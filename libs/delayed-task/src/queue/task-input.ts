import { Checks, InvalidInputError } from '../../../internal/src';

/** Checks of arguments. Their errors begin with `DelayedTaskService`. */
export const taskInput = new Checks('DelayedTaskService', (message) => new InvalidInputError(message));

// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]/;

function checkText(what: string, value: unknown, maxChars: number): string {
  if (typeof value === 'string' && value !== '' && value.length <= maxChars && !CONTROL.test(value)) {
    if (value.isWellFormed()) return value;
  }
  const numeric = typeof value === 'number' || typeof value === 'bigint' ? '. Write numbers as text' : '';
  const expected = `1 to ${maxChars} characters without control characters, as well-formed Unicode`;
  return taskInput.refuse(what, value, expected + numeric);
}

export function checkId(id: unknown): string {
  return checkText('id', id, 256);
}

export function checkName(name: unknown): string {
  const text = checkText('name', name, 128);
  if (text.trim() === '') taskInput.refuse('name', name, 'text that is not blank');
  return text;
}
