import { RedisError, type Reply } from '../../../libs/memory-redis/src/reply';
import type { Server } from '../../../libs/memory-redis/src/server';
import type { Session } from '../../../libs/memory-redis/src/session';
import type { Scheduler } from './scheduler';

/** Hash slots of a Cluster, as its nodes use them. */
interface Router {
  /** Returns the reply of a node, if the node does not run the command itself. */
  replyOf(node: RedisNode, session: Session, words: readonly string[]): Reply | undefined;
  /** Called after a node has run a command. */
  ran(node: RedisNode, words: readonly string[]): void;
}

/** Errors with which servers refuse a script before it runs, in their words. */
export const REFUSALS = {
  OOM: "OOM command not allowed when used memory > 'maxmemory'.",
  READONLY: "READONLY You can't write against a read only replica.",
  BUSY: 'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  LOADING: 'LOADING Redis is loading the dataset in memory',
  NOPERM: "NOPERM this user has no permissions to run the 'evalsha' command",
  NOREPLICAS: 'NOREPLICAS Not enough good replicas to write.',
  MASTERDOWN: "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
} as const;
export type Refusal = keyof typeof REFUSALS;

/** A Redis server of the simulation, alone or as a node of a Cluster: its connections, its scripts, and its faults. */
export class RedisNode {
  /** Since when nobody can connect, true time in us. */
  downSinceUs: number | undefined;
  /** How many further scripts the server refuses, until when, and with which error. */
  refusing: { error: Refusal; left: number; untilUs: number } | undefined;
  /** Dies when it has run so many further scripts. */
  dying: { scripts: number; readonly die: () => void } | undefined;
  /** Failovers that have begun: the replica that will be promoted gets no more writes. So WAIT finds no replica. */
  failovers = 0;
  /** Called with each command. */
  ran: (process: string, words: readonly string[], reply: Reply) => void = () => undefined;
  /** Called before the server itself runs a command. Returns what to call with its reply. */
  watch: (words: readonly string[]) => (reply: Reply) => void = () => () => undefined;
  private readonly closers = new Map<Session, () => void>();

  /** @param slots undefined: the server is not a node of a Cluster */
  constructor(
    readonly port: number,
    readonly server: Server,
    private readonly scheduler: Scheduler,
    private readonly slots: Router | undefined,
  ) {}

  get isDown(): boolean {
    return this.downSinceUs !== undefined;
  }

  get connections(): number {
    return this.closers.size;
  }

  /** @param reset breaks the connection */
  open(send: (reply: Reply) => void, quit: () => void, reset: () => void): Session {
    const session = this.server.open(send, quit);
    this.closers.set(session, reset);
    return session;
  }

  close(session: Session): void {
    if (this.closers.delete(session)) this.server.forget(session);
  }

  execute(session: Session, words: string[], process: string): Reply {
    this.scheduler.steps++;
    const reply = this.slots?.replyOf(this, session, words) ?? this.ownReplyOf(session, words);
    this.ran(process, words, reply);
    const { dying } = this;
    if (dying && /^eval/i.test(words[0] ?? '') && --dying.scripts <= 0) {
      this.dying = undefined;
      dying.die();
    }
    return reply;
  }

  /** Breaks all connections. */
  resetAll(): void {
    for (const reset of [...this.closers.values()]) reset();
  }

  private ownReplyOf(session: Session, words: string[]): Reply {
    const watched = this.watch(words);
    const reply = this.refusalOf(words) ?? this.copiesOf(words) ?? this.server.execute(session, words);
    watched(reply);
    this.slots?.ran(this, words);
    return reply;
  }

  /** Reply to WAIT. The server has one replica, which is in step until a failover begins. */
  private copiesOf([name = '']: readonly string[]): number | undefined {
    return /^wait$/i.test(name) ? Number(this.failovers === 0) : undefined;
  }

  private refusalOf([name = '', body = '']: readonly string[]): RedisError | undefined {
    if (!this.refusing || !/^eval/i.test(name)) return undefined;
    const { error, untilUs } = this.refusing;
    if (this.scheduler.nowUs >= untilUs) {
      this.refusing = undefined;
      return undefined;
    }
    // The others depend on the flags of the script, so the server looks for it first.
    const isFirst = error === 'BUSY' || error === 'LOADING' || error === 'NOPERM';
    if (!isFirst && /^evalsha/i.test(name) && !this.server.scripts.has(body)) return undefined;
    if (--this.refusing.left <= 0) this.refusing = undefined;
    return new RedisError(REFUSALS[error]);
  }
}
