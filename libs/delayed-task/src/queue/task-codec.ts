import type { KeySpace } from 'luanest/script-registry';
import {
  Checks,
  classOf,
  evenTags,
  isIntegerOf,
  type KnownOptions,
  shown,
  spread,
  time,
  InvalidInputError,
} from '../../../internal/src';
import { checkAttempts, resolveBackoff, type ResolvedBackoff } from '../../../worker/src';
import { checkKeep, KNOWN_SETTINGS, MAX_DURATION_MS, type ResolvedDelayedTaskOptions } from '../delayed-task.options';
import type { DueTime, ScheduleOptions, ScheduleRule, TaskDefinition } from '../delayed-task.types';

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
 * Schedules are stored like tasks, under an id that begins with this character. Ids of tasks contain no control characters, so they cannot
 * begin with it.
 */
const OF_SCHEDULE = '\u0001';

/** Checks the id of a schedule. @returns the id under which Redis stores the schedule */
export function storedId(id: unknown): string {
  return `${OF_SCHEDULE}${checkText('id', id, 200)}`;
}

/** Returns the id of a schedule from the id under which Redis stores it; undefined for the id of a task. */
export function scheduleIdOf(id: string): string | undefined {
  return id.startsWith(OF_SCHEDULE) ? id.slice(OF_SCHEDULE.length) : undefined;
}

/** Returns the id of the task that a schedule creates for one of its times. @param slotMs the time, ms since 1970 */
export function slotId(scheduleId: string, slotMs: number): string {
  return `${scheduleId}@${slotMs}`;
}

// The ids of tasks that a schedule creates end in `@` and a time in ms. Times from 2001 to 2286 have 13 digits.
const SLOT = /@\d{13}$/;

/**
 * Returns the part of an id that selects the partition: the whole id, or for a task of a schedule, the id of the schedule, because a
 * schedule and all of its tasks must be in one partition.
 */
export function partitionPart(id: string): string {
  const at = id.length - 14;
  // This code runs for each task, so it must be fast: only ids with an '@' at this position are matched.
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
  if (operationId === undefined)
    throw taskInput.error(
      'operationRetentionMs is set without operationId, so it has no effect. Set operationId, too, or leave operationRetentionMs out.',
    );
  return taskInput.integer('operationRetentionMs', operationRetentionMs, 1_000, MAX_DURATION_MS);
}

/** Checks the name of a group. */
export function checkGroup(group: unknown): string {
  return checkText('group', group, 128);
}

/**
 * Returns the definition of a task. A name alone becomes a definition without settings.
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

/** The data of a task that never changes, parsed from the text in Redis (the record). */
export interface TaskRecord {
  readonly attempts: number;
  readonly keepResultMs: number;
  readonly backoff: ResolvedBackoff;
  readonly name: string;
  readonly group: string | undefined;
  readonly payload: string;
  /** For a schedule: its rule, and the record of the tasks that it creates. Undefined for a task. */
  readonly schedule: { readonly rule: ScheduleRule; readonly record: string } | undefined;
}

/**
 * Returns when a waiting task of a group is due, ms since 1970. The sorted set `due` may have another time: for the next task of a group,
 * the time at which its turn comes.
 *
 * @param record name, settings, payload and first due time of the task, as one text
 * @param run data of the task's attempts, as one text
 * @param atMs time of the task in the sorted set `due`, ms. If a worker gave the task back, this is also its due time, because such a
 *   task waits for no turn
 */
export function groupDueMs(record: string, run: string, atMs: number): number {
  const [, state = '', , due = ''] = run.split(' ');
  if (state === 'b') return atMs;
  return Number(state === '' ? record.slice(record.lastIndexOf('\n') + 1) : due);
}

/** The data of a task's attempts, parsed from the text in Redis. Numbers are 0 and texts are '' if no worker has taken the task yet. */
interface RunRecord {
  readonly attemptsMade: number;
  readonly firstFailedAtMs: number;
  readonly error: string;
}

/** Checks that `options` is an object, and has only options of `schedule`. Does not check their values. @throws InvalidInputError */
export function checkScheduling(options: ScheduleOptions): ScheduleOptions {
  return taskInput.options('', options, KNOWN);
}

/** Returns a due time in the form for scripts: 'd<ms>' for a delay, 'a<ms>' for a time since 1970. @throws InvalidInputError */
export function whenOf({ delayMs, runAtMs }: DueTime): string {
  if (delayMs !== undefined && runAtMs !== undefined) {
    throw taskInput.error(`delayMs is ${shown(delayMs)} and runAtMs is ${shown(runAtMs)}. Set only one of the two.`);
  }
  if (runAtMs === undefined) {
    // `due - Date.now()` is negative if `due` is in the past. The task is then due now.
    return `d${Math.max(0, taskInput.integer('delayMs', delayMs ?? 0, -MAX_DURATION_MS, MAX_DURATION_MS))}`;
  }
  if (!isIntegerOf(runAtMs, 0, time.nowMs() + MAX_DURATION_MS)) {
    taskInput.refuse('runAtMs', runAtMs, 'an integer of ms since 1970, from 0 to 100 years ahead');
  }
  return `a${runAtMs}`;
}

