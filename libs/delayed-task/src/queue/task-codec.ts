import { Checks, classOf, isIntegerOf, type KnownOptions, shown, time, InvalidInputError } from '../../../internal/src';
import { checkAttempts, resolveBackoff, type ResolvedBackoff } from '../../../worker/src';
import { checkKeep, KNOWN_SETTINGS, MAX_DURATION_MS, type ResolvedDelayedTaskOptions } from '../delayed-task.options';
import type { DueTime, ScheduleOptions, ScheduleRule, TaskDefinition } from '../delayed-task.types';

/** Checks the arguments of methods. The messages of its errors begin with `DelayedTaskService`. */
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

/**
 * First character of the id under which a schedule is stored. Ids of tasks cannot begin with it, because they contain no control
 * characters.
 */
const OF_SCHEDULE = '\u0001';

/** Checks the id of a schedule. @returns the id under which it is stored */
export function storedId(id: unknown): string {
  return `${OF_SCHEDULE}${checkText('id', id, 200)}`;
}

/** Returns the id of a schedule that is stored under `id`; undefined for the id of a task. */
export function scheduleIdOf(id: string): string | undefined {
  return id.startsWith(OF_SCHEDULE) ? id.slice(OF_SCHEDULE.length) : undefined;
}

/** Returns the id of the task that a schedule schedules for a slot. @param slotMs time of the slot, ms since 1970 */
export function slotId(scheduleId: string, slotMs: number): string {
  return `${scheduleId}@${slotMs}`;
}

// The end of the id of a schedule's task: `@` and the time of the slot, ms. Times from 2001 to 2286 have 13 digits.
const SLOT = /@\d{13}$/;

/**
 * Returns the part of an id that selects the partition. For a schedule and for its tasks, this is the id of the schedule, so that all are
 * in the same partition.
 */
export function partitionPart(id: string): string {
  const at = id.length - 14;
  // Runs for each task, so it must be fast. Only ids with an '@' at this position are checked against the pattern.
  if (id[at] === '@' && !id.startsWith(OF_SCHEDULE) && SLOT.test(id)) return id.slice(0, at);
  return scheduleIdOf(id) ?? id;
}

export function checkName(name: unknown): string {
  const text = checkText('name', name, 128);
  if (text.trim() === '') taskInput.refuse('name', name, 'text that is not blank');
  return text;
}

/** Checks the option `operationId` of a call. */
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
 * Returns the definition of a task. If the caller gave only a name, returns a definition with this name and no settings.
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

/** The data of a task that never change, parsed from its record: the text that Redis stores in the hash `tasks`. */
export interface TaskRecord {
  readonly attempts: number;
  readonly keepResultMs: number;
  readonly backoff: ResolvedBackoff;
  readonly name: string;
  readonly group: string | undefined;
  readonly payload: string;
  /** For a schedule: its rule, and the record of its tasks. undefined for a task. */
  readonly schedule: { readonly rule: ScheduleRule; readonly record: string } | undefined;
}

/**
 * Returns when a waiting task of a group is due, ms since 1970. Its time in the zset `due` may be another one: for the next task of a
 * group, it is the time when its turn comes.
 *
 * @param record record of the task, which ends with the due time of the first attempt
 * @param run value of the task in the hash `runs`
 * @param atMs time of the task in the zset `due`, ms. A task that was handed back does not wait for a turn, so this is its due time
 */
export function groupDueMs(record: string, run: string, atMs: number): number {
  const [, state = '', , due = ''] = run.split(' ');
  if (state === 'b') return atMs;
  return Number(state === '' ? record.slice(record.lastIndexOf('\n') + 1) : due);
}

/**
 * The data of a task's attempts, parsed from its value in the hash `runs`. Numbers are 0 and texts are '' if no worker has taken the task
 * yet.
 */
interface RunRecord {
  readonly attemptsMade: number;
  readonly firstFailedAtMs: number;
  readonly error: string;
}

/** Checks that `options` is an object, and has only options of `schedule`. Does not check their values. @throws InvalidInputError */
export function checkScheduling(options: ScheduleOptions): ScheduleOptions {
  return taskInput.options('', options, KNOWN);
}

