import { Checks, classOf, isIntegerOf, type KnownOptions, shown, time, InvalidInputError } from '../../../internal/src';
import { checkAttempts, resolveBackoff, type ResolvedBackoff } from '../../../worker/src';
import { checkKeep, KNOWN_SETTINGS, MAX_DURATION_MS, type ResolvedDelayedTaskOptions } from '../delayed-task.options';
import type { DueTime, ScheduleOptions, ScheduleRule, TaskDefinition } from '../delayed-task.types';

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

/** Begins the ids under which schedules are stored. No task has such an id. */
const OF_SCHEDULE = '\u0001';

/** Checks the id of a schedule. @returns the id under which it is stored */
export function storedId(id: unknown): string {
  return `${OF_SCHEDULE}${checkText('id', id, 200)}`;
}

/** Returns the id of a schedule that is stored under `id`; undefined for the id of a task. */
export function scheduleIdOf(id: string): string | undefined {
  return id.startsWith(OF_SCHEDULE) ? id.slice(OF_SCHEDULE.length) : undefined;
}

/** Returns the id of the task that a schedule has for a slot. */
export function slotId(scheduleId: string, slotMs: number): string {
  return `${scheduleId}@${slotMs}`;
}

// Times since 2001 and until 2286 have 13 digits.
const SLOT = /@\d{13}$/;

/** Returns the part of an id that selects its partition, so that a schedule and its tasks are in one. */
export function partitionPart(id: string): string {
  const at = id.length - 14;
  // Speed: this runs for each task. Only ids with an '@' at that position need the pattern.
  if (id[at] === '@' && !id.startsWith(OF_SCHEDULE) && SLOT.test(id)) return id.slice(0, at);
  return scheduleIdOf(id) ?? id;
}

export function checkName(name: unknown): string {
  const text = checkText('name', name, 128);
  if (text.trim() === '') taskInput.refuse('name', name, 'text that is not blank');
  return text;
}

/** Checks the id of an operation. */
export function checkOperationId(id: unknown): string {
  return checkText('operationId', id, 256);
}

/** Checks the option `operationRetentionMs` of a call. @returns undefined if the call does not set it */
export function checkRetention({ operationId, operationRetentionMs }: ScheduleOptions): number | undefined {
  if (operationRetentionMs === undefined) return undefined;
  if (operationId === undefined) throw taskInput.error('operationRetentionMs is set without operationId. Give both.');
  return taskInput.integer('operationRetentionMs', operationRetentionMs, 1_000, MAX_DURATION_MS);
}

/** Checks the name of a group. */
export function checkGroup(group: unknown): string {
  return checkText('group', group, 128);
}

/**
 * Returns a definition that a caller gave; for a name, a definition without settings.
 *
 * @throws InvalidInputError for an invalid name
 */
export function definitionOf(task: string | TaskDefinition): TaskDefinition {
  if (typeof task !== 'object' || task === null) return { name: checkName(task) };
  checkName(task.name);
  return task;
}

const KNOWN: KnownOptions<ScheduleOptions> = {
  delayMs: true,
  runAtMs: true,
  id: true,
  queue: true,
  group: true,
  operationId: true,
  operationRetentionMs: true,
  ...KNOWN_SETTINGS,
  onConflict: true,
};

type Defaults = Pick<ResolvedDelayedTaskOptions, 'attempts' | 'backoff' | 'keepResultMs' | 'maxPayloadBytes'>;

/** Data of a task that never changes, parsed from its record in the hash `tasks`. */
export interface TaskRecord {
  readonly attempts: number;
  readonly keepResultMs: number;
  readonly backoff: ResolvedBackoff;
  readonly name: string;
  readonly group: string | undefined;
  readonly payload: string;
  /** Rule of a schedule, and the record of its tasks; undefined for a task. */
  readonly schedule: { readonly rule: ScheduleRule; readonly record: string } | undefined;
}

/**
 * Returns when a waiting task of a group is due. In the zset `due`, the next one of a group has the time of its turn.
 *
 * @param record with the first due time, as `schedule` stores it
 * @param atMs its time in `due`. A task that was handed back waits for no turn, and its run has the first due time
 */