/** Returns a value as JSON. @throws InvalidInputError if the value has no JSON, or if the JSON has more than `maxBytes` bytes */
export function encodeJson(what: string, value: unknown, maxBytes: number, limit = 'maxPayloadBytes'): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (cause) {
    throw new InvalidInputError(`The ${what} of the task cannot be written as JSON: ${String(cause)}`, { cause });
  }
  if (json === undefined)
    throw taskInput.error(
      `The ${what} of the task is ${classOf(value)}, for which JSON.stringify() returns undefined. Use plain data.`,
    );
  // A character of a JavaScript string (a UTF-16 unit) has at most 3 bytes in UTF-8, so the bytes of a short text need not be counted.
  if (json.length * 3 > maxBytes) {
    const bytes = Buffer.byteLength(json);
    if (bytes > maxBytes) {
      const most = `${maxBytes} bytes are allowed${limit === 'maxPayloadBytes' ? ' (maxPayloadBytes). Store the data elsewhere and pass its id' : ''}`;
      throw new InvalidInputError(`The ${what} of the task has ${bytes} bytes as JSON. At most ${most}.`, {
        code: 'TASK_TOO_LARGE',
      });
    }
  }
  return json;
}

/** If a result cannot be stored, Redis stores the reason instead, after this character. JSON never begins with it. */
const NOTE = '!';

export function encodeNote(text: string): string {
  return `${NOTE}${text}`;
}

/** Parses a stored result. If Redis has a reason instead of a result, returns it as `error`. */
export function readResult(text: string): { readonly result: unknown; readonly error: string } {
  if (text.startsWith(NOTE)) return { result: undefined, error: text.slice(NOTE.length) };
  return { result: text === '' ? undefined : (JSON.parse(text) as unknown), error: '' };
}

/**
 * Parses the stored progress of a task; returns undefined if there is none, or if another attempt stored it. @param token token of the
 * current attempt
 */
export function readProgress(text: string, token = '-'): unknown {
  return text.startsWith(`${token} `) ? (JSON.parse(text.slice(token.length + 1)) as unknown) : undefined;
}

/**
 * Makes the record of a task: name, settings and payload as one text, which Redis stores. Many tasks use the settings of the module, so the
 * beginning of their records is built only once.
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
    // The fields of a record are separated by line breaks. Neither this JSON nor the checked name contains one.
    const json = encodeJson('payload', payload === undefined ? null : payload, defaults.maxPayloadBytes);
    return `${start}${name}\n${json}`;
  }

  /**
   * Returns the record of a schedule: the record of its tasks, but with almost unlimited attempts, without a group, and with the rule at
   * the end. @throws InvalidInputError
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
 * The last field of a schedule's record begins with this character, and has the rule. In a task's record, the last field is a number: the
 * due time.
 */
const RULE = '~';
/** Settings of a schedule's tasks that do not apply to the schedule itself. */
interface OfTasks {
  readonly attempts: number;
  readonly group?: string;
}

/** Maximum number of attempts of a schedule. A schedule must never become a dead letter, so the number is very high. */
const ENDLESS = 2 ** 31 - 1;

function head(attempts: number, keepResultMs: number, backoff: ResolvedBackoff, group?: string): string {
  const { delayMs, factor, maxDelayMs } = backoff;
  const ofGroup = group === undefined ? '' : `@${group}`;
  return `${attempts}\n${keepResultMs}${ofGroup}\n${delayMs} ${factor} ${maxDelayMs}\n`;
}

/** Parses the records of tasks. Remembers the last parsed backoff, because many tasks have the same. */
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

/** The Redis keys of one partition, all in the same hash slot. */
export interface Partition {
  readonly index: number;
  readonly due: string;
  readonly leased: string;
  readonly tasks: string;
  readonly runs: string;
  readonly dead: string;
  readonly waits: string;
  readonly lines: string;
  readonly heads: string;
  readonly starts: string;
  readonly pauses: string;
  readonly places: string;
  readonly rates: string;
  readonly operation: (token: string) => string;
  readonly result: (id: string) => string;
  readonly progress: (id: string) => string;
  readonly taken: (worker: string) => string;
}

function partitionOf(keys: ReturnType<KeySpace['tag']>, index: number): Partition {
  return Object.freeze({
    index,
    due: keys.key('due'),
    leased: keys.key('leased'),
    tasks: keys.key('tasks'),
    runs: keys.key('runs'),
    dead: keys.key('dead'),
    waits: keys.key('waits'),
    lines: keys.key('lines'),
    heads: keys.key('heads'),
    starts: keys.key('starts'),
    pauses: keys.key('pauses'),
    places: keys.key('places'),
    rates: keys.key('rates'),
    operation: keys.series('operation'),
    result: keys.series('result'),
    progress: keys.series('progress'),
    taken: keys.series('taken'),
  });
}

/** The partitions of a queue. The hash of a task's id decides in which partition the task is. */
export class Partitions {
  readonly all: readonly Partition[];
  readonly layout: string;
  /** Key that exists while the queue is paused. A pause is announced to workers on the channel of the same name. */
  readonly paused: string;

  constructor(space: KeySpace, queue: string, count: number) {
    this.all = evenTags(count, `${queue}:`).map((tag, index) => partitionOf(space.tag(tag), index));
    this.layout = space.tag(queue).key('layout');
    this.paused = space.tag(queue).key('paused');
  }

  at(index: number): Partition {
    return this.all[index] as Partition;
  }

  of(id: string): Partition {
    return this.all[this.all.length === 1 ? 0 : spread(partitionPart(id)) % this.all.length] as Partition;
  }
}