/** Returns a due time as the scripts read it: 'd<ms>' for a delay, 'a<ms>' for a time since 1970. @throws InvalidInputError */
export function whenOf({ delayMs, runAtMs }: DueTime): string {
  if (delayMs !== undefined && runAtMs !== undefined) {
    throw taskInput.error(`delayMs is ${shown(delayMs)} and runAtMs is ${shown(runAtMs)}. Give one of the two.`);
  }
  if (runAtMs === undefined) {
    // A negative delay means now. It is the result of `due - Date.now()` if `due` is in the past.
    return `d${Math.max(0, taskInput.integer('delayMs', delayMs ?? 0, -MAX_DURATION_MS, MAX_DURATION_MS))}`;
  }
  if (!isIntegerOf(runAtMs, 0, time.nowMs() + MAX_DURATION_MS)) {
    taskInput.refuse('runAtMs', runAtMs, 'an integer of ms since 1970, from 0 to 100 years ahead');
  }
  return `a${runAtMs}`;
}

/**
 * Returns a value as JSON. @throws InvalidInputError if JSON.stringify() throws or returns undefined, or if the JSON has more than
 * `maxBytes` bytes
 */
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
  // Each UTF-16 unit of a JavaScript string has at most 3 bytes in UTF-8. So the bytes of a short text need not be counted.
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

/**
 * First character of a note. A note is stored instead of a result that cannot be stored, and says why. JSON never begins with this
 * character.
 */
const NOTE = '!';

export function encodeNote(text: string): string {
  return `${NOTE}${text}`;
}

/** Parses a stored result. If a note is stored instead, returns the text of the note as `error`. */
export function readResult(text: string): { readonly result: unknown; readonly error: string } {
  if (text.startsWith(NOTE)) return { result: undefined, error: text.slice(NOTE.length) };
  return { result: text === '' ? undefined : (JSON.parse(text) as unknown), error: '' };
}

/**
 * Parses a stored progress. @param token token of the attempt's lease @returns undefined if there is no progress, or if another attempt
 * stored it
 */
export function readProgress(text: string, token = '-'): unknown {
  return text.startsWith(`${token} `) ? (JSON.parse(text.slice(token.length + 1)) as unknown) : undefined;
}

/**
 * Writes records of tasks: the texts that Redis stores. A record begins with the settings of the task. For tasks that use the settings of
 * the module, this part is built only once.
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
    // Line breaks separate the fields. Neither this JSON nor the checked name contains a line break.
    const json = encodeJson('payload', payload === undefined ? null : payload, defaults.maxPayloadBytes);
    return `${start}${name}\n${json}`;
  }

  /**
   * Returns the record of a schedule. It is the record of its tasks with three changes: almost unlimited attempts, no group, and the rule
   * at the end. @throws InvalidInputError
   */
  writeSchedule(rule: ScheduleRule, task: string | TaskDefinition, payload: unknown, options: ScheduleOptions): string {
    const { group, ...own } = options;
    if (group !== undefined) checkGroup(group);
    const record = this.write(task, payload, own);
    const end = record.indexOf('\n');
    const ofTasks: OfTasks = { attempts: Number(record.slice(0, end)), ...(group !== undefined && { group }) };
    return `${ENDLESS}${record.slice(end)}\n${RULE}${JSON.stringify({ rule, ...ofTasks })}`;
  }
}

/**
 * First character of the last field in the record of a schedule, which has the rule. In the record of a task, the last field is a number:
 * the due time.
 */
const RULE = '~';
/** Settings of the tasks of a schedule that the schedule itself does not have. */
interface OfTasks {
  readonly attempts: number;
  readonly group?: string;
}

/** Number of attempts of a schedule. It is so high that a schedule is never dead-lettered. */
const ENDLESS = 2 ** 31 - 1;

function head(attempts: number, keepResultMs: number, backoff: ResolvedBackoff, group?: string): string {
  const { delayMs, factor, maxDelayMs } = backoff;
  const ofGroup = group === undefined ? '' : `@${group}`;
  return `${attempts}\n${keepResultMs}${ofGroup}\n${delayMs} ${factor} ${maxDelayMs}\n`;
}

/**
 * Parses records of tasks: the texts that RecordWriter writes. Caches the last parsed backoff, because many tasks have the same backoff.
 */
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