export function groupDueMs(record: string, run: string, atMs: number): number {
  const [, state = '', , due = ''] = run.split(' ');
  if (state === 'b') return atMs;
  return Number(state === '' ? record.slice(record.lastIndexOf('\n') + 1) : due);
}

/** Data of a task's attempts, parsed from its value in the hash `runs`; 0 and '' if the task was never taken. */
interface RunRecord {
  readonly attemptsMade: number;
  readonly firstFailedAtMs: number;
  readonly error: string;
}

/** Checks the names of the options of `schedule`. @throws InvalidInputError for an unknown option, or for a value that is not an object */
export function checkScheduling(options: ScheduleOptions): ScheduleOptions {
  return taskInput.options('', options, KNOWN);
}

/** Returns a due time in the form that the scripts read: 'd<ms>' for a delay, 'a<ms>' for an instant. @throws InvalidInputError */
export function whenOf({ delayMs, runAtMs }: DueTime): string {
  if (delayMs !== undefined && runAtMs !== undefined) {
    throw taskInput.error(`delayMs is ${shown(delayMs)} and runAtMs is ${shown(runAtMs)}. Give one of the two.`);
  }
  if (runAtMs === undefined) {
    // A delay below 0, such as `due - Date.now()` of a time in the past, means now.
    return `d${Math.max(0, taskInput.integer('delayMs', delayMs ?? 0, -MAX_DURATION_MS, MAX_DURATION_MS))}`;
  }
  if (!isIntegerOf(runAtMs, 0, time.nowMs() + MAX_DURATION_MS)) {
    taskInput.refuse('runAtMs', runAtMs, 'an integer of ms since 1970, from 0 to 100 years ahead');
  }
  return `a${runAtMs}`;
}

/** Returns a value as JSON. @throws InvalidInputError if JSON.stringify() throws or returns undefined, or if the JSON is too large */
export function encodeJson(what: string, value: unknown, maxBytes: number, limit = 'maxPayloadBytes'): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (cause) {
    throw new InvalidInputError(`The ${what} cannot be written as JSON: ${String(cause)}`, { cause });
  }
  if (json === undefined)
    throw taskInput.error(
      `The ${what} is ${classOf(value)}, for which JSON.stringify() returns undefined. Use plain data.`,
    );
  // A character of a JavaScript string has at most 3 bytes in UTF-8, so short text need not be measured.
  if (json.length * 3 > maxBytes) {
    const bytes = Buffer.byteLength(json);
    if (bytes > maxBytes) {
      throw new InvalidInputError(`The ${what} has ${bytes} bytes as JSON. ${limit} is ${maxBytes}.`, {
        code: 'TASK_TOO_LARGE',
      });
    }
  }
  return json;
}

/** First character of a note that is stored instead of a result; JSON never begins with it. */
const NOTE = '!';

export function encodeNote(text: string): string {
  return `${NOTE}${text}`;
}

/** Parses a stored result. If a note was stored instead, returns the note as `error`. */
export function readResult(text: string): { readonly result: unknown; readonly error: string } {
  if (text.startsWith(NOTE)) return { result: undefined, error: text.slice(NOTE.length) };
  return { result: text === '' ? undefined : (JSON.parse(text) as unknown), error: '' };
}

/** Parses a stored progress. @returns undefined if there is no progress, or if it is from another attempt */
export function readProgress(text: string, token = '-'): unknown {
  return text.startsWith(`${token} `) ? (JSON.parse(text.slice(token.length + 1)) as unknown) : undefined;
}

/**
 * Writes records of tasks. A record begins with the task's settings; for tasks with the module's settings, that part is made
 * once.
 */
export class RecordWriter {
  private readonly plainHead: string;

  constructor(private readonly defaults: Defaults) {
    this.plainHead = head(defaults.attempts, defaults.keepResultMs, defaults.backoff);
  }

