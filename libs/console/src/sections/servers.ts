import type { ScriptRegistry } from 'luanest/script-registry';
import { measuredMs, time, type CONSOLE } from '../../../internal/src';
import type { Sentence } from '../console.types';
import { say } from './sentences';

export type Node = ReturnType<ReturnType<ScriptRegistry[typeof CONSOLE]>['nodes']>[number];

/** A server of Redis, and what it reports in INFO. */
export interface Server {
  readonly id: string;
  readonly role: string;
  readonly ready: boolean;
  /** Fields of INFO; empty if the server did not reply, or if the Redis user may not send INFO. */
  readonly info: ReadonlyMap<string, string>;
  /** Clock of the server minus the clock of this process, ms; undefined if the server did not reply. */
  readonly clockMs: number | undefined;
}

/** Longest time to wait for the reply of a server, ms. */
const REPLY_MS = 1_000;
/** Largest difference between the clocks of a server and of this process that causes no warning, ms. */
const CLOCK_MS = 1_000;
/** Used share of `maxmemory`, from 0 to 1, above which the memory of a server counts as almost full. */
const FULL = 0.9;

/** Sends INFO and TIME to a server, and returns the replies. Never rejects. */
export async function serverOf(node: Node): Promise<Server> {
  const { id, role, ready } = node;
  const silent = { id, role, ready, info: new Map<string, string>(), clockMs: undefined };
  if (!ready) return silent;
  const beganMs = measuredMs();
  const [info, clock] = await Promise.all([reply(node, 'INFO'), reply(node, 'TIME')]);
  const between = (measuredMs() - beganMs) / 2;
  const [seconds, micros] = (clock ?? []) as readonly (Buffer | undefined)[];
  const clockMs =
    seconds === undefined
      ? undefined
      : Math.round(Number(String(seconds)) * 1_000 + Number(String(micros)) / 1_000 - (time.nowMs() - between));
  return { ...silent, info: fieldsOf(info), clockMs };
}

function reply(node: Node, command: string): Promise<unknown> {
  let timer: ReturnType<typeof time.setTimer> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = time.setTimer(() => resolve(undefined), REPLY_MS);
  });
  const sent = node.send(command, []).catch(() => undefined);
  return Promise.race([sent, late]).finally(() => time.clearTimer(timer));
}

function fieldsOf(info: unknown): ReadonlyMap<string, string> {
  const lines = Buffer.isBuffer(info) ? info.toString().split(/\r?\n/) : [];
  const fields = lines.flatMap((line): [string, string][] => {
    const at = line.indexOf(':');
    return at > 0 ? [[line.slice(0, at), line.slice(at + 1)]] : [];
  });
  return new Map(fields);
}

/** Returns a field of INFO as a number; undefined if the field is missing or not a number. */
export function numberOf({ info }: Server, field: string): number | undefined {
  const text = info.get(field);
  return text === undefined || text === '' || Number.isNaN(Number(text)) ? undefined : Number(text);
}

/** Returns the version of the server, with the name if it is Valkey; '' if the server did not send INFO. */
export function versionOf({ info }: Server): string {
  const valkey = info.get('valkey_version');
  return valkey === undefined ? (info.get('redis_version') ?? '') : `Valkey ${valkey}`;
}

/** Returns sentences about the problems of a server; an empty list if it has none. */
export function sentencesOfServer(server: Server): Sentence[] {
  const { id, info, ready, clockMs } = server;
  if (!ready) return [say('server-not-connected', { server: id })];
  const sentences: Sentence[] = [];
  const [used, most] = [numberOf(server, 'used_memory') ?? 0, numberOf(server, 'maxmemory') ?? 0];
  const policy = info.get('maxmemory_policy') ?? 'noeviction';
  if (most > 0 && policy !== 'noeviction') sentences.push(say('server-evicts', { server: id, policy }));
  if (most > 0 && used > FULL * most) {
    sentences.push(say('server-memory-full', { server: id, usedBytes: used, mostBytes: most }));
  }
  if (info.get('rdb_last_bgsave_status') === 'err' || info.get('aof_last_write_status') === 'err') {
    sentences.push(say('server-cannot-save', { server: id }));
  } else if (info.get('aof_enabled') === '0' && server.role === 'master') {
    sentences.push(say('server-no-aof', { server: id }));
  }
  if (info.get('master_link_status') === 'down') sentences.push(say('server-replica-behind', { server: id }));
  if (clockMs !== undefined && Math.abs(clockMs) > CLOCK_MS) {
    sentences.push(say('server-clock-differs', { server: id, differenceMs: Math.abs(clockMs) }));
  }
  return sentences;
}