  /**
   * Returns the record of a task.
   *
   * @param task name or definition of the task
   * @param options settings of this task, which override those of its definition
   * @throws InvalidInputError
   */
  write(task: string | TaskDefinition, payload: unknown, options: ScheduleOptions): string {
    const definition = definitionOf(task);
    const { name } = definition;
    const { attempts = definition.attempts, keepResultMs = definition.keepResultMs } = options;
    const { backoff = definition.backoff } = options;
    const { defaults } = this;
    const group = options.group === undefined ? undefined : checkGroup(options.group);
    const plain = attempts === undefined && keepResultMs === undefined && backoff === undefined && group === undefined;
    const start = plain
      ? this.plainHead
      : head(
          checkAttempts(taskInput, attempts ?? defaults.attempts),
          checkKeep(keepResultMs ?? defaults.keepResultMs, taskInput),
          backoff === undefined ? defaults.backoff : resolveBackoff(backoff, taskInput),
          group,
        );
    // The fields are separated by line breaks, which neither this JSON nor checked names contain.
    const json = encodeJson('payload', payload === undefined ? null : payload, defaults.maxPayloadBytes);
    return `${start}${name}\n${json}`;
  }

  /** Returns the record of a schedule: that of its tasks, with attempts that never run out, no group, and the rule. @throws InvalidInputError */
  writeSchedule(rule: ScheduleRule, task: string | TaskDefinition, payload: unknown, options: ScheduleOptions): string {
    const { group, ...own } = options;
    if (group !== undefined) checkGroup(group);
    const record = this.write(task, payload, own);
    const end = record.indexOf('\n');
    const ofTasks: OfTasks = { attempts: Number(record.slice(0, end)), ...(group !== undefined && { group }) };
    return `${ENDLESS}${record.slice(end)}\n${RULE}${JSON.stringify({ rule, ...ofTasks })}`;
  }
}

/** First characters of the rule in the record of a schedule. In the record of a task, a number is there: the due time. */
const RULE = '~';
/** Settings that the tasks of a schedule have, and the schedule itself does not. */
interface OfTasks {
  readonly attempts: number;
  readonly group?: string;
}

/** Attempts of a schedule. It is never dead-lettered. */
const ENDLESS = 2 ** 31 - 1;

function head(attempts: number, keepResultMs: number, backoff: ResolvedBackoff, group?: string): string {
  const { delayMs, factor, maxDelayMs } = backoff;
  const ofGroup = group === undefined ? '' : `@${group}`;
  return `${attempts}\n${keepResultMs}${ofGroup}\n${delayMs} ${factor} ${maxDelayMs}\n`;
}

/** Parses records of tasks. Keeps the last parsed backoff, because many tasks have the same one. */
export class RecordReader {
  private lastText = '';
  private lastBackoff: ResolvedBackoff = { delayMs: 0, factor: 1, maxDelayMs: 0 };

  read(record: string): TaskRecord {
    const [attempts = '1', keep = '0', backoff = '', name = '', payload = 'null', last = ''] = record.split('\n');
    const at = keep.indexOf('@');
    let group = at < 0 ? undefined : keep.slice(at + 1);
    let schedule: TaskRecord['schedule'];
    if (last.startsWith(RULE)) {
      const { rule, ...ofTasks } = JSON.parse(last.slice(RULE.length)) as OfTasks & { readonly rule: ScheduleRule };
      group = ofTasks.group;
      const start = group === undefined ? keep : `${keep}@${group}`;
      schedule = { rule, record: [ofTasks.attempts, start, backoff, name, payload].join('\n') };
    }
    return {
      attempts: Number(attempts),
      keepResultMs: Number(at < 0 ? keep : keep.slice(0, at)),
      group,
      backoff: this.backoffOf(backoff),
      name,
      payload,
      schedule,
    };
  }

  private backoffOf(text: string): ResolvedBackoff {
    if (text !== this.lastText) {
      const [delayMs = 0, factor = 1, maxDelayMs = 0] = text.split(' ').map(Number);
      this.lastText = text;
      this.lastBackoff = { delayMs, factor, maxDelayMs };
    }
    return this.lastBackoff;
  }
}

export function readRun(text: string): RunRecord {
  const [attempt = '0', , , , failed = '0', , ...error] = text.split(' ');
  return { attemptsMade: Number(attempt), firstFailedAtMs: Number(failed), error: error.join(' ') };
}
